"""`functorch.experimental.control_flow`: branches, and a function of each row."""

from __future__ import annotations

from ....capture.control.operators import cond
from ....capture.control.scans import map

__all__ = ["cond", "map"]

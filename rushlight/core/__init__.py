"""The machinery under everything: dtypes, devices, errors, and the way an op is declared and dispatched."""

from __future__ import annotations

from . import entry  # it tells `declare` how entry points are compiled

__all__ = ["entry"]

"""Distributed tensors."""

from __future__ import annotations

from ...core.missing import absents
from ..tensor import DTensor, distribute_module, distribute_tensor

absents(globals(), "it is not written yet")

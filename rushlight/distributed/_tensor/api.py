"""Distributed tensors."""

from __future__ import annotations

from ...core.missing import missing
from ..tensor import DTensor, distribute_module, distribute_tensor

__getattr__ = missing(__name__)

"""SparseAdam: refused, for there are no sparse gradients."""

from __future__ import annotations

from typing import Any

from ..core.errors import NotSupported
from .optimizer import Optimizer


class SparseAdam(Optimizer):
    """Adam for sparse gradients."""

    def __init__(self, params: Any, *args: Any, **kwargs: Any) -> None:
        raise NotSupported("SparseAdam needs sparse gradients, and rushlight has no sparse tensors: use Adam")


__all__ = ["SparseAdam"]

"""Masks that keep what is near the diagonal of a matrix."""

from __future__ import annotations

from typing import Any

from ....nn import Module
from ....ops.create.factories import ones_like, zeros_like
from .base_sparsifier import BaseSparsifier

__all__ = ["NearlyDiagonalSparsifier"]


class NearlyDiagonalSparsifier(BaseSparsifier):
    """Keeps the ``nearliness`` diagonals, an odd number, that are nearest to the main one."""

    def __init__(self, nearliness: int = 1) -> None:
        super().__init__({"nearliness": nearliness})

    def update_mask(self, module: Module, tensor_name: str, nearliness: int = 1, **kwargs: Any) -> None:
        """Set the mask of a matrix."""
        mask = getattr(module.parametrizations, tensor_name)[0].mask
        mask.data = zeros_like(mask)
        if nearliness <= 0:
            return
        if nearliness % 2 == 0:
            raise ValueError("nearliness can only be an odd number")
        distance = nearliness // 2
        if distance >= min(mask.shape):
            raise ValueError("nearliness cannot be larger than the dimensions of tensor.")
        mask.data = ones_like(mask).tril(distance).triu(-distance)

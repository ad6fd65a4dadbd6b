"""Masks over the blocks of a matrix that have the least norm."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ....nn import Module, functional
from ....ops.create.factories import ones, ones_like, zeros_like
from .base_sparsifier import BaseSparsifier

__all__ = ["WeightNormSparsifier"]


class WeightNormSparsifier(BaseSparsifier):
    """Masks a share ``sparsity_level`` of a matrix's blocks, those of the least norm; in each of them ``zeros_per_block`` elements, all by default."""

    def __init__(
        self, sparsity_level: float = 0.5, sparse_block_shape: tuple[int, int] = (1, 4), zeros_per_block: int | None = None,
        norm: Callable[[Any], Any] | int | None = None,
    ) -> None:  # fmt: skip
        if callable(norm):
            self.norm_fn = norm
        elif norm in (None, 1, 2):
            self.norm_fn = _magnitude if norm == 1 else _square
        else:
            raise NotImplementedError(f"L-{norm} is not yet implemented.")
        zeros = math.prod(sparse_block_shape) if zeros_per_block is None else zeros_per_block
        super().__init__({"sparsity_level": sparsity_level, "sparse_block_shape": sparse_block_shape, "zeros_per_block": zeros})

    def update_mask(
        self, module: Module, tensor_name: str, sparsity_level: float = 0.5, sparse_block_shape: tuple[int, int] = (1, 4), zeros_per_block: int = 4,
        **kwargs: Any,
    ) -> None:  # fmt: skip
        """Set the mask of a matrix."""
        elements = math.prod(sparse_block_shape)
        if zeros_per_block > elements:
            raise ValueError("Number of zeros per block cannot be more than the total number of elements in that block.")
        if zeros_per_block < 0:
            raise ValueError("Number of zeros per block should be positive.")
        mask = getattr(module.parametrizations, tensor_name)[0].mask
        if sparsity_level <= 0 or zeros_per_block == 0:
            mask.data = ones_like(mask)
        elif sparsity_level >= 1.0 and zeros_per_block == elements:
            mask.data = zeros_like(mask)
        else:
            norms = self.norm_fn(getattr(module, tensor_name))
            kept = _blocks_kept(norms, sparsity_level, sparse_block_shape)
            if elements != zeros_per_block:
                kept = kept.bool() | _elements_kept(norms, sparse_block_shape, zeros_per_block).bool()
            mask.data = kept


def _magnitude(tensor: Any) -> Any:
    return tensor.abs()


def _square(tensor: Any) -> Any:
    return tensor * tensor


def _blocks_kept(norms: Any, sparsity_level: float, block: tuple[int, int]) -> Any:
    """Ones but for the blocks of the least mean norm."""
    height, width = norms.shape[-2:]
    if sparsity_level >= 1.0:
        return zeros_like(norms)
    means = functional.avg_pool2d(norms[None, None], block, block, ceil_mode=True)[0, 0] if math.prod(block) > 1 else norms
    count = max(0, min(means.numel() - 1, round(sparsity_level * means.numel())))
    least = means.flatten().topk(count, largest=False).indices
    kept = ones(means.numel(), dtype=norms.dtype, device=norms.device).scatter_(0, least, 0.0).reshape(means.shape)
    return kept.repeat_interleave(block[0], 0).repeat_interleave(block[1], 1)[:height, :width].contiguous()


def _elements_kept(norms: Any, block: tuple[int, int], zeros_per_block: int) -> Any:
    """Ones but for the least elements of each block."""
    height, width = norms.shape[-2:]
    rows, columns = -(-height // block[0]) * block[0], -(-width // block[1]) * block[1]
    padded = functional.pad(norms, (0, columns - width, 0, rows - height), value=math.nan)  # what is beyond the edge counts as most
    unfolded = functional.unfold(padded[None, None], block, stride=block)
    least = unfolded.topk(zeros_per_block, dim=1, largest=False).indices
    kept = functional.fold(ones_like(unfolded).scatter_(1, least, 0.0), (rows, columns), block, stride=block)
    return kept[0, 0, :height, :width]

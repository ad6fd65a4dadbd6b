"""``torch.embedding_bag``: bags of rows with all that PyTorch's operator gives beside them."""

from __future__ import annotations

from ..core.base import TensorBase as Tensor
from ..core.declare import lookup, table
from ..core.errors import ValueRangeError


def embedding_bag(
    weight: Tensor, indices: Tensor, offsets: Tensor, scale_grad_by_freq: bool = False, mode: int = 0, sparse: bool = False,
    per_sample_weights: Tensor | None = None, include_last_offset: bool = False, padding_idx: int | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """The sum (0), mean (1) or maximum (2) of each bag; the bag of every index, the sizes of bags, and the rows that the maxima come from."""
    if mode not in (0, 1, 2):
        raise ValueRangeError(f"mode has to be 0 (sum), 1 (mean) or 2 (max), not {mode}")
    result = lookup("embedding_bag").call(
        indices, weight, offsets, scale_grad_by_freq=scale_grad_by_freq, mode=("sum", "mean", "max")[mode], sparse=sparse,
        per_sample_weights=per_sample_weights, include_last_offset=include_last_offset, padding_idx=padding_idx,
    )  # fmt: skip
    starts = offsets[:-1] if include_last_offset else offsets
    ends = offsets[1:] if include_last_offset else table["cat"].call([starts[1:], starts.new_tensor([indices._array.shape[0]])])
    positions = table["arange"].call(indices._array.shape[0], device=indices.device)
    bags = table["searchsorted"].call(starts, positions.to(starts.dtype), right=True) - 1
    rows = table["zeros"].call(result.shape if mode == 2 else (0,), dtype=indices.dtype)
    for bag, (start, end) in enumerate(zip(starts.tolist(), ends.tolist()) if mode == 2 else ()):
        taken = indices[start:end] if padding_idx is None else indices[start:end][indices[start:end] != padding_idx]
        if taken._array.shape[0]:
            rows[bag] = taken[weight.detach()[taken].argmax(0)]
    return result, bags, ends - starts, rows

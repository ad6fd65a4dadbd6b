"""Embeddings: rows of a table by index, and bags of them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ...core.base import Spec, make
from ...core.base import TensorBase as Tensor
from ...core.declare import composite, primitive, table
from ...core.errors import CaptureError, DimensionError, DtypeError, OperationError, ShapeError, ValueRangeError
from ...core.sparse import check_devices
from ...core.state import state
from ...core.upcast import computed_in_single, in_single
from ..sparse.record import recorded
from . import embedding_onnx as onnx_forms


def _check_indices(weight: Any, input: Any) -> None:
    if input.dtype not in (np.int64, np.int32):
        raise DtypeError(
            f"Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got {input.dtype}"
        )
    if weight.ndim != 2:
        raise ShapeError("'weight' must be 2-D")


def _embedding_meta(weight: Any, input: Any, padding_idx: int, scale_grad_by_freq: bool) -> Spec:
    _check_indices(weight, input)
    return Spec((*input.shape, weight.shape[1]), weight.dtype)


def _embedding_kernel(xp: Any, weight: Any, input: Any, padding_idx: int, scale_grad_by_freq: bool) -> Any:
    _check_indices(weight, input)
    if input.size and (input.min() < 0 or input.max() >= weight.shape[0]):
        raise DimensionError("index out of range in self")
    return weight.take(input, axis=0)


@primitive(
    meta=_embedding_meta,
    kernel=_embedding_kernel,
    vjp={
        "weight": lambda g, weight_shape, input, padding_idx, scale_grad_by_freq: embedding_backward(
            g, input, weight_shape[0], padding_idx, scale_grad_by_freq
        )
    },
    exact=True,
    name="embedding",
    namespace="",
    method=False,
    out=False,
    node_name="EmbeddingBackward0",
    onnx={9: onnx_forms.rows},
)
def embedding_rows(weight: Tensor, input: Tensor, padding_idx: int = -1, scale_grad_by_freq: bool = False) -> Tensor:
    """The rows of a table that indices name."""


def sum_rows(xp: Any, values: Any, index: Any, rows: int) -> Any:
    """Add rows of values to the rows that an index names; sorted, so that equal indices are summed at once."""
    result = xp.zeros((rows, values.shape[-1]), values.dtype)
    if not index.size:
        return result
    order = xp.argsort(index, kind="stable")
    ordered = index[order]
    starts = xp.flatnonzero(xp.concatenate([xp.ones(1, bool), ordered[1:] != ordered[:-1]]))
    result[ordered[starts]] = xp.add.reduceat(values[order], starts, axis=0)
    return result


def _embedding_backward_kernel(xp: Any, grad: Any, input: Any, rows: int, padding_idx: int, scale_grad_by_freq: bool) -> Any:
    index = input.reshape(-1)
    values = grad.reshape(index.size, grad.shape[-1])
    if padding_idx >= 0:
        kept = index != padding_idx
        index, values = index[kept], values[kept]
    if scale_grad_by_freq and index.size:
        values = values / xp.bincount(index, minlength=rows)[index][:, None].astype(values.dtype)
    return sum_rows(xp, values, index, rows)


def _embedding_again(g: Any, input: Any, padding_idx: int) -> Any:
    found = embedding_rows(g, input)
    if padding_idx >= 0:
        found = found.masked_fill((input == padding_idx).unsqueeze(-1), 0)
    return found  # not scaled: the factor belongs to the gradient, and forward mode comes through here


@primitive(
    meta=lambda grad, input, rows, padding_idx, scale_grad_by_freq: Spec((rows, grad.shape[-1]), grad.dtype),
    kernel=_embedding_backward_kernel,
    vjp={"grad": _embedding_again},
    namespace=None,
    method=False,
    out=False,
    onnx={9: onnx_forms.rows_backward},
)
def embedding_backward(grad: Tensor, input: Tensor, rows: int, padding_idx: int, scale_grad_by_freq: bool) -> Tensor:
    """The gradient of the table: for every row the sum of the gradients of its uses."""


def _renormalize(weight: Any, index: Any, max_norm: float, norm_type: float) -> None:
    """Shrink the named rows of a table, in place, to a largest norm."""
    enabled = state.grad_enabled
    state.grad_enabled = False
    try:
        rows = index.reshape(-1)  # one that comes twice is shrunk to the same twice
        picked = weight[rows]
        norms = table["linalg_vector_norm"].call(picked, norm_type, 1, True)
        scale = (max_norm / (norms + 1e-7)).clamp(max=1.0)
        weight[rows] = picked * table["where"].call(norms > max_norm, scale, table["ones_like"].call(scale))
    finally:
        state.grad_enabled = enabled


@composite(namespace="nn.functional", name="nn_functional_embedding", onnx={9: onnx_forms.embedding})
def embedding(
    input: Tensor, weight: Tensor, padding_idx: int | None = None, max_norm: float | None = None, norm_type: float = 2.0,
    scale_grad_by_freq: bool = False, sparse: bool = False,
) -> Tensor:  # fmt: skip
    """The rows of ``weight`` that ``input`` names; the row ``padding_idx`` gets no gradient."""
    if weight._array.ndim != 2:
        raise ShapeError("'weight' must be 2-D")
    rows = weight._array.shape[0]
    if padding_idx is not None:
        if not -rows <= padding_idx < rows:
            raise AssertionError("Padding_idx must be within num_embeddings")
        padding_idx %= rows
    else:
        padding_idx = -1
    if max_norm is not None:
        _renormalize(weight, input, max_norm, norm_type)
    if sparse and weight._requires_grad and state.grad_enabled:
        return _with_sparse_gradient(weight, input, padding_idx, scale_grad_by_freq)
    return embedding_rows(weight, input, padding_idx, scale_grad_by_freq)


def _with_sparse_gradient(weight: Any, input: Any, padding_idx: int, scale_grad_by_freq: bool) -> Any:
    """The rows of a table, whose gradient is sparse: the rows that were used, one after the other."""
    if weight._array.__class__ is Spec or state.capture is not None:
        raise CaptureError("embedding(sparse=True): a sparse gradient has no place in a graph; leave sparse=False in what is compiled")
    check_devices("embedding", weight)
    found = embedding_rows(make(weight._array), input, padding_idx, scale_grad_by_freq)
    shape = tuple(weight._array.shape)

    def rule(needs: Any, g: Any, index: Any) -> tuple[Any, ...]:
        if scale_grad_by_freq:
            raise OperationError("embedding_backward: scale_grad_by_freq not supported with sparse gradients")
        index, values = index.reshape(-1), g.reshape(-1, shape[1])
        if padding_idx >= 0:
            kept = index != padding_idx
            index, values = index[kept], values[kept]
        return (table["sparse_coo_tensor"].call(index.unsqueeze(0), values, shape),)

    return recorded("EmbeddingBackward0", found._array, (weight,), rule, input)


# -- bags --------------------------------------------------------------------------------------------------------


def _bag_numbers(offsets: Any, count: int) -> Any:
    """For every index the number of its bag."""
    positions = table["arange"].call(count, device=offsets.device)
    return table["searchsorted"].call(offsets.to(positions.dtype).contiguous(), positions, right=True) - 1


def _bag_maximum(values: Any, bags: Any, count: int, kept: Any) -> Any:
    """The largest value of each bag, element by element, 0 for an empty one."""
    lowest = table["full"].call((count, values._array.shape[1]), float("-inf"), dtype=values.dtype, device=values.device)
    if kept is not None:
        values = values.masked_fill(~kept.unsqueeze(-1), float("-inf"))
    index = bags.unsqueeze(-1).expand(values._array.shape)
    found = lowest.scatter_reduce(0, index, values, "amax")
    return found.masked_fill(found == float("-inf"), 0)


@composite(namespace="nn.functional", name="embedding_bag", onnx={9: onnx_forms.embedding_bag})
def embedding_bag(
    input: Tensor, weight: Tensor, offsets: Tensor | None = None, max_norm: float | None = None, norm_type: float = 2,
    scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False, per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False, padding_idx: int | None = None,
) -> Tensor:  # fmt: skip
    """Sum, mean or maximum of the rows of ``weight`` named by each bag of indices."""
    if weight._array.dtype.kind in "iu" and input._array.dtype.kind == "f":
        warnings.warn(
            "Argument order of nn.functional.embedding_bag was changed. Usage `embedding_bag(weight, input, ...)` is deprecated, and should "
            "now be `embedding_bag(input, weight, ...)`.", stacklevel=2,
        )  # fmt: skip
        input, weight = weight, input
    if (
        offsets is not None
        and offsets._array.dtype != input._array.dtype
        and offsets._array.dtype.kind in "iu"
        and input._array.dtype.kind in "iu"
    ):
        input, offsets = input.long(), offsets.long()
    if offsets is not None and offsets._array.dtype.kind not in "biu":
        raise DtypeError(f"Expected offsets to have one of the following scalar types: Long, Int; but got {offsets.dtype} instead")
    if mode not in ("sum", "mean", "max"):
        raise ValueRangeError("mode has to be one of sum, mean or max")
    if mode == "max" and scale_grad_by_freq:
        raise ValueRangeError("max mode does not support scaling the gradient by the frequency")
    if mode == "max" and sparse:
        raise ValueRangeError("max mode does not support sparse weights")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            f"embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' (got mode='{mode}'). "
            "Please open a feature request on GitHub."
        )
    if per_sample_weights is not None and tuple(per_sample_weights._array.shape) != tuple(input._array.shape):
        raise ValueRangeError(
            f"embedding_bag: If per_sample_weights ({tuple(per_sample_weights._array.shape)}) is not None, then it must have the same "
            f"shape as the input ({tuple(input._array.shape)})"
        )
    if input._array.ndim == 2:
        if offsets is not None:
            raise ValueRangeError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length sequences. However, "
                f"found offsets of type {type(offsets)}"
            )
        count, length = input._array.shape
        bags = table["arange"].call(count, device=input.device).unsqueeze(1).expand(count, length).reshape(-1)
        input = input.reshape(-1)
        per_sample_weights = None if per_sample_weights is None else per_sample_weights.reshape(-1)
    elif input._array.ndim == 1:
        if offsets is None:
            raise ValueRangeError("offsets has to be a 1D Tensor but got None")
        if offsets._array.ndim != 1:
            raise ValueRangeError("offsets has to be a 1D Tensor")
        if offsets._array.size and offsets._array.__class__ is not Spec and int(offsets[0]) != 0:
            raise OperationError(
                f"offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. However, got {int(offsets[0])}"
            )
        if offsets._array.size and offsets._array.__class__ is not Spec and int(offsets[-1]) > input._array.shape[0]:
            raise OperationError(
                f"offsets[-1] can not be greater than input's length {input._array.shape[0]} but got offsets[-1] of {int(offsets[-1])}"
            )
        if include_last_offset:  # a last bag, of what follows the last offset, belongs to no result
            whole = embedding_bag(
                input, weight, offsets, max_norm, norm_type, scale_grad_by_freq, mode, sparse, per_sample_weights, False, padding_idx
            )
            return whole[:-1]
        count = offsets._array.shape[0]
        bags = _bag_numbers(offsets, input._array.shape[0])
    else:
        raise ValueRangeError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input._array.ndim}")
    if input._array.__class__ is np.ndarray and input._array.size:
        limit = weight._array.shape[0]
        wrong = (input._array < 0) | (input._array >= limit)
        if wrong.any():
            at = int(wrong.argmax())
            raise OperationError(f"Index {at} of input takes value {int(input._array[at])} which is not in the valid range [0, {limit})")
    rows = embedding(input, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse)
    kept = None if padding_idx is None else input != padding_idx % weight._array.shape[0]
    if mode == "max":
        return _bag_maximum(rows, bags, count, kept)

    def summed(rows: Any, factors: Any) -> Any:
        if factors is not None:
            rows = rows * factors.unsqueeze(-1)
        if kept is not None:
            rows = rows * kept.unsqueeze(-1)
        return table["zeros"].call(count, rows._array.shape[1], dtype=rows.dtype, device=rows.device).index_add(0, bags, rows)

    def divided(total: Any) -> Any:
        kind = {"dtype": total.dtype, "device": total.device}
        ones = table["ones"].call(input._array.shape[0], **kind) if kept is None else kept.to(total.dtype)
        sizes = table["zeros"].call(count, **kind).index_add(0, bags, ones)
        return total / sizes.clamp(min=1).unsqueeze(-1)

    if computed_in_single(rows):  # the sum is rounded, and the mean once more
        total = in_single(summed, rows, per_sample_weights)
        return total if mode == "sum" else in_single(divided, total)
    total = summed(rows, per_sample_weights)
    return total if mode == "sum" else divided(total)

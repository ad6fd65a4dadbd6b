"""Making nested tensors, and filling them up to ordinary ones."""

from __future__ import annotations

from typing import Any

import rushlight

from ..core.errors import ArgumentError, OperationError
from ..tensor import Tensor
from .jagged import NestedTensor, of_parts, of_values


def nested_tensor(
    tensor_list: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False
) -> Any:
    """A nested tensor with copies of the tensors of a list, as a leaf of its own."""
    parts = [each.detach().clone() if isinstance(each, Tensor) else rushlight.tensor(each) for each in tensor_list]
    made = _made([each if dtype is None else each.to(dtype) for each in parts], layout)
    return made.requires_grad_() if requires_grad else made


def as_nested_tensor(ts: Any, dtype: Any = None, device: Any = None, layout: Any = None) -> Any:
    """A nested tensor of the tensors of a list (or of a batch): gradients flow to them."""
    if isinstance(ts, NestedTensor):
        if layout is not None and ts._kind != layout.name:
            raise OperationError("as_nested_tensor(): Converting between nested tensor layouts is not supported")
        return ts if dtype is None else ts.to(dtype)
    if not isinstance(ts, (list, tuple, Tensor)):
        raise ArgumentError("as_nested_tensor(): Expected first argument to be a tensor or a list / tuple of tensors ")
    parts = [each if isinstance(each, Tensor) else rushlight.tensor(each) for each in (ts.unbind() if isinstance(ts, Tensor) else ts)]
    return _made([each if dtype is None else each.to(dtype) for each in parts], layout)


def _made(parts: list[Any], layout: Any) -> Any:
    name = getattr(layout, "name", "strided")
    if name not in ("strided", "jagged"):
        raise OperationError(f"Specified layout is unsupported for nested tensors: {layout}")
    if len({each.dim() for each in parts}) > 1:
        raise OperationError("When constructing a nested tensor, all tensors in list must have the same dim")
    if name == "jagged":
        if not parts:
            raise OperationError("Cannot construct a nested tensor from an empty tensor list")
        if len({tuple(each.shape[1:]) for each in parts}) > 1:
            raise OperationError("When constructing a jagged nested tensor, all tensors in list must have the same trailing sizes")
    return of_parts(parts, name)


def nested_tensor_from_jagged(
    values: Any,
    offsets: Any = None,
    lengths: Any = None,
    jagged_dim: int | None = None,
    min_seqlen: int | None = None,
    max_seqlen: int | None = None,
) -> Any:
    """A jagged nested tensor over values; part ``n`` is ``values[offsets[n]:offsets[n + 1]]``."""
    if offsets is None:
        if lengths is None:
            raise OperationError("nested_tensor_from_jagged(): At least one of offsets or lengths is required.")
        offsets = rushlight.cat([rushlight.zeros(1, dtype=rushlight.int64), lengths.cumsum(0)])
    elif lengths is not None:
        starts = offsets.tolist()[: len(lengths)]
        return of_parts([values.narrow(0, start, length) for start, length in zip(starts, lengths.tolist())], "jagged")
    if jagged_dim not in (None, 1):
        return of_parts([values.narrow(jagged_dim - 1, a, b - a) for a, b in _pairs(offsets)], "jagged", jagged_dim)
    return of_values(values, offsets)


def _pairs(offsets: Any) -> list[tuple[int, int]]:
    found = offsets.tolist()
    return list(zip(found, found[1:]))


def to_padded_tensor(input: Any, padding: float, output_size: Any = None) -> Any:
    """An ordinary tensor with a value where a part has no elements."""
    if not isinstance(input, NestedTensor):
        raise OperationError("to_padded_tensor(): expected a nested tensor")
    return input.to_padded_tensor(padding, output_size)


__all__ = ["as_nested_tensor", "nested_tensor", "nested_tensor_from_jagged", "to_padded_tensor"]

"""Making nested tensors, and filling them up to ordinary ones."""

from __future__ import annotations

from typing import Any

import rushlight

from ..core.errors import ArgumentError, OperationError
from ..tensor import Tensor
from . import custom_functions, rules, shape_rules  # noqa: F401 - what functions do on them
from .jagged import NestedTensor, _stored, jagged_of_parts, of_parts, of_values


def nested_tensor(
    tensor_list: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False
) -> Any:
    """A nested tensor with copies of the tensors of a list, as a leaf of its own."""
    if isinstance(tensor_list, Tensor) and not isinstance(tensor_list, NestedTensor):
        tensor_list = tensor_list.unbind()
    if not isinstance(tensor_list, (list, tuple, NestedTensor)):
        raise TypeError("nested_tensor(): Only lists (of tensors or numbers) are accepted")
    plain = rushlight.contiguous_format
    parts = [each.detach().clone(memory_format=plain) if isinstance(each, Tensor) else rushlight.tensor(each) for each in tensor_list]
    if any(each.is_nested for each in parts):
        raise OperationError("A nested tensor cannot be made of nested tensors")
    made = _made(_typed(parts, dtype, device), layout)
    return made.requires_grad_() if requires_grad else made


def _typed(parts: list[Any], dtype: Any, device: Any) -> list[Any]:
    return [each.to(device=device or each.device, dtype=dtype or each.dtype) for each in parts]


def as_nested_tensor(ts: Any, dtype: Any = None, device: Any = None, layout: Any = None) -> Any:
    """A nested tensor of the tensors of a list (or of a batch): gradients flow to them."""
    name = getattr(layout, "name", "strided")
    if isinstance(ts, NestedTensor):
        if layout is not None and ts._kind != name:
            raise OperationError("as_nested_tensor(): Converting between nested tensor layouts is not supported")
        return ts if dtype is None else ts.to(dtype)
    if not isinstance(ts, (list, tuple, Tensor)):
        raise ArgumentError("as_nested_tensor(): Expected first argument to be a tensor or a list / tuple of tensors ")
    if isinstance(ts, (list, tuple)):
        return _made(_typed([each if isinstance(each, Tensor) else rushlight.tensor(each) for each in ts], dtype, device), layout)
    if ts.dim() < 2:
        raise OperationError("as_nested_tensor(): Expected tensor argument to have dim() > 1")
    same = ts.to(device=device or ts.device, dtype=dtype or ts.dtype).contiguous()
    root = (same._base if same._is_view() else same) if same is ts else None
    if name == "strided":
        made = of_parts(list(same.unbind()), same.reshape(-1))
        made._root = root
        return made
    count, length = same.shape[:2]
    offsets = rushlight.arange(0, (count + 1) * length, length) if length else rushlight.zeros(count + 1, dtype=rushlight.int64)
    cache = {"min_seqlen": _stored(length), "max_seqlen": _stored(length)}
    return of_values(same.reshape(count * length, *same.shape[2:]), offsets, None, 1, cache, root)


def _made(parts: list[Any], layout: Any) -> Any:
    name = getattr(layout, "name", "strided")
    if name not in ("strided", "jagged"):
        raise OperationError(f"Specified layout is unsupported for nested tensors: {layout}")
    if name == "strided":
        for at, each in enumerate(parts):
            if each.dim() != parts[0].dim():
                raise OperationError(
                    "All Tensors given to nested_tensor must have the same dimension. Found dimension "
                    f"{parts[0].dim()} for Tensor at index 0 and dimension {each.dim()} for Tensor at index {at}."
                )
        if len({each.dtype for each in parts}) > 1:
            raise OperationError("All Tensors given to nested_tensor must have the same dtype")
        return of_parts(parts)
    if not parts:
        raise OperationError("Cannot construct a nested tensor from an empty tensor list")
    for what in ("dtype", "device"):
        if len({getattr(each, what) for each in parts}) > 1:
            raise OperationError(
                f"When constructing a nested tensor, all tensors in list must {'be on' if what == 'device' else 'have'} the same {what}"
            )
    if len({each.dim() for each in parts}) > 1:
        raise OperationError("When constructing a nested tensor, all tensors in list must have the same dim")
    if not parts[0].dim():
        raise OperationError("Cannot construct a nested tensor from a list of zero-dim tensors")
    differ = [at for at, column in enumerate(zip(*(each.shape for each in parts))) if len(set(column)) > 1]
    if len(differ) > 1:
        raise OperationError(
            "Cannot represent given tensor list as a nested tensor with the jagged layout. Note that the jagged layout only allows for a single "
            "ragged dimension. For example: (B, *, D_0, D_1, ..., D_N), with ragged * dim."
        )
    return jagged_of_parts(parts, differ[0] + 1 if differ else 1)


def nested_tensor_from_jagged(
    values: Any,
    offsets: Any = None,
    lengths: Any = None,
    jagged_dim: int | None = None,
    min_seqlen: int | None = None,
    max_seqlen: int | None = None,
) -> Any:
    """A jagged nested tensor over values; part ``n`` is ``values[offsets[n]:offsets[n + 1]]``, or as long as ``lengths`` say."""
    if offsets is None:
        if lengths is None:
            raise OperationError("nested_tensor_from_jagged(): At least one of offsets or lengths is required.")
        offsets, lengths = rushlight.cat([lengths.new_zeros(1), lengths.cumsum(0)]), None
    if jagged_dim is None:
        jagged_dim = 1
    elif jagged_dim < 1:
        raise ValueError(f"Expected jagged_dim >=1, but got {jagged_dim}.")
    return view_of_values(values, offsets, lengths, jagged_dim, min_seqlen, max_seqlen)


def view_of_values(values: Any, offsets: Any, lengths: Any = None, ragged: int = 1, shortest: Any = None, longest: Any = None) -> Any:
    """A jagged nested tensor that is a view of its values."""
    cache = {name: _stored(each) for name, each in (("min_seqlen", shortest), ("max_seqlen", longest)) if each is not None}
    return of_values(values, offsets, lengths, ragged, cache, values._base if values._is_view() else values)


def narrow(tensor: Any, dim: int, start: Any, length: Any, layout: Any = None) -> Any:
    """A nested tensor of a range of each row of a tensor, without a copy where the layout is ``jagged``."""
    if not isinstance(start, (int, Tensor)) or isinstance(start, bool):
        raise OperationError("start must be an integer or a tensor")
    if not isinstance(length, (int, Tensor)) or isinstance(length, bool):
        raise OperationError("length must be an integer or a tensor")
    name = getattr(layout, "name", "strided")
    if name == "strided":
        if isinstance(start, Tensor) or isinstance(length, Tensor):
            raise OperationError("start and length must be integers for the strided layout NT impl")
        return as_nested_tensor(rushlight.unbind(tensor), layout=layout).narrow(dim, start, length)
    if name != "jagged":
        raise OperationError(f"Specified layout is unsupported for nested narrow: {layout}")
    if dim != 1:
        raise OperationError("jagged layout only supports dim=1")
    count, size = tensor.shape[:2]
    starts, lengths = (each if isinstance(each, Tensor) else rushlight.tensor([each]) for each in (start, length))
    if any(each.dim() > 1 or each.numel() not in (1, count) for each in (starts, lengths)):
        raise OperationError(
            "When constructing a jagged nested tensor using narrow(), your start and length must be Tensors that broadcast to input.shape[0]"
        )
    starts, lengths = starts.expand(count), lengths.expand(count)
    firsts = starts + size * rushlight.arange(count)
    offsets = rushlight.cat([firsts, (firsts[-1] + lengths[-1]).unsqueeze(0)])
    values, shortest, longest = tensor.view(-1, *tensor.shape[2:]), int(lengths.min()), int(lengths.max())
    if bool((firsts[1:] == (firsts + lengths)[:-1]).all()):  # the ranges follow each other without a gap
        begin = int(offsets[0])
        return view_of_values(values[begin : int(offsets[-1])], offsets - begin, None, 1, shortest, longest)
    return view_of_values(values, offsets, lengths.contiguous(), 1, shortest, longest)


def masked_select(tensor: Any, mask: Any) -> Any:
    """A jagged nested tensor of the elements of each row where a mask of as many dimensions holds."""
    mask = mask.expand(tensor.shape) if mask.dim() <= tensor.dim() else mask
    if tensor.dim() != 2:
        raise OperationError("masked_select(): only a single jagged dim is supported, so that the tensor has to have two dimensions")
    counts = mask.sum(-1)
    return view_of_values(tensor.masked_select(mask), rushlight.cat([counts.new_zeros(1), counts.cumsum(0)]))


def from_padded(padded: Any, offsets: Any, ragged: int = 1, shortest: Any = None, longest: Any = None, total: Any = None) -> Any:
    """A jagged nested tensor of the beginnings of the rows of a padded one, as long as offsets say."""
    lengths = offsets.diff().tolist()
    rows = [row.narrow(ragged - 1, 0, length) for row, length in zip(padded.unbind(), lengths)]
    values = rushlight.cat(rows, ragged - 1) if rows else padded.flatten(0, 1)
    return view_of_values(values, offsets, None, ragged, shortest, longest)


def to_padded_tensor(input: Any, padding: float, output_size: Any = None) -> Any:
    """An ordinary tensor with a value where a part has no elements."""
    if not isinstance(input, NestedTensor):
        raise OperationError("to_padded_tensor(): expected a nested tensor")
    return input.to_padded_tensor(padding, output_size)


__all__ = ["as_nested_tensor", "masked_select", "narrow", "nested_tensor", "nested_tensor_from_jagged", "to_padded_tensor"]

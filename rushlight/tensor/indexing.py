"""Indexing: ``x[index]`` and ``x[index] = value``.

Integers, slices, None and ``...`` are views, made by the ops ``select``, ``slice`` and ``unsqueeze``; tensors of
positions, masks and lists go to the ops ``index`` and ``index_put_``.  A mixed index is first a view, then the rest.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.base import Spec, TensorBase, make
from ..core.declare import Op, table
from ..core.devices import device_type_of, on_device, sole_accelerator
from ..core.dispatch import attach, wrap
from ..core.dtypes import LOW_PRECISION, legacy_name
from ..core.errors import ArgumentError, DimensionError, OverlapError, ShapeError, ValueRangeError
from ..core.in_place import is_dense, overlaps_itself, refuse_shared, same_place
from ..core.node import refresh
from ..core.overrides import ask_plain
from ..core.quantized import QuantizedArray
from ..core.sparse import SPARSE
from ..core.state import flags, state
from ..core.symbolic import SymbolicFloat, SymbolicInt
from ..core.upcast import COMPLEX32
from ..ops.create.factories import full
from ..ops.index.indexing import index as index_elements
from ..ops.index.masking import fitting_scalar
from ..ops.pointwise.copy_cast import cast_array
from .construct import concrete

_SELECT, _SLICE, _UNSQUEEZE, _ALIAS = table["select"], table["slice"], table["unsqueeze"], table["alias"]
_ALL = slice(None)
_MASK_KINDS = (np.dtype(np.bool_), np.dtype(np.uint8))
_LONGEST_TUPLE = 32  # a list at least this long is never read as a tuple of indices

Step = tuple[Op, tuple[Any, ...]]


def getitem(self: Any, index: Any) -> Any:
    """``self[index]``: a view for integers, slices, None and ``...``; else a copy of the chosen elements."""
    kind = index.__class__
    if kind is int:
        array = self._array
        if array.ndim and (array.__class__ is np.ndarray or array.__class__ is sole_accelerator.array_type) and not flags.special:
            if not -array.shape[0] <= index < array.shape[0]:
                raise _out_of_bounds(index, 0, array.shape[0])
            return _viewed(self, _SELECT, (0, index), array[index, ...])
    elif (
        kind is not tuple and isinstance(index, TensorBase) and index._array.ndim and self._array.__class__ is np.ndarray
        and index._array.dtype.char != "B"
    ):  # fmt: skip
        return index_elements(self, [index])
    try:
        steps, key, indices = _plan(self, _items(index))
    except Exception:
        handled = ask_plain(getitem, (self, index), {})  # the index may be of a class with ``__torch_function__``
        if handled is NotImplemented:
            raise
        return handled
    if steps:
        self = _view(self, steps, key)
    elif not indices:
        return _view(self, [(_SLICE, (0, None, None, 1)) if kind is slice else (_ALIAS, ())], key)
    return index_elements(self, indices) if indices else self


def setitem(self: Any, index: Any, value: Any) -> None:
    """``self[index] = value``: write a number, or a tensor broadcast to the chosen elements, in place."""
    is_tensor = isinstance(value, TensorBase)
    if not is_tensor and not isinstance(value, (int, float, complex, np.integer)):
        if ask_plain(setitem, (self, index, value), {}) is not NotImplemented:
            return
        name = legacy_name(self._array.dtype)
        raise ArgumentError(f"can't assign a {_type_name(value)} to a torch.{name}Tensor")
    if index is False:
        return
    if self._array.__class__ in SPARSE:
        raise TypeError("Cannot assign to a sparse tensor")
    try:
        steps, key, indices = _plan(self, _items(index))
    except Exception:
        if ask_plain(setitem, (self, index, value), {}) is NotImplemented:
            raise
        return
    if not is_tensor and state.capture is not None:
        value = state.capture.number_to_write(value, self)
        is_tensor = isinstance(value, TensorBase)
        if is_tensor and not indices:
            target = _view(self, steps, key) if steps else self
            (target.fill_ if target._array.ndim else target.copy_)(value)
            return
    target = _view(self, steps, key) if steps else self
    if not is_tensor:
        if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
            raise ValueRangeError(f"the integer {value} does not fit into 64 bits")
        if self._array.__class__ is QuantizedArray:
            value = make(np.asarray(value, np.float32))
        else:
            dtype = self._array.dtype
            if dtype in LOW_PRECISION and not isinstance(value, complex):  # too large a number is infinite
                fitted = cast_array(np, np.asarray(float(value)), dtype).item()
            else:
                fitted = fitting_scalar(value, dtype).item() if dtype != COMPLEX32 else value
            value = value if isinstance(value, (SymbolicInt, SymbolicFloat)) else fitted  # a capture records symbolic numbers
        if not indices:
            array = target._array
            if array.__class__ is np.ndarray and 0 in array.strides and overlaps_itself(array):
                refuse_shared("copy_")  # unlike `fill_`, which may
            target.fill_(value)
            return
        if isinstance(value, TensorBase):
            pass  # a real number, which is quantized where it is written
        elif flags.special or self._array.__class__ is Spec:
            value = full((), value, dtype=self.dtype, device=self.device)
        else:
            value = make(on_device(np.asarray(value, self._array.dtype), self.device))
    shape = value._array.shape
    if shape and shape[0] == 1 and (indices or len(shape) > target._array.ndim):  # leading dimensions of size 1 do not count
        rank = _rank_of_indexed(target, indices)
        if not indices or len(shape) > rank:
            value = _without_leading_ones(value, len(shape) - rank)
    if value._array.shape == target._array.shape:
        _check_overlap(target._array, value)
    if value._storage is not None and value._storage is target._storage and value._array.shape != target._array.shape and not indices:
        value = value.expand(target.shape)  # one that is broadcast may be part of what is written
    if indices:
        target.index_put_(indices, value)
    else:
        try:
            target.copy_(value)
        except ShapeError:
            value.expand(target.shape)  # says what does not fit
            raise


def _rank_of_indexed(target: Any, indices: Any) -> int:
    """How many dimensions what tensors of indices (None for whole dimensions) pick has."""
    given = [each for each in indices if each is not None]
    if not given:
        return int(target._array.ndim)
    masks = [each._array.dtype in _MASK_KINDS for each in given]
    used = sum(each._array.ndim if mask else 1 for each, mask in zip(given, masks))
    return int(target._array.ndim) - used + max(1 if mask else each._array.ndim for each, mask in zip(given, masks))


def _without_leading_ones(value: Any, excess: int) -> Any:
    """A value without those of its leading dimensions of size 1 that are too many."""
    shape = tuple(value.shape if state.capture is not None else value._array.shape)
    ones = next((at for at, size in enumerate(shape) if int.__ne__(size, 1)), len(shape))
    return value.reshape(shape[min(ones, excess) :]) if ones else value


def delitem(self: Any, index: Any) -> None:
    """Tensors do not shrink."""
    raise ArgumentError("Tensor does not support deleting items")


# -- reading an index --------------------------------------------------------------------------------------------


def _items(index: Any) -> tuple[Any, ...]:
    """An index as a tuple of items."""
    if isinstance(index, tuple):
        return index
    if isinstance(index, list) and _reads_as_tuple(index):
        warnings.warn(
            "Using a list that holds sequences, slices or tensors as an index for several dimensions is deprecated: write "
            "x[tuple(index)] for that, or x[tensor(index)] to index one dimension",
            UserWarning,
            stacklevel=3,
        )
        return tuple(index)
    return (index,)


def _reads_as_tuple(index: list[Any]) -> bool:
    if len(index) >= _LONGEST_TUPLE:
        return False
    return any(item is None or item is Ellipsis or isinstance(item, (TensorBase, slice, Sequence, np.ndarray)) for item in index)


def _plan(self: Any, items: tuple[Any, ...]) -> tuple[list[Step], tuple[Any, ...], list[Any]]:
    """The plan of an index: view ops, the same views as one NumPy key, and index tensors for the dimensions of that view."""
    ndim, shape = self._array.ndim, self._array.shape
    items = tuple([item if item.__class__ in _PLAIN else _normalized(item) for item in items])
    taken = sum([_dimensions_taken(item) for item in items])
    if taken > ndim:
        if not ndim and len(items) == 1 and items[0].__class__ is int:
            raise DimensionError("invalid index of a 0-dim tensor. Use `tensor.item()` to convert a 0-dim tensor to a number")
        if not ndim and items[0].__class__ is slice:
            raise DimensionError("slice() cannot be applied to a 0-dim tensor.")
        raise DimensionError(f"too many indices for tensor of dimension {ndim}")
    steps: list[Step] = []
    key: list[Any] = []
    indices: list[Any] = []
    spared = ndim - taken  # the number of dimensions that ``...`` expands to
    dim = 0  # of the view so far
    source = 0  # of the tensor itself
    for item in items:
        kind = item.__class__
        if kind is int or kind is SymbolicInt:
            size = shape[source] if kind is int else self.shape[source]  # a symbolic one is compared with a size that may be symbolic
            if not -size <= item < size:
                raise _out_of_bounds(item, source, size)
            steps.append((_SELECT, (dim, item)))
            key.append(item)
            source += 1
        elif kind is slice:
            start, stop, step = _bounds(item)
            moved = start is not None and (start.__class__ is not int or start != 0)  # a symbolic one may be 0 in this run alone
            if step.__class__ is not int or step != 1 or moved or (stop is not None and (flags.special or stop < shape[source])):
                steps.append((_SLICE, (dim, start, stop, step)))
            key.append(slice(start, stop, step))
            dim += 1
            source += 1
        elif item is None:
            steps.append((_UNSQUEEZE, (dim,)))
            key.append(None)
            dim += 1
        elif item is Ellipsis:
            key += [_ALL] * spared
            dim += spared
            source += spared
            spared = 0  # a second one expands to none
        else:
            mask = kind is bool or item._array.dtype in _MASK_KINDS
            if mask and kind is not bool and item._array.dtype == np.uint8:
                warnings.warn(
                    "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.", UserWarning, stacklevel=3
                )
            if mask and (kind is bool or not item._array.ndim):
                # A single truth value is a new dimension of which it takes the one element, or none.
                steps.append((_UNSQUEEZE, (dim,)))
                key.append(None)
                item, count = make(on_device(np.zeros(int(bool(item)), np.int64), self.device)), 1
            else:
                count = item._array.ndim if mask else 1
                key += [_ALL] * count
                source += count
            indices += [None] * (dim - _extent(indices)) + [item]
            dim += count
    if indices and self._array.__class__ is not np.ndarray:  # indices on the CPU go with tensors of any device
        indices = [each if each is None or not each.is_cpu else each.to(self.device) for each in indices]
    return steps, tuple(key), indices


_PLAIN = frozenset((int, slice, type(None), type(Ellipsis), bool))


def _normalized(item: Any) -> Any:
    """An item as an int or a tensor of indices."""
    if isinstance(item, TensorBase):
        array = item._array
        if array.ndim or array.dtype in _MASK_KINDS or isinstance(array, Spec):
            return item
        if array.dtype.kind not in "iu":
            raise DimensionError("tensors used as indices must be long, int, byte or bool tensors")
        return item if flags.special and state.capture is not None else int(item)
    if item.__class__ is SymbolicInt:
        return item
    if isinstance(item, np.integer) or (isinstance(item, int) and not isinstance(item, bool)):
        return int(item)
    if isinstance(item, (np.ndarray, Sequence)):
        return _index_tensor(item)
    if hasattr(item, "__index__") and not isinstance(item, np.bool_):
        return item.__index__()
    raise DimensionError(
        f"only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got {_type_name(item)})"
    )


def _index_tensor(values: Any) -> Any:
    """A tensor of indices out of a list, a range or an array: bool for masks, else int64 (fractions are cut off)."""
    if isinstance(values, (str, bytes)):
        raise ArgumentError(f"invalid index type '{type(values).__name__}'")
    if isinstance(values, np.ndarray):
        array = values
    else:
        try:
            array = np.asarray(_without_tensors(values))
        except ValueError as error:
            raise ValueRangeError(f"expected sequences of one length as an index: {error}") from None
        if array.dtype == np.uint8:
            array = array.astype(np.int64)
    if array.dtype.kind not in "biuf" and array.size:
        raise ArgumentError(f"invalid index type '{array.dtype}'")
    if array.dtype not in _MASK_KINDS:
        array = array.astype(np.int64)
        if not array.ndim:
            return int(array)
    return make(array)


def _without_tensors(value: Any) -> Any:
    if isinstance(value, TensorBase):
        return concrete(value)
    return [_without_tensors(each) for each in value] if isinstance(value, (list, tuple)) else value


def _dimensions_taken(item: Any) -> int:
    kind = item.__class__
    if kind is int or kind is slice or kind is SymbolicInt:
        return 1
    if kind in _PLAIN:
        return 0
    return item._array.ndim if item._array.dtype in _MASK_KINDS else 1


def _extent(indices: list[Any]) -> int:
    """How many dimensions a list of indices covers: a mask covers as many as it has."""
    return sum([1 if each is None or each._array.dtype not in _MASK_KINDS else each._array.ndim for each in indices])


def _bounds(item: slice) -> tuple[Any, Any, int]:
    start, stop, step = item.start, item.stop, item.step
    if not (start is None or start.__class__ is int) or not (stop is None or stop.__class__ is int):
        start, stop = _slice_bound(start), _slice_bound(stop)
    if step is None:
        return start, stop, 1
    step = _slice_bound(step)
    if step <= 0:
        raise ValueRangeError("step must be greater than zero" if step else "slice step cannot be zero")
    return start, stop, step


def _slice_bound(value: Any) -> Any:
    if value is None or value.__class__ is int:
        return value
    if not hasattr(value, "__index__"):
        raise ArgumentError("slice indices must be integers or None or have an __index__ method")
    if state.capture is not None and isinstance(value, TensorBase) and (followed := state.capture.slice_bound(value)) is not None:
        return followed
    return value.__index__()


def _type_name(value: Any) -> str:
    kind = type(value)
    return f"numpy.{kind.__name__}" if kind.__module__ == "numpy" else kind.__name__


def _out_of_bounds(index: int, dim: int, size: int) -> DimensionError:
    return DimensionError(f"index {index} is out of bounds for dimension {dim} with size {size}")


# -- views and writes --------------------------------------------------------------------------------------------


def _viewed(source: Any, op: Op, arguments: tuple[Any, ...], array: Any) -> Any:
    """The result of a view op whose array is known: a tensor over it that is part of the graph."""
    if source._view is not None:
        refresh(source)
    args = (source, *arguments)
    result = wrap(op, args, array, None)
    if source._requires_grad and state.grad_enabled:
        attach(op, args, result)
    return result


def _view(source: Any, steps: list[Step], key: tuple[Any, ...]) -> Any:
    """A view of a tensor by one or more steps, which ``key`` says in one for the array module."""
    array = source._array
    xp = np if array.__class__ is np.ndarray else sole_accelerator.arrays if array.__class__ is sole_accelerator.array_type else None
    if flags.special or xp is None:
        for op, arguments in steps:
            source = op.call(source, *arguments)
        return source
    if len(steps) == 1:
        return _viewed(source, *steps[0], array[(*key, ...)])
    if source._requires_grad and state.grad_enabled:
        for op, arguments in steps:
            source = _viewed(source, op, arguments, op.kernel(xp, source._array, *arguments))
        return source
    result = _viewed(source, *steps[-1], array[(*key, ...)])
    before = () if source._view is None else source._view.chain
    result._view.chain = (*before, *[(op.call, arguments, None) for op, arguments in steps])
    return result


def _check_overlap(array: Any, value: Any) -> None:
    """Refuse to write to memory that partly overlaps that of the value."""
    other = value._array
    if (
        value._storage is not None
        and not isinstance(array, Spec)
        and other.__class__ is array.__class__
        and is_dense(array)
        and is_dense(other)
        and device_type_of(array).shares_memory(array, other)
        and not same_place(array, other)
    ):
        raise OverlapError(
            "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "
            "location. Please clone() the tensor before performing the operation."
        )

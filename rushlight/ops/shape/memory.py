"""Memory: strides, layouts, and arrays over them.  No ops stand here, only what ops on memory share."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.base import Spec, contiguous_strides
from ...core.declare import table
from ...core.devices import device_of
from ...core.dtypes import BY_NUMPY
from ...core.errors import ArgumentError, ShapeError
from ...core.layout import channels_last_strides, suggests_channels_last
from ...core.state import state


def element_strides(array: Any) -> tuple[int, ...]:
    """Strides counted in elements, of an array or a Spec."""
    if array.__class__ is Spec:
        return array.element_strides  # type: ignore[no-any-return]
    size = array.itemsize
    return tuple(stride // size for stride in array.strides)


def extent(shape: Any, strides: Any) -> int:
    """The number of elements that a tensor's memory spans, from its first to its last element."""
    return 0 if 0 in shape else 1 + sum((size - 1) * step for size, step in zip(shape, strides))


def lies_as(shape: Any, strides: Any, wanted: Any) -> bool:
    """Whether strides amount to the wanted ones; those of dimensions of size 1, or without elements, say nothing."""
    return 0 in shape or all(size == 1 or have == want for size, have, want in zip(shape, strides, wanted))


def is_contiguous(array: Any) -> bool:
    """Whether an array or a Spec is contiguous in row-major order."""
    if array.__class__ is Spec:
        return lies_as(array.shape, array.element_strides, contiguous_strides(array.shape))
    known = None if array.__class__ is np.ndarray else getattr(array, "_c_contiguous", None)  # CuPy makes an object of flags
    return bool(array.flags.c_contiguous if known is None else known)


def in_memory_format(array: Any) -> bool:
    """Whether an array or a Spec is contiguous in row-major order or in channels last."""
    return is_contiguous(array) or suggests_channels_last(array.shape, element_strides(array))


def like_strides(array: Any) -> tuple[int, ...] | None:
    """Strides of a new tensor in the shape of an array that keep its order of dimensions in memory, without gaps."""
    if is_contiguous(array):
        return None
    shape, strides = array.shape, element_strides(array)
    order: list[int] = []  # from the outermost dimension to the innermost
    for dim, stride in enumerate(strides):
        place = len(order)
        for position in range(len(order) - 1, -1, -1):
            other = order[position]
            if stride == 0 or strides[other] == 0 or shape[dim] == 1 or shape[other] == 1:
                continue  # a dimension that takes no steps says nothing about the order
            if stride <= strides[other]:
                break
            place = position
        order.insert(place, dim)
    result = [0] * len(shape)
    step = 1
    for dim in reversed(order):
        result[dim] = step
        step *= max(shape[dim], 1)
    return tuple(result)


def without_repeats(xp: Any, array: Any) -> Any:
    """An array that was expanded as one with a place for each element, its dimensions in the order of :func:`like_strides`; others as they are."""
    if is_contiguous(array) or 0 not in element_strides(array):
        return array
    strides = like_strides(array) or ()
    order = sorted(range(array.ndim), key=lambda dim: -strides[dim])
    return xp.ascontiguousarray(array.transpose(order)).transpose([order.index(dim) for dim in range(array.ndim)])


def like_layout(result: Any, input: Any) -> Any:
    """The result of an eager body in channels last, where its input is; a capture decides on layouts itself."""
    array = input._array
    if array.__class__ is np.ndarray and not array.flags.c_contiguous and state.capture is None:
        if suggests_channels_last(array.shape, array.strides):
            return table["laid_as"].call(result, channels_last_strides(result._array.shape))
    return result


def infer_size(shape: tuple[Any, ...], count: int) -> tuple[int, ...]:
    """A shape with its one ``-1`` filled in, checked against the number of elements."""
    shape = tuple(shape)
    for size in shape:
        if not hasattr(size, "__index__"):
            raise ArgumentError(f"a size must be an int, not {type(size).__name__}")
    unknown = [i for i, size in enumerate(shape) if size == -1]
    if any(size < -1 for size in shape):
        index = next(i for i, size in enumerate(shape) if size < -1)
        raise ShapeError(f"invalid shape dimension {shape[index]} at index {index} of shape {list(shape)}")
    if len(unknown) > 1:
        raise ShapeError("only one dimension can be inferred")
    if unknown:
        known = math.prod(size for size in shape if size != -1)
        if not known:
            if count:
                raise ShapeError(f"shape '{list(shape)}' is invalid for input of size {count}")
            raise ShapeError(
                f"cannot reshape tensor of 0 elements into shape {list(shape)} because the unspecified dimension "
                "size -1 can be "
                "any value and is ambiguous"
            )
        if count % known:
            raise ShapeError(f"shape '{list(shape)}' is invalid for input of size {count}")
        return tuple(count // known if size == -1 else size for size in shape)
    if math.prod(shape) != count:
        raise ShapeError(f"shape '{list(shape)}' is invalid for input of size {count}")
    return shape


def view_strides(shape: tuple[int, ...], strides: tuple[int, ...], wanted: tuple[int, ...]) -> tuple[int, ...] | None:
    """The strides under which memory laid out one way reads as another shape, or None if it can't without copying."""
    if 0 in shape:
        return strides if shape == wanted else contiguous_strides(wanted)
    result = [0] * len(wanted)
    position = len(wanted) - 1
    chunk = 1  # elements of the current run of contiguous dimensions
    step = strides[-1] if strides else 1
    taken = 1
    for dim in range(len(shape) - 1, -1, -1):
        chunk *= shape[dim]
        if dim == 0 or (shape[dim - 1] != 1 and strides[dim - 1] != chunk * step):
            while position >= 0 and (taken < chunk or wanted[position] == 1):
                result[position] = taken * step
                taken *= wanted[position]
                position -= 1
            if taken != chunk:
                return None
            if dim > 0:
                step, chunk, taken = strides[dim - 1], 1, 1
    for rest in range(position, -1, -1):
        result[rest] = taken * step
    return tuple(result)


def zeros_beside(like: Any, shape: Any) -> Any:
    """Zeros of a shape, in the type and on the device of a tensor: for gradients that never arrived."""
    return table["zeros"].call(tuple(shape), dtype=BY_NUMPY[like._array.dtype], device=device_of(like._array))

"""Views in tensor IR: the shape, strides and offset that a view op gives.

The view op runs on an array with the strides of the value, whose elements are never read: the strides of its result are the answer.  With symbolic
sizes there is no such array, and rules per op give the strides.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import numpy as np

from ..core.base import Spec, contiguous_strides
from ..core.declare import Op
from ..core.dispatch import run
from ..ops.shape.memory import view_strides
from ..passes.decompose import Declined
from .scalar_ir import NotExpressible
from .symbolic_shape import Fixed, differs

_WITHOUT_OFFSET = frozenset("permute t transpose alias detach expand squeeze unsqueeze view_shape".split())


class IncompatibleStrides(NotExpressible):
    """A view that does not exist for the strides of its value."""


def view_of(op: Op, args: tuple[Any, ...], spec: Any) -> list[tuple[Any, Any, Any]]:
    """The shape, the strides and the offset (in elements) of each result of a view op on a reference; ``spec`` has the shapes."""
    if has_sizes(args):
        return symbolic_view(op, args, spec)
    source, dtype = args[0], args[0].dtype
    stand_in, start = array_like(source)
    try:
        made = run(op, [stand_in, *args[1:]], np.ndarray)
    except Exception as error:
        raise IncompatibleStrides(f"the strides of its operand do not allow it ({error})") from error
    results = []
    for each in made if isinstance(made, (tuple, list)) else (made,):
        if each.dtype != dtype or not np.may_share_memory(each, stand_in):
            raise NotExpressible("it is a view of another type, or no view")
        results.append((each.shape, elements(each), (address(each) - start) // dtype.itemsize if each.size else 0))
    return results


def array_like(source: Any) -> tuple[Any, int]:
    """An uninitialized array with the strides of a reference, and the address that element 0 of the value would have."""
    low = sum(min(0, stride * (size - 1)) for size, stride in zip(source.shape, source.strides))
    high = sum(max(0, stride * (size - 1)) for size, stride in zip(source.shape, source.strides))
    memory = np.empty(max(1, high - low + 1), source.dtype)
    steps = [stride * source.dtype.itemsize for stride in source.strides]
    array = np.ndarray(source.shape, source.dtype, memory, -low * source.dtype.itemsize, steps)
    return array, address(memory) - (low + source.offset) * source.dtype.itemsize


def reshape_strides(source: Any, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """The strides of a reference in another shape, or None where that needs a copy."""
    if has_sizes((source, shape)):
        return view_strides(source.shape, source.strides, tuple(shape))
    array, _ = array_like(source)
    if array.size == 0:
        return contiguous_strides(tuple(shape))
    try:
        return elements(np.reshape(array.view(), shape, copy=False))
    except ValueError:
        return None


def elements(array: Any) -> tuple[int, ...]:
    """The strides of an array in elements; raises Declined where one is no multiple of the item size."""
    if any(each % array.itemsize for each in array.strides):
        raise Declined("an array whose strides are no multiple of its item size")
    return tuple([each // array.itemsize for each in array.strides])


def address(array: Any) -> int:
    """The address of an array."""
    return int(array.__array_interface__["data"][0])


# -- symbolic sizes ----------------------------------------------------------------------------------------------


def has_sizes(value: Any) -> bool:
    """Whether an argument has symbolic numbers, or is a reference with a symbolic shape."""
    if isinstance(value, (tuple, list)):
        return any(has_sizes(each) for each in value)
    return value.__class__ is not int and (
        differs(value) or hasattr(value, "offset") and has_sizes((value.shape, value.strides, value.offset))
    )


def symbolic_view(op: Op, args: tuple[Any, ...], spec: Any) -> list[tuple[Any, Any, Any]]:
    """The same as :func:`view_of` for symbolic sizes."""
    source, shape, strides, offset = args[0], args[0].shape, list(args[0].strides), args[0].offset
    if op.name in _WITHOUT_OFFSET:
        try:
            made = op.meta(op, [Spec(shape, source.dtype, tuple(strides)), *args[1:]])
        except RuntimeError as error:
            raise IncompatibleStrides(f"the strides of its operand do not allow it ({error})") from error
        return [(made.shape, made.element_strides, offset)]
    if op.name in ("split_with_sizes", "split_evenly"):
        sizes, dim = args[1], args[2] % len(shape)
        return [(each.shape, strides, offset + (end - size) * strides[dim]) for each, size, end in zip(spec, sizes, accumulate(sizes))]
    if op.name in ("slice", "select"):
        dim = args[1] % len(shape)
        offset = offset + first_of(args[2], shape[dim]) * strides[dim]
        if op.name == "select":
            return [(spec.shape, strides[:dim] + strides[dim + 1 :], offset)]
        strides[dim] = strides[dim] * args[4]
        return [(spec.shape, strides, offset)]
    if op.name == "unbind":
        dim = args[1] % len(shape)
        return [(each.shape, strides[:dim] + strides[dim + 1 :], offset + at * strides[dim]) for at, each in enumerate(spec)]
    if op.name == "diagonal":
        first, second = args[2] % len(shape), args[3] % len(shape)
        begin = args[1] * strides[second] if args[1] >= 0 else -args[1] * strides[first]
        rest = [stride for at, stride in enumerate(strides) if at not in (first, second)]
        return [(spec.shape, [*rest, strides[first] + strides[second]], offset + begin)]
    if op.name == "unfold":
        dim = args[1] % len(shape)
        return [(spec.shape, [*strides[:dim], strides[dim] * args[3], *strides[dim + 1 :], strides[dim]], offset)]
    raise Fixed(f"{op.name} of a value with symbolic sizes")


def first_of(start: Any, size: Any) -> Any:
    """The start of a slice as an index that is not negative."""
    start = 0 if start is None else start
    if start < 0:
        start = start + size
    if not (start >= 0 and start <= size):
        raise Fixed("a slice that starts outside")
    return start

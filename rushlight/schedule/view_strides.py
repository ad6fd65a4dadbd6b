"""Views in tensor IR: the shape, strides and offset that a view op gives.

The view op runs on an array with the strides of the value, whose elements are never read: the strides of its result are the answer.  With symbolic
sizes there is no such array, and rules per op give the strides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from ..core.base import Spec, contiguous_strides
from ..core.declare import Op
from ..core.dispatch import run
from ..core.facets import Facet
from ..ops.shape.memory import view_strides
from ..passes.decompose import Declined
from .scalar_ir import NotExpressible
from .symbolic_shape import Fixed, SymbolicNumber


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
        isinstance(value, SymbolicNumber) or hasattr(value, "offset") and has_sizes((value.shape, value.strides, value.offset))
    )


# Of the arguments (a reference first) and the Spec (or Specs) of the result: the shape, the strides and the offset of each result.
Strided = list[tuple[Any, Any, Any]]
symbolic_strides: Facet[Callable[[Op, tuple[Any, ...], Any], Strided]] = Facet(
    "symbolic strides", "the strides and offsets of a view, where its sizes are symbolic"
)


def symbolic_view(op: Op, args: tuple[Any, ...], spec: Any) -> Strided:
    """The same as :func:`view_of` for symbolic sizes."""
    rule = symbolic_strides.of(op)
    if rule is None:
        raise Fixed(f"{op.name} of a value with symbolic sizes")
    return rule(op, args, spec)


@symbolic_strides.register("permute", "t", "transpose", "alias", "detach", "expand", "squeeze", "unsqueeze", "view_shape")
def _by_meta(op: Op, args: tuple[Any, ...], spec: Any) -> Strided:
    """A view that keeps the offset: the op's own rule for shapes gives the strides, too."""
    source = args[0]
    try:
        made = op.meta(op, [Spec(source.shape, source.dtype, tuple(source.strides)), *args[1:]])
    except RuntimeError as error:
        raise IncompatibleStrides(f"the strides of its operand do not allow it ({error})") from error
    return [(made.shape, made.element_strides, source.offset)]


@symbolic_strides.register("split_with_sizes", "split_evenly")
def _split(op: Op, args: tuple[Any, ...], spec: Any) -> Strided:
    source, sizes, dim = args[0], args[1], args[2] % len(args[0].shape)
    starts = accumulate(sizes, initial=0)
    return [(each.shape, source.strides, source.offset + start * source.strides[dim]) for each, start in zip(spec, starts)]


@symbolic_strides.register("slice")
def _slice(op: Op, args: tuple[Any, ...], spec: Any) -> Strided:
    source, dim = args[0], args[1] % len(args[0].shape)
    strides = list(source.strides)
    offset = source.offset + first_of(args[2], source.shape[dim]) * strides[dim]
    strides[dim] = strides[dim] * args[4]
    return [(spec.shape, strides, offset)]


@symbolic_strides.register("select")
def _select(op: Op, args: tuple[Any, ...], spec: Any) -> Strided:
    source, dim = args[0], args[1] % len(args[0].shape)
    return [(spec.shape, without(source.strides, dim), source.offset + first_of(args[2], source.shape[dim]) * source.strides[dim])]


@symbolic_strides.register("unbind")
def _unbind(op: Op, args: tuple[Any, ...], spec: Any) -> Strided:
    source, dim = args[0], args[1] % len(args[0].shape)
    return [(each.shape, without(source.strides, dim), source.offset + at * source.strides[dim]) for at, each in enumerate(spec)]


@symbolic_strides.register("diagonal")
def _diagonal(op: Op, args: tuple[Any, ...], spec: Any) -> Strided:
    source, offset, ndim = args[0], args[1], len(args[0].shape)
    strides, first, second = source.strides, args[2] % ndim, args[3] % ndim
    begin = offset * strides[second] if offset >= 0 else -offset * strides[first]
    rest = [stride for at, stride in enumerate(strides) if at not in (first, second)]
    return [(spec.shape, [*rest, strides[first] + strides[second]], source.offset + begin)]


@symbolic_strides.register("unfold")
def _unfold(op: Op, args: tuple[Any, ...], spec: Any) -> Strided:
    source, dim = args[0], args[1] % len(args[0].shape)
    strides = list(source.strides)
    return [(spec.shape, [*strides[:dim], strides[dim] * args[3], *strides[dim + 1 :], strides[dim]], source.offset)]


def without(values: Sequence[Any], at: int) -> list[Any]:
    """The values without one of them."""
    return [*values[:at], *values[at + 1 :]]


def first_of(start: Any, size: Any) -> Any:
    """The start of a slice as an index that is not negative."""
    start = 0 if start is None else start
    if start < 0:
        start = start + size
    if not (start >= 0 and start <= size):
        raise Fixed("a slice that starts outside")
    return start

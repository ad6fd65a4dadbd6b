"""Descriptions of data movement: concatenation, padding, rotation, triangles, running sums, and rows or elements by index with their gradients."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from ...core.families import normalize_dims
from ..lowering import routine
from ..tensor_ir import Call, Reference, TensorIRBuilder, strides_of
from ..view_strides import first_of, has_sizes

INDEX_DTYPES = (np.dtype(np.int64), np.dtype(np.int32))


def row_major(shape: Sequence[Any]) -> tuple[Any, ...]:
    """Strides in row-major order."""
    return tuple([math.prod(shape[at + 1 :]) for at in range(len(shape))])


class Move(NamedTuple):
    """A copy of the elements of a source to a part of the target, given by an offset and strides."""

    source: Reference
    offset: Any
    strides: tuple[Any, ...]


@dataclass(frozen=True)
class Movement:
    """A tensor put together from parts; ``fill`` is what no part covers (None: they cover everything)."""

    moves: tuple[Move, ...]
    fill: Any = None


@dataclass(frozen=True)
class Triangle:
    """A matrix with zeros above (``lower``) or below a diagonal."""

    source: Reference
    diagonal: int
    lower: bool


@dataclass(frozen=True)
class RunningSum:
    """Cumulative sums along an axis; sums of float32 are accumulated in float64."""

    source: Reference
    axis: int
    accumulate: np.dtype[Any]
    reverse: bool


@dataclass(frozen=True)
class RowGather:
    """Slices of a tensor along a dimension, by index; negative indices count from the end where it ``wraps``."""

    source: Reference
    dim: int
    index: Reference
    wraps: bool = False


@dataclass(frozen=True)
class RowScatterAdd:
    """Slices added to those that an index names, of zeros or of a copy of a base; those of index ``skip`` are left out."""

    base: Reference | None
    grad: Reference
    dim: int
    index: Reference
    wraps: bool = False
    skip: int = -1


@dataclass(frozen=True)
class PointGather:
    """What several dimensions have at the places that as many indices name; those are of one shape, and count from the end where they are negative.

    Their shape is put at dimension ``at`` of the result, between the dimensions that are kept whole.
    """

    source: Reference
    dims: tuple[int, ...]
    indices: tuple[Reference, ...]
    at: int


@dataclass(frozen=True)
class PointScatterAdd:
    """Zeros with what belongs to the places of a `PointGather` added at these."""

    grad: Reference
    dims: tuple[int, ...]
    indices: tuple[Reference, ...]
    at: int


@dataclass(frozen=True)
class RowScatter:
    """A copy of a base with slices along a dimension replaced: those that an index names, the last of several."""

    base: Reference
    source: Reference
    dim: int
    index: Reference


@dataclass(frozen=True)
class ElementGather:
    """Single elements along a dimension, by index."""

    source: Reference
    dim: int
    index: Reference


@dataclass(frozen=True)
class ElementScatterAdd:
    """Elements added to those that an index names, of zeros or of a copy of a base."""

    base: Reference | None
    dim: int
    index: Reference
    source: Reference


# -- copies ------------------------------------------------------------------------------------------------------


def movement(moves: Sequence[Move], fill: Any = None) -> Movement:
    """A movement of the parts that are not empty."""
    return Movement(tuple([each for each in moves if 0 not in each.source.shape]), fill)


def adjacent(tensors: Sequence[Reference], steps: Sequence[Any]) -> bool:
    """Whether tensors are parts of results of one call, each so many elements after the one before: to join them is to look at the whole.

    Views of inputs must not come out where eager mode has copies, and other values have no memory yet.
    """
    first = tensors[0]
    if (
        len(tensors) < 2
        or not isinstance(first.value, Call)
        or any(each.value is not first.value or each.strides != first.strides for each in tensors)
    ):
        return False
    return all(step > 0 and other.offset - one.offset == step for one, other, step in zip(tensors, tensors[1:], steps))


@routine.register("cat")
def cat(builder: TensorIRBuilder, args: tuple[Any, ...], spec: Any, node: Any) -> Any:
    tensors, dim = args
    dim, strides, moves, start = dim % len(spec.shape), row_major(spec.shape), [], 0
    if node not in builder.last and adjacent(
        tensors, [each.shape[dim] * each.strides[dim] if each.shape != (0,) else -1 for each in tensors]
    ):
        return Reference(tensors[0].value, tuple(spec.shape), tensors[0].strides, tensors[0].offset)
    for each in tensors:
        if each.shape != (0,):  # an empty vector counts for nothing
            moves.append(Move(each, start * strides[dim], strides))
            start += each.shape[dim]
    return movement(moves)


@routine.register("stack")
def stack(builder: TensorIRBuilder, args: tuple[Any, ...], spec: Any, node: Any) -> Any:
    tensors, dim = args
    dim, strides = dim % len(spec.shape), row_major(spec.shape)
    step = tensors[1].offset - tensors[0].offset if len(tensors) > 1 else 0
    if node not in builder.last and adjacent(tensors, [step] * len(tensors)):
        first = tensors[0]
        return Reference(first.value, tuple(spec.shape), (*first.strides[:dim], step, *first.strides[dim:]), first.offset)
    rest = tuple([each for at, each in enumerate(strides) if at != dim])
    return movement([Move(each, at * strides[dim], rest) for at, each in enumerate(tensors)])


@routine.register("constant_pad_nd")
def constant_pad(builder: TensorIRBuilder, args: tuple[Any, ...], spec: Any, node: Any) -> Any:
    source, pad, value = args
    if not isinstance(value, (int, float, type(None))):
        return NotImplemented
    pairs = [(0, 0)] * (len(source.shape) - len(pad) // 2) + [(pad[at], pad[at + 1]) for at in range(len(pad) - 2, -1, -2)]
    strides = row_major(spec.shape)
    shape = tuple([size + min(before, 0) + min(behind, 0) for size, (before, behind) in zip(source.shape, pairs)])
    skipped = sum(max(-before, 0) * stride for (before, _), stride in zip(pairs, source.strides))
    inner = Reference(source.value, shape, source.strides, source.offset + skipped)
    number = 0 if value is None else int(value) if spec.dtype.kind in "iu" else value
    return movement([Move(inner, sum(max(before, 0) * step for (before, _), step in zip(pairs, strides)), strides)], number)


@routine.register("flip")
def flip(builder: TensorIRBuilder, args: tuple[Any, ...], spec: Any, node: Any) -> Any:
    source, dims = args
    axes = normalize_dims(tuple(dims), len(source.shape), empty_is_all=False)
    strides = tuple([-stride if at in axes else stride for at, stride in enumerate(source.strides)])
    last = sum(stride * (size - 1) for at, (size, stride) in enumerate(zip(source.shape, source.strides)) if at in axes)
    if not math.prod(source.shape):
        return NotImplemented
    return builder.copy(Reference(source.value, source.shape, strides, source.offset + last), node)


@routine.register("roll")
def roll(builder: TensorIRBuilder, args: tuple[Any, ...], spec: Any, node: Any) -> Any:
    source, shifts, dims = args
    shifts = [shifts] if isinstance(shifts, int) else list(shifts)
    dims = [dims] if isinstance(dims, int) else list(dims or ())
    if len(dims) != len(shifts) or not math.prod(source.shape):
        return NotImplemented
    total = [0] * len(source.shape)
    for shift, dim in zip(shifts, dims):
        total[dim] = (total[dim] + shift) % source.shape[dim]
    strides, moves = row_major(spec.shape), []
    # Along each dimension the first part goes behind the second.
    parts = [[(0, size - shift, shift), (size - shift, shift, 0)] if shift else [(0, size, 0)] for size, shift in zip(source.shape, total)]
    for chosen in product(*parts):
        offset = source.offset + sum(start * step for (start, _, _), step in zip(chosen, source.strides))
        part = Reference(source.value, tuple([size for _, size, _ in chosen]), source.strides, offset)
        moves.append(Move(part, sum(to * step for (_, _, to), step in zip(chosen, strides)), strides))
    return movement(moves)


@routine.register("repeat")
def repeat(builder: TensorIRBuilder, args: tuple[Any, ...], spec: Any, node: Any) -> Any:
    source, repeats = args
    repeats = list(repeats[0]) if len(repeats) == 1 and isinstance(repeats[0], (tuple, list)) else list(repeats)
    if not math.prod(spec.shape) or not all(type(each) is int for each in repeats):
        return NotImplemented
    given = source.broadcast((1,) * (len(repeats) - len(source.shape)) + source.shape)
    shape = tuple([each for pair in zip(repeats, given.shape) for each in pair])
    strides = tuple([each for stride in given.strides for each in (0, stride)])
    copied = builder.copy(Reference(source.value, shape, strides, source.offset), node)
    return Reference(copied.value, tuple(spec.shape), strides_of(tuple(spec.shape)))


@routine.register("slice_backward")
def slice_backward(builder: TensorIRBuilder, args: tuple[Any, ...], spec: Any, node: Any) -> Any:
    grad, shape, dim, start, end, step = args
    dim, strides = dim % len(shape), row_major(spec.shape)
    start = first_of(start, shape[dim]) if has_sizes((start, shape)) else slice(start, end, step).indices(shape[dim])[0]
    steps = tuple([stride * step if at == dim else stride for at, stride in enumerate(strides)])
    return movement([Move(grad, start * strides[dim], steps)], 0)


@routine.register("select_backward")
def select_backward(builder: TensorIRBuilder, args: tuple[Any, ...], spec: Any, node: Any) -> Any:
    grad, shape, dim, index = args
    if type(index) is not int:
        return NotImplemented
    dim, strides = dim % len(shape), row_major(spec.shape)
    rest = tuple([each for at, each in enumerate(strides) if at != dim])
    return movement([Move(grad, index % shape[dim] * strides[dim], rest)], 0)


def triangle(lower: bool) -> Callable[..., Any]:
    """tril or triu."""

    def describe(builder: TensorIRBuilder, args: tuple[Any, ...], spec: Any, node: Any) -> Any:
        source, diagonal = args
        if spec.dtype not in builder.target.dtypes or type(diagonal) is not int or not math.prod(spec.shape):
            return NotImplemented
        return Triangle(source, diagonal, lower)

    return describe


def running_sum(reverse: bool) -> Callable[..., Any]:
    """cumsum, or its gradient."""

    def describe(builder: TensorIRBuilder, args: tuple[Any, ...], spec: Any, node: Any) -> Any:
        source, dim = args[:2]
        known = builder.target.dtypes
        if (
            spec.dtype not in known
            or source.dtype not in known
            or spec.dtype.kind == "b"
            or not source.shape
            or not math.prod(source.shape)
        ):
            return NotImplemented
        wide = np.dtype(np.float64) if spec.dtype == np.float32 else spec.dtype
        return RunningSum(source, dim % len(source.shape), wide, reverse)

    return describe


routine.set(triangle(True), "tril")
routine.set(triangle(False), "triu")
routine.set(running_sum(False), "cumsum")
routine.set(running_sum(True), "cumsum_reversed")


# -- by index ----------------------------------------------------------------------------------------------------


def takes(builder: TensorIRBuilder, *references: Reference) -> bool:
    """Whether the target has the dtypes, and there is something to do."""
    return all(each.dtype in builder.target.dtypes and 0 not in each.shape for each in references)


def row_gather(builder: TensorIRBuilder, source: Reference, dim: int, index: Reference, spec: Any, wraps: bool = False) -> Any:
    fits = index.dtype in INDEX_DTYPES and takes(builder, source, index) and math.prod(spec.shape)
    return RowGather(source, dim, index, wraps) if fits else NotImplemented


def row_scatter_add(
    builder: TensorIRBuilder,
    base: Reference | None,
    grad: Reference,
    dim: int,
    index: Reference,
    spec: Any,
    wraps: bool = False,
    skip: int = -1,
) -> Any:
    fits = index.dtype in INDEX_DTYPES and takes(builder, grad, index) and math.prod(spec.shape)
    return (
        RowScatterAdd(base, grad, dim, index, wraps, skip)
        if fits and spec.dtype.kind != "b" and grad.dtype == spec.dtype
        else NotImplemented
    )


def element_scatter_add(builder: TensorIRBuilder, base: Reference | None, dim: int, index: Reference, source: Reference, spec: Any) -> Any:
    fits = index.dtype in INDEX_DTYPES and takes(builder, index, source) and spec.shape and index.shape and source.dtype == spec.dtype
    if not fits or spec.dtype.kind == "b" or not math.prod(spec.shape):
        return NotImplemented
    return ElementScatterAdd(base, dim % len(spec.shape), index, source)


def single_index(indices: Any) -> tuple[int, Reference] | None:
    """The dimension and the index, where one dimension alone is indexed, by integers."""
    found = [(at, each) for at, each in enumerate(indices) if each is not None]
    return found[0] if len(found) == 1 and found[0][1].dtype in INDEX_DTYPES else None


@routine.register("embedding")
def embedding(builder: TensorIRBuilder, args: tuple[Any, ...], spec: Any, node: Any) -> Any:
    return row_gather(builder, args[0], 0, args[1], spec)


@routine.register("embedding_backward")
def embedding_backward(builder: TensorIRBuilder, args: tuple[Any, ...], spec: Any, node: Any) -> Any:
    grad, index, _, padding, by_frequency = args
    return NotImplemented if by_frequency else row_scatter_add(builder, None, grad, 0, index, spec, skip=padding)


@routine.register("index_select")
def index_select(builder: TensorIRBuilder, args: tuple[Any, ...], spec: Any, node: Any) -> Any:
    source, dim, index = args
    fits = source.shape and len(index.shape) == 1
    return row_gather(builder, source, dim % len(source.shape), index, spec) if fits else NotImplemented


@routine.register("index_select_backward")
def index_select_backward(builder: TensorIRBuilder, args: tuple[Any, ...], spec: Any, node: Any) -> Any:
    grad, shape, dim, index = args
    fits = len(shape) and len(index.shape) == 1
    return row_scatter_add(builder, None, grad, dim % len(shape), index, spec) if fits else NotImplemented


@routine.register("index_add")
def index_add(builder: TensorIRBuilder, args: tuple[Any, ...], spec: Any, node: Any) -> Any:
    base, dim, index, source, alpha = args
    fits = alpha == 1 and base.shape and len(index.shape) == 1 and base.dtype == spec.dtype
    return row_scatter_add(builder, base, source, dim % len(base.shape), index, spec) if fits else NotImplemented


@routine.register("index_copy")
def index_copy(builder: TensorIRBuilder, args: tuple[Any, ...], spec: Any, node: Any) -> Any:
    base, dim, index, source = args
    fits = base.shape and len(index.shape) == 1 and len(source.shape) == len(base.shape) and base.dtype == source.dtype == spec.dtype
    if not fits or index.dtype not in INDEX_DTYPES or not takes(builder, base, source, index):
        return NotImplemented
    return RowScatter(base, source, dim % len(base.shape), index)


def several_indices(indices: Any, shape: Sequence[Any]) -> tuple[tuple[int, ...], tuple[Reference, ...], int] | None:
    """The dimensions and the indices of one shape, where several dimensions are indexed by integers; and where that shape begins in the result's."""
    dims = tuple([at for at, each in enumerate(indices) if each is not None])
    given = [indices[at] for at in dims]
    if len(dims) < 2 or any(each.dtype not in INDEX_DTYPES for each in given):
        return None
    beside = dims[-1] - dims[0] == len(dims) - 1
    at, count = dims[0] if beside else 0, max(len(each.shape) for each in given)
    common = tuple(shape[at : at + count])
    return dims, tuple([each.broadcast(common) for each in given]), at


@routine.register("index")
def index(builder: TensorIRBuilder, args: tuple[Any, ...], spec: Any, node: Any) -> Any:
    found = single_index(args[1])
    if found is not None:
        return row_gather(builder, args[0], *found, spec, wraps=True)
    several = several_indices(args[1], spec.shape)
    if several is None or not takes(builder, args[0], *several[1]) or not math.prod(spec.shape):
        return NotImplemented
    return PointGather(args[0], *several)


@routine.register("index_backward")
def index_backward(builder: TensorIRBuilder, args: tuple[Any, ...], spec: Any, node: Any) -> Any:
    found = single_index(args[2])
    if found is not None:
        return row_scatter_add(builder, None, args[0], *found, spec, wraps=True)
    grad = args[0]
    several = several_indices(args[2], grad.shape)
    fits = several is not None and takes(builder, grad, *several[1]) and math.prod(spec.shape)
    return (
        PointScatterAdd(grad, *several)
        if several is not None and fits and spec.dtype.kind != "b" and grad.dtype == spec.dtype
        else NotImplemented
    )


@routine.register("gather")
def gather(builder: TensorIRBuilder, args: tuple[Any, ...], spec: Any, node: Any) -> Any:
    source, dim, index = args[:3]
    if index.dtype not in INDEX_DTYPES or not takes(builder, source, index) or not source.shape or not index.shape:
        return NotImplemented
    return ElementGather(source, dim % len(source.shape), index)


@routine.register("gather_backward")
def gather_backward(builder: TensorIRBuilder, args: tuple[Any, ...], spec: Any, node: Any) -> Any:
    grad, _, dim, index = args
    return element_scatter_add(builder, None, dim, index, grad, spec)


@routine.register("scatter_add")
def scatter_add(builder: TensorIRBuilder, args: tuple[Any, ...], spec: Any, node: Any) -> Any:
    base, dim, index, source = args
    return element_scatter_add(builder, base, dim, index, source, spec) if base.dtype == spec.dtype else NotImplemented

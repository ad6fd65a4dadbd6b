"""Moving elements: joining, padding, turning and repeating tensors, rows by index, and the sums that are gradients of that.

Sums are split where no two parts write to the same place, so there are no races and the order of additions is always the same.  An index
that is out of range sets the program's status: nothing is read there, and the call is made in eager mode, which says what is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from ...core.base import Spec
from ...core.families import normalize_dims
from ...schedule.scalar_ir import NotExpressible
from ...schedule.tensor_ir import ROUTINES, STATUS, Builder, Reference, Routine, Value, strides_of
from ...schedule.view_strides import first_of, has_sizes
from .ir import FIRST, LAST, TYPES, Code, Module, Scalar, pointers
from .piece import Lowering, Piece
from .scalar_code import convert

COLUMNS = 16  # of a sum over rows that one piece takes
INDICES = (np.dtype(np.int64), np.dtype(np.int32))


class Move(NamedTuple):
    """Elements of a source that go to a part of the target."""

    source: Reference
    offset: int
    strides: tuple[int, ...]


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides in row-major order."""
    return tuple([math.prod(shape[at + 1 :]) for at in range(len(shape))])


class Loops:
    """Nested loops, and where elements are for their indices."""

    def __init__(self, c: Code, nest: ExitStack, sizes: Sequence[int], split: int | None = None) -> None:
        self.c = c
        self.indices: list[Scalar] = [c.integer(0)] * len(sizes)
        order = [] if split is None else [split]
        for at in order + [each for each in range(len(sizes)) if each != split]:
            bounds = (FIRST, LAST) if at == split else (c.integer(0), c.integer(sizes[at]))
            self.indices[at] = nest.enter_context(c.loop(*bounds))

    def place(self, strides: Sequence[int], offset: int = 0, indices: Sequence[Scalar] | None = None) -> Scalar:
        c, result = self.c, self.c.integer(offset)
        for index, stride in zip(self.indices if indices is None else indices, strides):
            result = c.add(result, c.scale(index, stride))
        return result


def finish(module: Module, c: Code, name: str, buffers: list[Value], extent: int, elements: float) -> Piece:
    """A piece from code on buffers named ``%b0``, ``%b1``, …; the first is the result, which no other overlaps."""
    parameters = pointers(["%status" if each is STATUS else f"%b{at}" for at, each in enumerate(buffers)])
    parameters[0] = parameters[0]._replace(noalias=True)
    function = module.add(name, c.function("", parameters))
    return Piece(function, buffers, extent, elements * 0.4)


def finish_checked(module: Module, c: Code, name: str, buffers: list[Value], extent: int, elements: float) -> Piece:
    """As :func:`finish`, for code that may set the status."""
    return finish(module, c, name, [*buffers, STATUS], extent, elements)


def converted(c: Code, value: Scalar, source: np.dtype[Any], target: np.dtype[Any]) -> Scalar:
    return value if source == target else convert(c, value, source, target)


# -- copies ------------------------------------------------------------------------------------------------------


def moved(builder: Builder, moves: list[Move], spec: Spec, node: Any, fill: Any = None) -> Reference:
    """A tensor put together from parts; ``fill`` is what is in the places that none of them covers."""
    if spec.dtype not in TYPES or any(each.source.dtype not in TYPES for each in moves):
        raise NotExpressible(f"native code has no {spec.dtype}")
    if not math.prod(spec.shape):
        raise NotExpressible("it has no elements")
    moves = [each for each in moves if 0 not in each.source.shape]

    def write(program: Lowering, module: Module, routine: Routine) -> list[Piece]:
        pieces = []
        if fill is not None:
            c = Code(module)
            with c.loop(FIRST, LAST) as at:
                c.store(c.constant(TYPES[spec.dtype], fill), "%b0", at)
            pieces.append(finish(module, c, "fill", [routine], routine.size, routine.size))
        for source, offset, strides in moves:
            c = Code(module)
            split = 0 if source.shape and source.shape[0] > 1 else None
            with ExitStack() as nest:
                loops = Loops(c, nest, source.shape, split)
                found = c.load("%b1", loops.place(source.strides, source.offset), TYPES[source.dtype])
                c.store(converted(c, found, source.dtype, spec.dtype), "%b0", loops.place(strides, offset))
            extent = source.shape[0] if split is not None else 1
            pieces.append(finish(module, c, "move", [routine, source.value], extent, math.prod(source.shape)))
        return pieces

    made: list[Reference] = builder.routine([each.source for each in moves], [spec], node, write)
    return made[0]


def cat(builder: Builder, args: tuple[Any, ...], spec: Any, node: Any) -> Any:
    tensors, dim = args
    tensors = [each for each in tensors if each.shape != (0,)]  # an empty vector counts for nothing
    dim, strides, moves, start = dim % len(spec.shape), row_major(spec.shape), [], 0
    for each in tensors:
        moves.append(Move(each, start * strides[dim], strides))
        start += each.shape[dim]
    return moved(builder, moves, spec, node)


def stack(builder: Builder, args: tuple[Any, ...], spec: Any, node: Any) -> Any:
    tensors, dim = args
    dim, strides = dim % len(spec.shape), row_major(spec.shape)
    rest = tuple([each for at, each in enumerate(strides) if at != dim])
    return moved(builder, [Move(each, at * strides[dim], rest) for at, each in enumerate(tensors)], spec, node)


def constant_pad(builder: Builder, args: tuple[Any, ...], spec: Any, node: Any) -> Any:
    source, pad, value = args
    if not isinstance(value, (int, float, type(None))):
        return NotImplemented
    pairs = [(0, 0)] * (len(source.shape) - len(pad) // 2) + [(pad[at], pad[at + 1]) for at in range(len(pad) - 2, -1, -2)]
    strides = row_major(spec.shape)
    shape = tuple([size + min(before, 0) + min(behind, 0) for size, (before, behind) in zip(source.shape, pairs)])
    skipped = sum(max(-before, 0) * stride for (before, _), stride in zip(pairs, source.strides))
    inner = Reference(source.value, shape, source.strides, source.offset + skipped)
    number = 0 if value is None else int(value) if spec.dtype.kind in "iu" else value
    return moved(
        builder, [Move(inner, sum(max(before, 0) * step for (before, _), step in zip(pairs, strides)), strides)], spec, node, number
    )


def flip(builder: Builder, args: tuple[Any, ...], spec: Any, node: Any) -> Any:
    source, dims = args
    axes = normalize_dims(tuple(dims), len(source.shape), empty_is_all=False)
    strides = tuple([-stride if at in axes else stride for at, stride in enumerate(source.strides)])
    last = sum(stride * (size - 1) for at, (size, stride) in enumerate(zip(source.shape, source.strides)) if at in axes)
    if not math.prod(source.shape):
        return NotImplemented
    return builder.copy(Reference(source.value, source.shape, strides, source.offset + last), node)


def roll(builder: Builder, args: tuple[Any, ...], spec: Any, node: Any) -> Any:
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
    return moved(builder, moves, spec, node)


def repeat(builder: Builder, args: tuple[Any, ...], spec: Any, node: Any) -> Any:
    source, repeats = args
    repeats = list(repeats[0]) if len(repeats) == 1 and isinstance(repeats[0], (tuple, list)) else list(repeats)
    if not math.prod(spec.shape) or not all(type(each) is int for each in repeats):
        return NotImplemented
    given = source.broadcast((1,) * (len(repeats) - len(source.shape)) + source.shape)
    shape = tuple([each for pair in zip(repeats, given.shape) for each in pair])
    strides = tuple([each for stride in given.strides for each in (0, stride)])
    copied = builder.copy(Reference(source.value, shape, strides, source.offset), node)
    return Reference(copied.value, tuple(spec.shape), strides_of(tuple(spec.shape)))


def slice_backward(builder: Builder, args: tuple[Any, ...], spec: Any, node: Any) -> Any:
    grad, shape, dim, start, end, step = args
    dim, strides = dim % len(shape), row_major(spec.shape)
    start = first_of(start, shape[dim]) if has_sizes((start, shape)) else slice(start, end, step).indices(shape[dim])[0]
    steps = tuple([stride * step if at == dim else stride for at, stride in enumerate(strides)])
    return moved(builder, [Move(grad, start * strides[dim], steps)], spec, node, 0)


def select_backward(builder: Builder, args: tuple[Any, ...], spec: Any, node: Any) -> Any:
    grad, shape, dim, index = args
    if type(index) is not int:
        return NotImplemented
    dim, strides = dim % len(shape), row_major(spec.shape)
    rest = tuple([each for at, each in enumerate(strides) if at != dim])
    return moved(builder, [Move(grad, index % shape[dim] * strides[dim], rest)], spec, node, 0)


def triangle(below: bool) -> Any:
    """tril and triu: zeros on one side of a diagonal."""

    def make(builder: Builder, args: tuple[Any, ...], spec: Any, node: Any) -> Any:
        source, diagonal = args
        if spec.dtype not in TYPES or type(diagonal) is not int or not math.prod(spec.shape):
            return NotImplemented

        def write(program: Lowering, module: Module, routine: Routine) -> list[Piece]:
            c = Code(module)
            with ExitStack() as nest:
                loops = Loops(c, nest, source.shape, 0)
                row, column = loops.indices[-2:]
                kept = c.compare("sle" if below else "sge", column, c.add(row, diagonal))
                found = c.load("%b1", loops.place(source.strides, source.offset), TYPES[source.dtype])
                c.store(c.select(kept, found, c.like(found, 0)), "%b0", loops.place(routine.strides))
            return [finish(module, c, "triangle", [routine, source.value], source.shape[0], routine.size)]

        return builder.routine([source], [spec], node, write)[0]

    return make


def cumsum(builder: Builder, args: tuple[Any, ...], spec: Any, node: Any, backwards: bool = False) -> Any:
    source, dim = args[:2]
    if spec.dtype not in TYPES or source.dtype not in TYPES or spec.dtype.kind == "b" or not source.shape or not math.prod(source.shape):
        return NotImplemented
    axis = dim % len(source.shape)
    wide = np.dtype(np.float64) if spec.dtype == np.float32 else spec.dtype  # that sums are added up in
    type = TYPES[wide]

    def write(program: Lowering, module: Module, routine: Routine) -> list[Piece]:
        c, shape = Code(module), source.shape
        strides = row_major(shape)
        sums = c.slot(type)
        others = [at for at in range(len(shape)) if at != axis]
        with ExitStack() as nest:
            loops = Loops(c, nest, [shape[at] for at in others], 0 if others else None)
            c.write(c.constant(type, 0), sums)
            with c.loop(shape[axis]) as index:
                indices = list(loops.indices)
                indices.insert(axis, c.sub(shape[axis] - 1, index) if backwards else index)
                found = c.load("%b1", loops.place(source.strides, source.offset, indices), TYPES[source.dtype])
                found = converted(c, found, source.dtype, wide)
                total = c.binary("fadd" if spec.dtype.kind == "f" else "add", c.read(sums, type), found)
                c.write(total, sums)
                c.store(converted(c, total, wide, spec.dtype), "%b0", loops.place(strides, 0, indices))
        return [finish(module, c, "cumsum", [routine, source.value], shape[others[0]] if others else 1, routine.size * 2.5)]

    return builder.routine([source], [spec], node, write)[0]


# -- by index ----------------------------------------------------------------------------------------------------


def checked(c: Code, index: Scalar, size: int, wraps: bool) -> Scalar:
    """An index that is in range; where it is not, the status says so."""
    if index.type != "i64":
        index = c.convert("sext", index, "i64")
    if wraps:
        index = c.select(c.compare("slt", index, c.integer(0)), c.add(index, size), index)
    good = c.compare("ult", index, c.integer(size))
    with c.when(c.invert(good)):
        c.effect("store atomic", "i64", (c.integer(1), Scalar("%status", "ptr")), " monotonic, align 8")
    return c.select(good, index, c.integer(0))


def takes(*references: Reference) -> bool:
    """Whether native code has the types, and there is something to do."""
    return all(each.dtype in TYPES and 0 not in each.shape for each in references)


def rows(builder: Builder, source: Reference, dim: int, index: Reference, spec: Any, node: Any, wraps: bool = False) -> Any:
    """Slices of a tensor along a dimension, by index."""
    if index.dtype not in INDICES or not takes(source, index) or not math.prod(spec.shape):
        return NotImplemented
    before, behind = source.shape[:dim], source.shape[dim + 1 :]

    def write(program: Lowering, module: Module, routine: Routine) -> list[Piece]:
        c = Code(module)
        strides = row_major(spec.shape)
        outer = (*before, *index.shape)
        with ExitStack() as nest:
            loops = Loops(c, nest, outer, 0 if outer else None)
            mine = loops.indices[dim:]
            row = checked(c, c.load("%b2", loops.place(index.strides, index.offset, mine), TYPES[index.dtype]), source.shape[dim], wraps)
            from_ = c.add(loops.place(source.strides, source.offset, [*loops.indices[:dim], row]), 0)
            to = loops.place(strides)
            inner = Loops(c, nest, behind)
            value = c.load("%b1", c.add(from_, inner.place(source.strides[dim + 1 :])), TYPES[source.dtype])
            c.store(value, "%b0", c.add(to, inner.place(strides[len(outer) :])))
        return [finish_checked(module, c, "rows", [routine, source.value, index.value], outer[0] if outer else 1, routine.size)]

    return builder.routine([source, index], [spec], node, write)[0]


def add_rows(
    builder: Builder,
    base: Reference | None,
    grad: Reference,
    dim: int,
    index: Reference,
    spec: Any,
    node: Any,
    wraps: bool = False,
    skip: int = -1,
) -> Any:
    """Slices added to those that an index names, of zeros or of a copy of another tensor; those of index ``skip`` are left out."""
    if (
        index.dtype not in INDICES
        or not takes(grad, index)
        or not math.prod(spec.shape)
        or spec.dtype.kind == "b"
        or grad.dtype != spec.dtype
    ):
        return NotImplemented
    shape = tuple(spec.shape)
    before, behind = shape[:dim], shape[dim + 1 :]
    apart = math.prod(before) > 1  # whether parts are independent along an outer dimension
    split = next((at for at, size in enumerate(before) if size > 1), None)

    def write(program: Lowering, module: Module, routine: Routine) -> list[Piece]:
        c, type, strides = Code(module), TYPES[spec.dtype], row_major(shape)
        width = behind[-1] if behind else 1
        extent = before[split] if split is not None else -(-width // COLUMNS)
        columns = (c.integer(0), c.integer(width))
        if not apart:
            columns = (
                c.scale(Scalar("%first", "i64"), COLUMNS),
                c.min(c.scale(Scalar("%last", "i64"), COLUMNS), width),
            )
        with ExitStack() as nest:
            loops = Loops(c, nest, (*before, shape[dim], *behind[:-1]), split)
            start = loops.place(strides)
            other = None if base is None else loops.place(base.strides, base.offset)
            column = nest.enter_context(c.loop(*columns))
            first = c.constant(type, 0)
            if base is not None and other is not None:
                first = c.load("%b3", c.add(other, c.scale(column, base.strides[-1] if behind else 0)), type)
            c.store(first, "%b0", c.add(start, column) if behind else start)
        with ExitStack() as nest:
            loops = Loops(c, nest, (*before, *index.shape), split)
            place = loops.place(index.strides, index.offset, loops.indices[dim:])
            found = c.load("%b2", place, TYPES[index.dtype])
            row = checked(c, found, shape[dim], wraps)
            wanted = None if skip < 0 else c.compare("ne", row, c.integer(skip))
            to = loops.place(strides, 0, [*loops.indices[:dim], row])
            from_ = loops.place(grad.strides, grad.offset)
            inner = Loops(c, nest, behind[:-1])
            rest = grad.strides[dim + len(index.shape) :]
            to, from_ = c.add(to, inner.place(strides[dim + 1 :])), c.add(from_, inner.place(rest))
            column = nest.enter_context(c.loop(*columns))
            to = c.add(to, column) if behind else to
            value = c.load("%b1", c.add(from_, c.scale(column, rest[-1] if behind else 0)), type)
            if wanted is not None:
                value = c.select(wanted, value, c.constant(type, 0))
            c.store(c.binary("fadd" if spec.dtype.kind == "f" else "add", c.load("%b0", to, type), value), "%b0", to)
        buffers = [routine, grad.value, index.value] + ([] if base is None else [base.value])
        return [finish_checked(module, c, "add_rows", buffers, extent, routine.size + math.prod(grad.shape))]

    return builder.routine([grad, index] + ([] if base is None else [base]), [spec], node, write)[0]


def elements(builder: Builder, source: Reference, dim: int, index: Reference, spec: Any, node: Any) -> Any:
    """Single elements along a dimension, by index."""
    if index.dtype not in INDICES or not takes(source, index) or not source.shape or not index.shape:
        return NotImplemented
    dim %= len(source.shape)

    def write(program: Lowering, module: Module, routine: Routine) -> list[Piece]:
        c = Code(module)
        with ExitStack() as nest:
            loops = Loops(c, nest, index.shape, 0)
            row = checked(c, c.load("%b2", loops.place(index.strides, index.offset), TYPES[index.dtype]), source.shape[dim], False)
            indices = [row if at == dim else each for at, each in enumerate(loops.indices)]
            value = c.load("%b1", loops.place(source.strides, source.offset, indices), TYPES[source.dtype])
            c.store(value, "%b0", loops.place(row_major(spec.shape)))
        return [finish_checked(module, c, "gather", [routine, source.value, index.value], index.shape[0], routine.size)]

    return builder.routine([source, index], [spec], node, write)[0]


def add_elements(builder: Builder, base: Reference | None, dim: int, index: Reference, source: Reference, spec: Any, node: Any) -> Any:
    """Elements added to those that an index names, of zeros or of a copy of another tensor."""
    shape = tuple(spec.shape)
    bad = index.dtype not in INDICES or not takes(index, source) or not shape or not index.shape or source.dtype != spec.dtype
    if bad or spec.dtype.kind == "b" or not math.prod(shape):
        return NotImplemented
    dim %= len(shape)

    def write(program: Lowering, module: Module, routine: Routine) -> list[Piece]:
        type, strides = TYPES[spec.dtype], row_major(shape)
        c = Code(module)
        with ExitStack() as nest:
            loops = Loops(c, nest, shape, 0)
            first = c.constant(type, 0) if base is None else c.load("%b1", loops.place(base.strides, base.offset), type)
            c.store(first, "%b0", loops.place(strides))
        begin = finish(module, c, "begin", [routine] + ([] if base is None else [base.value]), shape[0], routine.size)
        c = Code(module)
        split = next((at for at in range(len(shape)) if at != dim), None)
        with ExitStack() as nest:
            loops = Loops(c, nest, index.shape, split)
            row = checked(c, c.load("%b2", loops.place(index.strides, index.offset), TYPES[index.dtype]), shape[dim], False)
            to = loops.place(strides, 0, [row if at == dim else each for at, each in enumerate(loops.indices)])
            value = c.load("%b1", loops.place(source.strides, source.offset), type)
            c.store(c.binary("fadd" if spec.dtype.kind == "f" else "add", c.load("%b0", to, type), value), "%b0", to)
        extent = 1 if split is None else index.shape[split]
        return [begin, finish_checked(module, c, "scatter", [routine, source.value, index.value], extent, math.prod(index.shape))]

    return builder.routine([index, source] + ([] if base is None else [base]), [spec], node, write)[0]


def one_index(indices: Any) -> tuple[int, Reference] | None:
    """The dimension and the index, where one dimension alone is indexed, by integers."""
    found = [(at, each) for at, each in enumerate(indices) if each is not None]
    return found[0] if len(found) == 1 and found[0][1].dtype in INDICES else None


def _embedding(builder: Builder, args: tuple[Any, ...], spec: Any, node: Any) -> Any:
    return rows(builder, args[0], 0, args[1], spec, node)


def _embedding_backward(builder: Builder, args: tuple[Any, ...], spec: Any, node: Any) -> Any:
    grad, index, _, padding, by_frequency = args
    return NotImplemented if by_frequency else add_rows(builder, None, grad, 0, index, spec, node, skip=padding)


def _index_select(builder: Builder, args: tuple[Any, ...], spec: Any, node: Any) -> Any:
    source, dim, index = args
    fits = source.shape and len(index.shape) == 1
    return rows(builder, source, dim % len(source.shape), index, spec, node) if fits else NotImplemented


def _index_select_backward(builder: Builder, args: tuple[Any, ...], spec: Any, node: Any) -> Any:
    grad, shape, dim, index = args
    fits = len(shape) and len(index.shape) == 1
    return add_rows(builder, None, grad, dim % len(shape), index, spec, node) if fits else NotImplemented


def _index_add(builder: Builder, args: tuple[Any, ...], spec: Any, node: Any) -> Any:
    base, dim, index, source, alpha = args
    fits = alpha == 1 and base.shape and len(index.shape) == 1 and base.dtype == spec.dtype
    return add_rows(builder, base, source, dim % len(base.shape), index, spec, node) if fits else NotImplemented


def _index(builder: Builder, args: tuple[Any, ...], spec: Any, node: Any) -> Any:
    found = one_index(args[1])
    return NotImplemented if found is None else rows(builder, args[0], *found, spec, node, wraps=True)


def _index_backward(builder: Builder, args: tuple[Any, ...], spec: Any, node: Any) -> Any:
    found = one_index(args[2])
    return NotImplemented if found is None else add_rows(builder, None, args[0], *found, spec, node, wraps=True)


def _gather(builder: Builder, args: tuple[Any, ...], spec: Any, node: Any) -> Any:
    return elements(builder, args[0], args[1], args[2], spec, node)


def _gather_backward(builder: Builder, args: tuple[Any, ...], spec: Any, node: Any) -> Any:
    grad, _, dim, index = args
    return add_elements(builder, None, dim, index, grad, spec, node)


def _scatter_add(builder: Builder, args: tuple[Any, ...], spec: Any, node: Any) -> Any:
    base, dim, index, source = args
    return add_elements(builder, base, dim, index, source, spec, node) if base.dtype == spec.dtype else NotImplemented


ROUTINES.update({
    "cat": cat, "stack": stack, "constant_pad_nd": constant_pad, "flip": flip, "roll": roll, "repeat": repeat, "slice_backward": slice_backward,
    "select_backward": select_backward, "tril": triangle(True), "triu": triangle(False), "cumsum": cumsum, "cumsum_reversed": partial(cumsum, backwards=True), "embedding": _embedding,
    "embedding_backward": _embedding_backward, "index_select": _index_select, "index_select_backward": _index_select_backward,
    "index_add": _index_add, "index": _index, "index_backward": _index_backward, "gather": _gather, "gather_backward": _gather_backward,
    "scatter_add": _scatter_add,
})  # fmt: skip

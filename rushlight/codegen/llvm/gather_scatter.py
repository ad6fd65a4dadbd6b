"""Data movement as LLVM IR: copies, triangles, running sums, gather and scatter.

Sums are split where no two parts write to the same element, so there are no races and the order of additions is always the same.  An index that is out of
range sets the program's status: nothing is read there, and the call is made in eager mode, which raises the error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np

from ...schedule.lowering import lowering
from ...schedule.routines.movement import (
    ElementGather,
    ElementScatterAdd,
    Movement,
    PointGather,
    PointScatterAdd,
    RowGather,
    RowScatter,
    RowScatterAdd,
    RunningSum,
    Triangle,
    row_major,
)
from ...schedule.scalar_ir import NotExpressible
from ...schedule.symbolic_shape import SymbolicNumber
from ...schedule.tensor_ir import STATUS, Reference, Routine, TensorIRBuilder, Value
from .ir import FIRST, LAST, TYPES, IRBuilder, Module, Scalar, pointers
from .native_call import Lowering, NativeCall
from .scalar_code import convert

MANY = 32  # units of work, enough for several threads
COLUMNS = 16  # rows of a sum per unit of work
llvm = lowering("llvm")


class Loops:
    """A loop nest, and the addresses of elements at its indices.  The dimension ``split`` is the outermost loop, over the function's range of work."""

    def __init__(self, c: IRBuilder, nest: ExitStack, sizes: Sequence[Any], split: int | None = None) -> None:
        self.c = c
        self.indices: list[Scalar] = [c.integer(0)] * len(sizes)
        order = [] if split is None else [split]
        for at in order + [each for each in range(len(sizes)) if each != split]:
            self.indices[at] = nest.enter_context(c.loop(FIRST, LAST) if at == split else c.loop(sizes[at]))

    def offset_of(self, strides: Sequence[Any], offset: Any = 0, indices: Sequence[Scalar] | None = None) -> Scalar:
        """The offset of an element, for strides."""
        c, result = self.c, self.c.integer(offset)
        for index, stride in zip(self.indices if indices is None else indices, strides):
            result = c.add(result, c.scale(index, stride))
        return result

    def load(self, buffer: str, reference: Reference, indices: Sequence[Scalar] | None = None) -> Scalar:
        """An element of a reference."""
        return self.c.load(buffer, self.offset_of(reference.strides, reference.offset, indices), TYPES[reference.dtype])


def finish(module: Module, c: IRBuilder, name: str, buffers: list[Value], extent: Any, elements: Any) -> NativeCall:
    """A native call of code on buffers named ``%b0``, ``%b1``, …; the first is the result, which no other overlaps."""
    parameters = pointers(["%status" if each is STATUS else f"%b{at}" for at, each in enumerate(buffers)])
    parameters[0] = parameters[0]._replace(noalias=True)
    return NativeCall(module.add(name, c.function("", parameters)), buffers, extent, elements * 0.4)


def converted(c: IRBuilder, value: Scalar, source: np.dtype[Any], target: np.dtype[Any]) -> Scalar:
    return value if source == target else convert(c, value, source, target)


def accumulate(c: IRBuilder, value: Scalar, pointer: str, at: Scalar, dtype: np.dtype[Any]) -> None:
    """Add to an element in memory."""
    c.store(c.binary("fadd" if dtype.kind == "f" else "add", c.load(pointer, at, value.type), value), pointer, at)


def first_split(sizes: Sequence[Any], skip: int = -1) -> int | None:
    """The outermost dimension that work can be split along."""
    return next((at for at in range(len(sizes)) if at != skip), None)


def widest_split(sizes: Sequence[Any]) -> int | None:
    """The outermost dimension with enough work for many threads, or the largest one; the last one is vectorized."""
    if any(isinstance(each, SymbolicNumber) for each in sizes):
        return 0 if sizes[0] > 1 else None
    outer = list(sizes[:-1]) or list(sizes)
    best = next((at for at, size in enumerate(outer) if size >= MANY), outer.index(max(outer)) if outer else 0)
    return best if outer and outer[best] > 1 else None


# -- copies ------------------------------------------------------------------------------------------------------


@llvm.register("cat", "stack", "constant_pad_nd", "roll", "slice_backward", "select_backward")
def movement(builder: TensorIRBuilder, op: Movement, spec: Any, node: Any) -> Any:
    if spec.dtype not in TYPES or any(each.source.dtype not in TYPES for each in op.moves):
        raise NotExpressible(f"native code has no {spec.dtype}")
    if not math.prod(spec.shape):
        raise NotExpressible("it has no elements")

    def write(program: Lowering, module: Module, routine: Routine) -> list[NativeCall]:
        native_calls = []
        if op.fill is not None:
            c = IRBuilder(module)
            with c.loop(FIRST, LAST) as at:
                c.store(c.constant(TYPES[spec.dtype], op.fill), "%b0", at)
            native_calls.append(finish(module, c, "fill", [routine], routine.size, routine.size))
        for source, offset, strides in op.moves:
            c = IRBuilder(module)
            split = widest_split(source.shape)
            with ExitStack() as nest:
                loops = Loops(c, nest, source.shape, split)
                c.store(converted(c, loops.load("%b1", source), source.dtype, spec.dtype), "%b0", loops.offset_of(strides, offset))
            extent = source.shape[split] if split is not None else 1
            native_calls.append(finish(module, c, "move", [routine, source.value], extent, math.prod(source.shape)))
        return native_calls

    return builder.routine([each.source for each in op.moves], [spec], node, write)[0]


@llvm.register("tril", "triu")
def triangle(builder: TensorIRBuilder, op: Triangle, spec: Any, node: Any) -> Any:
    source = op.source

    def write(program: Lowering, module: Module, routine: Routine) -> list[NativeCall]:
        c = IRBuilder(module)
        with ExitStack() as nest:
            loops = Loops(c, nest, source.shape, 0)
            row, column = loops.indices[-2:]
            kept = c.compare("sle" if op.lower else "sge", column, c.add(row, op.diagonal))
            found = loops.load("%b1", source)
            c.store(c.select(kept, found, c.like(found, 0)), "%b0", loops.offset_of(routine.strides))
        return [finish(module, c, "triangle", [routine, source.value], source.shape[0], routine.size)]

    return builder.routine([source], [spec], node, write)[0]


@llvm.register("cumsum", "cumsum_reversed")
def running_sum(builder: TensorIRBuilder, op: RunningSum, spec: Any, node: Any) -> Any:
    source, axis, shape, type = op.source, op.axis, op.source.shape, TYPES[op.accumulate]

    def write(program: Lowering, module: Module, routine: Routine) -> list[NativeCall]:
        c, strides = IRBuilder(module), row_major(shape)
        sums = c.slot(type)
        others = [at for at in range(len(shape)) if at != axis]
        with ExitStack() as nest:
            loops = Loops(c, nest, [shape[at] for at in others], 0 if others else None)
            c.write(c.constant(type, 0), sums)
            with c.loop(shape[axis]) as index:
                indices = list(loops.indices)
                indices.insert(axis, c.sub(shape[axis] - 1, index) if op.reverse else index)
                found = converted(c, loops.load("%b1", source, indices), source.dtype, op.accumulate)
                total = c.binary("fadd" if spec.dtype.kind == "f" else "add", c.read(sums, type), found)
                c.write(total, sums)
                c.store(converted(c, total, op.accumulate, spec.dtype), "%b0", loops.offset_of(strides, 0, indices))
        return [finish(module, c, "cumsum", [routine, source.value], shape[others[0]] if others else 1, routine.size * 2.5)]

    return builder.routine([source], [spec], node, write)[0]


# -- by index ----------------------------------------------------------------------------------------------------


def checked(c: IRBuilder, index: Scalar, size: Any, wraps: bool) -> Scalar:
    """An index that is in range; where it is not, the status is set and the index is 0."""
    if index.type != "i64":
        index = c.convert("sext", index, "i64")
    if wraps:
        index = c.select(c.less(index, 0), c.add(index, size), index)
    good = c.in_range(index, size)
    with c.when(c.invert(good)):
        c.effect("store atomic", "i64", (c.integer(1), Scalar("%status", "ptr")), " monotonic, align 8")
    return c.select(good, index, c.integer(0))


def offsets(op: PointGather | PointScatterAdd, rank: int) -> tuple[list[int], list[int]]:
    """The unindexed dimensions: those before the indexed ones in the result, and those after."""
    kept = [dim for dim in range(rank) if dim not in op.dims]
    return kept[: op.at], kept[op.at :]


def named(c: IRBuilder, loops: Loops, op: PointGather | PointScatterAdd, sizes: Sequence[Any], strides: Sequence[Any]) -> Scalar:
    """The offset of the indexed element, in a tensor of these sizes; the index buffers follow ``%b1``."""
    result = c.integer(0)
    for number, (dim, index) in enumerate(zip(op.dims, op.indices)):
        found = checked(c, loops.load(f"%b{number + 2}", index, loops.indices[op.at :]), sizes[dim], True)
        result = c.add(result, c.scale(found, strides[dim]))
    return result


def point_gather(builder: TensorIRBuilder, op: PointGather, spec: Any, node: Any) -> Any:
    source = op.source
    before, behind = offsets(op, len(source.shape))
    outer = (*[source.shape[dim] for dim in before], *op.indices[0].shape)

    def write(program: Lowering, module: Module, routine: Routine) -> list[NativeCall]:
        c, strides = IRBuilder(module), row_major(spec.shape)
        with ExitStack() as nest:
            loops = Loops(c, nest, outer, 0 if outer else None)
            begin = c.add(
                named(c, loops, op, source.shape, source.strides), loops.offset_of([source.strides[dim] for dim in before], source.offset)
            )
            to = loops.offset_of(strides)
            inner = Loops(c, nest, [source.shape[dim] for dim in behind])
            value = c.load("%b1", c.add(begin, inner.offset_of([source.strides[dim] for dim in behind])), TYPES[source.dtype])
            c.store(value, "%b0", c.add(to, inner.offset_of(strides[len(outer) :])))
        buffers = [routine, source.value, *[each.value for each in op.indices], STATUS]
        return [finish(module, c, "point_gather", buffers, outer[0] if outer else 1, routine.size)]

    return builder.routine([source, *op.indices], [spec], node, write)[0]


def point_scatter_add(builder: TensorIRBuilder, op: PointScatterAdd, spec: Any, node: Any) -> Any:
    """One thread adds, in the order of the indices, unless there is an unindexed dimension before them, which is split."""
    grad, shape = op.grad, tuple(spec.shape)
    before, behind = offsets(op, len(shape))
    outer = (*[shape[dim] for dim in before], *op.indices[0].shape)

    def write(program: Lowering, module: Module, routine: Routine) -> list[NativeCall]:
        type, strides = TYPES[spec.dtype], row_major(shape)
        c = IRBuilder(module)
        with c.loop(FIRST, LAST) as at:
            c.store(c.constant(type, 0), "%b0", at)
        native_calls = [finish(module, c, "zeros", [routine], routine.size, routine.size)]
        c = IRBuilder(module)
        with ExitStack() as nest:
            loops = Loops(c, nest, outer, 0 if before else None)
            to = c.add(named(c, loops, op, shape, strides), loops.offset_of([strides[dim] for dim in before]))
            begin = loops.offset_of(grad.strides, grad.offset)
            inner = Loops(c, nest, [shape[dim] for dim in behind])
            value = c.load("%b1", c.add(begin, inner.offset_of(grad.strides[len(outer) :])), type)
            accumulate(c, value, "%b0", c.add(to, inner.offset_of([strides[dim] for dim in behind])), spec.dtype)
        buffers = [routine, grad.value, *[each.value for each in op.indices], STATUS]
        return [*native_calls, finish(module, c, "point_scatter_add", buffers, outer[0] if before else 1, math.prod(grad.shape))]

    return builder.routine([grad, *op.indices], [spec], node, write)[0]


@llvm.register("embedding", "index_select", "index")
def row_gather(builder: TensorIRBuilder, op: RowGather | PointGather, spec: Any, node: Any) -> Any:
    if isinstance(op, PointGather):
        return point_gather(builder, op, spec, node)
    source, index, dim = op.source, op.index, op.dim
    outer = (*source.shape[:dim], *index.shape)

    def write(program: Lowering, module: Module, routine: Routine) -> list[NativeCall]:
        c, strides = IRBuilder(module), row_major(spec.shape)
        with ExitStack() as nest:
            loops = Loops(c, nest, outer, 0 if outer else None)
            row = checked(c, loops.load("%b2", index, loops.indices[dim:]), source.shape[dim], op.wraps)
            begin = loops.offset_of(source.strides, source.offset, [*loops.indices[:dim], row])
            to = loops.offset_of(strides)
            inner = Loops(c, nest, source.shape[dim + 1 :])
            value = c.load("%b1", c.add(begin, inner.offset_of(source.strides[dim + 1 :])), TYPES[source.dtype])
            c.store(value, "%b0", c.add(to, inner.offset_of(strides[len(outer) :])))
        buffers = [routine, source.value, index.value, STATUS]
        return [finish(module, c, "row_gather", buffers, outer[0] if outer else 1, routine.size)]

    return builder.routine([source, index], [spec], node, write)[0]


@llvm.register("embedding_backward", "index_select_backward", "index_add", "index_backward")
def row_scatter_add(builder: TensorIRBuilder, op: RowScatterAdd | PointScatterAdd, spec: Any, node: Any) -> Any:
    if isinstance(op, PointScatterAdd):
        return point_scatter_add(builder, op, spec, node)
    base, grad, index, dim = op.base, op.grad, op.index, op.dim
    shape = tuple(spec.shape)
    before, behind = shape[:dim], shape[dim + 1 :]
    split = next((at for at, size in enumerate(before) if size > 1), None)  # an outer dimension along which parts are independent

    def write(program: Lowering, module: Module, routine: Routine) -> list[NativeCall]:
        c, type, strides = IRBuilder(module), TYPES[spec.dtype], row_major(shape)
        width = behind[-1] if behind else 1
        extent = before[split] if split is not None else -(-width // COLUMNS)
        columns = (0, width) if math.prod(before) > 1 else (c.scale(FIRST, COLUMNS), c.min(c.scale(LAST, COLUMNS), width))
        with ExitStack() as nest:
            loops = Loops(c, nest, (*before, shape[dim], *behind[:-1]), split)
            start = loops.offset_of(strides)
            other = None if base is None else loops.offset_of(base.strides, base.offset)
            column = nest.enter_context(c.loop(*columns))
            first = c.constant(type, 0)
            if base is not None and other is not None:
                first = c.load("%b3", c.add(other, c.scale(column, base.strides[-1] if behind else 0)), type)
            c.store(first, "%b0", c.add(start, column) if behind else start)
        with ExitStack() as nest:
            loops = Loops(c, nest, (*before, *index.shape), split)
            row = checked(c, loops.load("%b2", index, loops.indices[dim:]), shape[dim], op.wraps)
            wanted = None if op.skip < 0 else c.compare("ne", row, c.integer(op.skip))
            to = loops.offset_of(strides, 0, [*loops.indices[:dim], row])
            begin = loops.offset_of(grad.strides, grad.offset)
            inner = Loops(c, nest, behind[:-1])
            rest = grad.strides[dim + len(index.shape) :]
            to, begin = c.add(to, inner.offset_of(strides[dim + 1 :])), c.add(begin, inner.offset_of(rest))
            column = nest.enter_context(c.loop(*columns))
            value = c.load("%b1", c.add(begin, c.scale(column, rest[-1] if behind else 0)), type)
            if wanted is not None:
                value = c.select(wanted, value, c.constant(type, 0))
            accumulate(c, value, "%b0", c.add(to, column) if behind else to, spec.dtype)
        buffers = [routine, grad.value, index.value, *([] if base is None else [base.value]), STATUS]
        return [finish(module, c, "row_scatter_add", buffers, extent, routine.size + math.prod(grad.shape))]

    return builder.routine([grad, index] + ([] if base is None else [base]), [spec], node, write)[0]


@llvm.register("index_copy")
def row_scatter(builder: TensorIRBuilder, op: RowScatter, spec: Any, node: Any) -> Any:
    """Written in place where nothing else reads the base: then only the slices are written."""
    base, source, index, dim = op.base, op.source, op.index, op.dim
    shape, type, strides = tuple(spec.shape), TYPES[spec.dtype], row_major(spec.shape)

    def write(program: Lowering, module: Module, routine: Routine) -> list[NativeCall]:
        native_calls = []
        if routine.alias_of is None:
            c = IRBuilder(module)
            with ExitStack() as nest:
                loops = Loops(c, nest, shape, 0)
                c.store(loops.load("%b1", base), "%b0", loops.offset_of(strides))
            native_calls.append(finish(module, c, "begin", [routine, base.value], shape[0], routine.size))
        c = IRBuilder(module)
        split = next((at for at, size in enumerate(shape[:dim]) if size > 1), None)
        with ExitStack() as nest:
            loops = Loops(c, nest, (*shape[:dim], *index.shape), split)
            number = loops.load("%b2", index, loops.indices[dim:])
            row = checked(c, number, shape[dim], False)
            to, begin = loops.offset_of(strides, 0, [*loops.indices[:dim], row]), loops.offset_of(source.strides, source.offset)
            # Nothing is written for an index out of range: the base may be an input.
            nest.enter_context(c.when(c.compare("eq", number if number.type == "i64" else c.convert("sext", number, "i64"), row)))
            inner = Loops(c, nest, shape[dim + 1 :])
            value = c.load("%b1", c.add(begin, inner.offset_of(source.strides[dim + 1 :])), type)
            c.store(value, "%b0", c.add(to, inner.offset_of(strides[dim + 1 :])))
        extent = 1 if split is None else shape[split]
        return [
            *native_calls,
            finish(module, c, "row_scatter", [routine, source.value, index.value, STATUS], extent, math.prod(source.shape)),
        ]

    made: list[Reference] = builder.routine([source, index, base], [spec], node, write)
    made[0].value.updates = base.value  # type: ignore[attr-defined]
    return made[0]


@llvm.register("gather")
def element_gather(builder: TensorIRBuilder, op: ElementGather, spec: Any, node: Any) -> Any:
    source, index, dim = op.source, op.index, op.dim

    def write(program: Lowering, module: Module, routine: Routine) -> list[NativeCall]:
        c = IRBuilder(module)
        with ExitStack() as nest:
            loops = Loops(c, nest, index.shape, 0)
            row = checked(c, loops.load("%b2", index), source.shape[dim], False)
            value = loops.load("%b1", source, [row if at == dim else each for at, each in enumerate(loops.indices)])
            c.store(value, "%b0", loops.offset_of(row_major(spec.shape)))
        return [finish(module, c, "gather", [routine, source.value, index.value, STATUS], index.shape[0], routine.size)]

    return builder.routine([source, index], [spec], node, write)[0]


@llvm.register("gather_backward", "scatter_add")
def element_scatter_add(builder: TensorIRBuilder, op: ElementScatterAdd, spec: Any, node: Any) -> Any:
    base, index, source, dim = op.base, op.index, op.source, op.dim
    shape, type, strides = tuple(spec.shape), TYPES[spec.dtype], row_major(spec.shape)

    def write(program: Lowering, module: Module, routine: Routine) -> list[NativeCall]:
        c = IRBuilder(module)
        with ExitStack() as nest:
            loops = Loops(c, nest, shape, 0)
            c.store(c.constant(type, 0) if base is None else loops.load("%b1", base), "%b0", loops.offset_of(strides))
        begin = finish(module, c, "begin", [routine] + ([] if base is None else [base.value]), shape[0], routine.size)
        c = IRBuilder(module)
        split = first_split(shape, dim)
        with ExitStack() as nest:
            loops = Loops(c, nest, index.shape, split)
            row = checked(c, loops.load("%b2", index), shape[dim], False)
            to = loops.offset_of(strides, 0, [row if at == dim else each for at, each in enumerate(loops.indices)])
            accumulate(c, loops.load("%b1", source), "%b0", to, spec.dtype)
        extent = 1 if split is None else index.shape[split]
        return [begin, finish(module, c, "scatter", [routine, source.value, index.value, STATUS], extent, math.prod(index.shape))]

    return builder.routine([index, source] + ([] if base is None else [base]), [spec], node, write)[0]

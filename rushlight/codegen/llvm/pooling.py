"""Pooling as LLVM IR.

A row of results is computed at once: for each tap of the window, a loop over the row, which LLVM vectorizes.  Threads split the planes; each
plane belongs to one thread, so overlapping gradients are added in the order of eager mode.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from ...core.base import Spec
from ...graph import Node
from ...schedule.lowering import lowering
from ...schedule.routines.pooling import AdaptiveMaxPool, AdaptiveMeanPool, AdaptiveWindows, MaxPool, MaxPoolGradient, MeanPool, PoolWindows
from ...schedule.tensor_ir import Reference, Routine, TensorIRBuilder
from .conv.im2col import UNROLLED
from .conv.image_routine import begin_of, contiguous
from .ir import FIRST, LAST, TYPES, IRBuilder, Module, Scalar, pointers
from .native_call import Lowering, NativeCall

LONGEST = 1 << 14  # elements of a row that are kept on the stack
llvm = lowering("llvm")


class PlaneCode:
    """The code of a function over planes: the addresses of its operands and results for the current plane."""

    def __init__(self, module: Module, routine: Routine, results: int) -> None:
        self.c = IRBuilder(module)
        self.c.rolled = True
        self.type = TYPES[routine.inputs[0].dtype]
        self.sources = [begin_of(self.c, f"%b{at}", each) for at, each in enumerate(routine.inputs)]
        self.results = [f"%b{len(self.sources) + at}" for at in range(results)]
        self.plane = self.c.integer(0)

    def source(self, at: int, size: Any) -> str:
        """The address of the plane of a source."""
        return self.c.address(self.sources[at], self.c.scale(self.plane, size), self.type)

    def result(self, at: int, size: Any, type: str = "") -> str:
        """The address of the plane of a result."""
        return self.c.address(self.results[at], self.c.scale(self.plane, size), type or self.type)


def plane_routine(
    builder: TensorIRBuilder, sources: list[Reference], specs: list[Spec], node: Node, planes: Any, emit: Callable[[PlaneCode], None]
) -> list[Reference]:
    """A routine whose code for one plane is written by a function."""
    sources = [contiguous(builder, each) for each in sources]

    def write(program: Lowering, module: Module, routine: Routine) -> list[NativeCall]:
        results = [each for each in routine.others if each in program.slots]  # unused indices are not stored
        code = PlaneCode(module, routine, len(results))
        with code.c.loop(FIRST, LAST) as code.plane:
            emit(code)
        name = module.add("pool", code.c.function("", pointers([f"%b{at}" for at in range(len(sources) + len(results))], noalias=True)))
        elements = sum([math.prod(each.shape) for each in sources]) + sum([each.size for each in specs])
        return [NativeCall(name, [*[each.value for each in routine.inputs], *results], planes, 1.0 * elements)]

    return builder.routine(sources, specs, node, write)


# -- windows of one size -----------------------------------------------------------------------------------------


def is_possible(windows: PoolWindows) -> bool:
    """Whether there is code for windows: a row of taps is unrolled, a row of results is on the stack."""
    return windows.kernel[2] <= UNROLLED and windows.counts[2] <= LONGEST and not windows.has_gaps


class WindowLoops:
    """Loops over the results of a plane, and over the taps of their windows."""

    def __init__(self, c: IRBuilder, windows: PoolWindows) -> None:
        self.c = c
        self.windows = windows

    def begin(self, axis: int, position: Scalar) -> Scalar:
        """The start of a result's window along a dimension; negative in the padding."""
        return self.c.sub(self.c.scale(position, self.windows.stride[axis]), self.windows.padding[axis])

    def first(self, axis: int, position: Scalar) -> Scalar:
        """The first element of a window that is inside."""
        begin = self.begin(axis, position)
        return self.c.max(begin, 0) if self.windows.padding[axis] and begin.name != "0" else begin

    @contextmanager
    def rows(self) -> Iterator[tuple[Scalar, Scalar, Scalar]]:
        """Loops over the rows of results: both indices, and the number of the row's first result."""
        c, counts = self.c, self.windows.counts
        with c.loop(counts[0]) as one, c.loop(counts[1]) as two:
            yield one, two, c.scale(c.add(c.scale(one, counts[1]), two), counts[2])

    def taps(self, one: Scalar, two: Scalar, body: Callable[[Scalar, Scalar], None]) -> None:
        """For each tap of the windows of a row, ``body(result, element)`` in a loop over the results of the row for which it is inside."""
        c, w = self.c, self.windows
        with ExitStack() as nest:
            offsets = []
            for axis, offset in ((0, one), (1, two)):
                tap = nest.enter_context(c.loop(w.kernel[axis])) if w.kernel[axis] > 1 else c.integer(0)
                here = c.add(self.begin(axis, offset), c.scale(tap, w.dilation[axis]))
                if not w.is_inside(axis):
                    nest.enter_context(c.when(c.in_range(here, w.size[axis])))
                offsets.append(here)
            row = c.scale(c.add(c.scale(offsets[0], w.size[1]), offsets[1]), w.size[2])
            for tap_ in range(w.kernel[2]):
                low, high = w.valid(tap_)
                if low < high:
                    with c.loop(low, high) as index:
                        column = c.add(c.scale(index, w.stride[2]), tap_ * w.dilation[2] - w.padding[2])
                        body(index, c.add(row, column))

    def extent(self, axis: int, position: Scalar, counts_padding: bool) -> Scalar:
        """The number of elements of a window along a dimension."""
        c, w = self.c, self.windows
        if w.is_inside(axis):
            return c.integer(w.kernel[axis])
        begin, size = self.begin(axis, position), w.size[axis]
        stop = c.min(c.add(begin, w.kernel[axis]), size + w.padding[axis] if counts_padding else size)
        return c.sub(stop, begin if counts_padding else c.max(begin, 0))


# -- maxima ------------------------------------------------------------------------------------------------------


def better(c: IRBuilder, value: Scalar, best: Scalar) -> Scalar:
    """Whether a value is the new maximum: the first of equals wins, and the last NaN."""
    return c.binary("or", c.compare("ogt", value, best), c.compare("uno", value, value))


def row_maxima(
    code: PlaneCode, loops: WindowLoops, source: str, one: Scalar, two: Scalar, values: str, at: Scalar, indices: str = ""
) -> None:
    """The maxima of a row of windows, from an element of ``values`` on; and where in the plane they are, if there is room for that."""
    c, w, type = code.c, loops.windows, code.type
    begin = c.scale(c.add(c.scale(loops.first(0, one), w.size[1]), loops.first(1, two)), w.size[2])
    with c.loop(w.counts[2]) as index:
        c.store(c.constant(type, -math.inf), values, c.add(at, index))
        if indices:
            c.store(c.add(begin, loops.first(2, index)), indices, c.add(at, index))

    def take(index: Scalar, offset: Scalar) -> None:
        value, to = c.load(source, offset, type), c.add(at, index)
        best = c.load(values, to, type)
        wins = better(c, value, best)
        c.store(c.select(wins, value, best), values, to)
        if indices:
            c.store(c.select(wins, offset, c.load(indices, to, "i64")), indices, to)

    loops.taps(one, two, take)


@llvm.register(*[f"max_pool{ndim}d{suffix}" for ndim in (1, 2, 3) for suffix in ("", "_with_indices")])
def max_pool(builder: TensorIRBuilder, op: MaxPool, spec: Any, node: Node) -> Any:
    specs = list(spec) if op.with_indices else [spec]
    if not is_possible(op.windows):
        return NotImplemented
    size, pixels = math.prod(op.windows.size), math.prod(op.windows.counts)

    def emit(code: PlaneCode) -> None:
        loops, source, values = WindowLoops(code.c, op.windows), code.source(0, size), code.result(0, pixels)
        indices = code.result(1, pixels, "i64") if len(code.results) > 1 else ""
        with loops.rows() as (one, two, row):
            row_maxima(code, loops, source, one, two, values, row, indices)

    made = plane_routine(builder, [op.source], specs, node, specs[0].size // pixels, emit)
    return tuple(made) if op.with_indices else made[0]


@llvm.register("max_pool_backward", "max_pool_select")
def max_pool_gradient(builder: TensorIRBuilder, op: MaxPoolGradient, spec: Any, node: Node) -> Any:
    if not is_possible(op.windows):
        return NotImplemented
    size, pixels, width = math.prod(op.windows.size), math.prod(op.windows.counts), op.windows.counts[2]

    def emit(code: PlaneCode) -> None:
        c, type, loops = code.c, code.type, WindowLoops(code.c, op.windows)
        given, source = code.source(0, size if op.selects else pixels), code.source(1, size)
        result = code.result(0, pixels if op.selects else size)
        values, indices = c.slot(type, max(2, width)), c.slot("i64", max(2, width))
        if not op.selects:
            c.zero_fill(type, result, 0, size)
        with loops.rows() as (one, two, row):
            row_maxima(code, loops, source, one, two, values, c.integer(0), indices)
            with c.loop(width) as index:
                offset, at = c.load(indices, index, "i64"), c.add(row, index)
                if op.selects:
                    c.store(c.load(given, offset, type), result, at)
                else:
                    c.store(c.binary("fadd", c.load(result, offset, type), c.load(given, at, type)), result, offset)

    return plane_routine(builder, [op.values, op.source], [spec], node, math.prod(op.source.shape) // size, emit)[0]


# -- means -------------------------------------------------------------------------------------------------------


def divided(code: PlaneCode, op: MeanPool, loops: WindowLoops, total: Scalar, *positions: Scalar) -> Scalar:
    """A sum divided by the number of elements of its window."""
    c = code.c
    if op.divisor is not None:
        return c.binary("fdiv", total, c.constant(code.type, op.divisor))
    counts = [loops.extent(axis, position, op.counts_padding) for axis, position in enumerate(positions)]
    if all(each.name.isdigit() for each in counts):
        return c.binary("fdiv", total, c.constant(code.type, math.prod(int(each.name) for each in counts)))
    product = c.binary("mul", c.binary("mul", counts[0], counts[1]), counts[2])
    return c.binary("fdiv", total, c.convert("sitofp", product, code.type))


def means(code: PlaneCode, op: MeanPool, loops: WindowLoops, source: str, result: str) -> None:
    """The means of a plane."""
    c, type, width = code.c, code.type, op.windows.counts[2]
    with loops.rows() as (one, two, row):
        with c.loop(width) as index:
            c.store(c.constant(type, 0), result, c.add(row, index))

        def take(index: Scalar, offset: Scalar) -> None:
            at = c.add(row, index)
            c.store(c.binary("fadd", c.load(result, at, type), c.load(source, offset, type)), result, at)

        loops.taps(one, two, take)
        with c.loop(width) as index:
            at = c.add(row, index)
            c.store(divided(code, op, loops, c.load(result, at, type), one, two, index), result, at)


def mean_gradients(code: PlaneCode, op: MeanPool, loops: WindowLoops, given: str, result: str) -> None:
    """The gradients of a plane: that of a window is divided among its elements."""
    c, type, width = code.c, code.type, op.windows.counts[2]
    parts = c.slot(type, max(2, width))
    c.zero_fill(type, result, 0, math.prod(op.windows.size))
    with loops.rows() as (one, two, row):
        with c.loop(width) as index:
            c.store(divided(code, op, loops, c.load(given, c.add(row, index), type), one, two, index), parts, index)

        def add(index: Scalar, offset: Scalar) -> None:
            c.store(c.binary("fadd", c.load(result, offset, type), c.load(parts, index, type)), result, offset)

        loops.taps(one, two, add)


@llvm.register("avg_pool1d", "avg_pool2d", "avg_pool3d", "avg_pool_backward")
def mean_pool(builder: TensorIRBuilder, op: MeanPool, spec: Any, node: Node) -> Any:
    if not is_possible(op.windows):
        return NotImplemented
    sizes = [math.prod(op.windows.size), math.prod(op.windows.counts)][:: -1 if op.gradient else 1]

    def emit(code: PlaneCode) -> None:
        write = mean_gradients if op.gradient else means
        write(code, op, WindowLoops(code.c, op.windows), code.source(0, sizes[0]), code.result(0, sizes[1]))

    return plane_routine(builder, [op.source], [spec], node, spec.size // sizes[1], emit)[0]


# -- adaptive pooling --------------------------------------------------------------------------------------------

Bounds = list[tuple[Scalar, Scalar]]


class AdaptiveLoops:
    """Loops over the results of adaptive pooling, and over the elements of their windows."""

    def __init__(self, c: IRBuilder, windows: AdaptiveWindows) -> None:
        self.c = c
        self.windows = windows

    def bounds(self, axis: int, position: Scalar) -> tuple[Scalar, Scalar]:
        """The start and the end of a window along a dimension."""
        c, size, count = self.c, self.windows.size[axis], self.windows.counts[axis]
        return c.div(c.scale(position, size), count), c.ceil_div(c.scale(c.add(position, 1), size), count)

    @contextmanager
    def results(self) -> Iterator[tuple[Scalar, Bounds]]:
        """Loops over the results: the number of each, and its window."""
        c = self.c
        with ExitStack() as nest:
            number, bounds = c.integer(0), []
            for axis, count in enumerate(self.windows.counts):
                offset = nest.enter_context(c.loop(count))
                number = c.add(c.scale(number, count), offset)
                bounds.append(self.bounds(axis, offset))
            yield number, bounds

    @contextmanager
    def elements(self, bounds: Bounds) -> Iterator[Scalar]:
        """Loops over the elements of a window: where each is in its plane."""
        with ExitStack() as nest:
            yield self.offset_of([nest.enter_context(self.c.loop(*ends)) for ends in bounds])

    def offset_of(self, indices: list[Scalar]) -> Scalar:
        """The offset of an element in its plane."""
        c, offset = self.c, self.c.integer(0)
        for size, index in zip(self.windows.size, indices):
            offset = c.add(c.scale(offset, size), index)
        return offset

    def count(self, bounds: Bounds, type: str) -> Scalar:
        """The number of elements of a window."""
        c = self.c
        a, b, d = (c.sub(last, first) for first, last in bounds)
        return c.convert("sitofp", c.binary("mul", c.binary("mul", a, b), d), type)


@llvm.register("adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "resample_backward")
def adaptive_mean_pool(builder: TensorIRBuilder, op: AdaptiveMeanPool, spec: Any, node: Node) -> Any:
    if op.even is not None:
        made = mean_pool(builder, op.even, spec, node)
        if made is not NotImplemented:
            return made
    size, pixels = math.prod(op.windows.size), math.prod(op.windows.counts)

    def emit(code: PlaneCode) -> None:
        c, type, loops = code.c, code.type, AdaptiveLoops(code.c, op.windows)
        if op.gradient:
            given, result = code.source(0, pixels), code.result(0, size)
            c.zero_fill(type, result, 0, size)
            with loops.results() as (number, bounds):
                part = c.binary("fdiv", c.load(given, number, type), loops.count(bounds, type))
                with loops.elements(bounds) as offset:
                    c.store(c.binary("fadd", c.load(result, offset, type), part), result, offset)
            return
        source, result = code.source(0, size), code.result(0, pixels)
        total = c.slot(type)
        with loops.results() as (number, bounds):
            c.write(c.constant(type, 0), total)
            with loops.elements(bounds) as offset:
                c.write(c.binary("fadd", c.read(total, type), c.load(source, offset, type), "reassoc"), total)
            c.store(c.binary("fdiv", c.read(total, type), loops.count(bounds, type)), result, number)

    planes = math.prod(op.source.shape) // pixels if op.gradient else spec.size // pixels
    return plane_routine(builder, [op.source], [spec], node, planes, emit)[0]


@llvm.register(*[f"adaptive_max_pool{ndim}d_with_indices" for ndim in (1, 2, 3)])
def adaptive_max_pool(builder: TensorIRBuilder, op: AdaptiveMaxPool, spec: Any, node: Node) -> Any:
    size, pixels = math.prod(op.windows.size), math.prod(op.windows.counts)

    def emit(code: PlaneCode) -> None:
        c, type, loops = code.c, code.type, AdaptiveLoops(code.c, op.windows)
        source, values = code.source(0, size), code.result(0, pixels)
        best, where = c.slot(type), c.slot("i64")
        with loops.results() as (number, bounds):
            c.write(c.constant(type, -math.inf), best)
            c.write(loops.offset_of([first for first, _ in bounds]), where)
            with loops.elements(bounds) as offset:
                value, old = c.load(source, offset, type), c.read(best, type)
                wins = better(c, value, old)
                c.write(c.select(wins, value, old), best)
                c.write(c.select(wins, offset, c.read(where, "i64")), where)
            c.store(c.read(best, type), values, number)
            if len(code.results) > 1:
                c.store(c.read(where, "i64"), code.result(1, pixels, "i64"), number)

    return tuple(plane_routine(builder, [op.source], list(spec), node, spec[0].size // pixels, emit))

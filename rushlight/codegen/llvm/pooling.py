"""Pooling as native code: maxima (with their places), means, and windows of adaptive pooling; forward and backward.

A row of results is worked on at once: for each tap of the window, a loop over the row, which LLVM makes vectors of.  Planes are shared out
to threads; each belongs to one of them, so gradients that meet are added in the order of eager mode.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

from ...core.base import Spec
from ...graph import Node
from ...ops.nn.pooling import make_pool
from ...ops.nn.pooling_kernels import Pool, even_pool
from ...passes.decompose import FORMULAS
from ...schedule.tensor_ir import ROUTINES, Builder, Reference, Routine
from .conv.im2col import UNROLLED, Three, three
from .conv.image_routine import begin_of, contiguous
from .ir import FIRST, LAST, TYPES, Code, Module, Scalar, pointers
from .piece import Piece

LONGEST = 1 << 14  # elements of a row that are kept on the stack


class Writer:
    """The code of a function that works on planes: its operands and results, seen from the plane that is worked on."""

    def __init__(self, module: Module, routine: Routine, results: int, geometry: Any) -> None:
        self.c = c = Code(module)
        c.rolled = True
        self.geometry = geometry
        self.type = TYPES[routine.sources[0].dtype]
        self.sources = [begin_of(c, f"%b{at}", each) for at, each in enumerate(routine.sources)]
        self.results = [f"%b{len(self.sources) + at}" for at in range(results)]

    def plane(self, number: Scalar, pointer: str, size: int, type: str) -> str:
        """Where a plane of an array begins."""
        return self.c.address(pointer, self.c.scale(number, size), type)


class Geometry:
    """Windows over planes."""

    def __init__(self, pool: Pool) -> None:
        self.size, self.counts = three(tuple(pool.size), 1), three(tuple(pool.counts), 1)
        self.kernel, self.stride = three(tuple(pool.kernel), 1), three(tuple(pool.stride), 1)
        self.padding, self.dilation = three(tuple(pool.padding), 0), three(tuple(pool.dilation), 1)

    @property
    def possible(self) -> bool:
        # A window may step over a small image between two taps; eager mode has rules of its own for that.
        strange = any(self.padding) and any(each > 1 for each in self.dilation)
        return self.kernel[2] <= UNROLLED and self.counts[2] <= LONGEST and not strange

    def begin(self, c: Code, axis: int, place: Scalar) -> Scalar:
        """Where the window of a result begins along a dimension; before the image, maybe."""
        return c.sub(c.scale(place, self.stride[axis]), self.padding[axis])

    def first(self, c: Code, axis: int, place: Scalar) -> Scalar:
        """The first place of a window that is inside."""
        begin = self.begin(c, axis, place)
        return c.max(begin, 0) if self.padding[axis] and begin.name != "0" else begin

    def always_inside(self, axis: int) -> bool:
        last = (self.counts[axis] - 1) * self.stride[axis] - self.padding[axis] + (self.kernel[axis] - 1) * self.dilation[axis]
        return not self.padding[axis] and last < self.size[axis]

    @contextmanager
    def rows(self, c: Code) -> Iterator[tuple[Scalar, Scalar, Scalar]]:
        """Loops over the rows of results: both indices, and the number of the first result."""
        with c.loop(self.counts[0]) as one, c.loop(self.counts[1]) as two:
            yield one, two, c.scale(c.add(c.scale(one, self.counts[1]), two), self.counts[2])

    def taps(self, c: Code, one: Scalar, two: Scalar, body: Callable[[Scalar, Scalar, Scalar], None]) -> None:
        """For each tap of the windows of a row, ``body(result, place, shift)`` in a loop over the results of the row that it is inside for.

        ``place`` is where in the plane the tap of a result lies, ``shift`` where it lies in its row.
        """
        with ExitStack() as nest:
            places = []
            for axis, place in ((0, one), (1, two)):
                tap = nest.enter_context(c.loop(self.kernel[axis])) if self.kernel[axis] > 1 else c.integer(0)
                here = c.add(self.begin(c, axis, place), c.scale(tap, self.dilation[axis]))
                if not self.always_inside(axis):
                    nest.enter_context(c.when(c.compare("ult", here, c.integer(self.size[axis]))))
                places.append(here)
            row = c.scale(c.add(c.scale(places[0], self.size[1]), places[1]), self.size[2])
            for tap_ in range(self.kernel[2]):
                shift = tap_ * self.dilation[2] - self.padding[2]
                low = max(0, -(shift // self.stride[2]))
                high = min(self.counts[2], -(-(self.size[2] - shift) // self.stride[2]))
                if low < high:
                    with c.loop(low, high) as index:
                        column = c.add(c.scale(index, self.stride[2]), shift)
                        body(index, c.add(row, column), column)

    def divisor(self, c: Code, axis: int, place: Scalar, padding_counts: bool) -> Scalar:
        """How many elements a window has along a dimension."""
        begin, kernel, size, pad = self.begin(c, axis, place), self.kernel[axis], self.size[axis], self.padding[axis]
        if self.always_inside(axis):
            return c.integer(kernel)
        stop = c.min(c.add(begin, kernel), size + pad if padding_counts else size)
        return c.sub(stop, begin if padding_counts else c.max(begin, 0))


def function(writer: Writer, module: Module, name: str, body: Callable[[Scalar], None]) -> str:
    """A function over planes, as a piece has it."""
    c = writer.c
    with c.loop(FIRST, LAST) as plane:
        body(plane)
    count = len(writer.sources) + len(writer.results)
    return module.add(name, c.function("", pointers([f"%b{at}" for at in range(count)], noalias=True)))


def routine_of(
    builder: Builder,
    sources: list[Reference],
    specs: list[Spec],
    node: Node,
    geometry: Any,
    planes: int,
    emit: Callable[[Writer, Scalar], None],
) -> list[Reference]:
    """A routine whose code for a plane is written by a function."""
    sources = [contiguous(builder, each) for each in sources]

    def write(program: Any, module: Module, routine: Routine) -> list[Piece]:
        results = [each for each in routine.others if each in program.slots]  # places that nobody asks for are not written down
        writer = Writer(module, routine, len(results), geometry)
        name = function(writer, module, f"pool{routine.index}", lambda plane: emit(writer, plane))
        elements = sum([math.prod(each.shape) for each in sources]) + sum([each.size for each in specs])
        return [Piece(name, [*[each.value for each in routine.sources], *results], planes, 1.0 * elements)]

    return builder.routine(sources, specs, node, write)


# -- maxima ------------------------------------------------------------------------------------------------------


def scan(
    writer: Writer, source: str, one: Scalar, two: Scalar, values: str, value_at: Scalar, places: str = "", place_at: Scalar | None = None
) -> None:
    """The maxima of a row of windows; where they are, if there is room for that.

    The first of equals wins, and the last NaN.
    """
    c, geometry, type = writer.c, writer.geometry, writer.type
    lowest = c.constant(type, -math.inf)
    begin = c.scale(c.add(c.scale(geometry.first(c, 0, one), geometry.size[1]), geometry.first(c, 1, two)), geometry.size[2])
    with c.loop(geometry.counts[2]) as index:
        c.store(lowest, values, c.add(value_at, index))
        if place_at is not None:
            c.store(c.add(begin, geometry.first(c, 2, index)), places, c.add(place_at, index))

    def take(index: Scalar, place: Scalar, column: Scalar) -> None:
        value, at = c.load(source, place, type), c.add(value_at, index)
        best = c.load(values, at, type)
        better = c.binary("or", c.compare("ogt", value, best), c.compare("uno", value, value))
        c.store(c.select(better, value, best), values, at)
        if place_at is not None:
            where = c.add(place_at, index)
            c.store(c.select(better, place, c.load(places, where, "i64")), places, where)

    geometry.taps(c, one, two, take)


def max_pool(ndim: int, with_indices: bool) -> Any:
    """The routine of the largest element of each window."""

    def routine(builder: Builder, args: tuple[Any, ...], spec: Any, node: Node) -> Any:
        input = args[0]
        geometry = Geometry(make_pool("max_pool", input.shape, ndim, *args[1:6]))
        specs = list(spec) if with_indices else [spec]
        if input.dtype.char not in "fd" or not specs[0].size or not geometry.possible:
            return NotImplemented
        size, pixels = math.prod(geometry.size), math.prod(geometry.counts)

        def emit(writer: Writer, plane: Scalar) -> None:
            c = writer.c
            source, values = (
                writer.plane(plane, writer.sources[0], size, writer.type),
                writer.plane(plane, writer.results[0], pixels, writer.type),
            )
            wanted = len(writer.results) > 1
            places = writer.plane(plane, writer.results[1], pixels, "i64") if wanted else ""
            with geometry.rows(c) as (one, two, row):
                scan(writer, source, one, two, values, row, places, row if wanted else None)

        made = routine_of(builder, [input], specs, node, geometry, specs[0].size // pixels, emit)
        return tuple(made) if with_indices else made[0]

    return routine


def max_gradient(select: bool) -> Any:
    """The routine of the gradient of maxima, which goes to the places of the maxima; or what another array has there."""

    def routine(builder: Builder, args: tuple[Any, ...], spec: Any, node: Node) -> Any:
        other, input, ndim = args[0], args[1], args[3]
        geometry = Geometry(make_pool("max_pool", input.shape, ndim, *args[4:]))
        if input.dtype.char not in "fd" or other.dtype != input.dtype or not spec.size or not geometry.possible:
            return NotImplemented
        size, pixels, width = math.prod(geometry.size), math.prod(geometry.counts), geometry.counts[2]

        def emit(writer: Writer, plane: Scalar) -> None:
            c, type = writer.c, writer.type
            given = writer.plane(plane, writer.sources[0], size if select else pixels, type)
            source = writer.plane(plane, writer.sources[1], size, type)
            result = writer.plane(plane, writer.results[0], pixels if select else size, type)
            values, places = c.slot(type, max(2, width)), c.slot("i64", max(2, width))
            if not select:
                c.zero_fill(type, result, 0, size)
            with geometry.rows(c) as (one, two, row):
                scan(writer, source, one, two, values, c.integer(0), places, c.integer(0))
                with c.loop(width) as index:
                    place, at = c.load(places, index, "i64"), c.add(row, index)
                    if select:
                        c.store(c.load(given, place, type), result, at)
                    else:
                        c.store(c.binary("fadd", c.load(result, place, type), c.load(given, at, type)), result, place)

        return routine_of(builder, [other, input], [spec], node, geometry, math.prod(input.shape) // size, emit)[0]

    return routine


# -- means -------------------------------------------------------------------------------------------------------


class Means(NamedTuple):
    """Means of windows, or their gradients: what sums are divided by."""

    geometry: Geometry
    padding_counts: bool = True
    override: int | None = None

    def share(self, writer: Writer, sum: Scalar, one: Scalar, two: Scalar, index: Scalar) -> Scalar:
        """A sum divided by the number of elements of its window."""
        c = writer.c
        if self.override is not None:
            return c.binary("fdiv", sum, c.constant(writer.type, self.override))
        counts = [self.geometry.divisor(c, axis, place, self.padding_counts) for axis, place in enumerate((one, two, index))]
        if all(each.name.isdigit() for each in counts):
            return c.binary("fdiv", sum, c.constant(writer.type, math.prod(int(each.name) for each in counts)))
        product = c.binary("mul", c.binary("mul", counts[0], counts[1]), counts[2])
        return c.binary("fdiv", sum, c.convert("sitofp", product, writer.type))

    def add_up(self, writer: Writer, source: str, result: str) -> None:
        """The means of a plane."""
        c, type, width = writer.c, writer.type, self.geometry.counts[2]
        with self.geometry.rows(c) as (one, two, row):
            with c.loop(width) as index:
                c.store(c.constant(type, 0), result, c.add(row, index))

            def take(index: Scalar, place: Scalar, column: Scalar) -> None:
                at = c.add(row, index)
                c.store(c.binary("fadd", c.load(result, at, type), c.load(source, place, type)), result, at)

            self.geometry.taps(c, one, two, take)
            with c.loop(width) as index:
                at = c.add(row, index)
                c.store(self.share(writer, c.load(result, at, type), one, two, index), result, at)

    def share_out(self, writer: Writer, given: str, result: str) -> None:
        """The gradients of a plane: that of a window is shared among its elements."""
        c, type, width = writer.c, writer.type, self.geometry.counts[2]
        shares = c.slot(type, max(2, width))
        c.zero_fill(type, result, 0, math.prod(self.geometry.size))
        with self.geometry.rows(c) as (one, two, row):
            with c.loop(width) as index:
                c.store(self.share(writer, c.load(given, c.add(row, index), type), one, two, index), shares, index)

            def add(index: Scalar, place: Scalar, column: Scalar) -> None:
                c.store(c.binary("fadd", c.load(result, place, type), c.load(shares, index, type)), result, place)

            self.geometry.taps(c, one, two, add)

    def routine(self, builder: Builder, given: Reference, spec: Any, node: Node, gradient: bool = False) -> Any:
        """The routine of means, or of their gradients."""
        if given.dtype.char not in "fd" or not spec.size or not self.geometry.possible:
            return NotImplemented
        sizes = [math.prod(self.geometry.size), math.prod(self.geometry.counts)][:: -1 if gradient else 1]

        def emit(writer: Writer, plane: Scalar) -> None:
            pointers = writer.sources[0], writer.results[0]
            source, result = (writer.plane(plane, pointer, size, writer.type) for pointer, size in zip(pointers, sizes))
            (self.share_out if gradient else self.add_up)(writer, source, result)

        return routine_of(builder, [given], [spec], node, self.geometry, spec.size // sizes[1], emit)[0]


def average_pool(ndim: int) -> Any:
    """The routine of the mean of each window."""

    def routine(builder: Builder, args: tuple[Any, ...], spec: Any, node: Node) -> Any:
        input, kernel, stride, padding, ceil_mode, padding_counts, *rest = args
        geometry = Geometry(make_pool("avg_pool", input.shape, ndim, kernel, stride, padding, 1, ceil_mode))
        return Means(geometry, bool(padding_counts), rest[0] if rest else None).routine(builder, input, spec, node)

    return routine


def average_gradient(builder: Builder, args: tuple[Any, ...], spec: Any, node: Node) -> Any:
    """The routine of the gradient of means."""
    grad, shape, ndim, kernel, stride, padding, ceil_mode, padding_counts, override = args
    geometry = Geometry(make_pool("avg_pool", tuple(shape), ndim, kernel, stride, padding, 1, ceil_mode))
    return Means(geometry, bool(padding_counts), override).routine(builder, grad, spec, node, True)


# -- adaptive pooling --------------------------------------------------------------------------------------------


class Uneven:
    """The windows of adaptive pooling: neighbours may share elements, and not all are of one size."""

    def __init__(self, size: tuple[int, ...], counts: tuple[int, ...]) -> None:
        self.size: Three = three(size, 1)
        self.counts: Three = three(counts, 1)

    def bounds(self, c: Code, axis: int, place: Scalar) -> tuple[Scalar, Scalar]:
        """Where a window begins and ends along a dimension."""
        size, count = self.size[axis], self.counts[axis]
        first = c.div(c.scale(place, size), count)
        last = c.div(c.add(c.scale(c.add(place, 1), size), count - 1), count)
        return first, last

    @contextmanager
    def windows(self, c: Code) -> Iterator[tuple[Scalar, list[tuple[Scalar, Scalar]]]]:
        """Loops over the results: the number of each, and its window."""
        with ExitStack() as nest:
            number, bounds = c.integer(0), []
            for axis in range(3):
                place = nest.enter_context(c.loop(self.counts[axis]))
                number = c.add(c.scale(number, self.counts[axis]), place)
                bounds.append(self.bounds(c, axis, place))
            yield number, bounds

    @contextmanager
    def elements(self, c: Code, bounds: list[tuple[Scalar, Scalar]]) -> Iterator[Scalar]:
        """Loops over the elements of a window: where each is in its plane."""
        with ExitStack() as nest:
            place = c.integer(0)
            for axis, ends in enumerate(bounds):
                place = c.add(c.scale(place, self.size[axis]), nest.enter_context(c.loop(*ends)))
            yield place

    def number(self, c: Code, bounds: list[tuple[Scalar, Scalar]], type: str) -> Scalar:
        """How many elements a window has."""
        a, b, d = (c.sub(last, first) for first, last in bounds)
        return c.convert("sitofp", c.binary("mul", c.binary("mul", a, b), d), type)


def adaptive_average(ndim: int) -> Any:
    """The routine of the means of adaptive pooling."""

    def routine(builder: Builder, args: tuple[Any, ...], spec: Any, node: Node) -> Any:
        input = args[0]
        size, counts = input.shape[len(input.shape) - ndim :], tuple(spec.shape[len(spec.shape) - ndim :])
        pool = even_pool(size, counts)
        if pool is not None:
            made = Means(Geometry(pool)).routine(builder, input, spec, node)
            if made is not NotImplemented:
                return made
        if input.dtype.char not in "fd" or not spec.size:
            return NotImplemented
        uneven, pixels = Uneven(size, counts), math.prod(counts)

        def emit(writer: Writer, plane: Scalar) -> None:
            c, type = writer.c, writer.type
            source, result = (
                writer.plane(plane, writer.sources[0], math.prod(size), type),
                writer.plane(plane, writer.results[0], pixels, type),
            )
            total = c.slot(type)
            with uneven.windows(c) as (number, bounds):
                c.write(c.constant(type, 0), total)
                with uneven.elements(c, bounds) as place:
                    c.write(c.binary("fadd", c.read(total, type), c.load(source, place, type), "reassoc"), total)
                c.store(c.binary("fdiv", c.read(total, type), uneven.number(c, bounds, type)), result, number)

        return routine_of(builder, [input], [spec], node, uneven, spec.size // pixels, emit)[0]

    return routine


def adaptive_average_gradient(builder: Builder, args: tuple[Any, ...], spec: Any, node: Node) -> Any:
    """The routine of the gradient of these means."""
    grad, size, mode, *_ = args
    ndim = len(size)
    counts = grad.shape[len(grad.shape) - ndim :]
    if mode != "area" or grad.dtype.char not in "fd" or not spec.size or 0 in grad.shape or not all(type(each) is int for each in size):
        return NotImplemented
    pool = even_pool(tuple(size), counts)
    if pool is not None:
        made = Means(Geometry(pool)).routine(builder, grad, spec, node, True)
        if made is not NotImplemented:
            return made
    uneven, pixels = Uneven(tuple(size), counts), math.prod(counts)

    def emit(writer: Writer, plane: Scalar) -> None:
        c, kind = writer.c, writer.type
        given, result = writer.plane(plane, writer.sources[0], pixels, kind), writer.plane(plane, writer.results[0], math.prod(size), kind)
        c.zero_fill(kind, result, 0, math.prod(size))
        with uneven.windows(c) as (number, bounds):
            part = c.binary("fdiv", c.load(given, number, kind), uneven.number(c, bounds, kind))
            with uneven.elements(c, bounds) as place:
                c.store(c.binary("fadd", c.load(result, place, kind), part), result, place)

    return routine_of(builder, [grad], [spec], node, uneven, math.prod(grad.shape) // pixels, emit)[0]


def adaptive_maximum(ndim: int) -> Any:
    """The routine of the maxima of adaptive pooling, and their places."""

    def routine(builder: Builder, args: tuple[Any, ...], spec: Any, node: Node) -> Any:
        input, specs = args[0], list(spec)
        size, counts = input.shape[len(input.shape) - ndim :], tuple(specs[0].shape[len(specs[0].shape) - ndim :])
        if input.dtype.char not in "fd" or not specs[0].size:
            return NotImplemented
        uneven, pixels = Uneven(size, counts), math.prod(counts)

        def emit(writer: Writer, plane: Scalar) -> None:
            c, type = writer.c, writer.type
            source, values = (
                writer.plane(plane, writer.sources[0], math.prod(size), type),
                writer.plane(plane, writer.results[0], pixels, type),
            )
            wanted, best, where = len(writer.results) > 1, c.slot(type), c.slot("i64")
            with uneven.windows(c) as (number, bounds):
                begin = c.integer(0)
                for axis, (first, _) in enumerate(bounds):
                    begin = c.add(c.scale(begin, uneven.size[axis]), first)
                c.write(c.constant(type, -math.inf), best)
                c.write(begin, where)
                with uneven.elements(c, bounds) as place:
                    value, old = c.load(source, place, type), c.read(best, type)
                    better = c.binary("or", c.compare("ogt", value, old), c.compare("uno", value, value))
                    c.write(c.select(better, value, old), best)
                    c.write(c.select(better, place, c.read(where, "i64")), where)
                c.store(c.read(best, type), values, number)
                if wanted:
                    c.store(c.read(where, "i64"), writer.plane(plane, writer.results[1], pixels, "i64"), number)

        return tuple(routine_of(builder, [input], specs, node, uneven, specs[0].size // pixels, emit))

    return routine


# -- from ops ----------------------------------------------------------------------------------------------------


def _mean_of_all(ndim: int) -> Any:
    """Adaptive pooling to one element is a mean, which other things can be computed together with."""

    def formula(input: Any, output_size: Any) -> Any:
        shape = input._array.shape
        wanted = output_size if isinstance(output_size, (tuple, list)) else (output_size,) * ndim
        if not math.prod(shape) or any(each != 1 for each in wanted):
            return NotImplemented
        return input.mean(list(range(len(shape) - ndim, len(shape))), True)

    return formula


def _mean_gradient(grad: Any, size: Any, mode: str, align_corners: bool, factors: Any, antialias: bool) -> Any:
    shape = grad._array.shape
    ndim = len(size)
    if mode != "area" or not math.prod(shape) or any(each != 1 for each in shape[len(shape) - ndim :]):
        return NotImplemented
    return (grad / math.prod(size)).expand((*shape[: len(shape) - ndim], *size))


for _ndim in (1, 2, 3):
    ROUTINES[f"max_pool{_ndim}d"] = max_pool(_ndim, False)
    ROUTINES[f"max_pool{_ndim}d_with_indices"] = max_pool(_ndim, True)
    ROUTINES[f"avg_pool{_ndim}d"] = average_pool(_ndim)
    ROUTINES[f"adaptive_avg_pool{_ndim}d"] = adaptive_average(_ndim)
    ROUTINES[f"adaptive_max_pool{_ndim}d_with_indices"] = adaptive_maximum(_ndim)
    FORMULAS[f"adaptive_avg_pool{_ndim}d"] = _mean_of_all(_ndim)
ROUTINES["max_pool_backward"] = max_gradient(False)
ROUTINES["max_pool_select"] = max_gradient(True)
ROUTINES["avg_pool_backward"] = average_gradient
ROUTINES["resample_backward"] = adaptive_average_gradient
FORMULAS["resample_backward"] = _mean_gradient

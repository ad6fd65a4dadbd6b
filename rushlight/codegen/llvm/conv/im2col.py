"""im2col as code: the image with its padding, panels of its windows, results scattered to their positions.

Work is done strip by strip: a strip is a part of the results along one dimension, for one index of those before it, so small that what is copied for it
stays in the cache.
"""

from __future__ import annotations

import itertools
import math
from contextlib import ExitStack

from ....schedule.routines.convolution import Phase, Three, WindowSweep
from ..ir import IRBuilder, Scalar
from ..vectors import Vectors, fitting_lanes, lanes

UNROLLED = 16  # taps along a row that are unrolled


def odd_step(type: str, length: int) -> int:
    """The row stride of a matrix: an odd number of vectors, so that neighbouring rows do not map to one cache set."""
    vectors = -(-length // lanes(type))
    return (vectors + (vectors % 2 == 0)) * lanes(type)


def copy_run(c: IRBuilder, type: str, source: str, at: Scalar, target: str, to: Scalar, length: int) -> None:
    """Copy consecutive elements in vectors; the last one overlaps the one before it."""
    wide = fitting_lanes(type, length)
    vector, many = Vectors(c, type, wide), length // wide
    offsets = [each * wide for each in range(many)]
    if many > 16:
        with c.loop(many) as block:
            offset = c.scale(block, wide)
            vector.store(vector.load(source, c.add(at, offset)), target, c.add(to, offset))
        offsets = []
    if length % wide:
        offsets.append(length - wide)
    for each in offsets:
        vector.store(vector.load(source, c.add(at, each)), target, c.add(to, each))


class Strip:
    """Code for one strip of a sweep: ``length`` results along an axis, from an index known at run time.

    Of the dimensions before the axis it has one result, of those after it all.
    """

    def __init__(self, c: IRBuilder, type: str, sweep: WindowSweep, axis: int, length: int) -> None:
        self.c = c
        self.type = type
        self.sweep = sweep
        self.axis = axis
        counts = [1] * axis + [length, *sweep.counts[axis + 1 :]]
        self.counts: Three = (counts[0], counts[1], counts[2])
        self.pixels = math.prod(counts)
        low, high = sweep.low, sweep.high
        self.extent = [(n - 1) * s + last - first + 1 for n, s, first, last in zip(self.counts, sweep.stride, low, high)]
        # Columns are grouped by their index modulo the stride, so that a row of windows is contiguous.
        self.planes = sweep.stride[2] if self.counts[2] > 1 else 1
        self.width = -(-self.extent[2] // self.planes)
        inside = all(
            first >= 0 and (n - 1) * s + last < size for n, s, first, last, size in zip(sweep.counts, sweep.stride, low, high, sweep.size)
        )
        self.direct = inside and self.planes == 1
        if self.direct:
            self.steps = (math.prod(sweep.size), sweep.size[1] * sweep.size[2], sweep.size[2])
        else:
            row = self.planes * self.width
            self.steps = (math.prod(self.extent[:2]) * row, self.extent[1] * row, row)
        self.panel_step = odd_step(type, self.pixels)

    def border_elements(self, channels: int) -> int:
        """The memory of the image with its border."""
        return 0 if self.direct else channels * self.steps[0] + lanes(self.type)

    def start(self, position: list[Scalar]) -> list[Scalar]:
        """The first position of the source that a strip reads, along each dimension; ``position`` is that of its first result."""
        c, found = self.c, []
        for axis in range(3):
            first = c.scale(position[axis], self.sweep.stride[axis])
            low = self.sweep.low[axis]
            found.append(c.integer(low) if first.name == "0" else c.add(first, low))
        return found

    def window_source(self, source: str, at: Scalar, channels: int, border: str, position: list[Scalar]) -> tuple[str, Scalar]:
        """The memory and the offset of a strip's channels: in the source itself, or in a padded copy."""
        if not self.direct:
            self.fill(source, at, channels, border, position)
            return border, self.c.integer(0)
        c, begin = self.c, self.start(position)
        return source, c.add(at, c.add(c.scale(begin[0], self.steps[1]), c.add(c.scale(begin[1], self.steps[2]), begin[2])))

    # -- the image with its border -------------------------------------------------------------------------------

    def fill(self, source: str, at: Scalar, channels: int, target: str, position: list[Scalar]) -> None:
        """Copy what a strip reads of some channels, with zeros around it."""
        c, size = self.c, self.sweep.size
        first = self.start(position)
        row = self.planes * self.width
        with c.loop(channels) as channel, c.loop(self.extent[0]) as one, \
                c.loop(self.extent[1]) as two:  # fmt: skip
            here = [c.add(each, start) for each, start in zip((one, two), first)]
            to = c.add(c.scale(channel, self.steps[0]), c.add(c.scale(one, self.steps[1]), c.scale(two, self.steps[2])))
            inside = self.inside(here[0], size[0], self.extent[0], first[0])
            other = self.inside(here[1], size[1], self.extent[1], first[1])
            known = [each for each in (inside, other) if each is not None]
            begin = c.add(
                at, c.add(c.scale(channel, math.prod(size)), c.add(c.scale(here[0], size[1] * size[2]), c.scale(here[1], size[2])))
            )
            if known:
                condition = known[0] if len(known) == 1 else c.binary("and", known[0], known[1])
                with c.when(c.invert(condition)):
                    c.zero_fill(self.type, target, to, row)
                with c.when(condition):
                    self.fill_row(source, begin, target, to, first[2])
            else:
                self.fill_row(source, begin, target, to, first[2])

    def inside(self, offset: Scalar, size: int, extent: int, first: Scalar) -> Scalar | None:
        """Whether a row is one of the source; None where every one is."""
        constant = first.name.lstrip("-").isdigit()
        if constant and int(first.name) >= 0 and int(first.name) + extent <= size:
            return None
        return self.c.compare("ult", offset, self.c.integer(size))

    def fill_row(self, source: str, at: Scalar, target: str, to: Scalar, first: Scalar) -> None:
        """One row, split into planes, with zeros for the padding."""
        c, size, step = self.c, self.sweep.size[2], self.planes
        for plane in range(step):
            goal = c.add(to, plane * self.width)
            length = -(-(self.extent[2] - plane) // step)
            if first.name.lstrip("-").isdigit():
                begin = int(first.name) + plane  # of the source
                left = min(max(0, -(begin // step)), length)
                right = max(left, min(length, -(-(size - begin) // step)))
                c.zero_fill(self.type, target, goal, left)
                if right > left:
                    self.run(source, at, begin + left * step, target, c.add(goal, left), right - left)
                c.zero_fill(self.type, target, c.add(goal, right), self.width - right)
                continue
            with c.loop(self.width) as index:
                here = c.add(c.add(first, plane), c.scale(index, step))
                known = c.compare("ult", here, c.integer(size))
                safe = c.select(known, here, c.integer(0))
                value = c.load(source, c.add(at, safe), self.type)
                c.store(c.select(known, value, c.constant(self.type, 0)), target, c.add(goal, index))

    def run(self, source: str, at: Scalar, begin: int, target: str, to: Scalar, length: int) -> None:
        """Every ``planes``-th element of a row."""
        c, step = self.c, self.planes
        if step == 1:
            copy_run(c, self.type, source, c.add(at, begin), target, to, length)
            return
        # Two vectors hold the even elements of a row (or the odd ones, loaded from one element earlier): no load is past the row.
        shift = 0 if begin + 2 * length <= self.sweep.size[2] else 1
        if step != 2 or length < 4 or (shift and begin < 1):
            with c.loop(length) as index:
                value = c.load(source, c.add(c.add(at, begin), c.scale(index, step)), self.type)
                c.store(value, target, c.add(to, index))
            return
        wide = fitting_lanes(self.type, length)
        both, one = Vectors(c, self.type, 2 * wide), Vectors(c, self.type, wide)
        offsets = [each * wide for each in range(length // wide)] + ([length - wide] if length % wide else [])
        for each in offsets:
            value = both.load(source, c.add(at, begin - shift + 2 * each))
            half = both.shuffle(value, [2 * lane + shift for lane in range(wide)])
            one.store(half, target, c.add(to, each))

    # -- panels --------------------------------------------------------------------------------------------------

    def pack(self, phase: Phase, source: str, at: Scalar, channels: int, panel: str) -> None:
        """The windows of some channels as a matrix: a row for each channel and tap, a column for each result.

        The source is the image with its border, or the image itself from where the strip begins.
        """
        c, taps = self.c, phase.taps
        padded = -(-self.pixels // lanes(self.type)) * lanes(self.type)
        low = self.sweep.low
        with ExitStack() as nest:
            channel = nest.enter_context(c.loop(channels))
            row, begin = channel, c.add(at, c.scale(channel, self.steps[0]))
            for axis in (0, 1):
                tap = nest.enter_context(c.loop(taps[axis].count)) if taps[axis].count > 1 else c.integer(0)
                row = c.add(c.scale(row, taps[axis].count), tap)
                shift = c.add(taps[axis].first - low[axis], c.scale(tap, taps[axis].step))
                begin = c.add(begin, c.scale(shift, self.steps[1 + axis]))
            last = taps[2]
            loop = last.count > UNROLLED
            if loop:
                tap = nest.enter_context(c.loop(last.count))
                offsets = [(tap, c.add(last.first - low[2], c.scale(tap, last.step)))]
            else:
                offsets = []
                for number in range(last.count):
                    shift_ = last.first - low[2] + number * last.step
                    offsets.append((c.integer(number), c.integer(shift_ % self.planes * self.width + shift_ // self.planes)))
            if padded > self.pixels:
                vector = Vectors(c, self.type)
                for number_, _ in offsets:
                    to = c.scale(c.add(c.scale(row, last.count), number_), self.panel_step)
                    vector.store(vector.zero(), panel, c.add(to, padded - vector.count))
            first, second, width = self.counts
            one = nest.enter_context(c.loop(first)) if first > 1 else c.integer(0)
            two = nest.enter_context(c.loop(second)) if second > 1 else c.integer(0)
            stride = self.sweep.stride
            here = c.add(begin, c.add(c.scale(one, stride[0] * self.steps[1]), c.scale(two, stride[1] * self.steps[2])))
            there = c.add(c.scale(one, second * width), c.scale(two, width))
            for number_, shift in offsets:
                to = c.add(c.scale(c.add(c.scale(row, last.count), number_), self.panel_step), there)
                copy_run(c, self.type, source, c.add(here, shift), panel, to, width)

    # -- results -------------------------------------------------------------------------------------------------

    def scatter(self, sources: list[str], step: int, rows: int, target: str, at: Scalar, starts: list[Scalar]) -> None:
        """Scatter the results of all phases, matrices with a row for each channel, to the elements of the result."""
        c, sweep = self.c, self.sweep
        goal, steps = sweep.target, sweep.step
        lines = list(itertools.product(range(steps[0]), range(steps[1])))
        with ExitStack() as nest:
            row = nest.enter_context(c.loop(rows))
            one = nest.enter_context(c.loop(self.counts[0]))
            two = nest.enter_context(c.loop(self.counts[1]))
            begin = c.add(c.scale(row, step), c.add(c.scale(one, self.counts[1] * self.counts[2]), c.scale(two, self.counts[2])))
            for number, (first, second) in enumerate(lines):
                here = [c.add(c.scale(c.add(each, start), each_step), offset) for each, start, each_step, offset
                        in zip((one, two), starts, steps, (first, second))]  # fmt: skip
                to = c.add(at, c.add(c.scale(row, math.prod(goal)), c.add(c.scale(here[0], goal[1] * goal[2]), c.scale(here[1], goal[2]))))
                known = c.binary("and", c.compare("slt", here[0], c.integer(goal[0])), c.compare("slt", here[1], c.integer(goal[1])))
                with c.when(known):
                    self.scatter_row(sources[number * steps[2] : (number + 1) * steps[2]], begin, target, to, starts[2])

    def scatter_row(self, sources: list[str], at: Scalar, target: str, to: Scalar, start: Scalar) -> None:
        """One row, of the phases that share it."""
        c, step, goal, width = self.c, self.sweep.step[2], self.sweep.target[2], self.counts[2]
        if start.name != "0":
            for offset, source in enumerate(sources):
                with c.loop(width) as index:
                    here = c.add(c.scale(c.add(index, start), step), offset)
                    with c.when(c.compare("slt", here, c.integer(goal))):
                        c.store(c.load(source, c.add(at, index), self.type), target, c.add(to, here))
            return
        valid = [max(0, min(width, -(-(goal - offset) // step))) for offset in range(step)]
        if step == 1:
            copy_run(c, self.type, sources[0], at, target, to, valid[0])
            return
        common = min(valid) if step == 2 else 0
        if common >= 4:
            wide = fitting_lanes(self.type, common)
            one, both = Vectors(c, self.type, wide), Vectors(c, self.type, 2 * wide)
            for each in [block * wide for block in range(common // wide)] + ([common - wide] if common % wide else []):
                a, b = (one.load(source, c.add(at, each)) for source in sources)
                both.store(one.interleaved([a, b]), target, c.add(to, 2 * each))
        else:
            common = 0
        for offset, source in enumerate(sources):
            if valid[offset] > common:
                with c.loop(common, valid[offset]) as index:
                    c.store(c.load(source, c.add(at, index), self.type), target, c.add(to, c.add(c.scale(index, step), offset)))

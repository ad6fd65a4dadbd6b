"""Direct convolutions, for groups of few channels (depthwise ones above all): windows are read from the image, without im2col.

Vectors run along a row of results.  Several rows are computed together and share their loads of the image.
"""

from __future__ import annotations

from contextlib import ExitStack

from ....schedule.routines.convolution import Phase
from ..ir import Scalar
from ..vectors import Vectors
from .im2col import Strip

PRODUCTS = 128  # that are unrolled: rows of results times taps
TAPS = 12  # accumulators in flight, in a gradient


def shifts(strip: Strip, phase: Phase) -> list[tuple[int, int, int]]:
    """The offset of each tap from the origin of a window, along each dimension (along the last one: in memory)."""
    found = []
    low = strip.sweep.low
    a, b, d = phase.taps
    for one in range(a.count):
        for two in range(b.count):
            for last in range(d.count):
                column = d.first - low[2] + last * d.step
                offset = column % strip.planes * strip.width + column // strip.planes
                found.append((a.first - low[0] + one * a.step, b.first - low[1] + two * b.step, offset))
    return found


def convolve(
    strip: Strip,
    phase: Phase,
    source: str,
    at: Scalar,
    channels: int,
    weights: str,
    rows: int,
    target: str,
    step: int,
    start: str,
    adds: bool,
) -> None:
    """The results of a strip: ``rows`` of weights for each channel and tap, times windows.

    ``start`` has the initial value of each row, or is null; with ``adds`` the results are accumulated.
    """
    c, (first, second, width) = strip.c, strip.counts
    depth = len(shifts(strip, phase))
    with ExitStack() as nest:
        row = nest.enter_context(c.loop(rows))
        one = nest.enter_context(c.loop(first))
        some = max(1, min(4, PRODUCTS // depth))  # rows computed together
        blocks, rest = divmod(second, some)
        for count, number, begin in ((some, blocks, 0), (rest, 1, blocks * some)):
            if not count or not number:
                continue
            with c.loop(number) as block:
                two = c.add(begin, c.scale(block, count))
                here = c.add(
                    at, c.add(c.scale(one, strip.sweep.stride[0] * strip.steps[1]), c.scale(two, strip.sweep.stride[1] * strip.steps[2]))
                )
                there = c.add(c.scale(row, step), c.scale(c.add(c.scale(one, second), two), width))
                factors = c.scale(row, channels * depth)
                _row(strip, phase, source, here, channels, weights, factors, target, there, start, row, count, adds)


def _row(
    strip: Strip, phase: Phase, source: str, at: Scalar, channels: int, weights: str, factors: Scalar, target: str, to: Scalar, start: str,
    row: Scalar, count: int, adds: bool,
) -> None:  # fmt: skip
    """Some rows of results, vector by vector."""
    c, width = strip.c, strip.counts[2]
    vector = Vectors(c, strip.type)
    blocks, rest = divmod(width, vector.count)
    with ExitStack() as nest:
        spots: list[tuple[Scalar, int | None]] = []
        if rest and blocks and not adds:  # the last vector overlaps the one before it
            column = c.scale(nest.enter_context(c.loop(blocks + 1)), vector.count)
            spots.append((c.min(column, width - vector.count), None))
        elif rest:
            spots += [(c.integer(each * vector.count), None) for each in range(blocks)] + [(c.integer(blocks * vector.count), rest)]
        else:
            spots.append((c.scale(nest.enter_context(c.loop(blocks)), vector.count), None))
        for column, number in spots:
            begin = vector.zero() if start == "null" else vector.splat(c.load(start, row, strip.type))
            sums = [c.slot(vector.type) for _ in range(count)]
            for slot in sums:
                c.write(begin, slot)
            with c.loop(channels) as channel:
                known: dict[tuple[int, int, int], Scalar] = {}
                base = c.add(c.add(at, c.scale(channel, strip.steps[0])), column)
                for tap, (one, two, offset) in enumerate(shifts(strip, phase)):
                    factor = c.load(weights, c.add(factors, c.add(c.scale(channel, phase.depth), tap)), strip.type)
                    spread = vector.splat(factor)
                    for line in range(count):
                        key = (one, two + line * strip.sweep.stride[1], offset)
                        if key not in known:
                            shift = key[0] * strip.steps[1] + key[1] * strip.steps[2] + offset
                            known[key] = vector.load(source, c.add(base, shift), number)
                        c.write(vector.multiply_add(spread, known[key], c.read(sums[line], vector.type)), sums[line])
            for line in range(count):
                place_ = c.add(c.add(to, line * width), column)
                made = c.read(sums[line], vector.type)
                if adds:
                    made = c.binary("fadd", vector.load(target, place_, number), made)
                vector.store(made, target, place_, number)


def correlate(strip: Strip, phase: Phase, source: str, at: Scalar, channels: int, grad: str, grad_at: Scalar, step: int, rows: int, target: str,
              row_step: int) -> None:  # fmt: skip
    """What a strip adds to the gradient of weights, as a matrix of channels and taps by rows; ``row_step`` is the stride of its rows."""
    c, (first, second, width) = strip.c, strip.counts
    vector = Vectors(c, strip.type)
    taps = shifts(strip, phase)
    whole = width // vector.count
    with c.loop(channels) as channel, c.loop(rows) as row:
        for begin in range(0, len(taps), TAPS):
            some = taps[begin : begin + TAPS]
            sums = [c.slot(vector.type) for _ in some]
            for slot in sums:
                c.write(vector.zero(), slot)
            with c.loop(first) as one, c.loop(second) as two:
                here = c.add(c.scale(one, strip.sweep.stride[0] * strip.steps[1]), c.scale(two, strip.sweep.stride[1] * strip.steps[2]))
                here = c.add(c.add(at, c.scale(channel, strip.steps[0])), here)
                there = c.add(c.add(grad_at, c.scale(row, step)), c.scale(c.add(c.scale(one, second), two), width))
                for number, many in ((None, whole), (width % vector.count or None, 1 if width % vector.count else 0)):
                    if not many:
                        continue
                    with c.loop(many) as block:
                        column = c.scale(block, vector.count) if number is None else c.integer(whole * vector.count)
                        factor = vector.load(grad, c.add(there, column), number)
                        for slot, (a, b, offset) in zip(sums, some):
                            shift = a * strip.steps[1] + b * strip.steps[2] + offset
                            value = vector.load(source, c.add(c.add(here, column), shift), number)
                            c.write(vector.multiply_add(factor, value, c.read(slot, vector.type)), slot)
            for tap, slot in enumerate(sums, begin):
                place_ = c.add(c.scale(c.add(c.scale(channel, len(taps)), tap), row_step), row)
                total = vector.reduce("fadd", c.read(slot, vector.type))
                c.store(c.binary("fadd", c.load(target, place_, strip.type), total), target, place_)

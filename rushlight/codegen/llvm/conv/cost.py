"""The cost model of convolutions: direct, im2col or Winograd, and the sizes of blocks."""

from __future__ import annotations

import math
from typing import NamedTuple

from ....schedule.routines.convolution import WindowSweep
from ....schedule.symbolic_shape import may_reach

PANEL_BYTES = 320 << 10  # of a panel: with the other operands of a product it fits in a core's L2 cache
DEPTH = 128  # of a product: less than this, and writing the result takes longer than computing it
PIXELS = 1024  # columns of a panel: more gain nothing
IMAGE_BYTES = 512 << 10  # of a result that is read again at once, from the cache
UNITS = 8  # units of work, at least, for several threads
PACKING = 1.0  # cost of a vector of a panel, in multiplications
WAITING = 2  # multiplications in the time of a one-row product, which is bound by the latency of its dependent sums
DIRECT = 1.3  # cost of a multiplication in a direct kernel, which loads both factors each time
TAPS = 64  # of a direct kernel
SUM_BYTES = 256 << 10  # of the sums of a source, where multiplications are saved
NEAR_BYTES = 192 << 10  # of products that become results at once
PARTIAL_BYTES = 8 << 20  # that sums of parts of a batch may take
SAVING = 1.15  # times fewer multiplications, to pay for the transforms
FEWEST = 16  # channels, and rows of results, that pay for the transforms
SHARED_BYTES = 8 << 20  # of weights: larger ones are read from memory each time
FETCHING = 20  # multiplications in the time of one such read


class ConvolutionBlocks(NamedTuple):
    """Block sizes: of a strip of results (along an axis), and the channels of a panel."""

    axis: int
    length: int
    channels: int

    def strips(self, sweep: WindowSweep) -> list[int]:
        """The number of strips along each dimension."""
        found = [*sweep.counts[: self.axis], -(-sweep.counts[self.axis] // self.length)]
        return found + [1] * (3 - len(found))


def divisor(number: int, limit: float) -> int:
    """The largest divisor that is at most the limit (at least 1)."""
    return max((each for each in range(1, int(min(number, max(limit, 1))) + 1) if number % each == 0), default=1)


def strip_length(count: int, limit: int) -> int:
    """A strip length, at most the limit: one without a remainder strip, where that costs little."""
    limit = max(1, min(count, limit))
    even = divisor(count, limit)
    if 2 * even > limit:
        return even
    return -(-count // -(-count // limit))


def blocks(sweep: WindowSweep, channels: int, itemsize: int, others: int) -> ConvolutionBlocks:
    """The sizes of blocks for a source with so many channels; ``others`` is the number of other units (images, groups)."""
    taps = max(phase.depth for phase in sweep.phases)
    depth = max(1, taps * channels)
    pixels = max(1, min(PIXELS, PANEL_BYTES // itemsize // min(depth, DEPTH)))
    axis = next((axis for axis in range(3) if sweep.counts[axis] > 1), 2)
    if axis == 0 and sweep.counts[1] * sweep.counts[2] > pixels:
        axis = 1  # a plane is too much
    count, row = sweep.counts[axis], math.prod(sweep.counts[axis + 1 :])
    length = strip_length(count, max(1, pixels // row))
    others *= math.prod(sweep.counts[:axis])
    if not may_reach(others, UNITS):  # few images: shorter strips, though not of less than a few vectors
        length = min(length, max(strip_length(count, -(-count * others // UNITS)), -(-64 // row)))
    return ConvolutionBlocks(axis, length, divisor(channels, PANEL_BYTES / itemsize / (taps * length * row)) if taps else channels)


def directly(rows: int, taps: int) -> bool:
    """Whether a group with so many rows of results uses the direct kernel.

    A panel costs something for each of its elements, which the rows that use it pay back; a direct kernel loads both factors for each
    multiplication, and is written out tap by tap.
    """
    panel = PACKING + max(rows, WAITING)
    return taps <= TAPS and DIRECT * rows < panel


class ConvolutionCost(NamedTuple):
    """The cost of one algorithm, per image, channel and row of results: multiplications, and weight loads."""

    multiplications: float
    weights: float
    bytes: int  # of all weights

    @property
    def cost(self) -> float:
        """In multiplications."""
        return self.multiplications + (FETCHING * self.weights if self.bytes > SHARED_BYTES else 0)


def saves(plain: ConvolutionCost, fewer: ConvolutionCost, rows: int, channels: int) -> bool:
    """Whether Winograd's algorithm is cheaper, given both costs."""
    return min(rows, channels) >= FEWEST and fewer.cost * SAVING <= plain.cost

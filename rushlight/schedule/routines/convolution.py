"""Descriptions of convolutions: forward, transposed (which is the gradient of the input, too), and the gradient of the weight."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from ...ops.nn.sliding_windows import expand_ints
from ..lowering import routine
from ..tensor_ir import Reference, TensorIRBuilder

Three = tuple[int, int, int]


@dataclass(frozen=True)
class Taps:
    """The taps of a window along one dimension: their number, the offset of the first from the window's origin, and their distance."""

    count: int
    first: int
    step: int
    number: int = 0  # of the first, among those of the whole kernel
    stride: int = 1  # from one to the next there

    @property
    def bounds(self) -> tuple[int, int]:
        ends = (self.first, self.first + (self.count - 1) * self.step)
        return min(ends), max(ends)


class Phase(NamedTuple):
    """The results whose positions have one remainder by the stride of a transposed convolution: they all use the same taps."""

    offset: Three
    taps: tuple[Taps, Taps, Taps]

    @property
    def depth(self) -> int:
        return math.prod(each.count for each in self.taps)


class WindowSweep(NamedTuple):
    """How windows go over a source: result ``q`` of a phase reads ``q * stride + tap`` and is written to ``q * step + offset``."""

    size: Three
    counts: Three  # results of a phase
    stride: Three
    phases: tuple[Phase, ...]
    step: Three
    target: Three  # the size of the result

    @property
    def low(self) -> Three:
        """The first position that the window of result 0 reads."""
        return self._ends(0)

    @property
    def high(self) -> Three:
        """The last one."""
        return self._ends(1)

    def _ends(self, which: int) -> Three:
        used = [phase for phase in self.phases if phase.depth]
        if not used:
            return 0, 0, 0
        found = [[phase.taps[axis].bounds[which] for phase in used] for axis in range(3)]
        a, b, c = (min(each) if which == 0 else max(each) for each in found)
        return a, b, c

    @property
    def plain(self) -> bool:
        """Whether results are computed in the order of their positions."""
        return len(self.phases) == 1 and self.step == (1, 1, 1) and self.counts == self.target


def three(values: tuple[int, ...], default: int) -> Three:
    """Numbers for three dimensions; those that are missing come first."""
    a, b, c = (*[default] * (3 - len(values)), *values)
    return a, b, c


def forward_sweep(size: tuple[int, ...], kernel: tuple[int, ...], counts: tuple[int, ...], stride: tuple[int, ...],
                  padding: tuple[int, ...], dilation: tuple[int, ...]) -> WindowSweep:  # fmt: skip
    """The windows of a convolution."""
    kernels, pads, apart = three(kernel, 1), three(padding, 0), three(dilation, 1)
    a, b, c = (Taps(kernels[axis], -pads[axis], apart[axis]) for axis in range(3))
    shape = three(counts, 1)
    return WindowSweep(three(size, 1), shape, three(stride, 1), (Phase((0, 0, 0), (a, b, c)),), (1, 1, 1), shape)


def transposed_sweep(size: tuple[int, ...], kernel: tuple[int, ...], target: tuple[int, ...], stride: tuple[int, ...],
                     padding: tuple[int, ...], dilation: tuple[int, ...]) -> WindowSweep:  # fmt: skip
    """A transposed convolution as convolutions with some of the taps each: one for each remainder of a position by the stride."""
    steps, kernels, pads, apart = three(stride, 1), three(kernel, 1), three(padding, 0), three(dilation, 1)
    goal = three(target, 1)
    found: list[list[Taps]] = []
    for axis in range(3):
        step, taps = steps[axis], []
        for remainder in range(step):
            numbers = [tap for tap in range(kernels[axis]) if (remainder + pads[axis] - apart[axis] * tap) % step == 0]
            shifts = [(remainder + pads[axis] - apart[axis] * tap) // step for tap in numbers]
            if not numbers:
                taps.append(Taps(0, 0, 0))
                continue
            several = len(numbers) > 1
            taps.append(
                Taps(
                    len(numbers), shifts[0], shifts[1] - shifts[0] if several else 1, numbers[0], numbers[1] - numbers[0] if several else 1
                )
            )
        found.append(taps)
    phases = []
    for offset in itertools.product(*[range(step) for step in steps]):
        phases.append(Phase((offset[0], offset[1], offset[2]), (found[0][offset[0]], found[1][offset[1]], found[2][offset[2]])))
    a, b, c = (-(-goal[axis] // steps[axis]) for axis in range(3))
    return WindowSweep(three(size, 1), (a, b, c), (1, 1, 1), tuple(phases), steps, goal)


@dataclass(frozen=True)
class Convolution:
    """A convolution, or its transpose: ``rows`` output channels of each group from its ``channels`` input channels."""

    source: Reference
    weight: Reference
    bias: Reference | None
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int
    transposed: bool
    sweep: WindowSweep

    @property
    def images(self) -> Any:
        return self.source.shape[0]

    @property
    def channels(self) -> int:
        """Input channels of a group."""
        return self.source.shape[1] // self.groups

    @property
    def rows(self) -> int:
        """Output channels of a group."""
        return self.weight.shape[1] if self.transposed else self.weight.shape[0] // self.groups

    @property
    def multiplications(self) -> int:
        """For one input and one output channel, per image."""
        return sum(phase.depth for phase in self.sweep.phases) * math.prod(self.sweep.counts)


@dataclass(frozen=True)
class ConvolutionWeightGradient:
    """The gradient of a convolution's weight, from its input and the gradient of its result."""

    source: Reference
    grad: Reference
    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int
    sweep: WindowSweep

    @property
    def images(self) -> Any:
        return self.source.shape[0]

    @property
    def channels(self) -> int:
        """Input channels of a group."""
        return self.source.shape[1] // self.groups

    @property
    def rows(self) -> int:
        """Output channels of a group."""
        return self.grad.shape[1] // self.groups


@routine.register("convolution")
def convolution(builder: TensorIRBuilder, args: tuple[Any, ...], spec: Any, node: Any) -> Any:
    source, weight, bias, stride, padding, dilation, transposed, _, groups = args
    ndim = len(weight.shape) - 2
    empty = not spec.size or not weight.value.size or 0 in source.shape or 0 in weight.shape
    if source.dtype.char not in "fd" or not 1 <= ndim <= 3 or empty:
        return NotImplemented
    steps, pads, apart = (expand_ints(each, ndim, "convolution", "") for each in (stride, padding, dilation))
    make = transposed_sweep if transposed else forward_sweep
    sweep = make(source.shape[2:], weight.shape[2:], spec.shape[2:], steps, pads, apart)
    return Convolution(source, weight, bias, steps, pads, apart, groups, bool(transposed), sweep)


@routine.register("convolution_weight_gradient")
def convolution_weight_gradient(builder: TensorIRBuilder, args: tuple[Any, ...], spec: Any, node: Any) -> Any:
    source, grad, kernel, stride, padding, dilation, groups = args
    ndim = len(kernel)
    if source.dtype.char not in "fd" or not 1 <= ndim <= 3 or not spec.size or 0 in source.shape or 0 in grad.shape:
        return NotImplemented
    steps, pads, apart = (expand_ints(each, ndim, "convolution", "") for each in (stride, padding, dilation))
    sweep = forward_sweep(source.shape[2:], tuple(kernel), grad.shape[2:], steps, pads, apart)
    return ConvolutionWeightGradient(source, grad, tuple(kernel), steps, pads, apart, groups, sweep)

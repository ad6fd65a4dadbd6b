"""The lowering of convolutions, and their im2col form: panels of windows, strip by strip, times the weights.

A panel is small enough for the cache, and is multiplied there.  A transposed convolution is a few convolutions with some of the taps each.  The gradient of
the weights is a panel times the transposed gradient.
"""

from __future__ import annotations

import itertools
import math
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from typing import Any

from ....core.base import Spec
from ....core.parallel import pool as eager_pool
from ....graph import Node
from ....schedule.lowering import lowering
from ....schedule.routines.convolution import Convolution, ConvolutionWeightGradient, WindowSweep
from ....schedule.symbolic_shape import at_most, least, may_reach
from ....schedule.tensor_ir import Routine, TensorIRBuilder
from ..gemm.blas import FLOPS_PER_NANOSECOND
from ..gemm.choose import choose_tile
from ..gemm.micro_kernel import MicroKernel
from ..ir import FIRST, LAST, TYPES, IRBuilder, Module, Scalar, pointers
from ..native_call import Lowering, NativeCall
from ..scratch_pool import ScratchPool, cache_lines
from ..vectors import BYTES, Vectors, lanes
from . import cost, direct, pointwise, winograd, winograd_transforms
from .im2col import UNROLLED, Strip, odd_step
from .image_routine import ImageRoutine, ImageUnit, UnitIndices, begin_of, contiguous
from .winograd_batched import BatchedWinogradConvolution, BatchedWinogradWeightGradient

llvm = lowering("llvm")
CODE_LIMIT = 64  # phases: each is emitted separately


class Im2colConvolution(ImageRoutine):
    """A convolution, or its transpose: results from a source and weights of ``rows`` by ``channels`` and taps for each group."""

    def __init__(self, op: Convolution) -> None:
        weight, sweep, groups, rows = op.weight, op.sweep, op.groups, op.rows
        self.source, self.weight, self.bias, self.sweep, self.groups, self.rows = op.source, weight, op.bias, sweep, groups, rows
        self.images, self.channels = op.images, op.channels
        self.type = TYPES[op.source.dtype]
        self.blocks = cost.blocks(sweep, self.channels, BYTES[self.type], self.images * groups)
        self.strips = self.blocks.strips(sweep)
        # Parts of the rows, where there are few units: each packs the same panel again, so they are larger for many threads, unless there is no panel.
        fewest = 16 if math.prod(weight.shape[2:]) == 1 else 64
        for wanted, high in ((cost.UNITS, 16), (2 * eager_pool.threads, fewest)):
            if not may_reach(self.units, wanted) and rows > high:
                self.parts = max(self.parts, cost.divisor(rows, min(wanted * self.parts / self.units, rows / high)))
        self.weights = math.prod(weight.shape) if op.transposed else 0
        taps = max(phase.depth for phase in sweep.phases)
        self.directly = cost.directly(rows, taps)  # without im2col
        self.plain_product = (
            sweep.plain and taps == 1 and sweep.stride == (1, 1, 1) and sweep.size == sweep.counts
        )  # 1 x 1 taps: the image is the panel
        whole = Strip(IRBuilder(Module()), self.type, sweep, self.blocks.axis, self.blocks.length)
        if self.directly:  # all channels at once, since results are not read again
            self.blocks = self.blocks._replace(channels=self.channels)
        panel = 0 if self.directly else self.blocks.channels * taps * whole.panel_step
        self.border = cache_lines(self.type, whole.border_elements(self.blocks.channels))
        self.panel = cache_lines(self.type, panel)
        self.temporary = 0 if sweep.plain else cache_lines(self.type, rows // self.parts * whole.panel_step)
        self.slot = self.border + self.panel + self.temporary * len(sweep.phases)
        self.target = groups * rows * math.prod(sweep.target)
        self.allow_epilogue(cost.UNITS, cost.IMAGE_BYTES)
        self.cost = cost.ConvolutionCost(
            op.multiplications,
            math.prod(weight.shape[2:]) * math.prod(self.strips), math.prod(weight.shape) * BYTES[self.type],
        )  # fmt: skip
        self.nanoseconds = 2.0 * self.cost.multiplications * self.images * groups * self.channels * rows / FLOPS_PER_NANOSECOND

    # -- code ----------------------------------------------------------------------------------------------------

    def transform_weights(self, module: Module) -> tuple[str, int]:
        """Weights of ``(groups * channels, rows, taps)`` as matrices of ``rows`` by channels and taps, one for each phase."""
        c = IRBuilder(module)
        c.scalar = True  # strided elements: vectorizing costs compile time and gains nothing
        given = begin_of(c, "%weight", self.weight)
        kernel = self.weight.shape[2:]
        sizes = (*[1] * (3 - len(kernel)), *kernel)
        taps = math.prod(kernel)
        block = cost.divisor(self.rows, 16)  # rows that are read together
        with c.loop(FIRST, LAST) as unit:
            indices = UnitIndices(c, unit)
            start, group = c.scale(indices.take(self.rows // block), block), indices.rest
            begin = 0
            for phase in self.sweep.phases:
                if not phase.depth:
                    continue
                with c.loop(self.channels) as channel, c.loop(block) as number:
                    row = c.add(start, number)
                    at = c.add(c.scale(c.add(c.scale(group, self.channels), channel), self.rows * taps), c.scale(row, taps))
                    to = c.add(c.scale(c.add(c.scale(row, self.channels), channel), phase.depth), begin)
                    to = c.add(to, c.scale(group, self.rows * self.channels * taps))
                    for offset, numbers in enumerate(itertools.product(*[range(each.count) for each in phase.taps])):
                        tap = 0
                        for each, size, at_ in zip(phase.taps, sizes, numbers):
                            tap = tap * size + each.number + at_ * each.stride
                        c.store(c.load(given, c.add(at, tap), self.type), "%transformed", c.add(to, offset))
                begin += self.rows * self.channels * phase.depth
        name = module.add("transpose_weights", c.function("", pointers(("%weight", "%transformed"))))
        return name, self.groups * (self.rows // block)

    def strip(self, c: IRBuilder, unit: ImageUnit) -> None:
        """One unit; the last strip along an axis may be shorter."""
        position = unit.position
        axis, length = self.blocks.axis, self.blocks.length
        number, count, strips = position[axis], self.sweep.counts[axis], self.strips[axis]
        position = [c.scale(each, length) if at == axis else each for at, each in enumerate(position)]
        sizes: list[tuple[Scalar | None, int]] = [(None, length)]
        if strips * length != count:
            last = c.compare("eq", number, c.integer(strips - 1))
            sizes = [(c.invert(last), length), (last, count - (strips - 1) * length)]
        for condition, size in sizes:
            with c.when(condition) if condition is not None else nullcontext():
                strip = Strip(c, self.type, self.sweep, axis, size)
                self.unit(c, strip, unit._replace(position=position))

    def unit(self, c: IRBuilder, strip: Strip, unit: ImageUnit) -> None:
        """One strip of one image, for one group (or a part of its rows)."""
        source, weight, bias, result, slot, image, target_image, group, position, part = unit
        sweep, type = self.sweep, self.type
        rows = self.rows // self.parts
        border, panel = slot, c.address(slot, self.border, "i8")
        at = self.border + self.panel
        temporaries = [c.address(slot, at + number * self.temporary, "i8") for number in range(len(sweep.phases))]
        base = c.scale(c.add(c.scale(image, self.groups), group), self.channels * math.prod(sweep.size))
        row = c.add(c.scale(group, self.rows), c.scale(part, rows))
        goal = c.scale(c.add(c.scale(target_image, self.groups * self.rows), row), math.prod(sweep.target))
        start = c.address(bias, row, type) if bias else "null"
        blocks = self.channels // self.blocks.channels
        for first in sorted({0, min(1, blocks - 1)}):  # the first block of channels initializes the sums, the others accumulate
            last = 1 if first == 0 else blocks
            with c.loop(first, last) as block:
                here = c.add(base, c.scale(block, self.blocks.channels * math.prod(sweep.size)))
                pointer, window = strip.window_source(source, here, self.blocks.channels, border, position)
                begin_weight = 0
                for number, phase in enumerate(sweep.phases):
                    if not phase.depth:
                        continue
                    step = self.channels * phase.depth
                    column = c.scale(block, self.blocks.channels * phase.depth)
                    if self.weights:
                        row_at = c.add(c.scale(group, self.rows * self.channels * math.prod(self.weight.shape[2:])),
                                       c.add(begin_weight, c.scale(c.scale(part, rows), step)))  # fmt: skip
                    else:
                        row_at = c.scale(row, step)
                    begin_weight += self.rows * step
                    target = c.address(result, c.add(goal, pixel_of(c, sweep, position)), type) if sweep.plain else temporaries[number]
                    target_step = math.prod(sweep.target) if sweep.plain else strip.panel_step
                    left = c.address(weight, c.add(row_at, column), type)
                    if self.directly:
                        begin_at = start if first == 0 else "null"
                        direct.convolve(
                            strip, phase, pointer, window, self.blocks.channels, left, rows, target, target_step, begin_at, first > 0
                        )
                        continue
                    right, right_step = panel, strip.panel_step
                    if self.plain_product and strip.direct:
                        right, right_step = c.address(pointer, window, type), strip.steps[0]
                    else:
                        strip.pack(phase, pointer, window, self.blocks.channels, panel)
                    tile = choose_tile(rows, -(-strip.pixels // lanes(type)), constant=True)
                    product = MicroKernel(
                        type, tile, rows, strip.pixels, self.blocks.channels * phase.depth, step, right_step, target_step,
                        start="column" if bias and first == 0 else "zero", accumulate=first > 0, padded="right" if right is panel else "",
                    )  # fmt: skip
                    product.call(c, left, right, target, start)
        for number, phase in enumerate(sweep.phases):
            if not phase.depth:
                self.begin(c, strip, rows, temporaries[number], start)
        if not sweep.plain:
            strip.scatter(temporaries, strip.panel_step, rows, result, goal, position)

    def begin(self, c: IRBuilder, strip: Strip, rows: int, target: str, start: str) -> None:
        """The results of a phase that no tap reaches."""
        with c.loop(rows) as row:
            value = c.constant(self.type, 0) if start == "null" else c.load(start, row, self.type)
            with c.loop(strip.pixels) as pixel:
                c.store(value, target, c.add(c.scale(row, strip.panel_step), pixel))


def pixel_of(c: IRBuilder, sweep: WindowSweep, position: list[Scalar]) -> Scalar:
    """The linear index of a result, from its indices along the dimensions."""
    _, height, width = sweep.counts
    return c.add(c.scale(position[0], height * width), c.add(c.scale(position[1], width), position[2]))


class Im2colWeightGradient:
    """The gradient of a convolution's weights: for each part of the batch a sum, then the sum of these."""

    def __init__(self, op: ConvolutionWeightGradient) -> None:
        sweep, groups = op.sweep, op.groups
        self.source, self.grad, self.sweep, self.groups = op.source, op.grad, sweep, groups
        self.type = TYPES[op.source.dtype]
        self.images, self.channels, self.rows = op.images, op.channels, op.rows
        self.taps = sweep.phases[0].depth
        self.depth = self.channels * self.taps
        self.directly = cost.directly(self.rows, self.taps)
        self.blocks = cost.blocks(sweep, self.channels, BYTES[self.type], cost.UNITS)
        channels = self.blocks.channels
        self.row_step = -(-self.rows // lanes(self.type)) * lanes(self.type)  # of rows of sums
        weights = groups * self.depth * self.row_step
        self.chunks = max(1, at_most(self.images, min(2 * cost.UNITS, cost.PARTIAL_BYTES // (weights * BYTES[self.type]))))
        wanted = 2 * max(cost.UNITS, eager_pool.threads) / (self.chunks * groups)  # units of channels; sums do not depend on it
        self.block = cost.divisor(self.channels, min(channels, max(1.0, self.channels / max(1.0, wanted), 64 / self.taps)))
        self.units = self.chunks * groups * (self.channels // self.block)
        self.weights = weights
        whole = Strip(IRBuilder(Module()), self.type, sweep, self.blocks.axis, self.blocks.length)
        self.transposed_step = odd_step(self.type, self.rows)
        self.border = cache_lines(self.type, whole.border_elements(self.block))
        self.panel = cache_lines(self.type, self.block * self.taps * whole.panel_step)
        self.slot = self.border + self.panel + cache_lines(self.type, whole.pixels * self.transposed_step)

    @property
    def pool(self) -> ScratchPool:
        return ScratchPool(self.units, self.slot)

    def scratch(self) -> list[Spec]:
        return [self.pool.spec, Spec((self.chunks * self.weights,), self.source.dtype)]

    def write(self, program: Lowering, module: Module, routine: Routine) -> list[NativeCall]:
        source, grad = (each.value for each in routine.inputs)
        result, pool, parts = routine.others
        work = 2.0 * self.images * math.prod(self.sweep.counts) * self.groups * self.depth * self.rows / FLOPS_PER_NANOSECOND
        native_calls = [self.pool.clear(module, pool), NativeCall(self.main(module), [source, grad, pool, parts], self.units, work)]
        name, extent = self.sum(module)
        native_calls.append(NativeCall(name, [parts, result], extent, (self.chunks + 1.0) * self.weights * 0.3))
        return native_calls

    def main(self, module: Module) -> str:
        c = IRBuilder(module)
        c.rolled = True
        source, grad = begin_of(c, "%source", self.source), begin_of(c, "%grad", self.grad)
        sweep = self.sweep
        axis, length = self.blocks.axis, self.blocks.length
        whole, rest = divmod(sweep.counts[axis], length)
        with self.pool.slot(c, "%pool") as slot, c.loop(FIRST, LAST) as unit:
            indices = UnitIndices(c, unit)
            block = indices.take(self.channels // self.block)
            group, chunk = indices.take(self.groups), indices.rest
            at = c.add(c.scale(chunk, self.weights), c.scale(group, self.depth * self.row_step))
            at = c.add(at, c.scale(block, self.block * self.taps * self.row_step))
            target = c.address("%parts", at, self.type)
            c.zero_fill(self.type, target, 0, self.block * self.taps * self.row_step)
            images = c.number(self.images)
            first, last = (c.div(c.mul(each, images), self.chunks) for each in (chunk, c.add(chunk, 1)))
            with ExitStack() as nest:
                image = nest.enter_context(c.loop(first, last))
                offsets = [nest.enter_context(c.loop(each)) for each in sweep.counts[:axis]]
                after = [c.integer(0)] * (2 - axis)
                for size, begin, many in ((length, 0, whole), (rest, whole * length, 1)):
                    if size and many:
                        with c.loop(many) as number:
                            offset = c.add(begin, c.scale(number, length))
                            self.strip(c, module, size, source, grad, slot, target, image, group, block, [*offsets, offset, *after])
        return module.add("gradient", c.function("", pointers(("%source", "%grad", "%pool", "%parts"))))

    def strip(self, c: IRBuilder, module: Module, length: int, source: str, grad: str, slot: str, target: str,
              image: Scalar, group: Scalar, block: Scalar, position: list[Scalar]) -> None:  # fmt: skip
        """What one strip of an image adds."""
        sweep, type = self.sweep, self.type
        strip = Strip(c, type, sweep, self.blocks.axis, length)
        border, panel, transposed_grad = slot, *(c.address(slot, at, "i8") for at in (self.border, self.border + self.panel))
        size, pixels = math.prod(sweep.size), math.prod(sweep.target)
        channel = c.add(c.scale(c.add(c.scale(image, self.groups), group), self.channels), c.scale(block, self.block))
        here = c.scale(channel, size)
        pointer, window = strip.window_source(source, here, self.block, border, position)
        row = c.scale(c.add(c.scale(image, self.groups), group), self.rows * pixels)
        at = c.add(row, pixel_of(c, sweep, position))
        if self.directly:
            direct.correlate(strip, sweep.phases[0], pointer, window, self.block, grad, at, pixels, self.rows, target, self.row_step)
            return
        strip.pack(sweep.phases[0], pointer, window, self.block, panel)
        transpose = winograd_transforms.transpose(module, type)
        c.call_function(transpose, c.address(grad, at, type), transposed_grad, self.rows, pixels, 1, strip.pixels, self.transposed_step, 0)
        tile = choose_tile(self.block * self.taps, self.row_step // lanes(type))
        MicroKernel(type, tile, accumulate=True, padded="all").call(
            c, panel, transposed_grad, target, rows=self.block * self.taps, columns=self.row_step, depth=strip.pixels, left_step=strip.panel_step,
            right_step=self.transposed_step, result_step=self.row_step,
        )  # fmt: skip

    def sum(self, module: Module) -> tuple[str, int]:
        """Sum the parts of the batch, and permute the weights to their layout."""
        c, rows = IRBuilder(module), cost.divisor(self.depth, 64)
        c.rolled = True
        vector = Vectors(c, self.type)
        blocks = self.depth // rows
        with c.loop(FIRST, LAST) as unit:
            indices = UnitIndices(c, unit)
            block, group = indices.take(blocks), indices.rest
            at = c.add(c.scale(group, self.depth * self.row_step), c.scale(block, rows * self.row_step))
            with c.loop(1, self.chunks) as chunk, c.loop(rows * self.row_step // vector.count) as number:
                here = c.add(at, c.scale(number, vector.count))
                other = vector.load("%parts", c.add(here, c.scale(chunk, self.weights)))
                vector.store(c.binary("fadd", vector.load("%parts", here), other), "%parts", here)
            to = c.add(c.scale(group, self.rows * self.depth), c.scale(block, rows))
            buffers = (c.address("%parts", at, self.type), c.address("%result", to, self.type))
            c.call_function(winograd_transforms.transpose(module, self.type), *buffers, rows, self.row_step, 1, self.rows, self.depth, 0)
        name = module.add("sum", c.function("", pointers(("%parts", "%result"))))
        return name, self.groups * blocks


# -- the choice of an algorithm ----------------------------------------------------------------------------------


def is_possible(sweep: WindowSweep) -> bool:
    """Whether code for a sweep is of a reasonable size."""
    return len(sweep.phases) <= CODE_LIMIT and not any(phase.taps[2].count > UNROLLED and sweep.stride[2] > 1 for phase in sweep.phases)


@llvm.register("convolution")
def convolution(builder: TensorIRBuilder, op: Convolution, spec: Any, node: Node) -> Any:
    """The routine of a convolution or a transposed one: by Winograd's algorithm where that saves enough multiplications."""
    if not is_possible(op.sweep):
        return NotImplemented
    bias = None if op.bias is None else contiguous(builder, op.bias)
    op = replace(op, source=contiguous(builder, op.source), weight=contiguous(builder, op.weight), bias=bias)
    work: Any = Im2colConvolution(op)
    pixels = op.source.shape[2:] if op.transposed else tuple(spec.shape[2:])
    if not work.takes_epilogue and pointwise.is_pointwise(op, op.weight.shape[2:], pixels):
        met = op.source if op.transposed else pointwise.sampled(builder, op.source, op.stride, pixels)
        product = pointwise.PointwiseConvolution(replace(op, source=met), tuple(spec.shape[2:]))
        sources = [met, op.weight] + ([] if bias is None else [bias])
        return builder.routine(sources, [spec], node, product.write, product.scratch())[0]
    axes = winograd.axes_for(op.weight.shape[2:], op.stride, op.padding, op.dilation, op.transposed)
    if axes is not None:
        other = winograd.WinogradConvolution(op, axes, (spec.shape[2], spec.shape[3]))
        if other.tiles.possible and BatchedWinogradConvolution.is_worthwhile(op, other):
            other = BatchedWinogradConvolution(op, axes, (spec.shape[2], spec.shape[3]))
        if other.tiles.possible and may_reach(other.units, cost.UNITS) and cost.saves(work.cost, other.cost, op.rows, op.channels):
            work = other
    sources = [op.source, op.weight] + ([] if bias is None else [bias])
    made = builder.routine(sources, [spec], node, work.write, work.scratch())[0]
    routine: Any = made.value
    routine.takes_epilogue = work.takes_epilogue
    return made


@llvm.register("convolution_weight_gradient")
def weight_gradient(builder: TensorIRBuilder, op: ConvolutionWeightGradient, spec: Any, node: Node) -> Any:
    """The routine of the gradient of a convolution's weights."""
    if not is_possible(op.sweep):
        return NotImplemented
    op = replace(op, source=contiguous(builder, op.source), grad=contiguous(builder, op.grad))
    if pointwise.is_pointwise(op, op.kernel, op.grad.shape[2:]):
        met = pointwise.sampled(builder, op.source, op.stride, op.grad.shape[2:])
        product = pointwise.PointwiseWeightGradient(replace(op, source=met))
        return builder.routine([met, op.grad], [spec], node, product.write, product.scratch())[0]
    work: Any = Im2colWeightGradient(op)
    axes = winograd.axes_for(op.kernel, op.stride, op.padding, op.dilation, False)
    if axes is not None:
        other = winograd.WinogradWeightGradient(op, axes)
        plain = cost.ConvolutionCost(9 * math.prod(op.sweep.counts), 0, 0)
        enough = may_reach(2 * other.units, least(cost.UNITS, work.units))
        if other.tiles.possible and BatchedWinogradWeightGradient.is_worthwhile(op, other):
            other, enough = BatchedWinogradWeightGradient(op, axes), True
        if other.tiles.possible and enough and cost.saves(plain, cost.ConvolutionCost(other.multiplications, 0, 0), op.rows, op.channels):
            work = other
    return builder.routine([op.source, op.grad], [spec], node, work.write, work.scratch())[0]

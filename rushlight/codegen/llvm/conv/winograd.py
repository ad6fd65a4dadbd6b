"""Convolutions by Winograd's algorithm: strips of an image, tile by tile (``winograd_transforms.py`` has the transforms).

The transformed source of a strip is in the cache, and so are the products of a few rows of weights with it, which become results at once.
"""

from __future__ import annotations

import math
from typing import Any

from ....core.base import Spec
from ....core.parallel import pool as eager_pool
from ....schedule.routines.convolution import Convolution, ConvolutionWeightGradient
from ....schedule.symbolic_shape import at_most
from ....schedule.tensor_ir import Routine
from ..gemm.blas import FLOPS_PER_NANOSECOND
from ..gemm.choose import choose_tile
from ..gemm.micro_kernel import MicroKernel
from ..ir import FIRST, LAST, TYPES, IRBuilder, Module, Scalar, pointers
from ..native_call import Lowering, NativeCall
from ..scratch_pool import ScratchPool, cache_lines
from ..vectors import BYTES, Vectors, lanes
from . import cost, winograd_transforms
from .image_routine import ImageRoutine, ImageUnit, UnitIndices, begin_of
from .winograd_transforms import WinogradAxes, axis_for

CHANNELS = 8  # of a unit of work that transforms sums to weights


def axes_for(kernel: tuple[int, ...], stride: Any, padding: Any, dilation: Any, transposed: bool) -> WinogradAxes | None:
    """The tiles of a convolution; None where it is not of 3 x 3 taps and small strides."""
    if tuple(kernel) != (3, 3) or any(each not in (1, 2) for each in stride) or any(each != 1 for each in dilation):
        return None
    down, across = (axis_for(step, pad, transposed) for step, pad in zip(stride, padding))
    return WinogradAxes(down, across)


def uneven(type: str, elements: int) -> int:
    """The stride of matrices of a size: no multiple of a page, which would map equal elements to one cache set."""
    line = 64 // BYTES[type]
    lines = -(-elements // line)
    return (lines + (lines + 1) % 2 + (2 if lines % 64 >= 62 else 0)) * line


class WinogradTiles:
    """The tiles of an image, strip by strip, and the memory that their transforms take."""

    def __init__(
        self, type: str, axes: WinogradAxes, size: tuple[int, int], target: tuple[int, int], channels: int, images: int, whole: bool = False
    ) -> None:
        """Tiles of several images are concatenated; an image is ``whole`` where it is not split into strips."""
        self.type, self.axes, self.size, self.target, self.channels, self.images = (type, axes, size, target, channels, images)
        self.results = len(axes.down.result), len(axes.across.result)
        self.down, self.across = (-(-count // each) for count, each in zip(target, self.results))
        self.wide = winograd_transforms.lanes_for(type, self.across)
        fitting = cost.SUM_BYTES // (BYTES[type] * axes.products * channels * self.across * images)
        self.rows = self.down if whole else cost.strip_length(self.down, fitting)  # of a strip
        self.strips = -(-self.down // self.rows)
        self.count = self.rows * self.across  # of one image
        over = self.wide - 1 if self.across % self.wide else 0  # what vectors write beyond the last tile
        self.row_step = -(-(images * self.count + over) // lanes(type)) * lanes(type)
        self.line = winograd_transforms.line_length(axes, self.wide, self.across)
        self.lines = (self.rows - 1) * axes.down.step + axes.down.reach
        self.left = max(0, -axes.across.begin)  # columns of the border
        self.length = min(size[1] - max(0, axes.across.begin), self.line - self.left)  # of a row of the source that is used
        self.border_bytes = cache_lines(type, self.lines * self.line + self.wide * axes.across.step)
        self.block = uneven(type, channels * self.row_step)
        self.panel_bytes = cache_lines(type, axes.products * self.block)

    @property
    def possible(self) -> bool:
        """Whether a row is long enough for a vector."""
        return self.length >= self.wide >= 2

    @property
    def multiplications(self) -> int:
        """For one channel and one row of weights, per image."""
        return self.axes.products * self.strips * self.row_step // self.images

    def number_of_rows(self, c: IRBuilder, strip: Scalar) -> Scalar:
        """How many rows of tiles a strip has."""
        if self.down % self.rows == 0:
            return c.integer(self.rows)
        left = c.sub(self.down, c.scale(strip, self.rows))
        return c.min(left, self.rows)

    def clear(self, c: IRBuilder, border: str) -> None:
        """Zeros for the padding around what will be copied."""
        c.zero_fill(self.type, border, 0, self.lines * self.line)

    def clear_rest(self, c: IRBuilder, panel: str, channels: int, count: int) -> None:
        """Zeros in the lanes after the last tile: stale values may be denormal, which some processors multiply slowly."""
        vector = Vectors(c, self.type)
        if count % vector.count:
            with c.loop(self.axes.products) as product, c.loop(channels) as channel:
                row = c.add(c.scale(product, self.block), c.scale(channel, self.row_step))
                vector.store(vector.zero(), panel, c.add(row, count // vector.count * vector.count))

    def transform(self, c: IRBuilder, source: str, at: Scalar, strip: Scalar, border: str, panel: str, channels: int | None = None) -> None:
        """Transform a strip of all channels, or so many; ``at`` is where the first one begins."""
        height, width = self.size
        axis = self.axes.down
        rows = self.number_of_rows(c, strip)
        first = c.add(c.scale(strip, self.rows * axis.step), axis.begin)
        skipped = c.max(0, c.sub(0, first))
        last = c.min(c.sub(height, first), self.lines)
        lines = c.max(0, c.sub(last, skipped))
        start = c.add(c.add(at, c.scale(c.add(first, skipped), width)), max(0, self.axes.across.begin))
        function = winograd_transforms.transform_source(c.module, self.type, self.axes, self.wide)
        inside = c.add(c.scale(skipped, self.line), self.left)
        sizes = (
            channels or self.channels,
            height * width,
            width,
            lines,
            self.length,
            self.line,
            inside,
            rows,
            self.across,
            self.row_step,
            self.block,
        )
        c.call_function(function, c.address(source, start, self.type), border, panel, *sizes)


def lookup(c: IRBuilder, index: Scalar, table: list[int]) -> Scalar:
    """An entry of a short table."""
    if table == list(range(len(table))):
        return index
    found = c.integer(table[0])
    for at, each in enumerate(table[1:], 1):
        found = c.select(c.compare("eq", index, c.integer(at)), c.integer(each), found)
    return found


class WinogradConvolution(ImageRoutine):
    """A convolution, or its transpose."""

    def __init__(self, op: Convolution, axes: WinogradAxes, target: tuple[int, int]) -> None:
        source, groups, rows = op.source, op.groups, op.rows
        self.source, self.weight, self.bias, self.axes = source, op.weight, op.bias, axes
        self.groups, self.rows, self.transposed = groups, rows, op.transposed
        self.images, self.channels = op.images, op.channels
        self.type = TYPES[source.dtype]
        self.tiles = WinogradTiles(self.type, axes, (source.shape[2], source.shape[3]), target, self.channels, 1)
        self.strips = [1, self.tiles.strips, 1]
        self.target = groups * rows * math.prod(target)
        self.vectors = -(-self.tiles.count // lanes(self.type))
        self.tile = choose_tile(vectors=self.vectors)
        self.padded = -(-rows // self.tile.rows) * self.tile.rows
        row = axes.products * self.tiles.row_step * BYTES[self.type]  # bytes of the products of a row
        self.block = min(
            self.padded, max(1, cost.NEAR_BYTES // row // self.tile.rows) * self.tile.rows
        )  # rows whose products are in flight
        self.matrix = uneven(self.type, self.block * self.tiles.row_step)
        self.products = cache_lines(self.type, axes.products * self.matrix)
        self.slot = self.tiles.border_bytes + self.tiles.panel_bytes + self.products
        self.kind = uneven(self.type, self.padded * self.channels)
        self.weights = groups * axes.kinds * self.kind
        self.allow_epilogue(cost.UNITS, cost.IMAGE_BYTES)
        self.cost = cost.ConvolutionCost(self.tiles.multiplications, axes.kinds * self.tiles.strips, self.weights * BYTES[self.type])
        self.nanoseconds = 2.0 * self.cost.multiplications * self.images * groups * self.channels * rows / FLOPS_PER_NANOSECOND

    def transform_weights(self, module: Module) -> tuple[str, int]:
        c = IRBuilder(module)
        row, channel, group = (
            (9, 9 * self.rows, 9 * self.rows * self.channels) if self.transposed else (9 * self.channels, 9, 9 * self.rows * self.channels)
        )
        sizes = (FIRST, LAST, self.rows, self.padded // self.tile.rows, self.channels, row, channel, group, self.tile.rows, self.kind)
        c.call_function(winograd_transforms.transform_weights(module, self.type, self.axes), begin_of(c, "%b0", self.weight), "%b1", *sizes)
        return module.add("turn", c.function("", pointers(("%b0", "%b1")))), self.groups * (self.padded // self.tile.rows)

    def strip(self, c: IRBuilder, unit: ImageUnit) -> None:
        source, weight, bias, result, slot, image, goal, group, offsets, part = unit
        tiles, axes, type = self.tiles, self.axes, self.type
        strip = offsets[1]
        panel, products = (c.address(slot, at, "i8") for at in (tiles.border_bytes, tiles.border_bytes + tiles.panel_bytes))
        tiles.clear(c, slot)
        tiles.clear_rest(c, panel, self.channels, tiles.count)
        channel = c.scale(c.add(c.scale(image, self.groups), group), self.channels)
        tiles.transform(c, source, c.scale(channel, math.prod(tiles.size)), strip, slot, panel)
        product = MicroKernel(type, self.tile, left_step=0, left_packed=True, padded="all")
        across = len(axes.across.source)
        with c.loop(-(-self.rows // self.block)) as number:
            row = c.scale(number, self.block)
            rows = c.min(c.sub(self.rows, row), self.block)
            with c.loop(len(axes.down.source)) as one, c.loop(across) as two:
                kind = c.add(c.scale(lookup(c, one, axes.down.kind_of), len(axes.across.kinds)), lookup(c, two, axes.across.kind_of))
                kind = c.scale(c.add(c.scale(group, axes.kinds), kind), self.kind)
                left = c.address(weight, c.add(kind, c.scale(row, self.channels)), type)
                at = c.add(c.scale(one, across), two)
                right, to = (c.address(panel, c.scale(at, tiles.block), type), c.address(products, c.scale(at, self.matrix), type))
                product.call(
                    c, left, right, to, rows=rows, columns=self.vectors * lanes(type), depth=self.channels, right_step=tiles.row_step, result_step=tiles.row_step
                )  # fmt: skip
            row = c.add(c.scale(group, self.rows), row)
            begin = c.scale(c.add(c.scale(goal, self.groups * self.rows), row), math.prod(tiles.target))
            places_ = (products, c.address(bias, row, type) if bias else "null", c.address(result, begin, type))
            first = c.scale(strip, tiles.rows * tiles.results[0])
            given = (rows, tiles.number_of_rows(c, strip), tiles.across, tiles.row_step, self.matrix, first, *tiles.target)
            c.call_function(winograd_transforms.transform_products(c.module, type, axes, tiles.wide, bool(bias)), *places_, *given)


class WinogradWeightGradient:
    """The gradient of a convolution's weights: for each part of the batch sums, then the sum of these."""

    def __init__(self, op: ConvolutionWeightGradient, axes: WinogradAxes) -> None:
        source, grad, groups = op.source, op.grad, op.groups
        self.source, self.grad, self.axes, self.groups = source, grad, axes, groups
        self.type = type = TYPES[source.dtype]
        self.images, self.channels, self.rows = op.images, op.channels, op.rows
        size, target = (source.shape[2], source.shape[3]), (grad.shape[2], grad.shape[3])
        tiles = math.prod(-(-count // len(axis.result)) for count, axis in zip(target, axes))
        together = max(1, at_most(self.images, cost.DEPTH // 2 // tiles))  # images whose tiles are summed together
        self.row_step = -(-self.rows // lanes(type)) * lanes(type)  # of rows of sums
        self.kind = uneven(type, self.channels * self.row_step)
        self.part = groups * axes.kinds * self.kind
        most = cost.PARTIAL_BYTES // (self.part * BYTES[type])
        self.parts = max(1, at_most(-(-self.images // together), min(-(-cost.UNITS // groups), most)))
        wanted = max(cost.UNITS, eager_pool.threads) / (self.parts * groups)  # units of channels; sums do not depend on it
        fitting = cost.SUM_BYTES / (BYTES[type] * axes.products * min(tiles, cost.DEPTH // 2) * together)
        self.block = cost.divisor(self.channels, min(fitting, max(self.channels / wanted, cost.FEWEST / 2)))
        self.splits = cost.divisor(self.channels // self.block, wanted)
        self.tiles = WinogradTiles(type, axes, size, target, self.block, together)
        if self.tiles.strips > 1:
            self.tiles = WinogradTiles(type, axes, size, target, self.block, 1)
        self.together = self.tiles.images
        self.units = self.parts * groups * self.splits
        self.line = self.tiles.across * self.tiles.results[1] * self.row_step  # a row of pixels, channels-last
        self.transposed_grad = cache_lines(type, self.tiles.rows * self.tiles.results[0] * self.line)
        self.matrix = uneven(type, self.together * self.tiles.count * self.row_step)
        self.slot = self.tiles.border_bytes + self.tiles.panel_bytes + self.transposed_grad + cache_lines(type, axes.shares * self.matrix)

    @property
    def multiplications(self) -> int:
        return self.axes.products * self.tiles.down * self.tiles.across

    @property
    def pool(self) -> ScratchPool:
        return ScratchPool(self.units, self.slot)

    def scratch(self) -> list[Spec]:
        return [self.pool.spec, Spec((self.parts * self.part,), self.source.dtype)]

    def write(self, program: Lowering, module: Module, routine: Routine) -> list[NativeCall]:
        source, grad = (each.value for each in routine.inputs)
        result, pool, parts = routine.others
        work = 2.0 * self.images * self.groups * self.multiplications * self.channels * self.rows / FLOPS_PER_NANOSECOND
        name, extent = self.sum(module)
        return [
            self.pool.clear(module, pool),
            NativeCall(self.main(module), [source, grad, pool, parts], self.units, work),
            NativeCall(name, [parts, result], extent, (self.parts + 4.0) * self.part * 0.2),
        ]

    def main(self, module: Module) -> str:
        c = IRBuilder(module)
        c.rolled = True
        source, grad = begin_of(c, "%source", self.source), begin_of(c, "%grad", self.grad)
        with self.pool.slot(c, "%pool") as slot, c.loop(FIRST, LAST) as unit:
            indices = UnitIndices(c, unit)
            split, group, part = indices.take(self.splits), indices.take(self.groups), indices.rest
            at = c.add(c.scale(part, self.part), c.scale(group, self.axes.kinds * self.kind))
            target = c.address("%parts", at, self.type)
            own = self.channels // self.splits * self.row_step
            with c.loop(self.axes.kinds) as kind:
                c.zero_fill(self.type, target, c.add(c.scale(kind, self.kind), c.scale(split, own)), own)
            images = c.number(self.images)
            ends = [c.div(c.mul(each, images), self.parts) for each in (part, c.add(part, 1))]
            length = c.add(c.sub(ends[1], ends[0]), self.together - 1)
            with c.loop(c.div(length, self.together)) as number, \
                    c.loop(self.tiles.strips) as strip:  # fmt: skip
                first = c.add(ends[0], c.scale(number, self.together))
                last = c.min(c.add(first, self.together), ends[1])
                offset = strip if self.tiles.strips > 1 else c.integer(0)
                self.several(c, source, grad, slot, target, first, last, group, split, offset)
        return module.add("gradient", c.function("", pointers(("%source", "%grad", "%pool", "%parts"))))

    def several(
        self,
        c: IRBuilder,
        source: str,
        grad: str,
        slot: str,
        target: str,
        first: Scalar,
        last: Scalar,
        group: Scalar,
        split: Scalar,
        strip: Scalar,
    ) -> None:
        """What a strip of several images adds, for some of the channels."""
        tiles, axes, type, module = self.tiles, self.axes, self.type, c.module
        offsets = [
            tiles.border_bytes,
            tiles.border_bytes + tiles.panel_bytes,
            tiles.border_bytes + tiles.panel_bytes + self.transposed_grad,
        ]
        panel, transposed_grad, shares = (c.address(slot, at, "i8") for at in offsets)
        height, width = tiles.target
        rows = tiles.number_of_rows(c, strip)
        count = c.scale(rows, tiles.across)
        if height % tiles.results[0] or width % tiles.results[1]:  # zeros where the last tiles exceed the image
            c.zero_fill(type, transposed_grad, 0, self.transposed_grad // BYTES[type])
        with c.loop(first, last) as image:
            line = c.scale(strip, tiles.rows * tiles.results[0])
            lines = c.min(c.sub(height, line), c.scale(rows, tiles.results[0]))
            at = c.add(c.scale(c.add(c.scale(image, self.groups), group), self.rows * height * width), c.scale(line, width))
            transpose, strip_of = winograd_transforms.transpose(module, type), c.address(grad, at, type)
            c.call_function(transpose, strip_of, transposed_grad, self.rows, height * width, lines, width, self.row_step, self.line)
            to = c.scale(c.mul(c.sub(image, first), count), self.row_step)
            sizes = (self.row_step // lanes(type), rows, tiles.across, self.row_step, self.line, self.matrix)
            c.call_function(
                winograd_transforms.transform_gradient(module, type, axes), transposed_grad, c.address(shares, to, type), *sizes
            )
        tiles.clear(c, slot)
        product = MicroKernel(type, choose_tile(self.block, self.row_step // lanes(type)), accumulate=True, padded="all")
        across = len(axes.across.source)
        blocks = self.channels // self.block // self.splits
        begin_block = c.scale(split, blocks)
        with c.loop(begin_block, c.add(begin_block, blocks)) as block:
            channel = c.scale(block, self.block)
            with c.loop(first, last) as image:
                begin = c.scale(c.add(c.scale(c.add(c.scale(image, self.groups), group), self.channels), channel), math.prod(tiles.size))
                to = c.mul(c.sub(image, first), count)
                tiles.transform(c, source, begin, strip, slot, c.address(panel, to, type))
            depth = c.mul(c.sub(last, first), count)
            with c.loop(len(axes.down.source)) as one, c.loop(across) as two:
                left = c.address(panel, c.scale(c.add(c.scale(one, across), two), tiles.block), type)
                share = c.add(c.scale(lookup(c, one, axes.down.share_of), len(axes.across.shares)), lookup(c, two, axes.across.share_of))
                kind = c.add(c.scale(lookup(c, one, axes.down.kind_of), len(axes.across.kinds)), lookup(c, two, axes.across.kind_of))
                right = c.address(shares, c.scale(share, self.matrix), type)
                goal = c.address(target, c.add(c.scale(kind, self.kind), c.scale(channel, self.row_step)), type)
                product.call(
                    c, left, right, goal, rows=self.block, columns=self.row_step, depth=depth, left_step=tiles.row_step, right_step=self.row_step, result_step=self.row_step
                )  # fmt: skip

    def sum(self, module: Module) -> tuple[str, int]:
        """The function that sums the parts of the batch and transforms them to weights, and its number of units."""
        c = IRBuilder(module)
        c.rolled = True
        function = winograd_transforms.transform_weight_sums(module, self.type, self.axes)
        blocks = -(-self.channels // CHANNELS)
        with c.loop(FIRST, LAST) as unit:
            indices = UnitIndices(c, unit)
            channel, group = c.scale(indices.take(blocks), CHANNELS), indices.rest
            sums = c.address("%parts", c.scale(group, self.axes.kinds * self.kind), self.type)
            result = c.address("%result", c.scale(group, 9 * self.rows * self.channels), self.type)
            sizes = (
                channel,
                c.min(c.add(channel, CHANNELS), self.channels),
                self.parts,
                self.part,
                self.rows,
                self.channels,
                self.row_step,
                self.kind,
            )
            c.call_function(function, sums, result, *sizes)
        return module.add("sum", c.function("", pointers(("%parts", "%result")))), self.groups * blocks

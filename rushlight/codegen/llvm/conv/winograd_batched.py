"""Winograd convolutions of small images with many channels: the tiles of all images are the columns of a few large products.

Strip by strip (``winograd.py``), an image of 14 x 14 leaves a quarter of all lanes idle, and each strip reads all weights again.  Here the source is transformed
as a whole, then multiplied, then the products are transformed, each by all threads.
"""

from __future__ import annotations

import math
from typing import Any

from ....core.base import Spec
from ....core.parallel import pool as eager_pool
from ....schedule.routines.convolution import Convolution, ConvolutionWeightGradient
from ....schedule.symbolic_shape import SymbolicNumber
from ....schedule.tensor_ir import Routine
from ..gemm.blas import FLOPS_PER_NANOSECOND
from ..gemm.choose import choose_tile
from ..gemm.micro_kernel import MicroKernel
from ..ir import FIRST, LAST, IRBuilder, Module, pointers
from ..native_call import Lowering, NativeCall
from ..scratch_pool import ScratchPool, cache_lines
from ..vectors import BYTES, lanes
from . import cost, winograd_transforms
from .image_routine import UnitIndices, begin_of
from .winograd import WinogradConvolution, WinogradTiles, WinogradWeightGradient, lookup, uneven
from .winograd_transforms import WinogradAxes

MOST_BYTES = 16 << 20  # of transformed sources, and of products
LEAST = 64  # channels, and rows of results
GAIN = 1.2  # times fewer multiplications than strip by strip
DEEPEST = 1024  # tiles: the depth of products that are gradients of weights
BLOCK = 64  # rows of results whose gradient is transformed at a time
TRANSFORM = 0.4  # nanoseconds for an element


def transform_channels(module: Module, work: Any, part: int) -> str:
    """The function that transforms some channels of all images."""
    c, tiles = IRBuilder(module), work.tiles
    source = begin_of(c, "%source", work.source)
    with work.pool.slot(c, "%pool") as slot, c.loop(FIRST, LAST) as unit:
        tiles.clear(c, slot)
        channel = c.scale(unit, part)
        tiles.clear_rest(c, c.address("%panel", c.scale(channel, tiles.row_step), work.type), part, work.images * tiles.count)
        with c.loop(work.images) as image:  # in order: the last vector of an image overlaps the tiles of the next one
            at = c.scale(c.add(c.scale(image, work.channels), channel), math.prod(tiles.size))
            to = c.add(c.scale(channel, tiles.row_step), c.scale(image, tiles.count))
            tiles.transform(c, source, at, c.integer(0), slot, c.address("%panel", to, work.type), part)
    return module.add("transform_source", c.function("", pointers(("%source", "%pool", "%panel"))))


class BatchedWinogradConvolution(WinogradConvolution):
    """A convolution, or its transpose, of all images at once."""

    def __init__(self, op: Convolution, axes: WinogradAxes, target: tuple[int, int]) -> None:
        super().__init__(op, axes, target)
        type = self.type
        self.tiles = WinogradTiles(type, axes, (op.source.shape[2], op.source.shape[3]), target, self.channels, self.images, whole=True)
        self.vectors = -(-self.images * self.tiles.count // lanes(type))
        self.tile = choose_tile(vectors=1)  # as high as a vector, so that weights are packed by vectors
        self.padded = -(-self.rows // self.tile.rows) * self.tile.rows
        self.matrix = uneven(type, self.padded * self.tiles.row_step)
        self.kind = uneven(type, self.padded * self.channels)
        self.weights = axes.kinds * self.kind
        self.takes_epilogue = False
        most = 2 * max(cost.UNITS, eager_pool.threads)  # units; what they compute does not depend on it
        self.part = cost.divisor(self.channels, max(4, self.channels // most))
        self.high = self.tile.rows * max(1, self.padded // self.tile.rows * axes.products // (4 * most))
        self.some = cost.divisor(self.rows, max(4, self.rows * self.images // most))
        self.cost = cost.ConvolutionCost(self.tiles.multiplications, axes.kinds / self.images, self.weights * BYTES[type])

    @staticmethod
    def is_worthwhile(op: Convolution, plain: WinogradConvolution) -> bool:
        """Whether sizes are known and tiles fill vectors better than those of strips do, of which each reads all weights."""
        if isinstance(op.images, SymbolicNumber) or op.groups != 1 or min(op.rows, op.channels) < LEAST:
            return False
        made = plain.tiles
        tiles = op.images * made.down * made.across
        if made.axes.products * tiles * max(op.rows, op.channels) * BYTES[plain.type] > MOST_BYTES:
            return False
        shared = plain.weights * BYTES[plain.type] <= cost.SHARED_BYTES
        return not shared or bool(op.images * made.strips * plain.vectors >= GAIN * -(-tiles // lanes(plain.type)))

    @property
    def units(self) -> int:
        """The number of products of some rows."""
        return self.axes.products * -(-self.padded // self.high)

    @property
    def pool(self) -> ScratchPool:
        return ScratchPool(self.channels // self.part, self.tiles.border_bytes)

    def scratch(self) -> list[Spec]:
        """Scratch memory: borders, transformed weights, transformed sources, products."""
        sizes = (self.weights, self.axes.products * self.tiles.block, self.axes.products * self.matrix)
        return [self.pool.spec, *(Spec((each,), self.source.dtype) for each in sizes)]

    def write(self, program: Lowering, module: Module, routine: Routine) -> list[NativeCall]:
        """The native calls: transforms of weights and of the source, products, transforms of these."""
        source, weight, *bias = [each.value for each in routine.inputs]
        result, pool, weights, panel, products = routine.others
        name, units = self.transform_weights(module)
        work = 2.0 * self.axes.products * self.tiles.row_step * self.channels * self.rows / FLOPS_PER_NANOSECOND
        sources, results = self.axes.products * self.tiles.block * TRANSFORM, self.axes.products * self.matrix * TRANSFORM
        return [
            self.pool.clear(module, pool),
            NativeCall(name, [weight, weights], units, self.weights * 1.0),
            NativeCall(self.transform(module), [source, pool, panel], self.channels // self.part, sources),
            NativeCall(self.multiply(module), [weights, panel, products], self.units, work),
            NativeCall(self.finish(module, bool(bias)), [products, result, *bias], self.images * (self.rows // self.some), results),
        ]

    def transform(self, module: Module) -> str:
        return transform_channels(module, self, self.part)

    def multiply(self, module: Module) -> str:
        """The function that multiplies some rows of weights by one of the transformed sources."""
        c, tiles, axes, type = IRBuilder(module), self.tiles, self.axes, self.type
        c.rolled = True
        kernel = MicroKernel(type, self.tile, left_step=0, left_packed=True, padded="all")
        across = len(axes.across.source)
        with c.loop(FIRST, LAST) as unit:
            indices = UnitIndices(c, unit)
            row, product = c.scale(indices.take(self.units // axes.products), self.high), indices.rest
            one, two = c.div(product, across), c.rem(product, across)
            kind = c.add(c.scale(lookup(c, one, axes.down.kind_of), len(axes.across.kinds)), lookup(c, two, axes.across.kind_of))
            left = c.address("%weights", c.add(c.scale(kind, self.kind), c.scale(row, self.channels)), type)
            right = c.address("%panel", c.scale(product, tiles.block), type)
            to = c.address("%products", c.add(c.scale(product, self.matrix), c.scale(row, tiles.row_step)), type)
            kernel.call(
                c, left, right, to, rows=c.min(self.high, c.sub(self.padded, row)), columns=self.vectors * lanes(type), depth=self.channels,
                right_step=tiles.row_step, result_step=tiles.row_step,
            )  # fmt: skip
        return module.add("multiply_tiles", c.function("", pointers(("%weights", "%panel", "%products"))))

    def finish(self, module: Module, starts: bool) -> str:
        """The function that transforms products to results: some rows of an image."""
        c, tiles, type = IRBuilder(module), self.tiles, self.type
        bias = begin_of(c, "%bias", self.bias) if self.bias is not None else ""
        function = winograd_transforms.transform_products(module, type, self.axes, tiles.wide, starts)
        with c.loop(FIRST, LAST) as unit:
            indices = UnitIndices(c, unit)
            row, image = c.scale(indices.take(self.rows // self.some), self.some), indices.rest
            at = c.add(c.scale(row, tiles.row_step), c.scale(image, tiles.count))
            to = c.scale(c.add(c.scale(image, self.rows), row), math.prod(tiles.target))
            given: tuple[Any, ...] = (self.some, tiles.down, tiles.across, tiles.row_step, self.matrix, 0, *tiles.target)
            start = c.address(bias, row, type) if starts else "null"
            c.call_function(function, c.address("%products", at, type), start, c.address("%result", to, type), *given)
        names = ("%products", "%result", "%bias") if starts else ("%products", "%result")
        return module.add("transform_products", c.function("", pointers(names)))


class BatchedWinogradWeightGradient(WinogradWeightGradient):
    """The gradient of a convolution's weights, of all images at once: the tiles of all of them are the depth of the products."""

    def __init__(self, op: ConvolutionWeightGradient, axes: WinogradAxes) -> None:
        super().__init__(op, axes)
        type = self.type
        self.tiles = WinogradTiles(
            type,
            axes,
            (op.source.shape[2], op.source.shape[3]),
            (op.grad.shape[2], op.grad.shape[3]),
            self.channels,
            self.images,
            whole=True,
        )
        self.depth = self.images * self.tiles.count
        self.wide = cost.divisor(self.row_step // lanes(type), BLOCK // lanes(type)) * lanes(type)  # rows of results of a block
        self.blocks = self.row_step // self.wide
        self.matrix = uneven(type, self.depth * self.wide)
        self.line = self.tiles.across * self.tiles.results[1] * self.wide  # a row of pixels, channels-last
        self.pixels = self.tiles.down * self.tiles.results[0] * self.line
        self.part = axes.kinds * self.kind
        self.parts = 1
        most = 2 * max(cost.UNITS, eager_pool.threads)  # units; what they compute does not depend on it
        self.some = cost.divisor(self.channels, max(4, self.channels // most))
        self.high = cost.divisor(self.channels, max(8, self.channels * axes.kinds * self.blocks // (4 * most)))
        self.slot = max(self.tiles.border_bytes, cache_lines(type, self.pixels))
        self.units = axes.kinds * self.blocks * (self.channels // self.high)

    @staticmethod
    def is_worthwhile(op: ConvolutionWeightGradient, plain: WinogradWeightGradient) -> bool:
        """Whether sizes are known and the tiles of all images are few."""
        if isinstance(op.images, SymbolicNumber) or op.groups != 1 or min(op.rows, op.channels) < LEAST:
            return False
        tiles = op.images * plain.tiles.down * plain.tiles.across
        return bool(tiles <= DEEPEST and plain.axes.products * tiles * max(op.rows, op.channels) * BYTES[plain.type] <= MOST_BYTES)

    @property
    def pool(self) -> ScratchPool:
        return ScratchPool(max(self.channels // self.some, self.images * self.blocks), self.slot)

    def scratch(self) -> list[Spec]:
        """Scratch memory: borders, sums, transformed sources, transformed gradients."""
        sizes = (self.part, self.axes.products * self.tiles.block, self.blocks * self.axes.shares * self.matrix)
        return [self.pool.spec, *(Spec((each,), self.source.dtype) for each in sizes)]

    def write(self, program: Lowering, module: Module, routine: Routine) -> list[NativeCall]:
        """The native calls: transforms of the source and of the gradient, products, weights of these."""
        source, grad = (each.value for each in routine.inputs)
        result, pool, sums, panel, shares = routine.others
        work = 2.0 * self.axes.products * self.depth * self.channels * self.rows / FLOPS_PER_NANOSECOND
        sources = self.axes.products * self.tiles.block * TRANSFORM
        gradients = self.blocks * self.axes.shares * self.matrix * TRANSFORM
        name, extent = self.sum(module)
        return [
            self.pool.clear(module, pool),
            NativeCall(transform_channels(module, self, self.some), [source, pool, panel], self.channels // self.some, sources),
            NativeCall(self.transform_gradient(module), [grad, pool, shares], self.images * self.blocks, gradients),
            NativeCall(self.multiply(module), [panel, shares, sums], self.units, work),
            NativeCall(name, [sums, result], extent, 5.0 * self.part * 0.2),
        ]

    def transform_gradient(self, module: Module) -> str:
        """The function that transforms some rows of an image of the gradient."""
        c, tiles, type = IRBuilder(module), self.tiles, self.type
        grad = begin_of(c, "%grad", self.grad)
        height, width = tiles.target
        with self.pool.slot(c, "%pool") as slot, c.loop(FIRST, LAST) as unit:
            indices = UnitIndices(c, unit)
            block, image = indices.take(self.blocks), indices.rest
            row = c.scale(block, self.wide)
            rows = c.min(self.wide, c.sub(self.rows, row))
            c.zero_fill(type, slot, 0, self.pixels)  # where the last tiles exceed the image, and rows out of range
            at = c.address(grad, c.scale(c.add(c.scale(image, self.rows), row), height * width), type)
            transpose = winograd_transforms.transpose(module, type)
            c.call_function(transpose, at, slot, rows, height * width, height, width, self.wide, self.line)
            to = c.add(c.scale(block, self.axes.shares * self.matrix), c.scale(image, tiles.count * self.wide))
            sizes = (self.wide // lanes(type), tiles.down, tiles.across, self.wide, self.line, self.matrix)
            c.call_function(winograd_transforms.transform_gradient(module, type, self.axes), slot, c.address("%shares", to, type), *sizes)
        return module.add("transform_gradient", c.function("", pointers(("%grad", "%pool", "%shares"))))

    def multiply(self, module: Module) -> str:
        """The function that computes one sum of weights, of some channels and rows, from all products that contain it."""
        c, tiles, axes, type = IRBuilder(module), self.tiles, self.axes, self.type
        c.rolled = True
        kernel = MicroKernel(type, choose_tile(self.high, self.wide // lanes(type)), accumulate=True, padded="all")
        down, across = len(axes.down.source), len(axes.across.source)
        with c.loop(FIRST, LAST) as unit:
            indices = UnitIndices(c, unit)
            channel, block, kind = c.scale(indices.take(self.channels // self.high), self.high), indices.take(self.blocks), indices.rest
            to = c.add(c.scale(kind, self.kind), c.add(c.scale(channel, self.row_step), c.scale(block, self.wide)))
            with c.loop(self.high) as row:
                c.zero_fill(type, "%sums", c.add(to, c.scale(row, self.row_step)), self.wide)
            with c.loop(down) as one, c.loop(across) as two:
                own = c.add(c.scale(lookup(c, one, axes.down.kind_of), len(axes.across.kinds)), lookup(c, two, axes.across.kind_of))
                with c.when(c.compare("eq", own, kind)):
                    share = c.add(
                        c.scale(lookup(c, one, axes.down.share_of), len(axes.across.shares)), lookup(c, two, axes.across.share_of)
                    )
                    left = c.add(c.scale(c.add(c.scale(one, across), two), tiles.block), c.scale(channel, tiles.row_step))
                    right = c.scale(c.add(c.scale(block, axes.shares), share), self.matrix)
                    kernel.call(
                        c, c.address("%panel", left, type), c.address("%shares", right, type), c.address("%sums", to, type), rows=self.high,
                        columns=self.wide, depth=self.depth, left_step=tiles.row_step, right_step=self.wide, result_step=self.row_step,
                    )  # fmt: skip
        return module.add("multiply_tiles", c.function("", pointers(("%panel", "%shares", "%sums"))))

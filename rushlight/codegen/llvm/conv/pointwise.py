"""1 x 1 convolutions as matrix products: pixels by input channels, times input by output channels.

Both matrices are packed once, by all threads.  A tile has rows of pixels, so that images of 7 x 7 or 14 x 14 leave no lane of a vector idle, and a block of the
result is transposed when it is written.  The gradient of the weights is a product whose depth is the pixels of all images.
"""

from __future__ import annotations

import math
from typing import Any

from ....core.base import Spec
from ....core.parallel import pool as eager_pool
from ....schedule.routines.convolution import Convolution, ConvolutionWeightGradient
from ....schedule.symbolic_shape import SymbolicNumber
from ....schedule.tensor_ir import Reference, Routine, TensorIRBuilder
from ..gemm.blocked import DEPTH, FLOPS, PACKING, ROWS, BlockedProduct, pack_call
from ..gemm.choose import PACKED_BYTES, Tile, choose_tile
from ..gemm.micro_kernel import MicroKernel
from ..gemm.panels import Panels
from ..ir import FIRST, LAST, TYPES, IRBuilder, Module, Scalar, pointers
from ..native_call import Lowering, NativeCall
from ..target import processor
from ..vectors import lanes
from . import cost, winograd_transforms
from .image_routine import UnitIndices, begin_of, contiguous

HIGH, ACROSS = 112, 64  # pixels and output channels of a block
LEAST = 16  # channels, and pixels of an image, for which packing pays
MOST, MOST_OF_GRADIENT = 1024, 1 << 14  # pixels of an image: with more, unpacked strips are as fast (measured)


def is_pointwise(op: Convolution | ConvolutionWeightGradient, kernel: tuple[int, ...], size: tuple[int, ...]) -> bool:
    """Whether a convolution has one tap, enough channels, and images whose pixels (of such a size) are few enough to be packed."""
    gradient = isinstance(op, ConvolutionWeightGradient)
    if (
        math.prod(kernel) != 1
        or any(op.padding)
        or op.groups != 1
        or isinstance(op.images, SymbolicNumber)
        or min(op.channels, op.rows) < LEAST
    ):
        return False
    pixels, channels = math.prod(size), max(op.channels, op.rows if gradient else 0)
    most = MOST_OF_GRADIENT if gradient else MOST
    return LEAST <= pixels <= most and bool(op.images * pixels * channels * op.source.dtype.itemsize <= PACKED_BYTES)


def sampled(builder: TensorIRBuilder, source: Reference, stride: tuple[int, ...], counts: tuple[int, ...]) -> Reference:
    """The pixels of a source that a stride selects, in order."""
    strides = (*source.strides[:2], *(each * step for each, step in zip(source.strides[2:], stride)))
    return contiguous(builder, Reference(source.value, (*source.shape[:2], *counts), strides, source.offset))


def tile_for(pixels: int) -> Tile:
    """The tile with the smallest remainder of an image's pixels."""
    chosen = choose_tile()
    if processor().vector_bits != 512:
        return chosen
    return Tile(min((8, 7, 6), key=lambda rows: -(-pixels // rows) * rows), chosen.vectors)


class PointwiseConvolution:
    """A convolution of one tap, or its transpose; the source has only pixels that are used."""

    takes_epilogue = False

    def __init__(self, op: Convolution, target: tuple[int, ...]) -> None:
        self.source, self.weight, self.bias, self.transposed = op.source, op.weight, op.bias, op.transposed
        self.type = TYPES[op.source.dtype]
        self.images, self.depth, self.width = op.images, op.channels, op.rows
        self.size, self.target, self.stride = op.source.shape[2:], target, op.stride
        self.pixels = math.prod(self.size)
        self.scattered = op.transposed and self.size != self.target
        self.tile = tile_for(self.pixels)
        self.wide = lanes(self.type) * self.tile.vectors
        self.count = -(-self.pixels // self.tile.rows)  # panels of an image
        most = max(1, HIGH // self.tile.rows)
        even = cost.divisor(self.count, most)
        self.high = even if 2 * even > most else most  # panels of a block
        self.across = min(ACROSS, -(-self.width // self.wide) * self.wide)
        while self.units < 2 * eager_pool.threads and self.across > self.wide:
            self.across = -(-self.across // 2 // self.wide) * self.wide

    @property
    def units(self) -> int:
        return self.images * -(-self.count // self.high) * -(-self.width // self.across)

    def panels(self, module: Module) -> tuple[Panels, Panels]:
        """The packed pixels of an image, and the packed weights."""
        pixels = Panels(module, self.type, self.depth, self.pixels, self.tile.rows)
        return pixels, Panels(module, self.type, self.depth, self.width, self.wide)

    def scratch(self) -> list[Spec]:
        """Scratch memory: the packed matrices."""
        pixels, weights = self.panels(Module())
        return [Spec((self.images * pixels.size,), self.source.dtype), Spec((weights.size,), self.source.dtype)]

    def write(self, program: Lowering, module: Module, routine: Routine) -> list[NativeCall]:
        """Pack both, and multiply."""
        values = [each.value for each in routine.inputs]
        result, packed, weights = routine.others
        pixels, right = self.panels(module)
        steps = (self.width, 1) if self.transposed else (1, self.depth)
        native_calls = [self.pack_pixels(module, pixels, values[0], packed), pack_call(module, right, self.weight, steps, weights)]
        if self.scattered:
            native_calls.append(self.fill(module, [result, *values[2:]]))
        name = self.main(module, pixels, right)
        work = 2.0 * self.images * self.pixels * self.depth * self.width / FLOPS
        native_calls.append(NativeCall(name, [packed, weights, result, *values[2:]], self.units, work))
        return native_calls

    def pack_pixels(self, module: Module, panels: Panels, source: Any, packed: Any) -> NativeCall:
        """Some channels of an image at a time."""
        c = IRBuilder(module)
        begin = begin_of(c, "%b1", self.source)
        blocks = -(-self.depth // ROWS)
        with c.loop(FIRST, LAST) as unit:
            indices = UnitIndices(c, unit)
            row, image = c.scale(indices.take(blocks), ROWS), indices.rest
            at = c.address(begin, c.scale(c.add(c.scale(image, self.depth), row), self.pixels), self.type)
            to = c.address("%b0", c.add(c.scale(image, panels.size), c.scale(row, panels.columns)), self.type)
            panels.pack(c, (self.pixels, 1), to, at, rows=c.min(ROWS, c.sub(self.depth, row)))
        name = module.add("pack_pixels", c.function("", pointers(("%b0", "%b1"))))
        return NativeCall(name, [packed, source], self.images * blocks, self.images * panels.size * PACKING)

    def fill(self, module: Module, values: list[Any]) -> NativeCall:
        """Zeros, or the bias, for results that no pixel of the source reaches."""
        c, plane = IRBuilder(module), math.prod(self.target)
        with c.loop(FIRST, LAST) as row:
            at = c.scale(row, plane)
            if self.bias is None:
                c.zero_fill(self.type, "%b0", at, plane)
            else:
                value = c.load(begin_of(c, "%b1", self.bias), c.rem(row, self.width), self.type)
                with c.loop(plane) as pixel:
                    c.store(value, "%b0", c.add(at, pixel))
        name = module.add("fill_result", c.function("", pointers([f"%b{at}" for at in range(len(values))])))
        rows = self.images * self.width
        return NativeCall(name, values, rows, rows * plane * PACKING)

    def main(self, module: Module, pixels: Panels, weights: Panels) -> str:
        """The function that computes blocks of the result."""
        c, type, rows = IRBuilder(module), self.type, self.tile.rows
        bias = begin_of(c, "%b3", self.bias) if self.bias is not None else ""
        block = c.shared_slot(type, self.high * rows * self.across)
        with c.loop(FIRST, LAST) as unit:
            indices = UnitIndices(c, unit)
            column = c.scale(indices.take(-(-self.width // self.across)), self.across)
            panel, image = c.scale(indices.take(-(-self.count // self.high)), self.high), indices.rest
            columns = c.min(self.across, c.sub(self.width, column))
            begin_pixel = c.scale(panel, rows)
            count = c.min(self.high * rows, c.sub(self.pixels, begin_pixel))
            left = c.add(c.scale(image, pixels.size), c.scale(begin_pixel, self.depth))
            whole = c.mul(c.ceil_div(columns, self.wide), self.wide)
            for first, last, accumulate in ((0, 1, False), (1, -(-self.depth // DEPTH), True)):
                if last <= first:
                    continue
                start = "row" if bias and not accumulate else "zero"
                kernel = MicroKernel(
                    type, self.tile, result_step=self.across, left_column_step=0, left_packed=True, right_packed=True, start=start,
                    accumulate=accumulate, padded="" if start == "row" else "all",
                )  # fmt: skip
                with c.loop(first, last) as part:
                    begin = c.scale(part, DEPTH)
                    kernel.call(
                        c, c.address("%b0", c.add(left, c.scale(begin, rows)), type),
                        c.address("%b1", c.add(c.scale(column, self.depth), c.scale(begin, self.wide)), type), block,
                        c.address(bias, column, type) if start == "row" else "null", rows=count,
                        columns=columns if start == "row" else whole, depth=c.min(DEPTH, c.sub(self.depth, begin)), left_step=self.depth,
                        right_step=self.depth,
                    )  # fmt: skip
            to = c.scale(c.add(c.scale(image, self.width), column), math.prod(self.target))
            if self.scattered:
                self.scatter(c, block, columns, begin_pixel, count, to)
            else:
                target = c.address("%b2", c.add(to, begin_pixel), type)
                c.call_function(winograd_transforms.transpose(module, type), block, target, count, self.across, 1, columns, self.pixels, 0)
        return module.add("pointwise", c.function("", pointers([f"%b{at}" for at in range(4 if bias else 3)])))

    def scatter(self, c: IRBuilder, block: str, columns: Scalar, begin: Scalar, count: Scalar, to: Scalar) -> None:
        """Write a block to the pixels that a stride selects."""
        plane = math.prod(self.target)
        with c.not_vectorized(), c.loop(count) as pixel:
            indices, offset, step = UnitIndices(c, c.add(begin, pixel)), to, 1
            for size, goal, stride in zip(reversed(self.size), reversed(self.target), reversed(self.stride)):
                offset = c.add(offset, c.scale(indices.take(size), stride * step))
                step *= goal
            with c.loop(columns) as column:
                value = c.load(block, c.add(c.scale(pixel, self.across), column), self.type)
                c.store(value, "%b2", c.add(offset, c.scale(column, plane)))


class PointwiseWeightGradient:
    """The weight gradient of a 1 x 1 convolution, from the selected pixels of the source and the gradient of the result."""

    def __init__(self, op: ConvolutionWeightGradient) -> None:
        self.images, self.pixels = op.images, math.prod(op.grad.shape[2:])
        self.source, self.grad = op.source, op.grad
        left, right = (
            Reference(each.value, (rows, self.images * self.pixels), (self.pixels, 1), each.offset)
            for each, rows in ((op.grad, op.rows), (op.source, op.channels))
        )
        transposed = Reference(right.value, right.shape[::-1], right.strides[::-1], right.offset)
        blocks = -(-op.rows // 64) * -(-op.channels // 64)
        self.parts = cost.divisor(self.images, min(cost.UNITS, -(-32 // blocks)))  # partial sums over images
        self.product = BlockedProduct(left, transposed, parts=self.parts, segments=self.images)

    def scratch(self) -> list[Spec]:
        return [Spec(each, self.source.dtype) for each in self.product.memory]

    def write(self, program: Lowering, module: Module, routine: Routine) -> list[NativeCall]:
        return self.product.native_calls(module, routine, routine.others[1:])


__all__ = ["PointwiseConvolution", "PointwiseWeightGradient", "is_pointwise", "sampled"]

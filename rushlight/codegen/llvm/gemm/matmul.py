"""The lowering of matmul: generated products where they beat BLAS.

BLAS is at its best with matrices of thousands of rows, and has a fast path for tiny ones.  In between, and where the right matrix fits into the cache,
packing that into panels and multiplying tile by tile is faster by measurement.  Tiny products need no packing where the right matrix is as wide as
some panels.
"""

from __future__ import annotations

from typing import Any

from ....core.base import Spec
from ....core.blas import blas
from ....core.parallel import pool as eager_pool
from ....schedule.lowering import lowering
from ....schedule.routines.matmul import Gemm, layout
from ....schedule.symbolic_shape import SymbolicNumber
from ....schedule.tensor_ir import Product, Reference, Routine, TensorIRBuilder
from ..ir import FIRST, LAST, TYPES, IRBuilder, Module, Scalar, pointers
from ..native_call import Lowering, NativeCall
from .blas import BlasProduct
from .blocked import BlockedProduct
from .choose import (
    DEEPEST,
    DEPTH_PARTS,
    blocks_win,
    choose_tile,
    decide,
    deep_wins,
    depth_is_split,
    generated_wins,
    is_possible,
    many_threads_pack,
    panel_width,
    unpacked_wins,
)
from .few_rows import few_rows, is_few
from .half_products import HalfProduct, floats_win, half_of, halves_win, how
from .micro_kernel import MicroKernel
from .packed_blocks import PackedBlockProduct
from .panels import Panels, shared_work, workers_for

llvm = lowering("llvm")
BLOCK, LEAST = 64, 16  # rows that one piece of work takes, and where threads are many
MANY = 8  # threads from which on each block packs its own operands
PACKING, FLOPS = 0.15, 90  # nanoseconds for an element, operations in a nanosecond


@llvm.register("matmul")
def matmul(builder: TensorIRBuilder, op: Gemm, spec: Any, node: Any) -> Any:
    """A product as a routine, or NotImplemented where it is left to BLAS."""
    a, b = op.left, op.right
    (rows, depth), width, type = a.shape, b.shape[1], TYPES[spec.dtype]
    halves = half_of(a), half_of(b)
    if halves[0] is not None and halves[1] is not None and how() and halves_win(rows, depth, width):
        return in_blocks(builder, HalfProduct(halves[0], halves[1], how()), spec, node)
    if type == "float" and how() == "tiles" and floats_win(rows, depth, width):
        return in_blocks(builder, HalfProduct(a, b, "tiles", 3), spec, node)
    if is_unpacked(type, a, b):
        made: list[Reference] = builder.routine(
            [a, b], [spec], node, lambda program, module, routine: [unpacked(module, type, a, b, routine)]
        )
        return made[0]
    if is_few(a, b):
        return builder.routine([a, b], [spec], node, lambda program, module, routine: [few_rows(module, type, a, b, routine)])[0]
    if blocks_win(rows, depth, width, spec.dtype.itemsize):
        return in_blocks(builder, (PackedBlockProduct if eager_pool.threads >= MANY else BlockedProduct)(a, b), spec, node)
    if deep_wins(rows, depth, width, spec.dtype.itemsize):
        deep = SplitDepth(a, b, -(-depth // DEEPEST))
        return builder.routine(
            [a, b], [spec], node, lambda program, module, routine: deep.native_calls(module, routine, routine.others[1:]),
            [Spec(each, spec.dtype) for each in deep.memory],
        )[0]  # fmt: skip
    generated = decide(generated_wins, rows, depth, width, spec.dtype.itemsize, layout(b)[0])
    if not is_possible(generated):
        return NotImplemented
    split = generated * decide(depth_is_split, rows, depth, width) if a.strides[0] == 1 and b.strides[1] == 1 else 0
    if eager_pool.threads >= MANY and not is_possible(split) and many_threads_pack(rows, depth, width, spec.dtype.itemsize):
        return in_blocks(builder, PackedBlockProduct(a, b, depth), spec, node)  # the same sums
    unsplit, by_depth = generated - split, SplitDepth(a, b)

    def write(program: Lowering, module: Module, routine: Routine) -> list[NativeCall]:
        memory, made = routine.others[1:], []
        if is_possible(unsplit):
            made += only_if(unsplit, packed(module, type, a, b, routine, memory.pop(0)))
        if is_possible(split):
            made += only_if(split, by_depth.native_calls(module, routine, memory))
        return made + (only_if(1 - generated, [by_blas(module, a, b, routine)]) if isinstance(generated, SymbolicNumber) else [])

    shapes: list[Any] = [(Panels(Module(), type, depth, width).size,)] if is_possible(unsplit) else []
    shapes += by_depth.memory if is_possible(split) else []
    made = builder.routine([a, b], [spec], node, write, [Spec(each, spec.dtype) for each in shapes])
    return made[0]


def in_blocks(builder: TensorIRBuilder, product: BlockedProduct | HalfProduct, spec: Any, node: Any) -> Reference:
    """A large product in blocks."""

    def write(program: Lowering, module: Module, routine: Routine) -> list[NativeCall]:
        return product.native_calls(module, routine, routine.others[1:])

    scratch = [Spec(each, product.dtype) for each in product.memory]
    made: list[Reference] = builder.routine([product.left, product.right], [spec], node, write, scratch)
    return made[0]


def is_unpacked(type: str, a: Reference, b: Reference) -> bool:
    """Whether the right matrix is read unpacked: its rows are contiguous, and packing would not pay."""
    return b.strides[1] == 1 and unpacked_wins(type, a.shape[0], a.shape[1], b.shape[1]) and bool(b.strides[0] >= b.shape[1])


def only_if(wanted: Any, native_calls: list[NativeCall]) -> list[NativeCall]:
    """Pieces for sizes for which they are wanted (1): for others (0), they are called for an empty range."""
    if not isinstance(wanted, SymbolicNumber):
        return native_calls
    return [each._replace(extent=each.extent * wanted, nanoseconds=each.nanoseconds * wanted) for each in native_calls]


def unpacked(module: Module, type: str, a: Reference, b: Reference, result: Any) -> NativeCall:
    """Multiply by an unpacked matrix."""
    (rows, depth), width, c = a.shape, b.shape[1], IRBuilder(module)
    left, right = c.address("%b0", a.offset, type), c.address("%b1", b.offset, type)
    kernel = MicroKernel(type, choose_tile(), left_column_step=1 if a.strides[1] == 1 else None, padded="all")
    kernel.call(
        c, left, right, "%b2", rows=c.number(rows), columns=width, depth=c.number(depth), left_step=a.strides[0], left_column_step=a.strides[1],
        right_step=b.strides[0], result_step=width,
    )  # fmt: skip
    name = module.add("matmul", c.function("", pointers(("%b0", "%b1", "%b2"))))
    return NativeCall(name, [a.value, b.value, result], 1, 2.0 * rows * depth * width / FLOPS)


def packed(module: Module, type: str, a: Reference, b: Reference, result: Any, memory: Any) -> list[NativeCall]:
    """Pack the right matrix, then multiply blocks of rows by it."""
    (rows, depth), width = a.shape, b.shape[1]
    panels = Panels(module, type, depth, width)
    steps = [stride if size > 1 else 1 for size, stride in zip(b.shape, b.strides)]
    c = IRBuilder(module)
    by_rows = steps[1] == 1  # blocks of rows: those that one thread has computed are in its cache
    if by_rows:
        with c.loop(FIRST, LAST) as block:
            row = c.scale(block, BLOCK)
            source = c.address("%b1", c.add(b.offset, c.scale(row, steps[0])), type)
            to = c.address("%b0", c.scale(row, panels.columns), type)
            panels.pack(c, (steps[0], 1), to, source, rows=c.min(BLOCK, c.sub(c.number(depth), row)))
    else:
        panels.pack(c, (steps[0], steps[1]), "%b0", c.address("%b1", b.offset, type), FIRST, LAST)
    pack = module.add("pack_right", c.function("", pointers(("%b0", "%b1"))))
    c = IRBuilder(module)
    high = rows_of_block(rows)
    with c.loop(FIRST, LAST) as block:
        row = c.scale(block, high)
        left = c.address("%b0", c.add(a.offset, c.scale(row, a.strides[0])), type)
        to = c.address("%b2", c.scale(row, width), type)
        count = c.min(high, c.sub(c.number(rows), row))
        panels.multiply(c, (left, a.strides[0]), "%b1", (to, width), count, columns=a.strides[1] if depth > 1 else 1)
    multiply = module.add("matmul", c.function("", pointers(("%b0", "%b1", "%b2"))))
    return [
        NativeCall(pack, [memory, b.value], -(-depth // BLOCK) if by_rows else panels.count, panels.size * PACKING),
        NativeCall(multiply, [a.value, memory, result], -(-rows // high), 2.0 * rows * depth * width / FLOPS),
    ]


def rows_of_block(rows: Any) -> int:
    """How many rows a piece of work takes: fewer where there would not be two pieces for each thread.  The results are the same."""
    high = BLOCK
    while high > LEAST and not isinstance(rows, SymbolicNumber) and rows < 2 * eager_pool.threads * high:
        high //= 2
    return high


def by_blas(module: Module, a: Reference, b: Reference, result: Routine) -> NativeCall:
    """The product by BLAS."""
    product = Product(result.index, (a.shape[0], b.shape[1]), result.dtype, None)
    product.left, product.right = a, b
    work, c, names = BlasProduct(blas(), product), IRBuilder(module), ("%b0", "%b1", "%b2")
    if isinstance(work.extent, SymbolicNumber):
        work.emit(c, *names, FIRST, LAST)
    else:
        with c.loop(FIRST, LAST) as block:
            work.emit(c, *names, block, c.add(block, 1))
    name = module.add("by_blas", c.function("", pointers(names)), quick=True)
    return NativeCall(name, [a.value, b.value, result], work.extent, work.nanoseconds)


class SplitDepth:
    """A split-k product: parts of the depth are multiplied separately and summed.

    Where both have rows of the depth, as for the gradient of a weight, the rows that a thread has computed are in its cache.

    A panel of the right matrix at a time is packed, into memory that stays in the cache.  Parts, and so results, are the same for any number of threads.
    """

    def __init__(self, a: Reference, b: Reference, parts: int = DEPTH_PARTS) -> None:
        self.left, self.right, self.parts = a, b, parts
        self.type = TYPES[a.dtype]
        self.columns = panel_width(self.type)
        self.panels = -(-b.shape[1] // self.columns)
        self.depth = -(-a.shape[1] // parts)  # of a part
        self.high, self.blocks = a.shape[0], 1  # of rows, where panels alone would not be two for each thread
        while (
            not isinstance(a.shape[0], SymbolicNumber)
            and not isinstance(self.panels, SymbolicNumber)
            and self.high >= BLOCK
            and parts * self.panels * self.blocks < 2 * eager_pool.threads
        ):
            self.blocks *= 2
            self.high = -(-a.shape[0] // self.blocks)
        self.units = parts * self.panels * self.blocks
        self.workers = workers_for(self.units)

    @property
    def memory(self) -> list[tuple[Any, ...]]:
        """The shapes of scratch memory: packed panels, and parts."""
        return [(self.workers, self.depth * self.columns), (self.parts - 1, self.left.shape[0], self.right.shape[1])]

    def native_calls(self, module: Module, routine: Routine, memory: list[Routine]) -> list[NativeCall]:
        """Multiply the parts, and sum them."""
        a, b, type, c = self.left, self.right, self.type, IRBuilder(module)
        (rows, depth), width, wide = a.shape, b.shape[1], self.columns
        size = rows * width
        panels = Panels(module, type, self.depth, wide)
        with shared_work(c, self.workers, self.units) as (worker, first, last):
            packed = c.address("%b3", c.scale(worker, panels.size), type)
            with c.loop(first, last) as unit:
                row = c.integer(0)
                if self.blocks > 1:
                    row, unit = c.scale(c.rem(unit, self.blocks), self.high), c.div(unit, self.blocks)
                part, number = c.div(unit, self.panels), c.rem(unit, self.panels)
                column, begin = c.scale(number, wide), c.scale(part, self.depth)
                columns = c.min(wide, c.sub(width, column))
                deep = c.min(self.depth, c.sub(c.number(depth), begin))
                right = c.address("%b1", c.add(b.offset, c.add(c.scale(begin, b.strides[0]), c.scale(column, b.strides[1]))), type)
                panels.pack(c, (b.strides[0], b.strides[1]), packed, right, 0, 1, deep, columns)
                left = c.address("%b0", c.add(c.add(a.offset, c.scale(begin, a.strides[1])), c.scale(row, a.strides[0])), type)
                # The first part goes to the result, others to scratch memory.
                others = c.address("%b4", c.scale(c.max(c.sub(part, 1), 0), size), type)
                pair = [Scalar(each, "ptr") for each in ("%b2", others)]
                to = c.select(c.compare("eq", part, c.integer(0)), *pair).name
                target = (c.address(to, c.add(c.scale(row, width), column), type), width)
                count = c.number(rows) if self.blocks == 1 else c.max(c.min(self.high, c.sub(rows, row)), 0)
                panels.multiply(c, (left, a.strides[0]), packed, target, count, columns=a.strides[1], width=columns, depth=deep)
        multiply = module.add("matmul_part", c.function("", pointers([f"%b{at}" for at in range(5)])))
        c = IRBuilder(module)
        with c.loop(c.scale(FIRST, width), c.scale(LAST, width)) as at:
            total = c.load("%b0", at, type)
            for number_ in range(self.parts - 1):
                total = c.binary("fadd", total, c.load("%b1", c.add(at, number_ * size), type))
            c.store(total, "%b0", at)
        add = module.add("add_parts", c.function("", pointers(("%b0", "%b1"), noalias=True)))
        work = 2.0 * size * depth / FLOPS + depth * width * PACKING
        return [
            NativeCall(multiply, [a.value, b.value, routine, *memory], self.workers, work),
            NativeCall(add, [routine, memory[1]], rows, self.parts * size * PACKING),
        ]

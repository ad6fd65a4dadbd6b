"""Products of bfloat16 matrices with sums in float32, by the processor's own instructions for them: AMX's tiles, or AVX-512's dot products of pairs.

The matrices come as bfloat16, as float32 whose values are bfloat16 numbers, or as any float32, of which each element is the sum of three (``half_kernel.py``).
Both are packed, as pairs of steps of the depth, into blocks of 16 rows (of the left one) or columns (of the right one) by 32 steps.  A block of the result
is a piece of work, and packs what it needs of both, a part of the depth at a time: fetching packed data from another core's cache takes longer.
"""

from __future__ import annotations

import ctypes
import functools
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import ml_dtypes
import numpy as np

from ....core.parallel import pool as eager_pool
from ....schedule.symbolic_shape import SymbolicNumber
from ....schedule.tensor_ir import Pointwise, Reference
from ..instructions import FunctionParameter
from ..ir import FIRST, LAST, IRBuilder, Module, Scalar, pointers
from ..native_call import NativeCall
from ..scratch_pool import ScratchPool
from ..target import processor
from ..vectors import Vectors
from .choose import balanced_block
from .half_kernel import DEEP, SIDE, WORDS, DepthBlocks, HalfKernel, Sides, not_finite

MOST, PANEL = 256, 128  # rows and columns of a piece of work, at most, and columns that it packs at a time
CHUNK = 48  # blocks along the depth that are packed and multiplied at a time, of one part: they stay in L2
PACKING, PACKED = 0.15, 20  # nanoseconds for an element, and the multiplications that take as long
LARGE = 1 << 18  # multiplications that are worth it
FLOAT_LEAST, FLOAT_LARGE = 48, 1 << 28  # of float32: rows, columns and steps of the depth, and multiplications
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
_REQUEST_PERMISSION, _TILE_DATA, _ARCH_PRCTL = 0x1023, 18, 158  # of Linux on x86-64: a process must request AMX's large register state
_PARTS = (0, 1)


@functools.cache
def tiles_permitted() -> bool:
    """Whether this process may use AMX's tiles; requests them from the system."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return False
    return bool(ctypes.CDLL(None).syscall(_ARCH_PRCTL, _REQUEST_PERMISSION, _TILE_DATA) == 0)


def how() -> str:
    """The instructions for products of bfloat16: ``"tiles"``, ``"pairs"``, or nothing."""
    has = processor().has
    if {"amx-tile", "amx-bf16", "avx512f"} <= has and tiles_permitted():
        return "tiles"
    return "pairs" if {"avx512bf16", "avx512f"} <= has and processor().vector_bits == 512 else ""


def half_of(matrix: Reference) -> Reference | None:
    """The bfloat16 source of a float32 matrix, if it can be read, or the matrix itself; None for other matrices."""
    value = matrix.value
    if not isinstance(value, Pointwise) or value.expression.op != "cast" or value.dtype != np.float32:
        return None
    (source,) = value.inputs if len(value.inputs) == 1 else (None,)
    if source is None or source.dtype != BFLOAT16 or value.expression.args[0].op != "operand":
        return None
    if source.strides == value.strides:  # the same element for element
        return Reference(source.value, matrix.shape, matrix.strides, source.offset + matrix.offset)
    if len(value.shape) == 2 and not matrix.offset:
        for turned in (1, -1):
            if matrix.shape == value.shape[::turned] and matrix.strides == value.strides[::turned]:
                return Reference(source.value, source.shape[::turned], source.strides[::turned], source.offset)
    return matrix


def halves_win(rows: Any, depth: Any, width: Any) -> bool:
    """Whether a product is large enough to be worth packing."""
    return (
        not any(isinstance(each, SymbolicNumber) for each in (rows, depth, width))
        and rows >= SIDE
        and width >= SIDE
        and rows * depth * width >= LARGE
    )


def floats_win(rows: Any, depth: Any, width: Any) -> bool:
    """Whether a float32 product is so large that taking its elements apart pays."""
    if any(isinstance(each, SymbolicNumber) for each in (rows, depth, width)) or min(rows, depth, width) < FLOAT_LEAST:
        return False
    return bool(rows * depth * width >= FLOAT_LARGE)


class HalfProduct:
    """A product of two matrices of bfloat16 numbers, whose sizes are known; or of float32 numbers in three ``parts`` each."""

    dtype = np.dtype(np.int32)  # of its scratch memory

    def __init__(self, a: Reference, b: Reference, by: str, parts: int = 1) -> None:
        self.left, self.right, self.parts = a, b, parts
        self.kernel = HalfKernel(by, parts)
        (self.rows, self.depth), self.width = a.shape, b.shape[1]
        self.deep = -(-self.depth // DEEP)  # packed blocks along the depth
        self.flops = (900 if by == "tiles" else 180) / len(self.kernel.order)  # operations in a nanosecond
        self.steps = Sides(a.strides, b.strides[::-1])  # strides: of rows or columns, and along the depth
        self.block = Sides(*self.block_for(eager_pool.threads))
        self.chunk = min(self.deep, max(1, CHUNK // parts))
        self.pool = ScratchPool(self.units, 4 * (self.block.left + min(self.block.right, PANEL)) * SIDE * self.chunk * parts)

    @property
    def units(self) -> int:
        return -(-self.rows // self.block.left) * -(-self.width // self.block.right)

    def block_for(self, threads: int) -> tuple[int, int]:
        """The rows and columns of a piece of work.  The results are the same for all."""
        return balanced_block((self.rows, self.width), (DEEP, DEEP), MOST, threads, PACKED)

    @property
    def memory(self) -> list[tuple[int, ...]]:
        """The shapes of scratch memory, in words: a pool of what pieces of work pack."""
        return [(self.pool.spec.size // 4,)]

    def native_calls(self, module: Module, result: Any, memory: list[Any]) -> list[NativeCall]:
        """Blocks of the result, each of which packs what it needs."""
        work = 2.0 * self.rows * self.depth * self.width / self.flops + (self.rows + self.width) * self.depth * PACKING
        values = [memory[0], self.left.value, self.right.value, result]
        return [self.pool.clear(module, memory[0]), NativeCall(self.main(module), values, self.units, work)]

    def pack(self, c: IRBuilder, side: int, to: str, first: Any, size: Scalar, begin: Any, depth: Scalar, deep: Scalar) -> None:
        """Pack some rows or columns, from the first on, and some steps of the depth, from a beginning on."""
        given, steps = (self.left, self.right)[side], self.steps[side]
        type = "float" if given.dtype == np.float32 else "i16"
        function = self.packing(c.module, type, steps[1] == 1 or self.depth == 1, bool(side))
        offset = c.add(c.add(given.offset, c.scale(first, steps[0])), c.scale(begin, steps[1]))
        sides = (0, c.scale(c.ceil_div(size, DEEP), 2))
        matrix = c.address(f"%b{1 + side}", offset, type)
        c.call_function(function, to, matrix, *sides, size, depth, c.number(steps[0]), c.number(steps[1]), deep)

    def main(self, module: Module) -> str:
        """The function that does pieces of work: of some steps of the depth, all rows are packed, then panels of columns, and multiplied."""
        c, (high, wide) = IRBuilder(module), self.block
        c.rolled = True
        across, width = -(-self.width // wide), c.number(self.width)
        with self.pool.slot(c, "%b0") as slot, c.loop(FIRST, LAST) as unit:
            near = c.address(slot, high * SIDE * self.chunk * self.parts, "i32")  # the panel
            row, column = c.scale(c.div(unit, across), high), c.scale(c.rem(unit, across), wide)
            rows, columns = c.min(high, c.sub(c.number(self.rows), row)), c.min(wide, c.sub(width, column))
            result = c.address("%b3", c.add(c.mul(row, width), column), "float")

            def multiply(exact: bool) -> None:
                with c.loop(-(-self.deep // self.chunk)) as number:
                    begin = c.scale(number, self.chunk)
                    several = c.min(self.chunk, c.sub(c.number(self.deep), begin))
                    start = c.scale(begin, DEEP)
                    depth = c.min(c.scale(several, DEEP), c.sub(c.number(self.depth), start))
                    again = c.convert("zext", c.less(0, number), "i64")
                    self.pack(c, 0, slot, row, rows, start, depth, several)
                    with c.loop(c.ceil_div(columns, PANEL)) as panel:
                        first = c.scale(panel, PANEL)
                        count = c.min(PANEL, c.sub(columns, first))
                        self.pack(c, 1, near, c.add(column, first), count, start, depth, several)
                        to = c.address(result, first, "float")
                        c.call_function(self.multiplication(module, exact), slot, near, to, rows, count, several, width, again)

            multiply(False)
            if self.parts > 1:
                with c.when(not_finite(c, result, rows, columns, width)):
                    multiply(True)
        return module.add("half_product", c.function("", pointers([f"%b{at}" for at in range(4)])))

    # -- packing -------------------------------------------------------------------------------------------------

    def packing(self, module: Module, type: str, contiguous: bool, across: bool) -> str:
        """A function that packs blocks; steps of the depth are ``contiguous`` or the others are; a block has pairs in its rows, or ``across``."""
        key = ("pack_halves", self.parts, type, contiguous, across)
        if key not in module.memo:
            c = IRBuilder(module)
            c.rolled = True
            names = ("first", "last", "size", "depth", "step", "deep_step", "deep")
            first, last, size, depth, step, deep_step, deepest = (Scalar(f"%{each}", "i64") for each in names)
            words = Vectors(c, "i32", SIDE)
            blocks = c.ceil_div(depth, DEEP)
            with c.loop(first, last) as side, c.loop(blocks) as number:
                begin, steps = c.scale(side, SIDE), c.scale(number, DEEP)
                count, deep = c.max(c.min(c.sub(size, begin), SIDE), 0), c.min(c.sub(depth, steps), DEEP)
                read = self.by_steps if contiguous else self.by_others
                offset = c.scale(c.add(c.mul(side, deepest), number), WORDS * self.parts)

                def pack(converted: bool, read: Any = read, offset: Scalar = offset, sizes: Any = (begin, count, steps, deep)) -> list[Any]:
                    found = read(c, type, *sizes, (step, deep_step), size, converted)
                    for part, own in enumerate(zip(*found)):
                        for at, each in enumerate(own if contiguous != across else words.transposed(own)):
                            words.store(each, "%packed", c.add(offset, part * WORDS + at * SIDE))
                    return found

                found = pack(self.kernel.converts)
                if self.kernel.converts:
                    huge = functools.reduce(lambda a, b: c.binary("or", a, b), [self.kernel.is_huge(c, each[0]) for each in found])
                    with c.when(c.call_external(f"@llvm.vector.reduce.or.v{DEEP}i1", "i1", (huge,))):
                        pack(False)
            named = [FunctionParameter("ptr", "%packed", True), FunctionParameter("ptr", "%matrix", True)]
            numbers = [FunctionParameter("i64", f"%{each}") for each in names]
            module.memo[key] = module.add("pack_pairs", c.function("", [*named, *numbers]))
        return module.memo[key]

    def by_steps(
        self, c: IRBuilder, type: str, begin: Scalar, count: Scalar, steps: Scalar, deep: Scalar, distances: tuple[Scalar, Scalar], size: Scalar,
        converted: bool,
    ) -> list[list[Scalar]]:  # fmt: skip
        """A vector for each row (or column), of each part: its pairs.  Rows beyond the matrix are copies of its last one, and are never stored."""
        v = Vectors(c, type, SIDE if type == "float" else DEEP)
        masks = [v.first(c.sub(deep, at)) for at in range(0, DEEP, v.count)]
        found = []
        for at in range(SIDE):
            row = c.min(c.add(begin, at), c.sub(size, 1))
            offset = c.add(c.mul(row, distances[0]), steps)
            parts = [v.load("%matrix", c.add(offset, part * v.count), mask) for part, mask in enumerate(masks)]
            if type == "float":
                even, odd = (v.shuffle(parts[0], range(first, DEEP, 2), parts[1]) for first in _PARTS)
                found.append(self.kernel.pairs(c, type, even, odd, converted))
            else:
                found.append([c.emit("bitcast", f"<{SIDE} x i32>", (parts[0],))])
        return found

    def by_others(
        self, c: IRBuilder, type: str, begin: Scalar, count: Scalar, steps: Scalar, deep: Scalar, distances: tuple[Scalar, Scalar], size: Scalar,
        converted: bool,
    ) -> list[list[Scalar]]:  # fmt: skip
        """A vector for each pair, of each part: of all rows (or columns)."""
        v, found = Vectors(c, type, SIDE), []
        for at in range(SIDE):
            both = []
            for part in _PARTS:
                step = 2 * at + part
                present = c.select(c.less(step, deep), count, c.integer(0))
                offset = c.add(c.mul(c.add(steps, step), distances[1]), begin)
                both.append(v.load("%matrix", offset, v.first(present)))
            found.append(self.kernel.pairs(c, type, both[0], both[1], converted))
        return found

    # -- multiplying ---------------------------------------------------------------------------------------------

    def multiplication(self, module: Module, exact: bool) -> str:
        """A function that multiplies some rows and columns, 32 by 32; ``exact`` of three parts: put together again, as float32."""
        key = ("half_product", self.kernel, exact)
        if key not in module.memo:
            c, kernel, size = IRBuilder(module), self.kernel, WORDS * self.parts
            c.rolled = True
            names = ("rows", "columns", "deep", "width", "again")
            rows, columns, deep, width, again = (Scalar(f"%{each}", "i64") for each in names)
            square = c.slot("float", DEEP * DEEP)
            below = c.mul(deep, c.integer(size))
            added = c.compare("ne", again, c.integer(0))
            if not exact:
                kernel.begin(c)
            with c.loop(c.ceil_div(rows, DEEP)) as two, c.loop(c.ceil_div(columns, DEEP)) as one:
                x, y = c.scale(one, DEEP), c.scale(two, DEEP)
                sides = Sides(*(c.address(f"%{name}", c.mul(c.scale(at, 2), below), "i32") for name, at in (("left", two), ("right", one))))

                @contextmanager
                def walk(sides: Sides = sides) -> Iterator[Sides]:
                    with c.loop(deep) as number:
                        yield Sides(*(c.address(each, c.scale(number, size), "i32") for each in sides))

                blocks = DepthBlocks(walk, Sides(WORDS, WORDS), Sides(below, below))
                high, wide = c.min(c.sub(rows, y), DEEP), c.min(c.sub(columns, x), DEEP)
                result = c.address("%result", c.add(c.mul(y, width), x), "float")
                whole = c.compare("eq", c.add(high, wide), c.integer(2 * DEEP))
                to = c.select(whole, Scalar(result, "ptr"), Scalar(square, "ptr")).name
                step, more = c.select(whole, width, c.integer(DEEP)), c.binary("and", whole, added)
                if exact:
                    kernel.by_vectors(c, blocks, to, step, more, whole=True)
                else:
                    kernel.multiply(c, blocks, to, step, more)
                with c.when(c.invert(whole)):
                    self.copy(c, square, result, width, high, wide, added)
            if not exact:
                kernel.end(c)
            parameters = [FunctionParameter("ptr", f"%{each}", True) for each in ("left", "right", "result")]
            made = c.function("", [*parameters, *[FunctionParameter("i64", f"%{each}") for each in names]])
            module.memo[key] = module.add("half_gemm", made)
        return module.memo[key]

    def copy(self, c: IRBuilder, square: str, result: str, width: Scalar, high: Scalar, wide: Scalar, again: Scalar) -> None:
        """Store the part of a square that is inside the result; with ``again``, accumulate."""
        v = Vectors(c, "float", SIDE)
        masks = [v.first(c.sub(wide, at * SIDE)) for at in _PARTS]
        with c.loop(high) as line:
            for at, mask in zip(_PARTS, masks):
                offset = c.add(c.mul(line, width), at * SIDE)
                value = v.load(square, c.add(c.scale(line, DEEP), at * SIDE))
                summed = c.binary("fadd", v.load(result, offset, mask), value)
                v.store(c.select(again, summed, value), result, offset, mask)

"""Products of bfloat16 matrices with sums in float32, by the processor's own instructions for them: AMX's tiles, or AVX-512's dot products of pairs.

The matrices come as bfloat16, or as float32 whose values are bfloat16 numbers.  Both are packed, as pairs of steps of the depth, into blocks of 16 rows (of the left one)
or columns (of the right one) by 32 steps, which is what a tile of AMX holds; blocks of the result are pieces of work, as in ``blocked.py``.
"""

from __future__ import annotations

import ctypes
import functools
import platform
import sys
from typing import Any

import ml_dtypes
import numpy as np

from ....schedule.symbolic_shape import is_symbolic_number
from ....schedule.tensor_ir import Pointwise, Reference
from ..instructions import FunctionParameter
from ..ir import FIRST, LAST, IRBuilder, Module, Scalar, pointers
from ..piece import Piece
from ..target import processor
from ..vectors import Vectors

SIDE = 16  # rows or columns of a packed block, and pairs of steps
DEEP = 2 * SIDE  # steps of a packed block
WORDS = SIDE * SIDE  # of 32 bits, in a packed block: a pair each
HIGH, WIDE = 128, 128  # rows and columns of a piece of work
PACKING = 0.15  # nanoseconds for an element
LARGE = 1 << 18  # multiplications that are worth it
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
_REQUEST_PERMISSION, _TILE_DATA, _ARCH_PRCTL = 0x1023, 18, 158  # of Linux on x86-64: AMX's registers are large, and a process asks for them
_PARTS = (0, 1)


@functools.cache
def tiles_permitted() -> bool:
    """Whether this process may use AMX's tiles; asks the system for them."""
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
    """The bfloat16 numbers that a float32 matrix is made of: where those lie, if they can be read there, or the matrix itself; None for other matrices."""
    value = matrix.value
    if not isinstance(value, Pointwise) or value.expression.op != "cast" or value.dtype != np.float32:
        return None
    (source,) = value.inputs() if len(value.inputs()) == 1 else (None,)
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
    return not any(map(is_symbolic_number, (rows, depth, width))) and rows >= SIDE and width >= SIDE and rows * depth * width >= LARGE


class HalfProduct:
    """A product of two matrices of bfloat16 numbers, whose sizes are known."""

    dtype = np.dtype(np.int32)  # of its scratch memory

    def __init__(self, a: Reference, b: Reference, by: str) -> None:
        self.left, self.right, self.by = a, b, by
        (self.rows, self.depth), self.width = a.shape, b.shape[1]
        self.deep = -(-self.depth // DEEP)  # packed blocks along the depth
        self.flops = 900 if by == "tiles" else 180  # operations in a nanosecond

    @property
    def memory(self) -> list[tuple[int, ...]]:
        """The shapes of scratch memory: the packed matrices, as words of two numbers each.  Tiles are multiplied two by two."""
        return [(-(-each // DEEP) * 2 * self.deep * WORDS,) for each in (self.rows, self.width)]

    def pieces(self, module: Module, result: Any, memory: list[Any]) -> list[Piece]:
        """Pack both, and multiply."""
        made = []
        for matrix, size, steps, right, place in (
            (self.left, self.rows, self.left.strides, False, memory[0]),
            (self.right, self.width, self.right.strides[::-1], True, memory[1]),
        ):
            c = IRBuilder(module)
            type = "float" if matrix.dtype == np.float32 else "i16"
            function = self.packing(module, type, steps[1] == 1 or self.depth == 1, right)
            source = c.address("%b1", matrix.offset, type)
            c.call_function(
                function, "%b0", source, FIRST, LAST, c.number(size), c.number(self.depth), c.number(steps[0]), c.number(steps[1])
            )
            name = module.add("pack_halves", c.function("", pointers(("%b0", "%b1"))))
            made.append(Piece(name, [place, matrix.value], -(-size // DEEP) * 2, size * self.depth * PACKING))
        c = IRBuilder(module)
        across = -(-self.width // WIDE)
        with c.loop(FIRST, LAST) as number:
            row, column = c.scale(c.div(number, across), HIGH), c.scale(c.rem(number, across), WIDE)
            c.call_function(
                self.multiplication(module), "%b0", "%b1", "%b2", row, c.min(c.add(row, HIGH), c.number(self.rows)), column,
                c.min(c.add(column, WIDE), c.number(self.width)), c.number(self.deep), c.number(self.width),
            )  # fmt: skip
        name = module.add("half_product", c.function("", pointers(("%b0", "%b1", "%b2"))))
        work = 2.0 * self.rows * self.depth * self.width / self.flops
        return [*made, Piece(name, [*memory, result], -(-self.rows // HIGH) * across, work)]

    # -- packing -------------------------------------------------------------------------------------------------

    def packing(self, module: Module, type: str, contiguous: bool, across: bool) -> str:
        """A function that packs blocks; steps of the depth are ``contiguous`` or the others are; a block has pairs in its rows, or ``across``."""
        key = ("pack_halves", type, contiguous, across)
        if key not in module.memo:
            c = IRBuilder(module)
            c.rolled = True
            first, last, size, depth, step, deep_step = (
                Scalar(f"%{each}", "i64") for each in ("first", "last", "size", "depth", "step", "deep_step")
            )
            words = Vectors(c, "i32", SIDE)
            blocks = c.ceil_div(depth, DEEP)
            with c.loop(first, last) as side, c.loop(blocks) as number:
                begin, steps = c.scale(side, SIDE), c.scale(number, DEEP)
                count, deep = c.max(c.min(c.sub(size, begin), SIDE), 0), c.min(c.sub(depth, steps), DEEP)
                read = self.by_steps if contiguous else self.by_others
                found = read(c, type, begin, count, steps, deep, (step, deep_step), size)
                made = found if contiguous != across else words.transposed(found)
                place = c.scale(c.add(c.mul(side, blocks), number), WORDS)
                for at, each in enumerate(made):
                    words.store(each, "%packed", c.add(place, at * SIDE))
            named = [FunctionParameter("ptr", "%packed", True), FunctionParameter("ptr", "%matrix", True)]
            numbers = [FunctionParameter("i64", f"%{each}") for each in ("first", "last", "size", "depth", "step", "deep_step")]
            module.memo[key] = module.add("pack_pairs", c.function("", [*named, *numbers]))
        return module.memo[key]

    def by_steps(
        self, c: IRBuilder, type: str, begin: Scalar, count: Scalar, steps: Scalar, deep: Scalar, distances: tuple[Scalar, Scalar], size: Scalar
    ) -> list[Scalar]:  # fmt: skip
        """A vector for each row (or column): its pairs.  Rows beyond the matrix are copies of its last one, and are never stored."""
        v = Vectors(c, type, SIDE if type == "float" else DEEP)
        masks = [v.first(c.sub(deep, at)) for at in range(0, DEEP, v.count)]
        found = []
        for at in range(SIDE):
            row = c.min(c.add(begin, at), c.sub(size, 1))
            place = c.add(c.mul(row, distances[0]), steps)
            parts = [v.load("%matrix", c.add(place, part * v.count), mask) for part, mask in enumerate(masks)]
            if type == "float":
                even, odd = (v.shuffle(parts[0], range(first, DEEP, 2), parts[1]) for first in _PARTS)
                found.append(self.pair(c, type, even, odd))
            else:
                found.append(c.emit("bitcast", f"<{SIDE} x i32>", (parts[0],)))
        return found

    def by_others(
        self, c: IRBuilder, type: str, begin: Scalar, count: Scalar, steps: Scalar, deep: Scalar, distances: tuple[Scalar, Scalar], size: Scalar
    ) -> list[Scalar]:  # fmt: skip
        """A vector for each pair: of all rows (or columns)."""
        v, found = Vectors(c, type, SIDE), []
        for at in range(SIDE):
            both = []
            for part in _PARTS:
                step = 2 * at + part
                present = c.select(c.less(step, deep), count, c.integer(0))
                place = c.add(c.mul(c.add(steps, step), distances[1]), begin)
                both.append(v.load("%matrix", place, v.first(present)))
            found.append(self.pair(c, type, *both))
        return found

    def pair(self, c: IRBuilder, type: str, low: Scalar, high: Scalar) -> Scalar:
        """Two vectors side by side: numbers of bfloat16, or the upper halves of float32."""
        words = Vectors(c, "i32", SIDE)
        bits = [c.emit("bitcast" if type == "float" else "zext", words.type, (each,)) for each in (low, high)]
        half = words.splat(Scalar("16", "i32"))
        if type != "float":
            return c.binary("or", bits[0], c.binary("shl", bits[1], half))
        return c.binary("or", c.binary("lshr", bits[0], half), c.binary("and", bits[1], words.splat(Scalar("-65536", "i32"))))

    # -- multiplying ---------------------------------------------------------------------------------------------

    def multiplication(self, module: Module) -> str:
        """A function that multiplies some rows and columns, 32 by 32."""
        key = ("half_product", self.by)
        if key not in module.memo:
            c = IRBuilder(module)
            c.rolled = True
            names = ("row", "last_row", "column", "last_column", "deep", "width")
            row, last_row, column, last_column, deep, width = (Scalar(f"%{each}", "i64") for each in names)
            square = c.slot("float", DEEP * DEEP)
            block = c.mul(deep, c.integer(SIDE))  # words for each row or column
            write = self.by_tiles if self.by == "tiles" else self.by_pairs
            begin, end = (self.configure, self.release) if self.by == "tiles" else (lambda c: None, lambda c: None)
            begin(c)
            with c.loop(c.ceil_div(c.sub(last_column, column), DEEP)) as one, c.loop(c.ceil_div(c.sub(last_row, row), DEEP)) as two:
                x, y = c.add(column, c.scale(one, DEEP)), c.add(row, c.scale(two, DEEP))
                left, right = c.address("%left", c.mul(y, block), "i32"), c.address("%right", c.mul(x, block), "i32")
                high, wide = c.min(c.sub(last_row, y), DEEP), c.min(c.sub(last_column, x), DEEP)
                whole = c.compare("eq", c.add(high, wide), c.integer(2 * DEEP))
                result = c.address("%result", c.add(c.mul(y, width), x), "float")
                to = c.select(whole, Scalar(result, "ptr"), Scalar(square, "ptr")).name
                write(c, left, right, deep, to, c.select(whole, width, c.integer(DEEP)))
                with c.when(c.invert(whole)):  # what of it belongs to the result
                    v = Vectors(c, "float", SIDE)
                    masks = [v.first(c.sub(wide, at * SIDE)) for at in _PARTS]
                    with c.loop(high) as line:
                        for at, mask in zip(_PARTS, masks):
                            value = v.load(square, c.add(c.scale(line, DEEP), at * SIDE))
                            v.store(value, result, c.add(c.mul(line, width), at * SIDE), mask)
            end(c)
            parameters = [FunctionParameter("ptr", f"%{each}", True) for each in ("left", "right", "result")]
            made = c.function("", [*parameters, *[FunctionParameter("i64", f"%{each}") for each in names]])
            module.memo[key] = module.add("half_gemm", made)
        return module.memo[key]

    def configure(self, c: IRBuilder) -> None:
        """Eight tiles of 16 rows of 64 bytes."""
        place = c.slot("i8", 64)
        c.zero_fill("i8", place, 0, 64)
        c.store(Scalar("1", "i8"), place, 0)
        for at in range(8):
            c.store(Scalar("64", "i8"), place, SIDE + 2 * at)
            c.store(Scalar(str(SIDE), "i8"), place, 48 + at)
        c.call_external("@llvm.x86.ldtilecfg", "void", (Scalar(place, "ptr"),))

    def release(self, c: IRBuilder) -> None:
        c.call_external("@llvm.x86.tilerelease", "void", ())

    def by_tiles(self, c: IRBuilder, left: str, right: str, deep: Scalar, to: str, step: Scalar) -> None:
        """Tiles 0 to 3 are sums; 4 and 5 are of the left matrix, 6 and 7 of the right one."""
        byte = [Scalar(str(at), "i8") for at in range(8)]
        bytes, line = c.scale(step, 4), c.integer(4 * SIDE)
        for at in range(4):
            c.call_external("@llvm.x86.tilezero", "void", (byte[at],))
        below = c.mul(deep, c.integer(WORDS))  # to the next 16 rows, or columns
        with c.loop(deep) as number:
            place = c.scale(number, WORDS)
            for part in _PARTS:
                for matrix, tile in ((left, 4), (right, 6)):
                    where = c.add(place, below) if part else place
                    c.call_external(
                        "@llvm.x86.tileloadd64", "void", (byte[tile + part], Scalar(c.address(matrix, where, "i32"), "ptr"), line)
                    )
            for at in range(4):
                c.call_external("@llvm.x86.tdpbf16ps", "void", (byte[at], byte[4 + at // 2], byte[6 + at % 2]))
        for at in range(4):
            corner = c.address(to, c.add(c.scale(step, SIDE * (at // 2)), SIDE * (at % 2)), "float")
            c.call_external("@llvm.x86.tilestored64", "void", (byte[at], Scalar(corner, "ptr"), bytes))

    def by_pairs(self, c: IRBuilder, left: str, right: str, deep: Scalar, to: str, step: Scalar) -> None:
        """Eight rows by 32 columns at a time."""
        floats, words, height = Vectors(c, "float", SIDE), Vectors(c, "i32", SIDE), 8
        below = c.mul(deep, c.integer(WORDS))
        with c.loop(DEEP // height) as group:
            start = c.scale(group, height)
            own = c.address(left, c.add(c.mul(c.div(start, SIDE), below), c.scale(c.rem(start, SIDE), SIDE)), "i32")
            slots = [[c.slot(floats.type) for _ in _PARTS] for _ in range(height)]
            for line in slots:
                for slot in line:
                    c.write(floats.zero(), slot)
            with c.loop(deep) as number, c.loop(SIDE) as pair:
                place = c.scale(number, WORDS)
                across = c.add(place, c.scale(pair, SIDE))
                others = [self.numbers(c, words.load(right, c.add(across, below) if part else across)) for part in _PARTS]
                for at, line in enumerate(slots):
                    factor = self.numbers(c, words.splat(c.load(own, c.add(c.add(place, at * SIDE), pair), "i32")))
                    for slot, other in zip(line, others):
                        given = (c.read(slot, floats.type), factor, other)
                        c.write(c.call_external("@llvm.x86.avx512bf16.dpbf16ps.512", floats.type, given), slot)
            for at, line in enumerate(slots):
                for part, slot in enumerate(line):
                    place = c.add(c.mul(c.add(start, at), step), part * SIDE)
                    floats.store(c.read(slot, floats.type), to, place)

    def numbers(self, c: IRBuilder, pairs: Scalar) -> Scalar:
        """Pairs as LLVM's vector of bfloat16."""
        return c.emit("bitcast", "<32 x bfloat>", (pairs,))

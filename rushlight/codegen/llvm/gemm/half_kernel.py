"""The micro-kernel of products of bfloat16 numbers with sums in float32: squares of 32 by 32, by AMX's tiles or by AVX-512's dot products of pairs.

Both matrices are packed as pairs of steps of the depth, in blocks of 16 rows (or columns) by 32 steps, which is what a tile of AMX holds.

**Float32 by bfloat16.**  An element ``a`` of 24 bits is ``a0 + a1 + a2`` exactly, with 8 bits each: ``a1`` is at most ``2**-8`` of it, ``a2`` ``2**-16``.  Of the nine
products of the parts of two elements, six are summed up; the three that are left out (``a1 b2``, ``a2 b1``, ``a2 b2``) are less than a rounding of
``a b`` together.  Six products by tiles take less than half the time of one by vectors, and the sums are as exact as those of float32: a tile adds up 32 steps
of the depth before their sum is rounded to what it is added to.  Infinities and NaN do not survive this (``inf * 0`` is NaN): where a result is not
finite, it is computed again from the whole elements.  Numbers below ``2**-126``, of which the tiles take no notice, count as zero, also as parts of an element.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

from ..ir import IRBuilder, Scalar
from ..target import processor
from ..vectors import Vectors

SIDE = 16  # rows or columns of a packed block, and pairs of steps
DEEP = 2 * SIDE  # steps of a packed block
WORDS = SIDE * SIDE  # of 32 bits, in a packed block: a pair each
_INFINITE, _ROUNDS_UP, _MAGNITUDE, _UPPER, _QUIET = 0x7F800000, 0x7F7F8000, 0x7FFFFFFF, -65536, 0x7FC00000
_EXPONENTS = 0x7F807F80  # of a pair of bfloat16 numbers
_BOTH = (0, 1)


class Sides(NamedTuple):
    """A pair of values: of the left matrix, and of the right one."""

    left: Any
    right: Any


class DepthBlocks(NamedTuple):
    """The addressing of a square's packed blocks: loops over the depth, which give two addresses, and strides in words."""

    walk: Callable[[], AbstractContextManager[Sides]]
    part: Sides  # to the next part of the same elements
    below: Sides  # to the next 16 rows, or columns


class HalfKernel(NamedTuple):
    """The kernel: ``by`` tiles or pairs, of elements in so many ``parts``."""

    by: str
    parts: int = 1

    @property
    def order(self) -> tuple[tuple[int, int], ...]:
        """The products of parts: from one to the next, that of one side stays the same, and loaded."""
        return ((0, 0),) if self.parts == 1 else ((2, 0), (0, 0), (1, 0), (1, 1), (0, 1), (0, 2))

    # -- elements and their parts --------------------------------------------------------------------------------

    @property
    def converts(self) -> bool:
        """Whether instructions that round float32 to bfloat16 split elements into parts; others split those that are huge or not finite."""
        return self.parts > 1 and "avx512bf16" in processor().has

    def pairs(self, c: IRBuilder, type: str, low: Scalar, high: Scalar, converted: bool = False) -> list[Scalar]:
        """Two vectors concatenated, for each part of their elements: bfloat16 numbers (``i16``), or upper halves of float32."""
        if converted:
            return self.converted(c, low, high)
        words = Vectors(c, "i32", SIDE)
        half = words.splat(Scalar("16", "i32"))
        if type != "float":
            bits = [c.emit("zext", words.type, (each,)) for each in (low, high)]
            return [c.binary("or", bits[0], c.binary("shl", bits[1], half))]
        made = []
        for both in zip(*(self.split(c, each) for each in (low, high))):
            bits = [c.emit("bitcast", words.type, (each,)) for each in both]
            made.append(c.binary("or", c.binary("lshr", bits[0], half), c.binary("and", bits[1], self.word(c, _UPPER))))
        return made

    def converted(self, c: IRBuilder, low: Scalar, high: Scalar) -> list[Scalar]:
        """The parts of two vectors of floats as pairs, by instructions that round two vectors at once: they put one after the other."""
        words, order = Vectors(c, "i16", DEEP), [at + half for at in range(SIDE) for half in (0, SIDE)]
        rest, made = [low, high], []
        for part in range(self.parts):
            halves = c.call_external("@llvm.x86.avx512bf16.cvtne2ps2bf16.512", "<32 x bfloat>", (rest[1], rest[0]))
            joined = words.shuffle(c.emit("bitcast", words.type, (halves,)), order)
            made.append(c.emit("bitcast", f"<{SIDE} x i32>", (joined,)))
            if part + 1 < self.parts:
                rest = [c.binary("fsub", each, own) for each, own in zip(rest, self.joined(c, made[-1:]))]
        return made

    def is_huge(self, c: IRBuilder, pairs: Scalar) -> Scalar:
        """Which of the numbers in pairs are not finite: those that were not, and those that ``converted`` has rounded up to infinity."""
        exponent = self.word(c, _EXPONENTS)
        words = Vectors(c, "i16", DEEP).type
        both = [c.emit("bitcast", words, (each,)) for each in (c.binary("and", pairs, exponent), exponent)]
        return c.compare("eq", *both)

    def word(self, c: IRBuilder, value: int) -> Scalar:
        """A number of 32 bits in all lanes."""
        return Vectors(c, "i32", SIDE).splat(Scalar(str(value), "i32"))

    def split(self, c: IRBuilder, given: Scalar) -> list[Scalar]:
        """Floats split into vectors of floats with only upper halves: the rounded value, its rounded residual, and the residual of that."""
        if self.parts == 1:
            return [given]
        floats, words = Vectors(c, "float", SIDE), Vectors(c, "i32", SIDE)
        bits = c.emit("bitcast", words.type, (given,))
        size = c.binary("and", bits, self.word(c, _MAGNITUDE))
        kept = c.select(
            c.compare("ult", size, self.word(c, _ROUNDS_UP)), self.rounded(c, bits), c.binary("and", bits, self.word(c, _UPPER))
        )
        kept = c.select(c.compare("ugt", size, self.word(c, _INFINITE)), self.word(c, _QUIET), kept)
        first = c.emit("bitcast", floats.type, (kept,))
        finite = c.compare("ult", size, self.word(c, _INFINITE))
        rest = c.select(finite, c.binary("fsub", given, first), floats.zero())
        second = c.emit("bitcast", floats.type, (self.rounded(c, c.emit("bitcast", words.type, (rest,))),))
        return [first, second, c.binary("fsub", rest, second)]

    def rounded(self, c: IRBuilder, bits: Scalar) -> Scalar:
        """The bits of floats rounded to their upper halves, ties to even."""
        odd = c.binary("and", c.binary("lshr", bits, self.word(c, 16)), self.word(c, 1))
        return c.binary("and", c.binary("add", bits, c.binary("add", odd, self.word(c, 32767))), self.word(c, _UPPER))

    def joined(self, c: IRBuilder, parts: list[Scalar]) -> list[Scalar]:
        """The floats that pairs of parts were made of: of even steps, and of odd ones."""
        floats, made = Vectors(c, "float", SIDE), []
        for how, number in (("shl", 16), ("and", _UPPER)):
            first, *rest = [c.emit("bitcast", floats.type, (c.binary(how, each, self.word(c, number)),)) for each in parts]
            made.append(c.binary("fadd", c.binary("fadd", rest[1], rest[0]), first) if rest else first)
        return made

    # -- a square of 32 by 32 ------------------------------------------------------------------------------------

    def begin(self, c: IRBuilder) -> None:
        """The prologue: configures eight tiles of 16 rows of 64 bytes."""
        if self.by == "tiles":
            config = c.slot("i8", 64)
            c.zero_fill("i8", config, 0, 64)
            c.store(Scalar("1", "i8"), config, 0)
            for at in range(8):
                c.store(Scalar("64", "i8"), config, SIDE + 2 * at)
                c.store(Scalar(str(SIDE), "i8"), config, 48 + at)
            c.call_external("@llvm.x86.ldtilecfg", "void", (Scalar(config, "ptr"),))

    def end(self, c: IRBuilder) -> None:
        """The epilogue: releases the tiles."""
        if self.by == "tiles":
            c.call_external("@llvm.x86.tilerelease", "void", ())

    def multiply(self, c: IRBuilder, blocks: DepthBlocks, to: str, step: Scalar, again: Scalar) -> None:
        """A square at an address with a row stride; ``again``: accumulated."""
        write = self.by_tiles if self.by == "tiles" else self.by_vectors
        write(c, blocks, to, step, again)

    def by_tiles(self, c: IRBuilder, blocks: DepthBlocks, to: str, step: Scalar, again: Scalar) -> None:
        """Tiles 0 to 3 are sums; 4 and 5 are of the left matrix, 6 and 7 of the right one."""
        byte = [Scalar(str(at), "i8") for at in range(8)]
        bytes, line = c.scale(step, 4), c.integer(4 * SIDE)
        corners = [c.address(to, c.add(c.scale(step, SIDE * (at // 2)), SIDE * (at % 2)), "float") for at in range(4)]
        for at in range(4):
            c.call_external("@llvm.x86.tilezero", "void", (byte[at],))
        with c.when(again):
            for at, corner in enumerate(corners):
                c.call_external("@llvm.x86.tileloadd64", "void", (byte[at], Scalar(corner, "ptr"), bytes))
        with blocks.walk() as offsets:
            loaded: list[int | None] = [None, None]
            for pair in self.order:
                for side, part in enumerate(pair):
                    for at in _BOTH if loaded[side] != part else ():
                        where = c.add(c.scale(blocks.part[side], part), blocks.below[side] if at else 0)
                        address = Scalar(c.address(offsets[side], where, "i32"), "ptr")
                        c.call_external("@llvm.x86.tileloadd64", "void", (byte[4 + 2 * side + at], address, line))
                    loaded[side] = part
                for at in range(4):
                    c.call_external("@llvm.x86.tdpbf16ps", "void", (byte[at], byte[4 + at // 2], byte[6 + at % 2]))
        for at, corner in enumerate(corners):
            c.call_external("@llvm.x86.tilestored64", "void", (byte[at], Scalar(corner, "ptr"), bytes))

    def by_vectors(self, c: IRBuilder, blocks: DepthBlocks, to: str, step: Scalar, again: Scalar, whole: bool = False) -> None:
        """Eight rows by 32 columns at a time: pairs, or elements that are put together again (``whole``), four rows."""
        floats, words, height = Vectors(c, "float", SIDE), Vectors(c, "i32", SIDE), 4 if whole else 8
        with c.loop(DEEP // height) as group:
            start = c.scale(group, height)
            begin = c.add(c.mul(c.div(start, SIDE), c.whole(blocks.below.left)), c.scale(c.rem(start, SIDE), SIDE))
            slots = [[c.slot(floats.type) for _ in _BOTH] for _ in range(height)]
            offsets = [[c.add(c.mul(c.add(start, at), step), part * SIDE) for part in _BOTH] for at in range(height)]
            for line, where in zip(slots, offsets):
                for slot, offset in zip(line, where):
                    c.write(floats.zero(), slot)
                    with c.when(again):
                        c.write(floats.load(to, offset), slot)
            with blocks.walk() as sides, c.loop(SIDE) as pair:

                def across(at: int, part: int, pair: Scalar = pair, right: str = sides.right) -> Scalar:
                    offset = c.add(c.scale(pair, SIDE), c.scale(blocks.part.right, part))
                    return words.load(right, c.add(offset, blocks.below.right) if at else offset)

                def down(at: int, part: int, pair: Scalar = pair, left: str = sides.left) -> Scalar:
                    offset = c.add(c.add(begin, at * SIDE), c.scale(blocks.part.left, part))
                    return words.splat(c.load(left, c.add(offset, pair), "i32"))

                if whole:
                    columns = [self.joined(c, [across(at, part) for part in range(self.parts)]) for at in _BOTH]
                    for at, line in enumerate(slots):
                        factors = self.joined(c, [down(at, part) for part in range(self.parts)])
                        for slot, other in zip(line, columns):
                            total = c.read(slot, floats.type)
                            for one, two in zip(factors, other):
                                total = floats.multiply_add(one, two, total)
                            c.write(total, slot)
                for first, second in () if whole else self.order:
                    others = [self.numbers(c, across(at, second)) for at in _BOTH]
                    for at, line in enumerate(slots):
                        factor = self.numbers(c, down(at, first))
                        for slot, number in zip(line, others):
                            terms = (c.read(slot, floats.type), factor, number)
                            c.write(c.call_external("@llvm.x86.avx512bf16.dpbf16ps.512", floats.type, terms), slot)
            for line, where in zip(slots, offsets):
                for slot, offset in zip(line, where):
                    floats.store(c.read(slot, floats.type), to, offset)

    def numbers(self, c: IRBuilder, pairs: Scalar) -> Scalar:
        """Pairs as LLVM's vector of bfloat16."""
        return c.emit("bitcast", "<32 x bfloat>", (pairs,))


def not_finite(c: IRBuilder, result: str, rows: Any, columns: Any, step: Any) -> Scalar:
    """Whether any of a result's elements is not finite."""
    v = Vectors(c, "float", SIDE)
    total = c.slot(v.type)
    c.write(v.zero(), total)
    with c.loop(rows) as line, c.loop(c.ceil_div(columns, SIDE)) as block:
        at = c.scale(block, SIDE)
        found = v.load(result, c.add(c.mul(line, step), at), v.first(c.sub(columns, at)))
        c.write(v.multiply_add(found, v.zero(), c.read(total, v.type)), total)  # NaN, if it is not finite
    odd = c.compare("uno", c.read(total, v.type), v.zero())
    return c.call_external(f"@llvm.vector.reduce.or.v{SIDE}i1", "i1", (odd,))

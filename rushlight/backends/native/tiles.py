"""Products of matrices whose sizes are known, in vectors: tiles of the result stay in registers while a loop runs over the depth.

Made for panels that are packed for the purpose and lie in the cache: nothing is copied again, no library is called, and what comes
before and after a product (a bias, a sum that goes on) costs nothing.  Sizes too small or odd for BLAS are no worse than others.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import NamedTuple

from .code import Code, Module, Scalar
from .machine import machine

BYTES = {"float": 4, "double": 8}
_SHORT = {"float": "f32", "double": "f64"}
_WAIT = 8  # sums that have to be under way at once, to hide the time that an addition takes


@dataclass(frozen=True)
class Registers:
    """The vector registers of a processor."""

    count: int
    bytes: int


def registers() -> Registers:
    """Those of this processor."""
    features = machine().features.split(",")
    if "+avx512f" in features and "+avx512vl" in features:
        return Registers(32, 64)
    if "+avx" in features:
        return Registers(16, 32)
    return Registers(32 if machine().triple.startswith(("aarch64", "arm64")) else 16, 16)


def lanes(type: str) -> int:
    """How many numbers a vector has."""
    return registers().bytes // BYTES[type]


def tile_of(rows: int, vectors: int, number: int) -> tuple[int, int]:
    """The rows and vectors of a tile that compute a result soonest, with a number of registers.

    A step of the depth takes a multiplication for each register of the tile, and loads for its rows and vectors; a tile that is
    too small waits for its own sums.  Each size of tile, and each register of it, is code that has to be compiled.
    """
    best, chosen = float("inf"), (1, 1)
    for width in range(1, min(vectors, 4) + 1):
        for height in range(1, min(rows, number) + 1):
            if height * width > 16 or height * width + width + 1 > number:
                break
            down, across = divmod(rows, height), divmod(vectors, width)
            cost, code = 0.0, 0
            for high, times in ((height, down[0]), (down[1], 1)):
                for wide, repeated in ((width, across[0]), (across[1], 1)):
                    if high and wide:
                        cost += times * repeated * (max(high * wide, 0.6 * (high + wide), _WAIT) + 0.5)
                        code += high * wide + 8
            cost *= 1 + code / 1000
            if cost < best:
                best, chosen = cost, (height, width)
    return chosen


class Vectors:
    """Vector instructions of one type, written into code."""

    def __init__(self, code: Code, type: str, count: int | None = None) -> None:
        self.code = code
        self.element = type
        self.count = count or lanes(type)
        self.type = f"<{self.count} x {type}>" if self.count > 1 else type
        self.suffix = f"v{self.count}{_SHORT[type]}" if self.count > 1 else _SHORT[type]

    def zero(self) -> Scalar:
        return Scalar("zeroinitializer", self.type) if self.count > 1 else self.code.constant(self.element, 0)

    def mask(self, number: int) -> str:
        """A mask that lets the first few lanes pass."""
        return f"<{self.count} x i1> <{', '.join(f'i1 {str(at < number).lower()}' for at in range(self.count))}>"

    def load(self, pointer: str, index: Scalar, number: int | None = None) -> Scalar:
        """A vector from memory, of any alignment; with a number, just its first elements, and zeros."""
        c, size = self.code, BYTES[self.element]
        place = c.address(pointer, index, self.element)
        if number is None or number == self.count:
            return c.let(self.type, f"load {self.type}, ptr {place}, align {size}")
        c.module.declare(f"declare {self.type} @llvm.masked.load.{self.suffix}.p0(ptr, i32, <{self.count} x i1>, {self.type})")
        given = f"ptr {place}, i32 {size}, {self.mask(number)}, {self.type} zeroinitializer"
        return c.let(self.type, f"call {self.type} @llvm.masked.load.{self.suffix}.p0({given})")

    def store(self, value: Scalar, pointer: str, index: Scalar, number: int | None = None) -> None:
        """Write a vector, or just its first elements."""
        c, size = self.code, BYTES[self.element]
        place = c.address(pointer, index, self.element)
        if number is None or number == self.count:
            c.do(f"store {self.type} {value.name}, ptr {place}, align {size}")
            return
        c.module.declare(f"declare void @llvm.masked.store.{self.suffix}.p0({self.type}, ptr, i32, <{self.count} x i1>)")
        c.do(f"call void @llvm.masked.store.{self.suffix}.p0({self.type} {value.name}, ptr {place}, i32 {size}, {self.mask(number)})")

    def spread(self, value: Scalar) -> Scalar:
        """A number in all lanes."""
        if self.count == 1:
            return value
        c = self.code
        first = c.let(self.type, f"insertelement {self.type} poison, {value.type} {value.name}, i64 0")
        return c.let(self.type, f"shufflevector {self.type} {first.name}, {self.type} poison, <{self.count} x i32> zeroinitializer")

    def multiply_add(self, a: Scalar, b: Scalar, c: Scalar) -> Scalar:
        """``a * b + c``, in one step where the processor has it."""
        code = self.code
        code.module.declare(f"declare {self.type} @llvm.fmuladd.{self.suffix}({', '.join([self.type] * 3)})")
        given = ", ".join(f"{self.type} {each.name}" for each in (a, b, c))
        return code.let(self.type, f"call {self.type} @llvm.fmuladd.{self.suffix}({given})")


class Multiplication(NamedTuple):
    """What a product is of: ``result[m, n] (+)= start[m] + sum over k of left[m, k] * right[k, n]``.

    The last dimension of each matrix lies in a row; the others are this many elements apart.  ``padded`` says that rows of the right
    matrix can be read to the end of a vector.
    """

    type: str
    rows: int
    columns: int
    depth: int
    left_step: int
    right_step: int
    result_step: int
    adds: bool = False  # whether it is added to what the result holds
    starts: bool = False  # whether each row begins with a number of its own
    padded: bool = False

    def write(self, module: Module) -> str:
        """A function of left, right, result and start; its name."""
        c = Code(module)
        c.rolled = True
        vector = Vectors(c, self.type)
        vectors = -(-self.columns // vector.count)
        height, width = tile_of(self.rows, vectors, registers().count)
        rest = self.columns % vector.count
        blocks, remaining = divmod(vectors, width)
        whole = blocks - (1 if rest and not remaining else 0)  # blocks of which every vector is full
        if whole:
            with c.loop(c.integer(0), c.integer(whole)) as block:
                self.rows_of(c, vector, c.scale(block, width * vector.count), height, width, 0)
        for at, wide in ((whole, width if rest and not remaining else 0), (blocks, remaining)):
            if wide:
                self.rows_of(c, vector, c.integer(at * width * vector.count), height, wide, rest)
        return module.add(f"multiply{len(module.names)}", c.function("NAME", "ptr noalias %left, ptr noalias %right, ptr noalias %result, ptr noalias %start"))

    def rows_of(self, c: Code, vector: Vectors, column: Scalar, height: int, width: int, rest: int) -> None:
        """A block of columns, tile by tile."""
        blocks, remaining = divmod(self.rows, height)
        if blocks:
            with c.loop(c.integer(0), c.integer(blocks)) as block:
                self.tile(c, vector, c.scale(block, height), column, height, width, rest)
        if remaining:
            self.tile(c, vector, c.integer(blocks * height), column, remaining, width, rest)

    def tile(self, c: Code, vector: Vectors, row: Scalar, column: Scalar, height: int, width: int, rest: int) -> None:
        """One tile of the result."""
        at = c.add(c.scale(row, self.result_step), column)
        numbers = [rest or None if wide == width - 1 else None for wide in range(width)]
        sums: list[list[str]] = []
        for high in range(height):
            begin = vector.spread(c.load("%start", c.add(row, c.integer(high)), self.type)) if self.starts else vector.zero()
            sums.append([c.slot(vector.type) for _ in range(width)])
            for slot in sums[-1]:
                c.write(begin, slot)
        left = c.scale(row, self.left_step)
        with c.loop(c.integer(0), c.integer(self.depth)) as depth:
            begin = c.add(c.scale(depth, self.right_step), column)
            rights = [
                vector.load("%right", c.add(begin, c.integer(wide * vector.count)), None if self.padded else numbers[wide]) for wide in range(width)
            ]
            for high in range(height):
                factor = vector.spread(c.load("%left", c.add(c.add(left, depth), c.integer(high * self.left_step)), self.type))
                for wide in range(width):
                    slot = sums[high][wide]
                    c.write(vector.multiply_add(factor, rights[wide], c.read(slot, vector.type)), slot)
        for high in range(height):
            for wide in range(width):
                place = c.add(at, c.integer(high * self.result_step + wide * vector.count))
                made = c.read(sums[high][wide], vector.type)
                if self.adds:
                    made = c.binary("fadd", vector.load("%result", place, numbers[wide]), made)
                vector.store(made, "%result", place, numbers[wide])


def copy_run(c: Code, type: str, source: str, at: Scalar, target: str, to: Scalar, length: int) -> None:
    """Copy neighbouring elements, in vectors; the last one overlaps the one before it."""
    limit = lanes(type)
    wide = limit
    while wide > length:
        wide //= 2
    vector = Vectors(c, type, wide)
    many = length // wide
    if many > 16:
        with c.loop(c.integer(0), c.integer(many)) as block:
            place = c.scale(block, wide)
            vector.store(vector.load(source, c.add(at, place)), target, c.add(to, place))
        places = []
    else:
        places = [each * wide for each in range(many)]
    if length % wide:
        places.append(length - wide)
    for each in places:
        shift = c.integer(each)
        vector.store(vector.load(source, c.add(at, shift)), target, c.add(to, shift))


def fill_run(c: Code, type: str, target: str, to: Scalar, length: int) -> None:
    """Zeros in neighbouring elements."""
    if length > 0:
        size = BYTES[type] * length
        c.module.declare("declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
        c.do(f"call void @llvm.memset.p0.i64(ptr {c.address(target, to, type)}, i8 0, i64 {size}, i1 false)")


def transpose(c: Code, type: str, source: str, at: Scalar, step: int, target: str, to: Scalar, apart: int, rows: int, columns: int) -> None:
    """Write a matrix with rows for columns: blocks of 8 by 8 go through registers."""
    block = 8
    high, wide = rows // block, columns // block
    if high and wide:
        with ExitStack() as nest:
            row = c.scale(nest.enter_context(c.loop(c.integer(0), c.integer(high))), block)
            column = c.scale(nest.enter_context(c.loop(c.integer(0), c.integer(wide))), block)
            _transpose_block(
                c, type, source, c.add(at, c.add(c.scale(row, step), column)), step, target, c.add(to, c.add(c.scale(column, apart), row)), apart
            )
    for first_row, last_row, first_column in ((0, high * block, wide * block), (high * block, rows, 0)):
        if first_row == last_row or first_column == columns:
            continue
        with c.loop(c.integer(first_row), c.integer(last_row)) as row, c.loop(c.integer(first_column), c.integer(columns)) as column:
            value = c.load(source, c.add(at, c.add(c.scale(row, step), column)), type)
            c.store(value, target, c.add(to, c.add(c.scale(column, apart), row)))


def _transpose_block(c: Code, type: str, source: str, at: Scalar, step: int, target: str, to: Scalar, apart: int) -> None:
    vector = Vectors(c, type, 8)
    rows = [vector.load(source, c.add(at, c.integer(each * step))) for each in range(8)]
    for distance in (1, 2, 4):  # exchange what is off the diagonal: of pairs, then of squares of 2, then of 4
        low = [each if not each & distance else 8 + each - distance for each in range(8)]
        high = [each + distance if not each & distance else 8 + each for each in range(8)]
        made = list(rows)
        for each in range(8):
            if not each & distance:
                a, b = rows[each], rows[each + distance]
                for place, lanes_ in ((each, low), (each + distance, high)):
                    order = ", ".join(f"i32 {lane}" for lane in lanes_)
                    made[place] = c.let(vector.type, f"shufflevector {vector.type} {a.name}, {vector.type} {b.name}, <8 x i32> <{order}>")
        rows = made
    for each in range(8):
        vector.store(rows[each], target, c.add(to, c.integer(each * apart)))

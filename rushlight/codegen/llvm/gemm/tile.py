"""Products of matrices whose sizes are known, in vectors: tiles of the result stay in registers while a loop runs over the depth.

Made for panels that are packed for the purpose and lie in the cache: nothing is copied again, no library is called, and what comes
before and after a product (a bias, a sum that goes on) costs nothing.  Sizes too small or odd for BLAS are no worse than others.
"""

from __future__ import annotations

from typing import NamedTuple

from ..ir import Code, Module, Scalar
from ..target import processor
from ..vectors import BYTES, Vectors, lanes

__all__ = ["BYTES", "Multiplication", "Vectors", "copy_run", "fill_run", "lanes", "tile_of"]
_WAIT = 8  # sums that have to be under way at once, to hide the time that an addition takes


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
        height, width = tile_of(self.rows, vectors, processor().registers)
        rest = self.columns % vector.count
        blocks, remaining = divmod(vectors, width)
        whole = blocks - (1 if rest and not remaining else 0)  # blocks of which every vector is full
        if whole:
            with c.loop(c.integer(0), c.integer(whole)) as block:
                self.rows_of(c, vector, c.scale(block, width * vector.count), height, width, 0)
        for at, wide in ((whole, width if rest and not remaining else 0), (blocks, remaining)):
            if wide:
                self.rows_of(c, vector, c.integer(at * width * vector.count), height, wide, rest)
        return module.add(
            f"multiply{len(module.names)}",
            c.function("NAME", "ptr noalias %left, ptr noalias %right, ptr noalias %result, ptr noalias %start"),
        )

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
                vector.load("%right", c.add(begin, c.integer(wide * vector.count)), None if self.padded else numbers[wide])
                for wide in range(width)
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

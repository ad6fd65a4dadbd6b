"""Products of matrices whose sizes are not in the code: compiled once, for all convolutions.

Made for matrices that lie in the cache, in memory to work in: whatever is read or written beyond a matrix, to the end of a vector or a
tile, does no harm there.
"""

from __future__ import annotations

from typing import NamedTuple

from ..ir import Code, Module, Scalar
from ..target import processor
from ..vectors import Vectors


def tile_for(vectors: int, rows: int | None = None) -> tuple[int, int]:
    """The rows and vectors of a tile, for results of this many vectors: enough sums to hide the time that one takes.

    No vector is left over, for which there would have to be code.  ``rows`` are those of a left matrix that is not packed: then each row of a
    tile takes a register for its address, and where 3 x 3 taps are rows, none is left over.
    """
    if processor().registers < 32:  # LLVM may read the factors of all rows before it multiplies: then they take a register each
        width = 2 if vectors % 2 == 0 else 3 if vectors % 3 == 0 else 1
        return {1: 7, 2: 4, 3: 3}[width], width
    width = 4 if vectors % 4 == 0 else 2 if vectors % 2 == 0 else 1
    height = 16 // width
    if rows is not None:
        height = min(height, 8)
        height += height == 8 and rows % 8 > 0 and rows % 9 == 0
    return height, width


class Product(NamedTuple):
    """``result[m, n] = sum over k of left[m, k] * right[k, n]``, by tiles of a size.

    With ``packed`` the left matrix lies as tiles read it: as many rows as a tile has, element by element.  Otherwise it lies row by row,
    and the product is added to the result.
    """

    type: str
    height: int
    width: int
    packed: bool

    def write(self, module: Module) -> str:
        """The function: left, right, result; rows, vectors of a row, depth; how far apart rows are of the left matrix, the right, the result."""
        key = ("multiply", self)
        if key not in module.memo:
            c = Code(module)
            c.rolled = True
            vector = Vectors(c, self.type)
            with c.loop(c.integer(0), c.let("i64", f"udiv i64 %vectors, {self.width}")) as block:
                self.rows_of(c, vector, c.scale(block, self.width * vector.count))
            sizes = ", ".join(f"i64 %{each}" for each in ("rows", "vectors", "depth", "left_step", "right_step", "result_step"))
            module.memo[key] = module.add(
                "multiply", c.function("NAME", f"ptr noalias %left, ptr noalias %right, ptr noalias %result, {sizes}")
            )
        return module.memo[key]

    def rows_of(self, c: Code, vector: Vectors, column: Scalar) -> None:
        """Some columns, tile by tile; of a packed matrix there are always enough rows for the last tile."""
        extra = c.add(Scalar("%rows", "i64"), c.integer(self.height - 1)) if self.packed else Scalar("%rows", "i64")
        blocks = c.let("i64", f"udiv i64 {extra.name}, {self.height}")
        with c.loop(c.integer(0), blocks) as block:
            self.tile(c, vector, c.scale(block, self.height), column, self.height)
        if not self.packed and self.height > 1:
            with c.loop(c.scale(blocks, self.height), Scalar("%rows", "i64")) as row:
                self.tile(c, vector, row, column, 1)

    def tile(self, c: Code, vector: Vectors, row: Scalar, column: Scalar, height: int) -> None:
        """One tile of the result."""
        step = {name: Scalar(f"%{name}_step", "i64") for name in ("left", "right", "result")}
        depth, width = Scalar("%depth", "i64"), self.width
        places = [c.add(multiple(c, c.add(row, c.integer(high)), step["result"]), column) for high in range(height)]
        sums = [[c.slot(vector.type) for _ in range(width)] for _ in range(height)]
        for slot in [each for row_ in sums for each in row_]:
            c.write(vector.zero(), slot)
        first = multiple(c, row, depth if self.packed else step["left"])
        lefts = [first] if self.packed else [c.add(first, multiple(c, c.integer(high), step["left"])) for high in range(height)]
        with c.loop(c.integer(0), depth) as at:
            begin = c.add(multiple(c, at, step["right"]), column)
            rights = [vector.load("%right", c.add(begin, c.integer(wide * vector.count))) for wide in range(width)]
            for high in range(height):
                place = c.add(c.add(first, c.scale(at, height)), c.integer(high)) if self.packed else c.add(lefts[high], at)
                factor = vector.spread(c.load("%left", place, self.type))
                for wide in range(width):
                    slot = sums[high][wide]
                    c.write(vector.multiply_add(factor, rights[wide], c.read(slot, vector.type)), slot)
        for high in range(height):
            for wide in range(width):
                place, made = c.add(places[high], c.integer(wide * vector.count)), c.read(sums[high][wide], vector.type)
                vector.store(made if self.packed else c.binary("fadd", vector.load("%result", place), made), "%result", place)


def multiple(c: Code, index: Scalar, step: Scalar) -> Scalar:
    """An index times a number that is known when the code runs."""
    if index.name in ("0", "1"):
        return index if index.name == "0" else step
    return c.let("i64", f"mul nsw i64 {index.name}, {step.name}")


def call(c: Code, function: str, pointers: tuple[str, ...], sizes: tuple[Scalar | int, ...]) -> None:
    """Write a call of a function that takes sizes."""
    given = [f"ptr {each}" for each in pointers] + [f"i64 {each.name if isinstance(each, Scalar) else each}" for each in sizes]
    c.do(f"call void @{function}({', '.join(given)})")

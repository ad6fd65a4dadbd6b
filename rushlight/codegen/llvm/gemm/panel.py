"""Products of a few rows with a matrix, generated: what is too small for BLAS, or inside a loop that BLAS can't stand in.

The right matrix is packed into panels: a few vectors' width of columns, row after row, so that memory is read in its order.  A tile of the
result, some rows high and a panel wide, is held in registers while the depth is run through.  Here vectors are written out.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from ....core.parallel import pool as eager_pool
from ....schedule.symbolic_shape import least
from ..ir import BITS, Code, Module, Scalar
from ..target import processor
from ..vectors import Vectors


class Shape(NamedTuple):
    """How vectors and tiles are made for this processor and a type."""

    lanes: int  # elements of a vector
    vectors: int  # of a row of a tile
    rows: int  # of a tile

    @property
    def width(self) -> int:
        """The columns of a panel."""
        return self.lanes * self.vectors


def shape_for(type: str) -> Shape:
    """Tiles that fill the registers."""
    chosen = processor()
    lanes = chosen.vector_bits // BITS[type]
    if chosen.vector_bits == 512:
        return Shape(lanes, 2, 8)
    if chosen.is_arm:
        return Shape(lanes, 4, 6)
    return Shape(lanes, 3, 4) if chosen.vector_bits == 256 else Shape(lanes, 2, 4)


class Panels:
    """A matrix of ``depth`` rows and ``width`` columns, packed; and the functions that pack it and multiply by it.

    All sizes are parameters of those functions, so that a module has few of them, whatever is multiplied in it.
    """

    def __init__(self, module: Module, type: str, depth: int, width: int) -> None:
        self.module = module
        self.type = type
        self.depth = depth
        self.width = width
        self.shape = shape_for(type)
        self.count = -(-width // self.shape.width)  # panels, the last of them filled up with zeros
        self.size = self.count * self.shape.width * depth  # elements in all

    def shared(self, kind: str, write: Any) -> str:
        """The name of a function of the module, which is written on first use."""
        key = ("panels", kind, self.type, self.shape)
        if key not in self.module.memo:
            c = Code(self.module)
            self.module.memo[key] = self.module.add(f"{kind}{len(self.module.names)}", c.function("NAME", write(c)))
        return self.module.memo[key]

    # -- packing -------------------------------------------------------------------------------------------------

    def pack(
        self, c: Code, strides: tuple[int, int], panels: str, matrix: str, first: Scalar, last: Scalar, rows: Scalar | None = None,
        width: Scalar | None = None,
    ) -> None:  # fmt: skip
        """Pack panels from the first to before the last of a matrix with such strides; of fewer rows than the depth, or columns, where said."""
        kind = "pack_rows" if strides[1] == 1 else "pack_turned" if strides[0] == 1 else "pack_any"
        depth, *apart = (c.integer(each) for each in (self.depth, *strides))
        call(
            c,
            self.shared(kind, lambda c: self._pack(c, kind)),
            panels,
            matrix,
            first,
            last,
            rows or depth,
            depth,
            width or c.integer(self.width),
            *apart,
        )

    def _pack(self, c: Code, kind: str) -> str:
        wide, lanes, v = self.shape.width, self.shape.lanes, Vectors(c, self.type, self.shape.lanes)
        deep, depth, width, rows, columns = (Scalar(f"%{each}", "i64") for each in ("deep", "depth", "width", "rows", "columns"))
        with c.loop(Scalar("%first", "i64"), Scalar("%last", "i64")) as panel:
            column = c.scale(panel, wide)
            here = times(c, column, depth)
            present = c.intrinsic("smin", minus(c, width, column), c.integer(wide))

            def one(row: Scalar, at: Scalar) -> None:
                source = c.add(times(c, c.add(column, at), columns), row if kind == "pack_turned" else times(c, row, rows))
                c.store(c.load("%matrix", source, self.type), "%panels", c.add(here, c.add(c.scale(row, wide), at)))

            if kind == "pack_rows":
                starts = [c.integer(at) for at in range(0, wide, lanes)]
                masks = [v.first(minus(c, present, start)) for start in starts]
                with c.loop(c.integer(0), deep) as row:
                    source, place = c.add(times(c, row, rows), column), c.add(here, c.scale(row, wide))

                    def copy(masks: list[str | None], source: Scalar = source, place: Scalar = place) -> None:
                        for start, mask in zip(starts, masks):  # zeros where there is no column
                            v.store(v.load("%matrix", c.add(source, start), mask), "%panels", c.add(place, start))

                    v.masked(masks, copy)
            else:
                parts: list[Any] = [((c.integer(0), present), (c.integer(0), deep))]
                if kind == "pack_turned":
                    # In squares that are turned in registers; then what is left.
                    squares, blocks = (c.let("i64", f"sdiv i64 {each.name}, {lanes}") for each in (deep, present))
                    with c.loop(c.integer(0), blocks) as block, c.loop(c.integer(0), squares) as square:
                        first, row = c.scale(block, lanes), c.scale(square, lanes)
                        lines = [
                            v.load("%matrix", c.add(times(c, c.add(column, c.add(first, c.integer(step))), columns), row))
                            for step in range(lanes)
                        ]
                        place = c.add(here, c.add(c.scale(row, wide), first))
                        for step, line in enumerate(v.turned(lines)):
                            v.store(line, "%panels", c.add(place, c.integer(step * wide)))
                    right, below = c.scale(blocks, lanes), c.scale(squares, lanes)
                    parts = [((c.integer(0), right), (below, deep)), ((right, present), (c.integer(0), deep))]
                c.scalar = True  # elements lie apart: vectors win nothing
                for across, down in parts:
                    with c.loop(*down) as row, c.loop(*across) as at:
                        one(row, at)
                with c.loop(c.integer(0), deep) as row, c.loop(present, c.integer(wide)) as at:
                    c.store(c.constant(self.type, 0.0), "%panels", c.add(here, c.add(c.scale(row, wide), at)))
        sizes = ", ".join(f"i64 %{each}" for each in ("first", "last", "deep", "depth", "width", "rows", "columns"))
        return f"ptr noalias %panels, ptr noalias %matrix, {sizes}"

    # -- multiplying ---------------------------------------------------------------------------------------------

    def multiply(
        self, c: Code, left: tuple[str, int], panels: str, result: tuple[str, int], rows: Scalar, start: tuple[str, int] | None = None,
        how: str = "zero", columns: int = 1, width: Scalar | None = None, depth: Scalar | None = None, apart: int | None = None,
    ) -> None:  # fmt: skip
        """Multiply rows by the matrix; left, result and start are addresses with the distance of their rows.

        ``how`` says what the product is added to: nothing ("zero"), a row of its own for each ("matrix"), or one row for all ("row").
        ``columns`` is the distance of the left matrix's columns.  Of the matrix, fewer rows count where a depth is given; with a width,
        so many columns are written (of those that fill up the last panel, zeros).  ``apart`` is the distance of the matrix's rows where it is not
        packed: it must be as wide as some panels.
        """
        start = start or result
        unit, plain = columns == 1, apart is not None
        name = self.shared(
            f"multiply_{how}{'' if unit else '_turned'}{'_plain' if plain else ''}", lambda c: self._multiply(c, how, unit, plain)
        )
        sizes = [c.integer(each) for each in (left[1], columns, result[1], start[1], self.depth if apart is None else apart)]
        call(c, name, left[0], panels, result[0], start[0], *sizes, rows, width or c.integer(self.width), depth or c.integer(self.depth))

    def _multiply(self, c: Code, how: str, unit: bool, plain: bool) -> str:
        shape, v = self.shape, Vectors(c, self.type, self.shape.lanes)
        rows, width, depth = (Scalar(f"%{each}", "i64") for each in ("rows", "width", "depth"))
        count = c.let("i64", f"sdiv i64 {c.add(width, c.integer(shape.width - 1)).name}, {shape.width}")
        with c.loop(c.integer(0), count) as panel:
            column = c.scale(panel, shape.width)
            packed = c.address("%panels", column if plain else times(c, column, depth), self.type)
            left = minus(c, width, column)
            masks = [v.first(minus(c, left, c.integer(at * shape.lanes))) for at in range(shape.vectors)]
            done, height = c.integer(0), shape.rows
            while height:  # in tiles, then smaller ones
                tiles = c.let("i64", f"sdiv i64 {minus(c, rows, done).name}, {height}")
                with c.loop(c.integer(0), tiles) as at:
                    self._tile(c, v, column, packed, masks, c.add(done, c.scale(at, height)), height, how, unit, plain)
                done = c.add(done, c.scale(tiles, height))
                height = height // 2 if height > 4 else 1 if height > 1 else 0
        sizes = ", ".join(f"i64 %{each}" for each in ("ls", "columns", "rs", "ss", "depth", "rows", "width", "deep"))
        return f"ptr %left, ptr noalias %panels, ptr %result, ptr %start, {sizes}"

    def _tile(
        self,
        c: Code,
        v: Vectors,
        column: Scalar,
        packed: str,
        masks: list[str],
        row: Scalar,
        height: int,
        how: str,
        unit: bool,
        plain: bool,
    ) -> None:
        """One tile of the result, held in registers while the depth is run through."""
        lanes = range(0, self.shape.width, self.shape.lanes)  # where the vectors of a row begin
        slots = [[c.slot(v.type) for _ in lanes] for _ in range(height)]
        places = [c.add(row, c.integer(at)) for at in range(height)]

        def begin(masks: list[str | None]) -> None:
            for line, place in zip(slots, places):
                for slot, lane, mask in zip(line, lanes, masks):
                    across = c.add(column, c.integer(lane))
                    across = c.add(times(c, place, Scalar("%ss", "i64")), across) if how == "matrix" else across
                    c.write(v.load("%start", across, mask), slot)

        def end(masks: list[str | None]) -> None:
            for line, place in zip(slots, places):
                for slot, lane, mask in zip(line, lanes, masks):
                    v.store(
                        c.read(slot, v.type), "%result", c.add(times(c, place, Scalar("%rs", "i64")), c.add(column, c.integer(lane))), mask
                    )

        if how == "zero":
            for slot in [each for line in slots for each in line]:
                c.write(v.zero(), slot)
        else:
            v.masked(masks, begin)
        lefts = [c.address("%left", times(c, place, Scalar("%ls", "i64")), self.type) for place in places]
        with c.loop(c.integer(0), Scalar("%deep", "i64")) as step:
            down = times(c, step, Scalar("%depth", "i64")) if plain else c.scale(step, self.shape.width)
            right = [v.load(packed, c.add(down, c.integer(lane))) for lane in lanes]
            across = step if unit else times(c, step, Scalar("%columns", "i64"))
            for line, pointer in zip(slots, lefts):
                number = v.spread(c.load(pointer, across, self.type))
                for slot, other in zip(line, right):
                    c.write(v.multiply_add(number, other, c.read(slot, v.type)), slot)
        v.masked(masks, end)


@contextmanager
def share(c: Code, lanes: int, total: int) -> Iterator[tuple[Scalar, Scalar, Scalar]]:
    """Code for each lane from the first to before the last: its number, and the range of the work that it does.

    A lane has memory of its own to work in.  Neighbours are done by one lane: their rows have been, and will be, in the same cache.
    """
    with c.loop(Scalar("%first", "i64"), Scalar("%last", "i64")) as lane:
        begin, end = (
            c.let("i64", f"sdiv i64 {times(c, each, c.number(total)).name}, {lanes}") for each in (lane, c.add(lane, c.integer(1)))
        )
        yield lane, begin, end


def lanes_for(units: Any) -> Any:
    """How many lanes there are: a few for each thread."""
    return least(units, max(8, 4 * eager_pool.threads))


def times(c: Code, a: Scalar, b: Scalar) -> Scalar:
    """The product of two indices, which never overflows."""
    return c.let("i64", f"mul nsw i64 {a.name}, {b.name}")


def minus(c: Code, a: Scalar, b: Scalar) -> Scalar:
    """The difference of two indices."""
    return c.let("i64", f"sub nsw i64 {a.name}, {b.name}")


def call(c: Code, name: str, *arguments: Any) -> None:
    """Call a function with pointers (strings) and integers (scalars)."""
    given = ", ".join(f"ptr {each}" if isinstance(each, str) else f"i64 {each.name}" for each in arguments)
    c.do(f"call void @{name}({given})")

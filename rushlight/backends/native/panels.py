"""Products of a few rows with a matrix, generated: what is too small for BLAS, or inside a loop that BLAS can't stand in.

The right matrix is packed into panels: a few vectors' width of columns, row after row, so that memory is read in its order.  A tile of the
result, some rows high and a panel wide, is held in registers while the depth is run through.  Here vectors are written out.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .code import BITS, Code, Module, Scalar
from .machine import machine


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
    features = machine().features
    bits = BITS[type]
    if "+avx512f" in features:
        return Shape(512 // bits, 2, 8)
    if "+avx2" in features:
        return Shape(256 // bits, 3, 4)
    return Shape(128 // bits, 2, 4)


class Vectors:
    """Instructions on vectors of one type."""

    def __init__(self, code: Code, type: str, lanes: int) -> None:
        self.code = code
        self.element = type
        self.lanes = lanes
        self.type = f"<{lanes} x {type}>"
        self.suffix = f"v{lanes}{'f32' if type == 'float' else 'f64'}"
        self.alignment = BITS[type] // 8

    def splat(self, a: Scalar) -> Scalar:
        """A vector of one number."""
        c = self.code
        one = c.let(self.type, f"insertelement {self.type} poison, {self.element} {a.name}, i64 0")
        return c.let(self.type, f"shufflevector {self.type} {one.name}, {self.type} poison, <{self.lanes} x i32> zeroinitializer")

    def zero(self) -> Scalar:
        return Scalar("zeroinitializer", self.type)

    def first(self, count: Scalar) -> str:
        """A mask of the first elements."""
        c = self.code
        several = c.convert("trunc", c.intrinsic("smin", count, c.integer(self.lanes)), "i32")
        flags, words = f"<{self.lanes} x i1>", f"<{self.lanes} x i32>"
        one = c.let(words, f"insertelement {words} poison, i32 {several.name}, i64 0")
        all_of_it = c.let(words, f"shufflevector {words} {one.name}, {words} poison, {words} zeroinitializer")
        return c.let(flags, f"icmp slt {words} <{', '.join(f'i32 {at}' for at in range(self.lanes))}>, {all_of_it.name}").name

    def load(self, pointer: str, index: Scalar, mask: str = "") -> Scalar:
        """A vector from memory; zeros where a mask leaves elements out."""
        c = self.code
        place = c.address(pointer, index, self.element)
        if not mask:
            return c.let(self.type, f"load {self.type}, ptr {place}, align {self.alignment}")
        name = f"@llvm.masked.load.{self.suffix}.p0"
        c.module.declare(f"declare {self.type} {name}(ptr, i32, <{self.lanes} x i1>, {self.type})")
        return c.let(self.type, f"call {self.type} {name}(ptr {place}, i32 {self.alignment}, <{self.lanes} x i1> {mask}, {self.type} zeroinitializer)")

    def store(self, value: Scalar, pointer: str, index: Scalar, mask: str = "") -> None:
        """Write a vector, or the elements that a mask names."""
        c = self.code
        place = c.address(pointer, index, self.element)
        if not mask:
            c.do(f"store {self.type} {value.name}, ptr {place}, align {self.alignment}")
            return
        name = f"@llvm.masked.store.{self.suffix}.p0"
        c.module.declare(f"declare void {name}({self.type}, ptr, i32, <{self.lanes} x i1>)")
        c.do(f"call void {name}({self.type} {value.name}, ptr {place}, i32 {self.alignment}, <{self.lanes} x i1> {mask})")

    def fma(self, a: Scalar, b: Scalar, d: Scalar) -> Scalar:
        """``a * b + d``."""
        self.code.module.declare(f"declare {self.type} @llvm.fma.{self.suffix}({self.type}, {self.type}, {self.type})")
        given = ", ".join(f"{self.type} {each.name}" for each in (a, b, d))
        return self.code.let(self.type, f"call {self.type} @llvm.fma.{self.suffix}({given})")


    def turned(self, lines: list[Scalar]) -> list[Scalar]:
        """A square of as many vectors as each has elements, with rows as columns."""
        c, distance = self.code, self.lanes // 2
        while distance:
            for at in range(self.lanes):
                if at & distance:
                    continue
                pair = f"{self.type} {lines[at].name}, {self.type} {lines[at + distance].name}"
                places = [
                    [lane if not lane & distance else self.lanes + lane - distance for lane in range(self.lanes)],
                    [lane + distance if not lane & distance else self.lanes + lane for lane in range(self.lanes)],
                ]
                lines[at], lines[at + distance] = (
                    c.let(self.type, f"shufflevector {pair}, <{self.lanes} x i32> <{', '.join(f'i32 {each}' for each in which)}>") for which in places
                )
            distance //= 2
        return lines


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

    def pack(self, c: Code, strides: tuple[int, int], panels: str, matrix: str, first: Scalar, last: Scalar, rows: Scalar | None = None) -> None:
        """Pack panels from the first to before the last of a matrix with such strides; of fewer rows than the depth, where said."""
        kind = "pack_rows" if strides[1] == 1 else "pack_turned" if strides[0] == 1 else "pack_any"
        sizes = [c.integer(each) for each in (self.depth, self.width, *strides)]
        call(c, self.shared(kind, lambda c: self._pack(c, kind)), panels, matrix, first, last, rows or sizes[0], *sizes)

    def _pack(self, c: Code, kind: str) -> str:
        wide, lanes = self.shape.width, self.shape.lanes
        deep, depth, width, rows, columns = (Scalar(f"%{each}", "i64") for each in ("deep", "depth", "width", "rows", "columns"))
        with c.loop(Scalar("%first", "i64"), Scalar("%last", "i64")) as panel:
            column = c.scale(panel, wide)
            here = times(c, column, depth)
            present = c.intrinsic("smin", minus(c, width, column), c.integer(wide))

            def one(row: Scalar, at: Scalar) -> None:
                across = c.add(column, at)
                across = across if kind == "pack_rows" else times(c, across, columns)
                source = c.add(across, row if kind == "pack_turned" else times(c, row, rows))
                c.store(c.load("%matrix", source, self.type), "%panels", c.add(here, c.add(c.scale(row, wide), at)))

            if kind == "pack_turned":
                # In squares that are turned in registers; then what is left.
                v = Vectors(c, self.type, lanes)
                squares, blocks = (c.let("i64", f"sdiv i64 {each.name}, {lanes}") for each in (deep, present))
                with c.loop(c.integer(0), blocks) as block, c.loop(c.integer(0), squares) as square:
                    first, row = c.scale(block, lanes), c.scale(square, lanes)
                    lines = [v.load("%matrix", c.add(times(c, c.add(column, c.add(first, c.integer(step))), columns), row)) for step in range(lanes)]
                    place = c.add(here, c.add(c.scale(row, wide), first))
                    for step, line in enumerate(v.turned(lines)):
                        v.store(line, "%panels", c.add(place, c.integer(step * wide)))
                parts: list[Any] = [((c.integer(0), c.scale(blocks, lanes)), (c.scale(squares, lanes), deep)), ((c.scale(blocks, lanes), present), (c.integer(0), deep))]
                for across, down in parts:
                    with c.loop(*across) as at, c.loop(*down) as row:
                        one(row, at)
            else:
                with c.loop(c.integer(0), deep) as row, c.loop(c.integer(0), present) as at:
                    one(row, at)
            with c.loop(c.integer(0), deep) as row, c.loop(present, c.integer(wide)) as at:
                c.store(c.constant(self.type, 0.0), "%panels", c.add(here, c.add(c.scale(row, wide), at)))
        sizes = ", ".join(f"i64 %{each}" for each in ("first", "last", "deep", "depth", "width", "rows", "columns"))
        return f"ptr noalias %panels, ptr noalias %matrix, {sizes}"

    # -- multiplying ---------------------------------------------------------------------------------------------

    def multiply(
        self, c: Code, left: tuple[str, int], panels: str, result: tuple[str, int], rows: Scalar, start: tuple[str, int] | None = None,
        how: str = "zero", columns: int = 1, width: Scalar | None = None, depth: Scalar | None = None,
    ) -> None:  # fmt: skip
        """Multiply rows by the matrix; left, result and start are addresses with the distance of their rows.

        ``how`` says what the product is added to: nothing ("zero"), a row of its own for each ("matrix"), or one row for all ("row").
        ``columns`` is the distance of the left matrix's columns.  Of the matrix, fewer rows count where a depth is given; with a width,
        so many columns are written (of those that fill up the last panel, zeros).
        """
        start = start or result
        unit = columns == 1
        name = self.shared(f"multiply_{how}{'' if unit else '_turned'}", lambda c: self._multiply(c, how, unit))
        sizes = [c.integer(each) for each in (left[1], columns, result[1], start[1], self.depth)]
        call(c, name, left[0], panels, result[0], start[0], *sizes, rows, width or c.integer(self.width), depth or c.integer(self.depth))

    def _multiply(self, c: Code, how: str, unit: bool) -> str:
        shape, v = self.shape, Vectors(c, self.type, self.shape.lanes)
        rows, width, depth = (Scalar(f"%{each}", "i64") for each in ("rows", "width", "depth"))
        count = c.let("i64", f"sdiv i64 {c.add(width, c.integer(shape.width - 1)).name}, {shape.width}")
        with c.loop(c.integer(0), count) as panel:
            column = c.scale(panel, shape.width)
            packed = c.address("%panels", times(c, column, depth), self.type)
            left = minus(c, width, column)
            masks = [v.first(minus(c, left, c.integer(at * shape.lanes))) for at in range(shape.vectors)]
            done, height = c.integer(0), shape.rows
            while height:  # in tiles, then smaller ones
                tiles = c.let("i64", f"sdiv i64 {minus(c, rows, done).name}, {height}")
                with c.loop(c.integer(0), tiles) as at:
                    self._tile(c, v, column, packed, masks, c.add(done, c.scale(at, height)), height, how, unit)
                done = c.add(done, c.scale(tiles, height))
                height = height // 2 if height > 4 else 1 if height > 1 else 0
        sizes = ", ".join(f"i64 %{each}" for each in ("ls", "columns", "rs", "ss", "depth", "rows", "width", "deep"))
        return f"ptr %left, ptr noalias %panels, ptr %result, ptr %start, {sizes}"

    def _tile(self, c: Code, v: Vectors, column: Scalar, packed: str, masks: list[str], row: Scalar, height: int, how: str, unit: bool) -> None:
        """One tile of the result, held in registers while the depth is run through."""
        lanes = range(0, self.shape.width, self.shape.lanes)  # where the vectors of a row begin
        slots = [[c.slot(v.type) for _ in lanes] for _ in range(height)]
        places = [c.add(row, c.integer(at)) for at in range(height)]
        for line, place in zip(slots, places):
            for slot, lane, mask in zip(line, lanes, masks):
                across = c.add(column, c.integer(lane))
                if how != "zero":
                    across = c.add(times(c, place, Scalar("%ss", "i64")), across) if how == "matrix" else across
                c.write(v.zero() if how == "zero" else v.load("%start", across, mask), slot)
        lefts = [c.address("%left", times(c, place, Scalar("%ls", "i64")), self.type) for place in places]
        with c.loop(c.integer(0), Scalar("%deep", "i64")) as step:
            right = [v.load(packed, c.add(c.scale(step, self.shape.width), c.integer(lane))) for lane in lanes]
            across = step if unit else times(c, step, Scalar("%columns", "i64"))
            for line, pointer in zip(slots, lefts):
                number = v.splat(c.load(pointer, across, self.type))
                for slot, other in zip(line, right):
                    c.write(v.fma(number, other, c.read(slot, v.type)), slot)
        for line, place in zip(slots, places):
            for slot, lane, mask in zip(line, lanes, masks):
                v.store(c.read(slot, v.type), "%result", c.add(times(c, place, Scalar("%rs", "i64")), c.add(column, c.integer(lane))), mask)


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

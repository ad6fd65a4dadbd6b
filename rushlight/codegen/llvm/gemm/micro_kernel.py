"""The GEMM micro-kernel: ``result[m, n] = start + sum over k of left[m, k] * right[k, n]``, by tiles of the result that stay in registers.

There is one emitter.  Sizes and strides are constants of the code or arguments of the function; the left matrix has rows of its own stride (with or
without a stride of its columns) or is packed tile by tile; the right one has rows or is packed into panels (``panels.py``).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..instructions import FunctionParameter
from ..ir import IRBuilder, Module, Scalar
from ..vectors import Mask, Vectors
from .choose import Tile

_SIZES = ("rows", "columns", "depth", "left_step", "left_column_step", "right_step", "result_step", "start_step")


class MicroKernel(NamedTuple):
    """A product as a function.  A size that is None is an argument of it.

    ``right_step`` is the row stride of the right matrix or, in panels, their depth.  Without ``padded``, no element beyond the columns is accessed;
    with it, rows of all matrices can be read and written to the end of a tile (``"right"``: those of the right one can be read).
    """

    type: str
    tile: Tile
    rows: int | None = None
    columns: int | None = None
    depth: int | None = None
    left_step: int | None = None
    right_step: int | None = None
    result_step: int | None = None
    left_column_step: int | None = 1
    start_step: int | None = 0
    left_packed: bool = (
        False  # by tiles: for each step of the depth, the elements of a tile's rows; of tiles as deep as ``left_step``, unless that is 0
    )
    right_packed: bool = False  # in panels of a tile's width
    start: str = "zero"  # the initial accumulators: "zero", a "row" or a "column" (broadcast), or a "matrix"
    accumulate: bool = False  # whether the product is added to the result
    padded: str = ""  # "", "right" or "all"

    @property
    def arguments(self) -> list[str]:
        """The names of the sizes that are arguments."""
        return [each for each in _SIZES if getattr(self, each) is None]

    def call(self, c: IRBuilder, left: str, right: str, result: str, start: str = "null", **sizes: Any) -> None:
        """Write a call of the function."""
        c.call_function(self.function(c.module), left, right, result, start, *[sizes[each] for each in self.arguments])

    def function(self, module: Module) -> str:
        """The name of the function in a module, where it is written on first use."""
        if self not in module.memo:
            c = IRBuilder(module)
            c.rolled = True
            _Emitter(c, self).columns()
            separate = not self.right_packed  # packed panels are read while others may be accumulated in place
            pointers = [FunctionParameter("ptr", f"%{each}", separate or each == "right") for each in ("left", "right", "result", "start")]
            made = c.function("", [*pointers, *[FunctionParameter("i64", f"%{each}") for each in self.arguments]])
            module.memo[self] = module.add("gemm", made)
        return module.memo[self]


class _Emitter:
    """Writes the loops of a micro-kernel over tiles."""

    def __init__(self, c: IRBuilder, gemm: MicroKernel) -> None:
        self.c = c
        self.gemm = gemm
        self.vector = Vectors(c, gemm.type)
        self.lanes = self.vector.count
        self.size: dict[str, Any] = {
            each: Scalar(f"%{each}", "i64") if getattr(gemm, each) is None else getattr(gemm, each) for each in _SIZES
        }

    def columns(self) -> None:
        """The loop over blocks of columns, each as wide as a tile."""
        c, gemm, width = self.c, self.gemm, self.gemm.tile.vectors
        wide = width * self.lanes
        if gemm.columns is None:
            with c.loop(c.ceil_div(self.size["columns"], wide)) as block:
                column = c.scale(block, wide)
                masks: list[Mask] = []
                if gemm.padded != "all":
                    left = c.sub(self.size["columns"], column)
                    masks = [self.vector.first(c.sub(left, at * self.lanes)) for at in range(width)]
                self.rows(column, width, masks)
            return
        vectors, rest = -(-gemm.columns // self.lanes), gemm.columns % self.lanes
        blocks, remaining = divmod(vectors, width)
        whole = blocks - (1 if rest and not remaining else 0)  # blocks in which every vector is full
        if whole:
            with c.loop(whole) as block:
                self.rows(c.scale(block, wide), width, [])
        for at, several in ((whole, width if rest and not remaining else 0), (blocks, remaining)):
            if several:
                self.rows(c.integer(at * wide), several, [*[self.lanes] * (several - 1), rest] if rest else [])

    def rows(self, column: Scalar, width: int, masks: list[Mask]) -> None:
        """The tiles of a block of columns: of full height, then lower ones for the rest."""
        c, gemm, height = self.c, self.gemm, self.gemm.tile.rows
        if gemm.rows is not None:
            blocks, remaining = divmod(gemm.rows, height)
            if blocks:
                with c.loop(blocks) as block:
                    self.tile(c.scale(block, height), column, height, width, masks)
            if remaining:
                self.tile(c.integer(blocks * height), column, remaining, width, masks)
            return
        if gemm.left_packed:  # to whole tiles
            with c.loop(c.ceil_div(self.size["rows"], height)) as block:
                self.tile(c.scale(block, height), column, height, width, masks)
            return
        done = c.integer(0)
        while height:
            count = c.div(c.sub(self.size["rows"], done), height)
            with c.loop(count) as block:
                self.tile(c.add(done, c.scale(block, height)), column, height, width, masks)
            done = c.add(done, c.scale(count, height))
            height = height // 2 if height > 4 else 1 if height > 1 else 0

    def tile(self, row: Scalar, column: Scalar, height: int, width: int, masks: list[Mask]) -> None:
        """One tile: its accumulators are stack slots, which LLVM holds in registers."""
        c, gemm, vector, size = self.c, self.gemm, self.vector, self.size
        slots = [[c.slot(vector.type) for _ in range(width)] for _ in range(height)]
        rows = [c.add(row, at) for at in range(height)]
        columns = [c.add(column, at * self.lanes) for at in range(width)]
        where: list[Mask | None] = [*masks] or [None] * width

        def begin(masks: list[Mask | None]) -> None:
            for line, own in zip(slots, rows):
                for slot, across, mask in zip(line, columns, masks):
                    at = c.add(c.mul(own, size["start_step"]), across) if gemm.start == "matrix" else across
                    c.write(vector.load("%start", at, mask), slot)

        def end(masks: list[Mask | None]) -> None:
            for line, own in zip(slots, rows):
                for slot, across, mask in zip(line, columns, masks):
                    at, value = c.add(c.mul(own, size["result_step"]), across), c.read(slot, vector.type)
                    if gemm.accumulate:
                        value = c.binary("fadd", vector.load("%result", at, mask), value)
                    vector.store(value, "%result", at, mask)

        if gemm.start in ("row", "matrix"):
            self.with_masks(where, begin)
        else:
            for line, own in zip(slots, rows):
                first = vector.splat(c.load("%start", own, gemm.type)) if gemm.start == "column" else vector.zero()
                for slot in line:
                    c.write(first, slot)
        left, right = self.left(row, rows, height), self.right(column)
        with c.loop(size["depth"]) as step:
            down = c.scale(step, gemm.tile.vectors * self.lanes) if gemm.right_packed else c.mul(step, size["right_step"])
            reads = [None] * width if gemm.padded or gemm.right_packed else where
            others = [vector.load(right, c.add(down, at * self.lanes), mask) for at, mask in enumerate(reads)]
            for line, factor in zip(slots, left(step)):
                factor = vector.splat(factor)
                for slot, other in zip(line, others):
                    c.write(vector.multiply_add(factor, other, c.read(slot, vector.type)), slot)
        self.with_masks(where, end)

    def with_masks(self, masks: list[Any], write: Any) -> None:
        """Write code that uses masks; those known only at run time may need a version without them."""
        if masks and isinstance(masks[0], Scalar):
            self.vector.masked(masks, write)
        else:
            write(masks)

    def left(self, row: Scalar, rows: list[Scalar], height: int) -> Any:
        """How the elements of a tile's rows are read for a step of the depth."""
        c, gemm, size = self.c, self.gemm, self.size
        if gemm.left_packed:
            packed = c.address("%left", c.mul(row, size["depth"] if gemm.left_step == 0 else size["left_step"]), gemm.type)
            return lambda step: [c.load(packed, c.add(c.scale(step, height), at), gemm.type) for at in range(height)]
        if gemm.left_step is not None and gemm.left_column_step == 1:  # constant strides, from one address
            base = c.scale(row, gemm.left_step)
            return lambda step: [c.load("%left", c.add(c.add(base, step), at * gemm.left_step), gemm.type) for at in range(height)]
        starts = [c.address("%left", c.mul(each, size["left_step"]), gemm.type) for each in rows]
        return lambda step: [c.load(each, c.mul(step, size["left_column_step"]), gemm.type) for each in starts]

    def right(self, column: Scalar) -> str:
        """The address of the right matrix's columns."""
        return self.c.address("%right", self.c.mul(column, self.size["right_step"]) if self.gemm.right_packed else column, self.gemm.type)

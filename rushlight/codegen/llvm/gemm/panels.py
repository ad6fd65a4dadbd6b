"""Panel packing: a right matrix as panels of a tile's width, row after row, so that a micro-kernel reads memory in order.

For products that are too small for BLAS, or inside a loop that can't call BLAS.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ....core.parallel import pool as eager_pool
from ....schedule.symbolic_shape import least
from ..instructions import FunctionParameter
from ..ir import FIRST, LAST, IRBuilder, Module, Scalar
from ..target import processor
from ..vectors import Mask, Vectors, fitting_lanes, lanes
from .choose import choose_tile
from .micro_kernel import MicroKernel

_SIZES = ("first", "last", "rows", "depth", "width", "row_step", "column_step")


class Panels:
    """A matrix of ``depth`` rows and ``width`` columns, packed; all its sizes are arguments of the functions that pack it and multiply by it."""

    def __init__(self, module: Module, type: str, depth: Any, width: Any, columns: int | None = None) -> None:
        """``columns`` of a panel are those of a tile; a left matrix, transposed, has panels as wide as a tile has rows."""
        self.module = module
        self.type = type
        self.depth = depth
        self.width = width
        self.tile = choose_tile()
        self.columns = columns or lanes(type) * self.tile.vectors  # of a panel
        self.lanes = fitting_lanes(type, self.columns & -self.columns)
        if self.columns <= 8 and processor().masks:  # rows of a tile: copied as a part of a vector
            self.lanes = fitting_lanes(type, 8)
        self.count = -(-width // self.columns)  # panels, the last of them filled up with zeros
        self.size = self.count * self.columns * depth  # elements in all

    def pack(
        self, c: IRBuilder, strides: tuple[Any, Any], panels: str, matrix: str, first: Any = 0, last: Any = None, rows: Any = None, width: Any = None
    ) -> None:  # fmt: skip
        """Pack a range of panels of a matrix with these strides; of fewer rows than the depth, or columns, if given."""
        layout = "rows" if strides[1] == 1 else "columns" if strides[0] == 1 else "strided"
        key = ("pack", layout, self.type, self.columns)
        if key not in self.module.memo:
            inner = IRBuilder(self.module)
            self._pack(inner, layout)
            pointers = [FunctionParameter("ptr", f"%{each}", True) for each in ("panels", "matrix")]
            made = inner.function("", [*pointers, *[FunctionParameter("i64", f"%{each}") for each in _SIZES]])
            self.module.memo[key] = self.module.add(f"pack_{layout}", made)
        last, rows, width = (
            self.count if last is None else last,
            self.depth if rows is None else rows,
            self.width if width is None else width,
        )
        c.call_function(self.module.memo[key], panels, matrix, first, last, rows, self.depth, width, *strides)

    def _pack(self, c: IRBuilder, layout: str) -> None:
        wide, lanes, v = self.columns, self.lanes, Vectors(c, self.type, self.lanes)
        first, last, rows, depth, width, row_step, column_step = (Scalar(f"%{each}", "i64") for each in _SIZES)
        with c.loop(first, last) as panel:
            column = c.scale(panel, wide)
            here = c.mul(column, depth)
            present = c.min(c.sub(width, column), wide)
            if layout == "rows":
                starts = range(0, wide, lanes)
                masks = [v.first(c.sub(present, start)) for start in starts]
                with c.loop(rows) as row:
                    source, offset = c.add(c.mul(row, row_step), column), c.add(here, c.scale(row, wide))

                    def copy(masks: list[Mask | None], source: Scalar = source, offset: Scalar = offset) -> None:
                        for start, mask in zip(starts, masks):  # zeros where there is no column
                            v.store(
                                v.load("%matrix", c.add(source, start), mask), "%panels", c.add(offset, start), min(lanes, wide - start)
                            )

                    v.masked(masks, copy)
                return
            parts: list[Any] = [((0, present), (0, rows))]
            if layout == "columns":  # squares that are transposed in registers; then the remainder
                squares, blocks = c.div(rows, lanes), c.div(present, lanes)
                with c.loop(blocks) as block, c.loop(squares) as square:
                    across, row = c.scale(block, lanes), c.scale(square, lanes)
                    begin = c.add(column, across)
                    lines = [v.load("%matrix", c.add(c.mul(c.add(begin, step), column_step), row)) for step in range(lanes)]
                    offset = c.add(here, c.add(c.scale(row, wide), across))
                    for step, line in enumerate(v.transposed(lines)):
                        v.store(line, "%panels", c.add(offset, step * wide))
                right, below = c.scale(blocks, lanes), c.scale(squares, lanes)
                parts = [((0, right), (below, rows)), ((right, present), (0, rows))]
            with c.not_vectorized():  # strided elements: vectors gain nothing
                for across_range, down in parts:
                    with c.loop(*down) as row, c.loop(*across_range) as at:
                        source = c.add(c.mul(c.add(column, at), column_step), row if layout == "columns" else c.mul(row, row_step))
                        c.store(c.load("%matrix", source, self.type), "%panels", c.add(here, c.add(c.scale(row, wide), at)))
                with c.loop(rows) as row, c.loop(present, wide) as at:
                    c.store(c.constant(self.type, 0.0), "%panels", c.add(here, c.add(c.scale(row, wide), at)))

    def multiply(
        self, c: IRBuilder, left: tuple[str, Any], panels: str, result: tuple[str, Any], rows: Any, start: tuple[str, Any] | None = None,
        how: str = "zero", columns: Any = 1, width: Any = None, depth: Any = None,
    ) -> None:  # fmt: skip
        """Multiply rows by the matrix; left, result and start are addresses with their row strides.

        ``how`` is the initial value of sums (``MicroKernel.start``), ``columns`` the column stride of the left matrix.  Of the matrix, fewer rows
        count where a depth is given; with a width, so many columns are written (of those that fill up the last panel, zeros).
        """
        unit = not isinstance(columns, Scalar) and columns == 1
        kernel = MicroKernel(
            self.type,
            self.tile,
            left_column_step=1 if unit else None,
            start_step=None if how == "matrix" else 0,
            right_packed=True,
            start=how,
        )
        begin = start or result
        kernel.call(
            c, left[0], panels, result[0], begin[0], rows=rows, columns=self.width if width is None else width,
            depth=self.depth if depth is None else depth, left_step=left[1], left_column_step=columns, right_step=self.depth, result_step=result[1],
            start_step=begin[1],
        )  # fmt: skip


@contextmanager
def shared_work(c: IRBuilder, workers: Any, total: Any) -> Iterator[tuple[Scalar, Scalar, Scalar]]:
    """Code for each worker of the function's range: its number, and the range of the work that it does.

    A worker has scratch memory of its own.  Adjacent work goes to one worker, so that its rows are in the same cache.
    """
    with c.loop(FIRST, LAST) as worker:
        begin, end = (c.div(c.mul(each, c.number(total)), workers) for each in (worker, c.add(worker, 1)))
        yield worker, begin, end


def workers_for(units: Any) -> Any:
    """The number of workers: a few per thread."""
    return least(units, max(8, 4 * eager_pool.threads))

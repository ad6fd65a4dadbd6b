"""Large products in blocks of two dimensions: both matrices are packed once, by all threads, and each block of the result is a piece of work.

A block is deep as well: what a micro-kernel reads of the right matrix stays in the first cache, and what it reads of the left one in the second.
Blocks have the same sizes for any number of threads, so that results do not depend on that.
"""

from __future__ import annotations

from typing import Any

from ....core.parallel import pool as eager_pool
from ....schedule.tensor_ir import Reference
from ..ir import FIRST, LAST, TYPES, Code, Module, Scalar, pointers
from ..piece import Piece
from ..vectors import lanes
from .choose import Tile, choose_tile
from .micro_kernel import MicroKernel
from .panels import Panels

DEPTH = 384  # of a block
HIGH, ACROSS = 64, 128  # of a block
ROWS = 32  # that are packed at a time, of a matrix with contiguous rows
PACKING, FLOPS = 0.15, 90  # nanoseconds for an element, operations in a nanosecond


class BlockedProduct:
    """A product of two matrices whose sizes are known."""

    def __init__(
        self, a: Reference, b: Reference, tile: Tile | None = None, block: tuple[int, int] | None = None, depth: int = DEPTH
    ) -> None:
        self.left, self.right = a, b
        self.dtype, self.type = a.dtype, TYPES[a.dtype]
        self.tile = tile or choose_tile()
        (self.rows, self.depth), self.width = a.shape, b.shape[1]
        self.deep = depth
        self.wide = lanes(self.type) * self.tile.vectors
        height, across = block or self.block_for(eager_pool.threads)
        self.block = (-(-height // self.tile.rows) * self.tile.rows, -(-across // self.wide) * self.wide)

    def block_for(self, threads: int) -> tuple[int, int]:
        """The rows and columns of a block: fewer where there would not be two blocks for each thread.  The results are the same."""
        high, across = HIGH, ACROSS
        while -(-self.rows // high) * -(-self.width // across) < 2 * threads and max(high, across) > 32:
            high, across = (high, across // 2) if across > high else (high // 2, across)
        return high, across

    def panels(self, module: Module) -> tuple[Panels, Panels]:
        """The matrices as they are packed: the left one, and the right one."""
        return (
            Panels(module, self.type, self.depth, self.rows, self.tile.rows),
            Panels(module, self.type, self.depth, self.width, self.wide),
        )

    @property
    def memory(self) -> list[tuple[int, ...]]:
        """The shapes of scratch memory: the packed matrices."""
        return [(each.size,) for each in self.panels(Module())]

    def pieces(self, module: Module, result: Any, memory: list[Any]) -> list[Piece]:
        """Pack both, and multiply."""
        a, b, type = self.left, self.right, self.type
        left, right = self.panels(module)
        made = []
        for matrix, panels, strides, place in ((a, left, a.strides[::-1], memory[0]), (b, right, b.strides, memory[1])):
            c = Code(module)
            steps = [stride if size > 1 else 1 for size, stride in zip((panels.depth, panels.width), strides)]
            by_rows = steps[1] == 1  # some rows of all panels: what lies beside each other in memory is read together
            if by_rows:
                with c.loop(FIRST, LAST) as block:
                    row = c.scale(block, ROWS)
                    source = c.address("%b1", c.add(matrix.offset, c.scale(row, steps[0])), type)
                    to, rows = c.address("%b0", c.scale(row, panels.columns), type), c.min(ROWS, c.sub(self.depth, row))
                    panels.pack(c, (steps[0], 1), to, source, rows=rows)
            else:
                panels.pack(c, (steps[0], steps[1]), "%b0", c.address("%b1", matrix.offset, type), FIRST, LAST)
            name = module.add("pack_matrix", c.function("", pointers(("%b0", "%b1"))))
            made.append(Piece(name, [place, matrix.value], -(-self.depth // ROWS) if by_rows else panels.count, panels.size * PACKING))
        c = Code(module)
        high, across = self.block
        columns_of_blocks = -(-self.width // across)
        kernels = [self.kernel(accumulate) for accumulate in (False, True)]
        with c.loop(FIRST, LAST) as number:
            row, column = c.scale(c.div(number, columns_of_blocks), high), c.scale(c.rem(number, columns_of_blocks), across)
            rows, columns = c.min(high, c.sub(self.rows, row)), c.min(across, c.sub(self.width, column))
            whole = c.mul(c.div(rows, self.tile.rows), self.tile.rows)
            for at, kernel in enumerate(kernels):
                with c.loop(*((0, 1) if at == 0 else (1, -(-self.depth // self.deep)))) as part:
                    begin = c.scale(part, self.deep)
                    deep = c.min(self.deep, c.sub(self.depth, begin))
                    self.multiply(c, kernel, row, column, whole, columns, begin, deep)
                    if self.rows % self.tile.rows:
                        self.rest(c, at == 1, row, column, whole, rows, columns, begin, deep)
        name = module.add("blocked_product", c.function("", pointers(("%b0", "%b1", "%b2"))))
        work = 2.0 * self.rows * self.depth * self.width / FLOPS
        return [*made, Piece(name, [*memory, result], -(-self.rows // high) * columns_of_blocks, work)]

    def kernel(self, accumulate: bool, result_step: int | None = None) -> MicroKernel:
        return MicroKernel(
            self.type, self.tile, left_column_step=0, result_step=result_step, left_packed=True, right_packed=True, accumulate=accumulate
        )

    def multiply(
        self, c: Code, kernel: MicroKernel, row: Scalar, column: Scalar, rows: Any, columns: Scalar, begin: Scalar, deep: Scalar, to: str = ""
    ) -> None:  # fmt: skip
        """Multiply some rows and columns, of a part of the depth."""
        left = c.address("%b0", c.add(c.scale(row, self.depth), c.scale(begin, self.tile.rows)), self.type)
        right = c.address("%b1", c.add(c.scale(column, self.depth), c.scale(begin, self.wide)), self.type)
        result = to or c.address("%b2", c.add(c.scale(row, self.width), column), self.type)
        kernel.call(
            c,
            left,
            right,
            result,
            rows=rows,
            columns=columns,
            depth=deep,
            left_step=self.depth,
            right_step=self.depth,
            result_step=self.width,
        )

    def rest(
        self, c: Code, accumulate: bool, row: Scalar, column: Scalar, whole: Scalar, rows: Scalar, columns: Scalar, begin: Scalar, deep: Scalar
    ) -> None:  # fmt: skip
        """The rows that fill no tile: multiplied as a whole tile into memory of the function's own, and copied from there."""
        across = self.block[1]
        place = c.shared_slot(self.type, self.tile.rows * across)
        with c.when(c.less(whole, rows)):
            self.multiply(c, self.kernel(False, across), c.add(row, whole), column, self.tile.rows, columns, begin, deep, place)
            with c.loop(whole, rows) as at, c.loop(columns) as step:
                found = c.load(place, c.add(c.scale(c.sub(at, whole), across), step), self.type)
                to = c.add(c.scale(c.add(row, at), self.width), c.add(column, step))
                c.store(c.binary("fadd", c.load("%b2", to, self.type), found) if accumulate else found, "%b2", to)

"""Large products in blocks of two dimensions: both matrices are packed once, by all threads, and each block of the result is a piece of work.

A block is deep as well: what a micro-kernel reads of the right matrix stays in L1, and what it reads of the left one in L2.
Blocks have the same sizes for any number of threads, so that results do not depend on that.
"""

from __future__ import annotations

from typing import Any

from ....core.parallel import pool as eager_pool
from ....schedule.tensor_ir import Reference
from ..ir import FIRST, LAST, TYPES, IRBuilder, Module, Scalar, pointers
from ..native_call import NativeCall
from ..vectors import lanes
from .choose import Tile, choose_tile
from .micro_kernel import MicroKernel
from .panels import Panels

DEPTH = 256  # of a block
HIGH, ACROSS = 128, 64  # of a block: tall ones reuse the right matrix's part in L1 more often
ROWS, CHUNK = 32, 256  # of the depth that are packed at a time: of a matrix with contiguous rows, and of one with contiguous columns
PACKING, FLOPS = 0.15, 90  # nanoseconds for an element, operations in a nanosecond


def pack_call(module: Module, panels: Panels, matrix: Reference, steps: tuple[Any, Any], offset: Any, segments: int = 1) -> NativeCall:
    """Pack a matrix with these row (depth) and column strides.

    Of several ``segments``, each has a part of the depth, and they are contiguous.
    """
    c, depth = IRBuilder(module), panels.depth // segments
    by_rows = steps[1] == 1  # some rows of all panels: contiguous memory is read together
    chunk = min(depth, CHUNK)
    units = -(-depth // ROWS) if by_rows else panels.count * -(-depth // chunk)
    with c.loop(FIRST, LAST) as unit:
        segment = c.integer(0)
        if segments > 1:
            segment, unit = c.div(unit, units), c.rem(unit, units)
        row = c.scale(unit, ROWS) if by_rows else c.scale(c.div(unit, panels.count), chunk)
        at = c.add(c.scale(segment, depth * panels.width), c.scale(row, steps[0]))
        source = c.address("%b1", c.add(matrix.offset, at), panels.type)
        to = c.address("%b0", c.scale(c.add(c.scale(segment, depth), row), panels.columns), panels.type)
        if by_rows:
            panels.pack(c, steps, to, source, rows=c.min(ROWS, c.sub(depth, row)))
        else:
            panel = c.rem(unit, panels.count)
            panels.pack(c, steps, to, source, panel, c.add(panel, 1), rows=c.min(chunk, c.sub(depth, row)))
    name = module.add("pack_matrix", c.function("", pointers(("%b0", "%b1"))))
    return NativeCall(name, [offset, matrix.value], segments * units, panels.size * PACKING)


class BlockedProduct:
    """A product of two matrices whose sizes are known.

    ``parts`` of the depth are multiplied in parallel and summed (split-k).  Matrices of several ``segments`` have a part of the depth in each (``pack_call``).
    """

    def __init__(
        self, a: Reference, b: Reference, tile: Tile | None = None, block: tuple[int, int] | None = None, depth: int = DEPTH, parts: int = 1,
        segments: int = 1,
    ) -> None:  # fmt: skip
        self.left, self.right = a, b
        self.parts, self.segments = parts, segments
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
        while self.parts * -(-self.rows // high) * -(-self.width // across) < 2 * threads and max(high, across) > 32:
            high, across = (high, across // 2) if across > high else (high // 2, across)
        return high, across

    def panels(self, module: Module) -> tuple[Panels, Panels]:
        """The packed matrices: the left one, and the right one."""
        return (
            Panels(module, self.type, self.depth, self.rows, self.tile.rows),
            Panels(module, self.type, self.depth, self.width, self.wide),
        )

    @property
    def memory(self) -> list[tuple[int, ...]]:
        """The shapes of scratch memory: the packed matrices, and the parts of the result but the first."""
        packed: list[tuple[int, ...]] = [(each.size,) for each in self.panels(Module())]
        return packed + ([(self.parts - 1, self.rows, self.width)] if self.parts > 1 else [])

    def native_calls(self, module: Module, result: Any, memory: list[Any]) -> list[NativeCall]:
        """Pack both, and multiply."""
        made = []
        for matrix, panels, strides, offset in zip(
            (self.left, self.right), self.panels(module), (self.left.strides[::-1], self.right.strides), memory
        ):
            down, along = (stride if size > 1 else 1 for size, stride in zip((panels.depth, panels.width), strides))
            made.append(pack_call(module, panels, matrix, (down, along), offset, self.segments))
        c = IRBuilder(module)
        high, across = self.block
        blocks = -(-self.rows // high), -(-self.width // across)
        kernels = [self.kernel(accumulate) for accumulate in (False, True)]
        deepest = self.depth // self.parts  # of a part
        with c.loop(FIRST, LAST) as number:
            first, to = c.integer(0), "%b2"
            if self.parts > 1:  # the first part goes to the result, others to scratch memory
                part_number, number = c.div(number, blocks[0] * blocks[1]), c.rem(number, blocks[0] * blocks[1])
                first = c.scale(part_number, deepest)
                others = c.address("%b3", c.scale(c.max(c.sub(part_number, 1), 0), self.rows * self.width), self.type)
                to = c.select(c.compare("eq", part_number, c.integer(0)), *[Scalar(each, "ptr") for each in ("%b2", others)]).name
            row, column = c.scale(c.div(number, blocks[1]), high), c.scale(c.rem(number, blocks[1]), across)
            rows, columns = c.min(high, c.sub(self.rows, row)), c.min(across, c.sub(self.width, column))
            whole = c.mul(c.div(rows, self.tile.rows), self.tile.rows)
            for at, kernel in enumerate(kernels):
                with c.loop(*((0, 1) if at == 0 else (1, -(-deepest // self.deep)))) as part:
                    begin = c.scale(part, self.deep)
                    deep = c.min(self.deep, c.sub(deepest, begin))
                    begin = c.add(first, begin)
                    self.multiply(c, kernel, row, column, whole, columns, begin, deep, to)
                    if self.rows % self.tile.rows:
                        self.rest(c, at == 1, row, column, whole, rows, columns, begin, deep, to)
        name = module.add("blocked_product", c.function("", pointers([f"%b{at}" for at in range(4 if self.parts > 1 else 3)])))
        work = 2.0 * self.rows * self.depth * self.width / FLOPS
        made.append(NativeCall(name, [*memory[:2], result, *memory[2:]], self.parts * blocks[0] * blocks[1], work))
        return [*made, self.add_parts(module, result, memory[2])] if self.parts > 1 else made

    def add_parts(self, module: Module, result: Any, others: Any) -> NativeCall:
        """Sum the parts of the depth."""
        c, size = IRBuilder(module), self.rows * self.width
        with c.loop(c.scale(FIRST, self.width), c.scale(LAST, self.width)) as at:
            total = c.load("%b0", at, self.type)
            for number in range(self.parts - 1):
                total = c.binary("fadd", total, c.load("%b1", c.add(at, number * size), self.type))
            c.store(total, "%b0", at)
        name = module.add("add_parts", c.function("", pointers(("%b0", "%b1"), noalias=True)))
        return NativeCall(name, [result, others], self.rows, self.parts * size * PACKING)

    def kernel(self, accumulate: bool, result_step: int | None = None) -> MicroKernel:
        return MicroKernel(
            self.type, self.tile, left_column_step=0, result_step=result_step, left_packed=True, right_packed=True, accumulate=accumulate
        )

    def multiply(
        self, c: IRBuilder, kernel: MicroKernel, row: Scalar, column: Scalar, rows: Any, columns: Scalar, begin: Scalar, deep: Scalar,
        result: str, apart: bool = False,
    ) -> None:  # fmt: skip
        """Multiply some rows and columns, of a part of the depth; ``result`` is where they go, or all of it."""
        left = c.address("%b0", c.add(c.scale(row, self.depth), c.scale(begin, self.tile.rows)), self.type)
        right = c.address("%b1", c.add(c.scale(column, self.depth), c.scale(begin, self.wide)), self.type)
        to = result if apart else c.address(result, c.add(c.scale(row, self.width), column), self.type)
        sizes = {
            "rows": rows,
            "columns": columns,
            "depth": deep,
            "left_step": self.depth,
            "right_step": self.depth,
            "result_step": self.width,
        }
        kernel.call(c, left, right, to, **sizes)

    def rest(
        self, c: IRBuilder, accumulate: bool, row: Scalar, column: Scalar, whole: Scalar, rows: Scalar, columns: Scalar, begin: Scalar, deep: Scalar,
        result: str,
    ) -> None:  # fmt: skip
        """The remainder rows: multiplied as a whole tile into a local buffer, and copied from there."""
        across = self.block[1]
        offset = c.shared_slot(self.type, self.tile.rows * across)
        with c.when(c.less(whole, rows)):
            self.multiply(c, self.kernel(False, across), c.add(row, whole), column, self.tile.rows, columns, begin, deep, offset, True)
            with c.loop(whole, rows) as at, c.loop(columns) as step:
                found = c.load(offset, c.add(c.scale(c.sub(at, whole), across), step), self.type)
                to = c.add(c.scale(c.add(row, at), self.width), c.add(column, step))
                c.store(c.binary("fadd", c.load(result, to, self.type), found) if accumulate else found, result, to)

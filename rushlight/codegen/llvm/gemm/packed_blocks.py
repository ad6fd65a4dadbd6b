"""Large products in blocks that pack what they need of both matrices themselves, a part of the depth at a time.

What another thread has packed is in another core's cache, and fetching it takes longer than packing it again; and no thread waits
for others.  The sums are those of ``blocked.py``.
"""

from __future__ import annotations

from typing import Any

from ....schedule.tensor_ir import Reference
from ..ir import BITS, FIRST, LAST, IRBuilder, Module, Scalar, pointers
from ..native_call import NativeCall
from ..scratch_pool import ScratchPool, cache_lines
from .blocked import DEPTH, FLOPS, PACKING, BlockedProduct
from .choose import balanced_block
from .micro_kernel import MicroKernel
from .panels import Panels

MOST, PACKED = 256, 7  # rows and columns of a block, at most, and the multiplications that take as long as packing an element
HIGH, PANEL = 128, 128  # rows that are multiplied at a time, and columns that are packed at a time


class PackedBlockProduct(BlockedProduct):
    """A product of two matrices whose sizes are known."""

    def __init__(self, a: Reference, b: Reference, depth: int = DEPTH) -> None:
        super().__init__(a, b, depth=depth)
        self.panel = min(self.block[1], -(-PANEL // self.wide) * self.wide)
        self.packed_sizes = [
            cache_lines(self.type, self.deep * each) for each in (self.block[0], self.panel)
        ]  # of the rows, and of a panel
        self.pool = ScratchPool(self.units, sum(self.packed_sizes))
        # Of the block that is being emitted: where its rows and its panel are packed, and the first row and column of them.
        self.slots, self.starts = ("", ""), (Scalar("0", "i64"), Scalar("0", "i64"))

    def block_for(self, threads: int) -> tuple[int, int]:
        return balanced_block((self.rows, self.width), (2 * self.tile.rows, self.wide), MOST, threads, PACKED)

    @property
    def units(self) -> int:
        return -(-self.rows // self.block[0]) * -(-self.width // self.block[1])

    @property
    def memory(self) -> list[tuple[int, ...]]:
        """The shape of scratch memory: a pool of what blocks pack."""
        return [(self.pool.spec.size * 8 // BITS[self.type],)]

    def steps(self, side: int) -> tuple[Any, Any]:
        """The strides of a matrix along the depth, and of its rows or columns."""
        strides, size = (self.right.strides, self.width) if side else (self.left.strides[::-1], self.rows)
        return strides[0] if self.depth > 1 else 1, strides[1] if size > 1 else 1

    def native_calls(self, module: Module, result: Any, memory: list[Any]) -> list[NativeCall]:
        """Blocks of the result."""
        work = 2.0 * self.rows * self.depth * self.width / FLOPS + self.depth * (self.rows + self.width) * PACKING
        values = [memory[0], self.left.value, self.right.value, result]
        return [self.pool.clear(module, memory[0]), NativeCall(self.main(module), values, self.units, work)]

    def pack(self, c: IRBuilder, side: int, first: Scalar, count: Scalar, begin: Scalar, deep: Scalar) -> None:
        """Pack some rows or columns, and some steps of the depth."""
        matrix, (down, along) = (self.left, self.right)[side], self.steps(side)
        size, unit = ((self.block[0], self.tile.rows), (self.panel, self.wide))[side]
        panels = Panels(c.module, self.type, self.deep, size, unit)
        at = c.add(c.add(matrix.offset, c.scale(begin, down)), c.scale(first, along))
        source = c.address(f"%b{1 + side}", at, self.type)
        panels.pack(c, (down, along), self.slots[side], source, 0, c.ceil_div(count, unit), deep, count)

    def main(self, module: Module) -> str:
        """The function that computes blocks: of some steps of the depth, all rows are packed, then panels of columns, and multiplied."""
        c, (high, wide) = IRBuilder(module), self.block
        c.rolled = True
        across = -(-self.width // wide)
        with self.pool.slot(c, "%b0") as slot, c.loop(FIRST, LAST) as unit:
            self.slots = slot, c.address(slot, self.packed_sizes[0], "i8")
            row, column = c.scale(c.div(unit, across), high), c.scale(c.rem(unit, across), wide)
            rows, columns = c.min(high, c.sub(self.rows, row)), c.min(wide, c.sub(self.width, column))
            for accumulate in (False, True):
                with c.loop(*((1, -(-self.depth // self.deep)) if accumulate else (0, 1))) as part:
                    begin = c.scale(part, self.deep)
                    deep = c.min(self.deep, c.sub(self.depth, begin))
                    self.pack(c, 0, row, rows, begin, deep)
                    with c.loop(c.ceil_div(columns, self.panel)) as panel:
                        first = c.add(column, c.scale(panel, self.panel))
                        count = c.min(self.panel, c.sub(c.add(column, columns), first))
                        self.pack(c, 1, first, count, begin, deep)
                        self.starts = row, first
                        with c.loop(c.ceil_div(rows, HIGH)) as block:
                            own = c.scale(block, HIGH)
                            several = c.min(HIGH, c.sub(rows, own))
                            whole = c.mul(c.div(several, self.tile.rows), self.tile.rows)
                            at = c.add(row, own)
                            self.multiply(c, self.kernel(accumulate), at, first, whole, count, begin, deep, "%b3")
                            if self.rows % self.tile.rows:
                                self.rest(c, accumulate, at, first, whole, several, count, begin, deep, "%b3")
        return module.add("near_product", c.function("", pointers([f"%b{at}" for at in range(4)])))

    def multiply(
        self, c: IRBuilder, kernel: MicroKernel, row: Scalar, column: Scalar, rows: Any, columns: Scalar, begin: Scalar, deep: Scalar,
        result: str, apart: bool = False,
    ) -> None:  # fmt: skip
        """Multiply some of the packed rows and columns."""
        offsets = [
            c.address(slot, c.scale(c.sub(first, start), self.deep), self.type)
            for slot, first, start in zip(self.slots, (row, column), self.starts)
        ]
        to = result if apart else c.address(result, c.add(c.scale(row, self.width), column), self.type)
        sizes: dict[str, Any] = {"left_step": self.deep, "right_step": self.deep, "result_step": self.width}
        kernel.call(c, offsets[0], offsets[1], to, rows=rows, columns=columns, depth=deep, **sizes)

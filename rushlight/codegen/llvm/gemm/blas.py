"""Products as calls of BLAS."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from ....core.blas import Blas
from ....schedule.routines.matmul import flattened, layout
from ....schedule.symbolic_shape import SymbolicNumber, if_many, may_reach
from ....schedule.tensor_ir import Product, Reference
from ..ir import TYPES, IRBuilder, Scalar

_ROW_MAJOR, _PLAIN, _TRANSPOSED = 101, 111, 112  # of cblas
ROWS, COLUMNS = 128, 512  # of a block
FEW = 32  # blocks of rows: where there are fewer, they are split into columns
SMALL = 1024  # elements of the right matrix: products with smaller ones are not split
FLOPS_PER_NANOSECOND = 60


class BlasProduct:
    """A product as independent pieces of work: blocks of rows (and of columns, where those are few), or matrices of a batch.

    A block has the same sizes for any number of threads, so that results do not depend on that.
    """

    def __init__(self, blas: Blas, value: Product) -> None:
        self.blas = blas
        self.value = value
        self.left, self.right = flattened(value)
        self.batch = [at for at, size in enumerate(value.shape[:-2]) if size > 1] if self.left is None else []
        depth, width = value.left.shape[-1], value.right.shape[-1]
        self.nanoseconds = value.size * depth * 2 / FLOPS_PER_NANOSECOND
        if self.left is not None:
            self.rows = self.left.shape[0]
            self.block = if_many(self.rows, 2 * ROWS, ROWS, ROWS // 2)
            self.across = 1  # blocks of columns
            if (
                not isinstance(self.rows, SymbolicNumber)
                and not isinstance(width, SymbolicNumber)
                and not isinstance(depth, SymbolicNumber)
                and -(-self.rows // self.block) < FEW
            ):
                self.across = max(1, width // COLUMNS)
            self.wide = width if self.across == 1 else -(-width // self.across)
            self.extent = -(-self.rows // self.block) * self.across if may_reach(width * depth, SMALL) else 1
        else:
            self.extent = value.shape[self.batch[0]]

    def emit(self, c: IRBuilder, left: str, right: str, result: str, first: Scalar, last: Scalar) -> None:
        """Call BLAS for a range of pieces, the end exclusive."""
        a, b, value = self.left, self.right, self.value
        if a is None or b is None:
            a, b = value.left, value.right
            offsets = [c.integer(a.offset), c.integer(b.offset), c.integer(0)]
            with ExitStack() as nest:
                for number, at in enumerate(self.batch):
                    index = nest.enter_context(c.loop(first, last) if number == 0 else c.loop(value.shape[at]))
                    steps = (a.strides[at], b.strides[at], value.strides[at])
                    offsets = [c.add(offset, c.scale(index, step)) for offset, step in zip(offsets, steps)]
                self.call(c, a, b, (left, offsets[0]), (right, offsets[1]), (result, offsets[2]), c.integer(a.shape[-2]))
        elif not isinstance(self.extent, SymbolicNumber) and self.extent == 1:
            self.call(c, a, b, (left, a.offset), (right, b.offset), (result, 0), c.number(self.rows))
        else:
            with c.loop(first, last) as block:
                column, columns = c.integer(0), None
                if self.across > 1:
                    column, block = c.scale(c.rem(block, self.across), self.wide), c.div(block, self.across)
                    columns = c.min(self.wide, c.sub(b.shape[-1], column))
                row = c.scale(block, self.block)
                rows = c.min(self.block, c.sub(c.number(self.rows), row))
                offset, beside = c.add(a.offset, c.scale(row, a.strides[0])), c.add(b.offset, c.scale(column, b.strides[1]))
                self.call(c, a, b, (left, offset), (right, beside), (result, c.add(c.scale(row, b.shape[-1]), column)), rows, columns)

    def call(
        self, c: IRBuilder, a: Reference, b: Reference, left: tuple[str, Any], right: tuple[str, Any], result: tuple[str, Any], rows: Scalar,
        columns: Scalar | None = None,
    ) -> None:  # fmt: skip
        """One call of ``cblas_?gemm``, for all columns or so many."""
        type, size = TYPES[self.value.dtype], self.blas.size
        pointers = [Scalar(c.address(pointer, offset, type), "ptr") for pointer, offset in (left, right, result)]
        (transposed_a, step_a), (transposed_b, step_b) = layout(a), layout(b)
        width = c.integer(b.shape[-1])
        numbers = [
            rows,
            columns or width,
            c.number(a.shape[-1]),
            c.number(step_a),
            c.number(step_b),
            width,
        ]  # each may be the size of a batch
        height, across, deep, left_step, right_step, step = (
            Scalar(each.name, size) if size == "i64" or each.name.isdigit() else c.convert("trunc", each, size) for each in numbers
        )
        modes = [
            Scalar(str(each), "i32") for each in (_ROW_MAJOR, *(_TRANSPOSED if each else _PLAIN for each in (transposed_a, transposed_b)))
        ]
        name = "sgemm" if type == "float" else "dgemm"
        function = Scalar(c.bound(name, self.blas.addresses[name]), "ptr")
        one, zero = c.constant(type, 1.0), c.constant(type, 0.0)
        c.effect(
            "call",
            "void",
            (function, *modes, height, across, deep, one, pointers[0], left_step, pointers[1], right_step, zero, pointers[2], step),
        )

"""Products with weights of 8 or 4 bits as LLVM IR: bytes become floats in registers, so that memory is read at an eighth or a quarter of the time of floats."""

from __future__ import annotations

from typing import Any

from ....schedule.lowering import lowering
from ....schedule.routines.weight_only import FewBits
from ....schedule.tensor_ir import Reference, Routine, TensorIRBuilder
from ..ir import FIRST, LAST, IRBuilder, Module, Scalar, pointers
from ..native_call import Lowering, NativeCall
from ..vectors import Mask, Vectors, vector_type

llvm = lowering("llvm")
TOGETHER, ROWS = 4, 4  # columns of the result, and rows, of a tile
HALF = 16  # elements between the two of a byte
BYTES_PER_NANOSECOND = 10


@llvm.register("_weight_int8pack_mm", "_weight_int4pack_mm_for_cpu")
def few_bits(builder: TensorIRBuilder, op: FewBits, spec: Any, node: Any) -> Any:
    """A product with few rows; its columns are split."""
    if op.group is not None and op.group % (2 * HALF):
        return NotImplemented

    def write(program: Lowering, module: Module, routine: Routine) -> list[NativeCall]:
        c = IRBuilder(module)
        rows, width = op.left.shape[0], op.weight.shape[0]
        with c.loop(FIRST, LAST) as part:
            columns = [c.min(c.add(c.scale(part, TOGETHER), at), width - 1) for at in range(TOGETHER)]
            whole = rows // ROWS
            if whole:
                with c.loop(whole) as block:
                    TileWriter(c, op, c.scale(block, ROWS), ROWS, columns).emit()
            if rows % ROWS:
                TileWriter(c, op, c.integer(whole * ROWS), rows % ROWS, columns).emit()
        name = module.add("few_bits", c.function("", pointers(("%b0", "%b1", "%b2", "%b3"))))
        size = width * op.weight.shape[1] * (1 + rows / 8)
        return [
            NativeCall(name, [op.left.value, op.weight.value, op.scales.value, routine], -(-width // TOGETHER), size / BYTES_PER_NANOSECOND)
        ]

    made: list[Reference] = builder.routine([op.left, op.weight, op.scales], [spec], node, write)
    return made[0]


class TileWriter:
    """The emitter of a tile: some rows times some columns."""

    def __init__(self, c: IRBuilder, op: FewBits, row: Scalar, high: int, columns: list[Scalar]) -> None:
        self.c, self.op, self.columns = c, op, columns
        self.rows = [c.add(row, at) for at in range(high)]
        self.vector = Vectors(c, "float")
        left, weight = op.left, op.weight
        self.left = [c.address("%b0", c.add(left.offset, c.scale(each, left.strides[0])), "float") for each in self.rows]
        self.weights = [c.address("%b1", c.add(weight.offset, c.scale(each, weight.strides[0])), "i8") for each in columns]

    def slots(self, columns: int = TOGETHER) -> list[list[str]]:
        """Accumulators, initialized to zero."""
        made = [[self.c.slot(self.vector.type) for _ in range(columns)] for _ in self.rows]
        for slot in [each for line in made for each in line]:
            self.c.write(self.vector.zero(), slot)
        return made

    def add(self, slot: str, a: Scalar, b: Scalar) -> None:
        self.c.write(self.vector.multiply_add(a, b, self.c.read(slot, self.vector.type)), slot)

    def emit(self) -> None:
        """Emit the sums, and the stores."""
        sums = self.int8() if self.op.group is None else self.int4(self.op.group)
        c, width = self.c, self.op.weight.shape[0]
        for row, line in zip(self.rows, sums):
            for slot, column in zip(line, self.columns):
                total = self.vector.reduce_add(c.read(slot, self.vector.type))
                if self.op.group is None:
                    scale = c.load("%b2", c.add(self.op.scales.offset, column), "float")
                    total = c.binary("fmul", total, scale)
                c.store(total, "%b3", c.add(c.scale(row, width), column))

    def int8(self) -> list[list[str]]:
        """Sums of products with bytes."""
        c, vector, sums = self.c, self.vector, self.slots()
        whole, rest = divmod(self.op.left.shape[1], vector.count)

        def step(at: Scalar, mask: Mask | None = None) -> None:
            factors = [vector.load(each, at, mask) for each in self.left]
            for number, weight in enumerate(self.weights):
                values = self.floats("sext", Vectors(c, "i8", vector.count).load(weight, at, mask))
                for line, factor in zip(sums, factors):
                    self.add(line[number], factor, values)

        with c.loop(whole) as number:
            step(c.scale(number, vector.count))
        if rest:
            step(c.integer(whole * vector.count), rest)
        return sums

    def int4(self, group: int) -> list[list[str]]:
        """Sums of products with halves of bytes: of a group with its values less 8, which are scaled as a whole, and of the rows for the zeros."""
        c, vector, sums = self.c, self.vector, self.slots()
        eight, scales = vector.constant(8.0), self.op.scales
        with c.loop(self.op.left.shape[1] // group) as number:
            parts, totals = self.slots(), self.slots(1)
            with c.loop(group // (2 * HALF)) as block:
                start = c.add(c.scale(number, group), c.scale(block, 2 * HALF))
                for shift in range(0, HALF, vector.count):
                    offsets = [c.add(start, shift + at) for at in (0, HALF)]
                    factors = [[vector.load(each, offset) for offset in offsets] for each in self.left]
                    for line, (low, high) in zip(totals, factors):
                        c.write(c.binary("fadd", c.read(line[0], vector.type), c.binary("fadd", low, high)), line[0])
                    at = c.add(c.div(start, 2), shift)
                    for column, weight in enumerate(self.weights):
                        pairs = Vectors(c, "i8", vector.count)
                        both = pairs.load(weight, at)
                        nibbles = (
                            c.binary("and", both, pairs.splat(Scalar("15", "i8"))),
                            c.binary("lshr", both, pairs.splat(Scalar("4", "i8"))),
                        )
                        values = [c.binary("fsub", self.floats("zext", each), eight) for each in nibbles]
                        for line, pair in zip(parts, factors):
                            for value, factor in zip(values, pair):
                                self.add(line[column], value, factor)
            for column, index in enumerate(self.columns):
                offset = c.add(scales.offset, c.add(c.scale(number, scales.strides[0]), c.scale(index, scales.strides[1])))
                scale, zero = (vector.splat(c.load("%b2", c.add(offset, at), "float")) for at in (0, 1))
                for line, part, total in zip(sums, parts, totals):
                    self.add(line[column], scale, c.read(part[column], vector.type))
                    self.add(line[column], zero, c.read(total[0], vector.type))
        return sums

    def floats(self, how: str, values: Scalar) -> Scalar:
        """Bytes as floats."""
        words = self.c.convert(how, values, vector_type("i32", self.vector.count))
        return self.c.convert("sitofp", words, self.vector.type)

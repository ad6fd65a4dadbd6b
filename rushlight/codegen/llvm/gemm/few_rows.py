"""Products with one row, or a few (GEMV): what token-by-token generation spends its time on.

They take as long as the right matrix takes to be read once.  A matrix whose columns are contiguous (a weight of ``linear``) gives dot products, several
columns at a time; one whose rows are contiguous is added up row by row, over a strip of columns that stays in registers.
"""

from __future__ import annotations

from typing import Any

from ....schedule.symbolic_shape import SymbolicNumber
from ....schedule.tensor_ir import Reference
from ..ir import FIRST, LAST, IRBuilder, Module, Scalar, pointers
from ..native_call import NativeCall
from ..vectors import Vectors, lanes
from .choose import Tile
from .micro_kernel import MicroKernel

ROWS = 4  # at most
SUMS = 8  # that are kept in registers, each of a vector
LEAST = 1 << 10  # elements of a right matrix for which this code pays
BYTES_PER_NANOSECOND = 20


def is_few(a: Reference, b: Reference) -> bool:
    """Whether a product has few rows, and matrices that can be read so."""
    rows, depth, width = a.shape[0], a.shape[1], b.shape[1]
    if (
        any(isinstance(each, SymbolicNumber) for each in (rows, depth, width))
        or rows > ROWS
        or depth < 2 * lanes("float")
        or depth * width < LEAST
    ):
        return False
    return a.strides[1] == 1 and (by_columns(b) or (b.strides[1] == 1 and b.strides[0] >= width >= lanes("float")))


def by_columns(b: Reference) -> bool:
    """Whether the columns of the right matrix are contiguous."""
    return bool(b.strides[0] == 1 and b.strides[1] >= b.shape[0])


def few_rows(module: Module, type: str, a: Reference, b: Reference, result: Any) -> NativeCall:
    """The function of a product with few rows, in parts of the columns."""
    c = IRBuilder(module)
    together = SUMS // min(a.shape[0], 2) if by_columns(b) else SUMS // max(a.shape[0], 2) * 2 * lanes(type)
    parts = -(-b.shape[1] // together)
    with c.loop(FIRST, LAST) as part:
        column = c.scale(part, together)
        if by_columns(b):
            dot_products(c, type, a, b, column, together)
        else:
            strip(c, type, a, b, column, together)
    name = module.add("few_rows", c.function("", pointers(("%b0", "%b1", "%b2"))))
    size = b.shape[0] * b.shape[1] * b.dtype.itemsize
    return NativeCall(name, [a.value, b.value, result], parts, size / BYTES_PER_NANOSECOND)


def dot_products(c: IRBuilder, type: str, a: Reference, b: Reference, column: Scalar, together: int) -> None:
    """The products of the rows with some columns; indices past the last column are clamped to it."""
    (rows, depth), width, vector = a.shape, b.shape[1], Vectors(c, type)
    columns = [c.min(c.add(column, at), width - 1) for at in range(together)]
    starts = [c.address("%b1", c.add(b.offset, c.scale(each, b.strides[1])), type) for each in columns]
    left = [c.address("%b0", a.offset + at * a.strides[0], type) for at in range(rows)]
    slots = [[c.slot(vector.type) for _ in columns] for _ in range(rows)]
    for line in slots:
        for slot in line:
            c.write(vector.zero(), slot)

    def add(at: Scalar, mask: int | None = None) -> None:
        factors = [vector.load(each, at, mask) for each in left]
        for number, start in enumerate(starts):
            weight = vector.load(start, at, mask)
            for line, factor in zip(slots, factors):
                c.write(vector.multiply_add(factor, weight, c.read(line[number], vector.type)), line[number])

    whole, rest = divmod(depth, vector.count)
    with c.loop(whole) as step:
        add(c.scale(step, vector.count))
    if rest:
        add(c.integer(whole * vector.count), rest)
    for row, line in enumerate(slots):
        for slot, at in zip(line, columns):
            c.store(vector.reduce_add(c.read(slot, vector.type)), "%b2", c.add(at, row * width))


def strip(c: IRBuilder, type: str, a: Reference, b: Reference, column: Scalar, together: int) -> None:
    """The sums of some columns, over the rows of the right matrix."""
    (rows, depth), width = a.shape, b.shape[1]
    kernel = MicroKernel(
        type, Tile(rows, together // lanes(type)), rows=rows, left_step=a.strides[0], right_step=b.strides[0], result_step=width
    )
    left, right, to = c.address("%b0", a.offset, type), c.address("%b1", c.add(b.offset, column), type), c.address("%b2", column, type)
    kernel.call(c, left, right, to, columns=c.min(together, c.sub(width, column)), depth=c.number(depth))

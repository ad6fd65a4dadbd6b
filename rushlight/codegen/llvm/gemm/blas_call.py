"""Products of matrices as calls of BLAS."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from ....core.blas import Blas
from ....schedule.symbolic_shape import differs, if_many, may_reach
from ....schedule.tensor_ir import Product, Reference
from ..ir import TYPES, Code, Scalar

_ROW_MAJOR, _AS_IT_IS, _TURNED = 101, 111, 112
ROWS = 128  # of a block
SMALL = 1024  # elements of the right matrix: products with smaller ones are not split
FLOPS_PER_NANOSECOND = 60


class Work:
    """A product as pieces that do not depend on each other: blocks of rows, or matrices of a batch.

    A block has the same number of rows for any number of threads, so that results do not depend on that.
    """

    def __init__(self, blas: Blas, value: Product) -> None:
        self.blas = blas
        self.value = value
        self.left, self.right = folded(value)
        self.batch = [at for at, size in enumerate(value.shape[:-2]) if size > 1] if self.left is None else []
        depth, width = value.left.shape[-1], value.right.shape[-1]
        self.nanoseconds = value.size * depth * 2 / FLOPS_PER_NANOSECOND
        if self.left is not None:
            self.rows = self.left.shape[0]
            self.block = if_many(self.rows, 2 * ROWS, ROWS, ROWS // 2)
            self.extent = -(-self.rows // self.block) if may_reach(width * depth, SMALL) else 1
        else:
            self.extent = value.shape[self.batch[0]]

    def emit(self, c: Code, left: str, right: str, result: str, first: Scalar, last: Scalar) -> None:
        """Call BLAS for the pieces from the first to before the last."""
        if self.left is None or self.right is None:
            self.emit_batch(c, left, right, result, first, last)
            return
        a, b = self.left, self.right
        if not differs(self.extent) and self.extent == 1:
            call(c, self.blas, self.value, a, b, left, right, result, c.number(self.rows), c.integer(a.offset), c.integer(0))
            return
        with c.loop(first, last) as block:
            row = c.scale(block, self.block)
            rows = c.intrinsic("smin", c.integer(self.block), c.let("i64", f"sub nsw i64 {c.number(self.rows).name}, {row.name}"))
            place = c.add(c.integer(a.offset), c.scale(row, a.strides[0]))
            call(c, self.blas, self.value, a, b, left, right, result, rows, place, c.scale(row, b.shape[-1]))

    def emit_batch(self, c: Code, left: str, right: str, result: str, first: Scalar, last: Scalar) -> None:
        """Call BLAS for each matrix of a batch."""
        value, a, b = self.value, self.value.left, self.value.right
        places = [c.integer(a.offset), c.integer(b.offset), c.integer(0)]
        with ExitStack() as nest:
            for number, at in enumerate(self.batch):
                bounds = (first, last) if number == 0 else (c.integer(0), c.integer(value.shape[at]))
                index = nest.enter_context(c.loop(*bounds))
                steps = (a.strides[at], b.strides[at], value.strides[at])
                places = [c.add(place, c.scale(index, step)) for place, step in zip(places, steps)]
            call(c, self.blas, value, a, b, left, right, result, c.integer(a.shape[-2]), places[0], places[2], places[1])


def folded(value: Product) -> tuple[Reference | None, Reference | None]:
    """A batch of matrices times one matrix as one product with more rows, where the rows lie one after the other."""
    a, b, batch = value.left, value.right, value.shape[:-2]
    matrix = Reference(b.value, b.shape[-2:], b.strides[-2:], b.offset)
    if all(size == 1 for size in batch):
        return Reference(a.value, a.shape[-2:], a.strides[-2:], a.offset), matrix
    if any(b.strides[: len(batch)]):
        return None, None
    sizes = [(size, stride) for size, stride in zip(a.shape[:-1], a.strides[:-1]) if size > 1]
    for (_, stride), (size, step) in zip(sizes, sizes[1:]):
        if stride != step * size:
            return None, None
    rows = 1
    for size in a.shape[:-1]:
        rows *= size
    if sizes and a.shape[-1] > 1 and (a.strides[-1] != 1 or sizes[-1][1] < a.shape[-1]):
        return None, None  # turned: its rows are no longer where one number can say
    step = sizes[-1][1] if sizes else 0
    return Reference(a.value, (rows, a.shape[-1]), (step, a.strides[-1]), a.offset), matrix


def layout(reference: Reference) -> tuple[int, int]:
    """Whether a matrix is stored turned, and the distance of its rows (or columns)."""
    (height, width), (rows, columns) = reference.shape[-2:], reference.strides[-2:]
    if (columns == 1 or width == 1) and (rows >= width or height == 1):
        return _AS_IT_IS, rows if height > 1 else width
    return _TURNED, columns if width > 1 else height


def call(
    c: Code, blas: Blas, value: Product, a: Reference, b: Reference, left: str, right: str, result: str, rows: Scalar,
    left_at: Scalar, result_at: Scalar, right_at: Scalar | None = None,
) -> None:  # fmt: skip
    """One call of BLAS for a product of two matrices."""
    type = TYPES[value.dtype]
    places = ((left, left_at), (right, right_at or c.integer(b.offset)), (result, result_at))
    pointers = [c.address(pointer, place, type) for pointer, place in places]
    (turned_a, step_a), (turned_b, step_b) = layout(a), layout(b)
    depth, width = a.shape[-1], b.shape[-1]
    one, zero = c.constant(type, 1.0).name, c.constant(type, 0.0).name
    size = blas.size
    numbers = (rows, c.number(depth), c.number(step_a), c.number(step_b))  # each may be the size of a batch
    height, deep, left_step, right_step = (
        each.name if size == "i64" or each.name.isdigit() else c.convert("trunc", each, size).name for each in numbers
    )
    arguments: list[Any] = [f"i32 {each}" for each in (_ROW_MAJOR, turned_a, turned_b)]
    arguments += [f"{size} {each}" for each in (height, width, deep)]
    arguments += [f"{type} {one}", f"ptr {pointers[0]}", f"{size} {left_step}", f"ptr {pointers[1]}", f"{size} {right_step}"]
    arguments += [f"{type} {zero}", f"ptr {pointers[2]}", f"{size} {width}"]
    name = "sgemm" if type == "float" else "dgemm"
    c.do(f"call void {c.bound(name, blas.addresses[name])}({', '.join(arguments)})")

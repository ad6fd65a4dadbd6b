"""Products of matrices as calls of BLAS."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from .code import TYPES, Code, Scalar
from .machine import Blas
from .values import Product, Reference

_ROW_MAJOR, _AS_IT_IS, _TURNED = 101, 111, 112


def emit_product(c: Code, blas: Blas, value: Product, left: str, right: str, result: str) -> None:
    """Call BLAS for a product, once, or for each matrix of a batch."""
    batch = value.shape[:-2]
    a, b = folded(value)
    if a is not None and b is not None:
        call(c, blas, value, a, b, left, right, result, c.integer(a.offset), c.integer(b.offset), c.integer(0))
        return
    a, b = value.left, value.right
    places = [c.integer(a.offset), c.integer(b.offset), c.integer(0)]
    with ExitStack() as nest:
        for at, size in enumerate(batch):
            if size > 1:
                index = nest.enter_context(c.loop(c.integer(0), c.integer(size)))
                steps = (a.strides[at], b.strides[at], value.strides[at])
                places = [c.add(place, c.scale(index, step)) for place, step in zip(places, steps)]
        call(c, blas, value, a, b, left, right, result, *places)


def folded(value: Product) -> tuple[Reference | None, Reference | None]:
    """A batch of matrices times one matrix as one product with more rows, where the rows lie one after the other."""
    a, b, batch = value.left, value.right, value.shape[:-2]
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
    return Reference(a.value, (rows, a.shape[-1]), (step, a.strides[-1]), a.offset), Reference(b.value, b.shape[-2:], b.strides[-2:], b.offset)


def layout(reference: Reference) -> tuple[int, int]:
    """Whether a matrix is stored turned, and the distance of its rows (or columns)."""
    (height, width), (rows, columns) = reference.shape[-2:], reference.strides[-2:]
    if (columns == 1 or width == 1) and (rows >= width or height == 1):
        return _AS_IT_IS, rows if height > 1 else width
    return _TURNED, columns if width > 1 else height


def call(
    c: Code, blas: Blas, value: Product, a: Reference, b: Reference, left: str, right: str, result: str, *places: Scalar
) -> None:
    """One call of BLAS for a product of two matrices."""
    type = TYPES[value.dtype]
    pointers = [c.address(pointer, place, type) for pointer, place in zip((left, right, result), places)]
    (turned_a, step_a), (turned_b, step_b) = layout(a), layout(b)
    height, depth, width = a.shape[-2], a.shape[-1], b.shape[-1]
    one, zero = c.constant(type, 1.0).name, c.constant(type, 0.0).name
    size = blas.size
    arguments: list[Any] = [f"i32 {each}" for each in (_ROW_MAJOR, turned_a, turned_b)]
    arguments += [f"{size} {each}" for each in (height, width, depth)]
    arguments += [f"{type} {one}", f"ptr {pointers[0]}", f"{size} {step_a}", f"ptr {pointers[1]}", f"{size} {step_b}"]
    arguments += [f"{type} {zero}", f"ptr {pointers[2]}", f"{size} {width}"]
    address = blas.addresses["sgemm" if type == "float" else "dgemm"]
    function = c.let("ptr", f"inttoptr i64 {address} to ptr")
    c.do(f"call void {function.name}({', '.join(arguments)})")

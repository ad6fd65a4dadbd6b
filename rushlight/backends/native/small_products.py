"""Products of matrices that are generated rather than left to BLAS.

BLAS is at its best with matrices of thousands of rows; it has a fast way for tiny ones, too.  In between, and where the right matrix
fits into the cache, packing that once and going through the rows in tiles (``panels.py``) is faster by measurement.
"""

from __future__ import annotations

import math
from typing import Any

from ...core.base import Spec
from .code import TYPES, Code, Module, Scalar
from .panels import Panels
from .products import folded, layout
from .program import Piece, Program
from .values import ROUTINES, Builder, Product, Reference, Routine

CACHE = 1 << 20  # bytes of the right matrix
DEPTH = 2048
TINY = 140_000  # multiplications: where BLAS has its way for tiny matrices, it is slow only if the right one is turned
BLOCK = 64  # rows that one piece takes
PACKING, FLOPS = 0.15, 90  # nanoseconds for an element, operations in a nanosecond


def worthwhile(rows: int, depth: int, width: int, itemsize: int, turned: bool) -> bool:
    """Whether a generated product is faster than one by BLAS."""
    if rows < 8 or width < 16 or depth < 8 or depth > DEPTH or depth * width * itemsize > CACHE:
        return False
    return (turned and rows >= 16 and width >= 32) if rows * depth * width <= TINY else True


def product(builder: Builder, args: tuple[Any, ...], spec: Any, node: Any) -> Any:
    """A product of matrices (with all dimensions of a batch in front) as a routine, or NotImplemented."""
    left, right = args
    whole = Product(-1, tuple(spec.shape), spec.dtype, node)
    whole.left, whole.right = left, right
    a, b = folded(whole)
    if a is None or b is None:
        return NotImplemented
    (rows, depth), width, type = a.shape, b.shape[1], TYPES[spec.dtype]
    if not worthwhile(rows, depth, width, spec.dtype.itemsize, layout(b)[0] != layout(Reference(b.value, b.shape, (width, 1)))[0]):
        return NotImplemented

    def write(program: Program, module: Module, routine: Routine) -> list[Piece]:
        return pieces(module, type, a, b, routine, routine.others[1])

    made: list[Reference] = builder.routine([a, b], [spec], node, write, [Spec((Panels(Module(), type, depth, width).size,), spec.dtype)])
    return made[0]


def pieces(module: Module, type: str, a: Reference, b: Reference, result: Any, packed: Any) -> list[Piece]:
    """Pack the right matrix, then multiply blocks of rows by it."""
    (rows, depth), width = a.shape, b.shape[1]
    panels = Panels(module, type, depth, width)
    steps = [stride if size > 1 else 1 for size, stride in zip(b.shape, b.strides)]
    c = Code(module)
    first, last = Scalar("%first", "i64"), Scalar("%last", "i64")
    panels.pack(c, (steps[0], steps[1]), "%b0", c.address("%b1", c.integer(b.offset), type), first, last)
    pack = module.add(f"pack_right{len(module.names)}", c.function("NAME", "ptr %b0, ptr %b1, i64 %first, i64 %last"))
    c = Code(module)
    with c.loop(first, last) as block:
        row = c.scale(block, BLOCK)
        count = c.intrinsic("smin", c.integer(BLOCK), c.let("i64", f"sub nsw i64 {c.number(rows).name}, {row.name}"))
        left = c.address("%b0", c.add(c.integer(a.offset), c.scale(row, a.strides[0])), type)
        to = c.address("%b2", c.scale(row, width), type)
        panels.multiply(c, (left, a.strides[0]), "%b1", (to, width), count, columns=a.strides[1] if depth > 1 else 1)
    blocks = module.add(f"blocks{len(module.names)}", c.function("NAME", "ptr %b0, ptr %b1, ptr %b2, i64 %first, i64 %last"))
    work = 2.0 * rows * depth * width / FLOPS
    return [
        Piece(pack, [packed, b.value], panels.count, panels.size * PACKING),
        Piece(blocks, [a.value, packed, result], max(1, math.ceil(rows / BLOCK)), work),
    ]


ROUTINES["matmul"] = product

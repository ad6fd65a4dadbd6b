"""Products of matrices that are generated rather than left to BLAS.

BLAS is at its best with matrices of thousands of rows; it has a fast way for tiny ones, too.  In between, and where the right matrix
fits into the cache, packing a panel of that and going through the rows in tiles (``panels.py``) is faster by measurement.  Tiny ones need no
packing where the right matrix is as wide as some panels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....core.base import Spec
from ....core.blas import blas
from ....schedule.scalar_ir import Expression
from ....schedule.symbolic_shape import differs
from ....schedule.tensor_ir import ROUTINES, Builder, Product, Reference, Routine
from ..ir import TYPES, Code, Module, Scalar
from ..piece import Lowering, Piece
from .blas_call import Work, folded, layout
from .panel import Panels, lanes_for, minus, shape_for, share

CACHE = 1 << 20  # bytes of the right matrix
DEPTH = 2048
TINY = 140_000  # multiplications: where BLAS has its way for tiny matrices, it is slow only if the right one is turned
BLOCK = 64  # rows that one piece takes
PARTS, DEEP = 2, 512  # of the depth, from so many steps on
LIGHT = 512  # elements of the result for each step of the depth: where there are more, adding up takes longer than it saves
PACKING, FLOPS = 0.15, 90  # nanoseconds for an element, operations in a nanosecond


def worthwhile(rows: int, depth: int, width: int, itemsize: int, turned: bool) -> bool:
    """Whether a generated product is faster than one by BLAS."""
    if rows < 8 or width < 16 or depth < 8 or depth > DEPTH or depth * width * itemsize > CACHE:
        return False
    return (turned and rows >= 16 and width >= 32) if rows * depth * width <= TINY else True


def in_parts(rows: int, depth: int, width: int) -> bool:
    """Whether a product that runs through the rows of both matrices, like the gradient of weights, has so many that parts of them are added up."""
    return depth >= DEEP and rows * width <= depth * LIGHT


def choice(decide: Callable[..., bool], *arguments: Any) -> Any:
    """What is decided: 0 or 1; where sizes may differ, and so may the answer, as a size."""
    known = next((each.sizes for each in arguments if differs(each)), None)
    if known is None:
        return int(decide(*arguments))
    samples = [[sample if differs(each) else each for each in arguments] for sample in (16, 128, 1024)]
    return known.found_by(decide, *arguments, bounds=(0, 1)) if any(decide(*each) for each in samples) else 0


def possible(wanted: Any) -> bool:
    """Whether something that is wanted (1) or not (0) is, or may be."""
    return differs(wanted) or wanted == 1


def where(wanted: Any, pieces: list[Piece]) -> list[Piece]:
    """Pieces for sizes for which they are wanted (1): for others (0), they are called for no part of their work."""
    return (
        [each._replace(extent=each.extent * wanted, nanoseconds=each.nanoseconds * wanted) for each in pieces]
        if differs(wanted)
        else pieces
    )


def product(builder: Builder, args: tuple[Any, ...], spec: Any, node: Any) -> Any:
    """A product of matrices (with all dimensions of a batch in front) as a routine, or NotImplemented."""
    left, right = args
    if not differs(left.shape[-1]) and left.shape[-1] == 1:
        return outer(builder, left, right, spec, node)
    whole = Product(-1, tuple(spec.shape), spec.dtype, node)
    whole.left, whole.right = left, right
    a, b = folded(whole)
    if a is None or b is None:
        return NotImplemented
    (rows, depth), width, type = a.shape, b.shape[1], TYPES[spec.dtype]
    if is_plain(a, b, type):
        plain: list[Reference] = builder.routine(
            [a, b], [spec], node, lambda program, module, routine: [plain_piece(module, type, a, b, routine)]
        )
        return plain[0]
    turned = layout(b)[0] != layout(Reference(b.value, b.shape, (width, 1)))[0]
    generated = choice(worthwhile, rows, depth, width, spec.dtype.itemsize, turned)
    if not possible(generated):
        return NotImplemented
    parts = generated * choice(in_parts, rows, depth, width) if a.strides[0] == 1 and b.strides[1] == 1 else 0
    whole, gradient = generated - parts, Gradient(a, b)

    def write(program: Lowering, module: Module, routine: Routine) -> list[Piece]:
        memory, made = routine.others[1:], []
        if possible(whole):
            made += where(whole, pieces(module, type, a, b, routine, memory.pop(0)))
        if possible(parts):
            made += where(parts, gradient.pieces(module, routine, memory))
        return made + (where(1 - generated, [by_blas(module, a, b, routine)]) if differs(generated) else [])

    shapes = [*([(Panels(Module(), type, depth, width).size,)] if possible(whole) else []), *(gradient.memory if possible(parts) else [])]
    made: list[Reference] = builder.routine([a, b], [spec], node, write, [Spec(each, spec.dtype) for each in shapes])
    return made[0]


def outer(builder: Builder, left: Reference, right: Reference, spec: Any, node: Any) -> Reference:
    """A product of columns and rows, element by element: it becomes a part of what is computed from it."""
    columns, rows = (Expression("operand", (), each.dtype, each) for each in (stretched(left, -1, spec), stretched(right, -2, spec)))
    return builder.pointwise(Expression("mul", (columns, rows), spec.dtype), tuple(spec.shape), spec.dtype, node)


def stretched(matrix: Reference, axis: int, spec: Any) -> Reference:
    """A column (or row) repeated to the width (height) of a product."""
    shape, strides = list(matrix.shape), list(matrix.strides)
    shape[axis], strides[axis] = spec.shape[axis], 0
    return Reference(matrix.value, tuple(shape), tuple(strides), matrix.offset)


def is_plain(a: Reference, b: Reference, type: str) -> bool:
    """Whether a product is a tiny one whose right matrix can be read as it lies."""
    (rows, depth), width = a.shape, b.shape[1]
    if any(map(differs, (rows, depth, width))) or rows < 8 or depth < 8 or rows * depth * width > TINY:
        return False
    return bool(b.strides[1] == 1 and width % shape_for(type).width == 0 and b.strides[0] >= width)


def plain_piece(module: Module, type: str, a: Reference, b: Reference, result: Any) -> Piece:
    """Multiply rows by a matrix as it lies."""
    (rows, depth), width, c = a.shape, b.shape[1], Code(module)
    panels = Panels(module, type, depth, width)
    left, right = c.address("%b0", c.integer(a.offset), type), c.address("%b1", c.integer(b.offset), type)
    panels.multiply(
        c, (left, a.strides[0]), right, ("%b2", width), c.number(rows), columns=a.strides[1], depth=c.number(depth), apart=b.strides[0]
    )
    name = module.add(f"plain{len(module.names)}", c.function("NAME", "ptr %b0, ptr %b1, ptr %b2, i64 %first, i64 %last"))
    return Piece(name, [a.value, b.value, result], 1, 2.0 * rows * depth * width / FLOPS)


def pieces(module: Module, type: str, a: Reference, b: Reference, result: Any, packed: Any) -> list[Piece]:
    """Pack the right matrix, then multiply blocks of rows by it."""
    (rows, depth), width = a.shape, b.shape[1]
    panels = Panels(module, type, depth, width)
    steps = [stride if size > 1 else 1 for size, stride in zip(b.shape, b.strides)]
    c = Code(module)
    first, last = Scalar("%first", "i64"), Scalar("%last", "i64")
    by_rows = steps[1] == 1  # parts that lie apart in memory: rows that were computed by one thread are in its cache
    if by_rows:
        with c.loop(first, last) as block:
            row = c.scale(block, BLOCK)
            count = c.intrinsic("smin", c.integer(BLOCK), minus(c, c.number(depth), row))
            source = c.address("%b1", c.add(c.integer(b.offset), c.scale(row, steps[0])), type)
            to = c.address("%b0", c.scale(row, panels.shape.width), type)
            panels.pack(c, (steps[0], 1), to, source, c.integer(0), c.integer(panels.count), count)
    else:
        panels.pack(c, (steps[0], steps[1]), "%b0", c.address("%b1", c.integer(b.offset), type), first, last)
    pack = module.add(f"pack_right{len(module.names)}", c.function("NAME", "ptr %b0, ptr %b1, i64 %first, i64 %last"))
    c = Code(module)
    with c.loop(first, last) as block:
        row = c.scale(block, BLOCK)
        count = c.intrinsic("smin", c.integer(BLOCK), minus(c, c.number(rows), row))
        left = c.address("%b0", c.add(c.integer(a.offset), c.scale(row, a.strides[0])), type)
        to = c.address("%b2", c.scale(row, width), type)
        panels.multiply(c, (left, a.strides[0]), "%b1", (to, width), count, columns=a.strides[1] if depth > 1 else 1)
    blocks = module.add(f"blocks{len(module.names)}", c.function("NAME", "ptr %b0, ptr %b1, ptr %b2, i64 %first, i64 %last"))
    work = 2.0 * rows * depth * width / FLOPS
    return [
        Piece(pack, [packed, b.value], -(-depth // BLOCK) if by_rows else panels.count, panels.size * PACKING),
        Piece(blocks, [a.value, packed, result], -(-rows // BLOCK), work),
    ]


def by_blas(module: Module, a: Reference, b: Reference, result: Routine) -> Piece:
    """The product by BLAS."""
    product = Product(result.index, (a.shape[0], b.shape[1]), result.dtype, None)
    product.left, product.right = a, b
    work, c, names = Work(blas(), product), Code(module), ("%b0", "%b1", "%b2")
    first, last = Scalar("%first", "i64"), Scalar("%last", "i64")
    if differs(work.extent):
        work.emit(c, *names, first, last)
    else:
        with c.loop(first, last) as block:
            work.emit(c, *names, block, c.add(block, c.integer(1)))
    name = module.add(f"by_blas{len(module.names)}", c.function("NAME", "ptr %b0, ptr %b1, ptr %b2, i64 %first, i64 %last"), quick=True)
    return Piece(name, [a.value, b.value, result], work.extent, work.nanoseconds)


class Gradient:
    """A product in parts of the depth, which are added up at the end: who has computed some rows has them in its cache.

    A panel of the right matrix at a time is packed, to memory that stays in the cache.  Parts are the same for any number of threads, and
    so are results.
    """

    def __init__(self, a: Reference, b: Reference) -> None:
        self.left, self.right = a, b
        self.type = TYPES[a.dtype]
        self.wide = Panels(Module(), self.type, 1, 1).shape.width
        self.panels = -(-b.shape[1] // self.wide)
        self.depth = -(-a.shape[1] // PARTS)  # of a part
        self.units = PARTS * self.panels
        self.lanes = lanes_for(self.units)

    @property
    def memory(self) -> list[tuple[Any, ...]]:
        """The shapes of what it needs beside the result: packed panels, and parts."""
        return [(self.lanes, self.depth * self.wide), (PARTS - 1, self.left.shape[0], self.right.shape[1])]

    def pieces(self, module: Module, routine: Routine, memory: list[Routine]) -> list[Piece]:
        """Multiply part by part, and add up."""
        a, b, type, c = self.left, self.right, self.type, Code(module)
        (rows, depth), width, wide = a.shape, b.shape[1], self.wide
        size = rows * width
        panels = Panels(module, type, self.depth, wide)
        with share(c, self.lanes, self.units) as (lane, first, last):
            packed = c.address("%b3", c.scale(lane, panels.size), type)
            with c.loop(first, last) as unit:
                part, number = (c.let("i64", f"{how} i64 {unit.name}, {self.panels}") for how in ("sdiv", "srem"))
                column, begin = c.scale(number, wide), c.scale(part, self.depth)
                columns = c.intrinsic("smin", c.integer(wide), minus(c, c.integer(width), column))
                deep = c.intrinsic("smin", c.integer(self.depth), minus(c, c.number(depth), begin))
                right = c.address("%b1", c.add(c.integer(b.offset), c.add(c.scale(begin, b.strides[0]), column)), type)
                panels.pack(c, (b.strides[0], 1), packed, right, c.integer(0), c.integer(1), deep, columns)
                left = c.address("%b0", c.add(c.integer(a.offset), c.scale(begin, a.strides[1])), type)
                # The first part goes to the result, others to memory beside it.
                others = c.address("%b4", c.scale(c.intrinsic("smax", minus(c, part, c.integer(1)), c.integer(0)), size), type)
                to = c.let("ptr", f"select i1 {c.compare('eq', part, c.integer(0)).name}, ptr %b2, ptr {others}").name
                target = (c.address(to, column, type), width)
                panels.multiply(c, (left, 1), packed, target, c.number(rows), columns=a.strides[1], width=columns, depth=deep)
        names = ", ".join(f"ptr %b{at}" for at in range(5))
        multiply = module.add(f"gradient{len(module.names)}", c.function("NAME", f"{names}, i64 %first, i64 %last"))
        c = Code(module)
        with c.loop(c.scale(Scalar("%first", "i64"), width), c.scale(Scalar("%last", "i64"), width)) as at:
            total = c.load("%b0", at, type)
            for part_number in range(PARTS - 1):
                total = c.binary("fadd", total, c.load("%b1", c.add(at, c.integer(part_number * size)), type))
            c.store(total, "%b0", at)
        add = module.add(f"add_parts{len(module.names)}", c.function("NAME", "ptr noalias %b0, ptr noalias %b1, i64 %first, i64 %last"))
        work = 2.0 * size * depth / FLOPS + depth * width * PACKING
        return [
            Piece(multiply, [a.value, b.value, routine, *memory], self.lanes, work),
            Piece(add, [routine, memory[1]], rows, PARTS * size * PACKING),
        ]


ROUTINES["matmul"] = product

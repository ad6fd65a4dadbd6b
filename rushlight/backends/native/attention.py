"""Attention in blocks of queries: the scores of a block lie in the cache, and all scores together nowhere unless somebody wants them.

Keys and values of all heads are packed first (``panels.py``).  A block multiplies its queries by as many keys as any of them may see,
turns the scores into weights row by row, and multiplies those by the values.
"""

from __future__ import annotations

import math
from typing import Any

from ...core.base import Spec
from . import functions
from .code import TYPES, Code, Module, Scalar
from .panels import Panels, Vectors
from .program import Piece, Program
from .values import ROUTINES, Builder, Reference, Routine, Value

BLOCK = 32  # queries
ROOM = 1 << 18  # bytes of scores that a block should keep to
LANES = 8  # blocks that may be under way at one time, each with memory of its own
FLOPS_PER_NANOSECOND = 60


class Heads:
    """The batch of an attention: where in memory the matrices of each head begin."""

    def __init__(self, c: Code, shape: tuple[int, ...]) -> None:
        self.c = c
        self.shape = shape
        self.count = math.prod(shape)
        self.indices: list[Scalar] = []

    def at(self, head: Scalar) -> None:
        """Go to a head."""
        c, rest = self.c, head
        self.indices = []
        for size in reversed(self.shape):
            self.indices.insert(0, c.let("i64", f"srem i64 {rest.name}, {size}"))
            rest = c.let("i64", f"sdiv i64 {rest.name}, {size}")

    def pointer(self, name: str, reference: Reference, row: Scalar | None = None) -> str:
        """The address of the head's matrix, from a row on."""
        c = self.c
        place = c.integer(reference.offset)
        for index, stride in zip(self.indices, reference.strides):
            place = c.add(place, c.scale(index, stride))
        if row is not None:
            place = c.add(place, c.scale(row, reference.strides[-2]))
        return c.address(name, place, TYPES[reference.dtype])


def whole(value: Value) -> Reference:
    """A value as it is."""
    return Reference(value, value.shape, value.strides)


def steps(reference: Reference) -> tuple[int, int]:
    """The strides of a matrix; those of a single row or column are what they would be in row-major order."""
    rows, columns = reference.strides[-2:]
    return rows, columns if reference.shape[-1] > 1 else 1


def rows_in(c: Code, start: Scalar, block: int, count: int) -> Scalar:
    """How many rows a block has that begins there."""
    return c.intrinsic("smin", c.let("i64", f"sub nsw i64 {count}, {start.name}"), c.integer(block))


class Names:
    """The buffers of a function, by the names of their parameters."""

    def __init__(self) -> None:
        self.values: dict[str, Value] = {}

    def add(self, name: str, value: Value) -> str:
        self.values[name] = value
        return f"%{name}"

    def piece(self, module: Module, c: Code, name: str, extent: int, nanoseconds: float) -> Piece:
        parameters = ", ".join(f"ptr %{each}" for each in self.values)
        function = module.add(f"{name}{len(module.names)}", c.function("NAME", f"{parameters}, i64 %first, i64 %last"))
        return Piece(function, list(self.values.values()), extent, nanoseconds)


def pack_all(module: Module, panels: Panels, source: Reference, turned: bool, target: Value, batch: tuple[int, ...]) -> Piece:
    """Pack a matrix of every head."""
    c, names = Code(module), Names()
    heads = Heads(c, batch)
    rows, columns = steps(source)
    to, origin = names.add("packed", target), names.add("source", source.value)
    strides = (columns, rows) if turned else (rows, columns)
    with c.loop(Scalar("%first", "i64"), Scalar("%last", "i64")) as head:
        heads.at(head)
        place = c.address(to, c.scale(head, panels.size), panels.type)
        panels.pack(c, strides, place, heads.pointer(origin, source), c.integer(0), c.integer(panels.count))
    return names.piece(module, c, "pack_heads", heads.count, heads.count * panels.size * 0.4)


class Row:
    """Passes over one row of scores, in vectors of fixed length, so that no loop has a rest."""

    def __init__(self, c: Code, panels: Panels) -> None:
        self.c = c
        self.type = type = panels.type
        shape = panels.shape
        self.length = length = shape.lanes * (2 if shape.vectors % 2 == 0 else 1)  # a power of two
        self.per_panel = shape.width // length
        self.partial = c.slot(type, length)
        self.result = c.slot(type)

    def each(self, count: Scalar, body: Any) -> None:
        """``body(column, lane)`` for ``count`` vectors of columns."""
        c = self.c
        with c.loop(c.integer(0), count) as chunk, c.loop(c.integer(0), c.integer(self.length)) as lane:
            body(c.add(c.scale(chunk, self.length), lane), lane)

    def fold(self, count: Scalar, how: str, body: Any) -> Scalar:
        """The sum ("fadd") of all that ``body(column)`` gives, or the largest ("fmax"); NaN may be passed over there."""
        c = self.c
        start = c.constant(self.type, 0.0 if how == "fadd" else -math.inf)
        with c.loop(c.integer(0), c.integer(self.length)) as lane:
            c.store(start, self.partial, lane)

        def step(column: Scalar, lane: Scalar) -> None:
            c.store(self.combine(how, c.load(self.partial, lane, self.type), body(column)), self.partial, lane)

        self.each(count, step)
        # From here on in halves.
        v = Vectors(c, self.type, self.length)
        found = v.load(self.partial, c.integer(0))
        while v.lanes > 1:
            half = Vectors(c, self.type, v.lanes // 2)
            parts = []
            for first in (0, half.lanes):
                places = ", ".join(f"i32 {first + at}" for at in range(half.lanes))
                parts.append(c.let(half.type, f"shufflevector {v.type} {found.name}, {v.type} poison, <{half.lanes} x i32> <{places}>"))
            v, found = half, self.combine(how, *parts)
        return c.let(self.type, f"extractelement {v.type} {found.name}, i64 0")

    def combine(self, how: str, a: Scalar, b: Scalar) -> Scalar:
        c = self.c
        if how == "fadd":
            return c.let(a.type, f"fadd reassoc {a.type} {a.name}, {b.name}")
        larger = c.let("", f"fcmp ogt {a.type} {a.name}, {b.name}")
        flags = a.type.replace(self.type, "i1") if a.type.startswith("<") else "i1"
        return c.let(a.type, f"select {flags} {larger.name}, {a.type} {a.name}, {a.type} {b.name}")


def attention(builder: Builder, args: tuple[Any, ...], specs: Any, node: Any) -> Any:
    query, key, value, mask, causal, scale = args
    batch, (length, size), (source, width) = tuple(specs[0].shape[:-2]), query.shape[-2:], value.shape[-2:]
    fits = tuple(specs[1].shape[:-2]) == batch and query.dtype == key.dtype == value.dtype and query.dtype.char in "fd"
    if not fits or not math.prod(specs[0].shape) or not source * size or type(causal) is not bool or not isinstance(scale, (int, float)):
        return NotImplemented
    dtype, type_ = query.dtype, TYPES[query.dtype]
    if mask is not None and mask.dtype.kind != "b" and mask.dtype != dtype:
        return NotImplemented
    query, key, value = (each.broadcast((*batch, *each.shape[-2:])) for each in (query, key, value))
    mask = None if mask is None else mask.broadcast((*batch, length, source))
    by_key, by_value = Panels(Module(), type_, size, source), Panels(Module(), type_, source, width)
    wide = by_key.shape.width
    row = by_key.count * wide  # of scores, filled up to whole panels
    block = max(8, min(BLOCK, ROOM // (row * dtype.itemsize) // 8 * 8))
    blocks = -(-length // block)
    units = math.prod(batch) * blocks
    lanes = min(LANES, units)
    scratch = [Spec((math.prod(batch), by_key.size), dtype), Spec((math.prod(batch), by_value.size), dtype), Spec((lanes, block, row), dtype)]

    def write(program: Program, module: Module, routine: Routine) -> list[Piece]:
        output, weights, packed_key, packed_value, scores = routine.others
        keys, values = Panels(module, type_, size, source), Panels(module, type_, source, width)
        pieces = [pack_all(module, keys, key, True, packed_key, batch), pack_all(module, values, value, False, packed_value, batch)]
        c, names = Code(module), Names()
        heads = Heads(c, batch)
        line = Row(c, keys)
        q, kp, vp, s, o = (
            names.add(name, each)
            for name, each in (("q", query.value), ("kp", packed_key), ("vp", packed_value), ("s", scores), ("o", output))
        )
        w = names.add("w", weights) if weights in program.slots else ""
        m = "" if mask is None else names.add("m", mask.value)
        with c.loop(Scalar("%first", "i64"), Scalar("%last", "i64")) as lane:
            # A lane takes every so-many-th block, so that no two at one time have the same memory.
            mine = c.let("i64", f"sdiv i64 {c.let('i64', f'sub nsw i64 {units + lanes - 1}, {lane.name}').name}, {lanes}")
            memory = c.address(s, c.scale(lane, block * row), type_)
            with c.loop(c.integer(0), mine) as turn:
                unit = c.add(lane, c.scale(turn, lanes))
                head = c.let("i64", f"sdiv i64 {unit.name}, {blocks}")
                begin = c.scale(c.let("i64", f"srem i64 {unit.name}, {blocks}"), block)
                heads.at(head)
                rows = rows_in(c, begin, block, length)
                seen = c.intrinsic("smin", c.add(begin, rows), c.integer(source)) if causal else c.integer(source)
                count = c.let("i64", f"sdiv i64 {c.add(seen, c.integer(wide - 1)).name}, {wide}")
                packed = c.address(kp, c.scale(head, keys.size), type_)
                left = heads.pointer(q, query, begin)
                across, down = steps(query)[::-1]
                keys.multiply(c, (left, down), packed, (memory, row), rows, columns=across, width=c.scale(count, wide))
                with c.loop(c.integer(0), rows) as at:
                    here = c.address(memory, c.scale(at, row), type_)
                    own = c.add(begin, at)
                    limit = c.intrinsic("smin", c.add(own, c.integer(1)), c.integer(source)) if causal else c.integer(source)
                    masked_at = heads.pointer(m, mask, own) if mask is not None else ""
                    weigh(c, line, here, c.scale(count, line.per_panel), limit, scale, mask, masked_at)
                    if w:
                        place = c.address(w, c.scale(c.add(c.scale(head, length), own), source), type_)
                        with c.loop(c.integer(0), c.integer(source)) as column:
                            # What lies beyond the panels that were multiplied is no score.
                            inside = c.compare("slt", column, limit)
                            safe = c.select(inside, column, c.integer(0))
                            found = c.load(here, safe, type_)
                            c.store(c.select(inside, found, c.constant(type_, 0.0)), place, column)
                place = c.address(o, c.scale(c.add(c.scale(head, length), begin), width), type_)
                packed = c.address(vp, c.scale(head, values.size), type_)
                values.multiply(c, (memory, row), packed, (place, width), rows, depth=seen)
        nanoseconds = units * block * source * (size + width) * 2 / FLOPS_PER_NANOSECOND
        return [*pieces, names.piece(module, c, "attention", lanes, nanoseconds)]

    sources = [query, key, value] + ([] if mask is None else [mask])
    return tuple(builder.routine(sources, list(specs), node, write, scratch))


def weigh(c: Code, line: Row, here: str, count: Scalar, limit: Scalar, scale: float, mask: Reference | None, masked_at: str) -> None:
    """Turn a row of scores into weights; a row that may attend to nothing gives zeros."""
    type_ = line.type
    lowest, nothing = c.constant(type_, -math.inf), c.constant(type_, 0.0)

    def score(column: Scalar) -> Scalar:
        inside = c.compare("slt", column, limit)
        found = c.binary("fmul", c.load(here, column, type_), c.constant(type_, scale))
        if mask is not None:
            place = c.scale(c.select(inside, column, c.integer(0)), mask.strides[-1])
            given = c.load(masked_at, place, TYPES[mask.dtype])
            found = c.select(given, found, lowest) if mask.dtype.kind == "b" else c.binary("fadd", found, given)
        found = c.select(inside, found, lowest)
        c.store(found, here, column)
        return found

    highest = line.fold(count, "fmax", score)
    highest = c.select(c.compare("oeq", highest, lowest), nothing, highest)

    def power(column: Scalar) -> Scalar:
        found = functions.exp(c, c.binary("fsub", c.load(here, column, type_), highest))
        c.store(found, here, column)
        return found

    total = line.fold(count, "fadd", power)
    total = c.select(c.compare("oeq", total, nothing), c.constant(type_, 1.0), total)
    factor = c.binary("fdiv", c.constant(type_, 1.0), total)
    line.each(count, lambda column, lane: c.store(c.binary("fmul", c.load(here, column, type_), factor), here, column))


def attention_backward(builder: Builder, args: tuple[Any, ...], specs: Any, node: Any) -> Any:
    grad, query, key, value, weights, scale = args
    batch, (length, source), size, width = tuple(grad.shape[:-2]), weights.shape[-2:], query.shape[-1], value.shape[-1]
    same = all(each.dtype == grad.dtype for each in (query, key, value, weights)) and grad.dtype.char in "fd"
    if not same or tuple(weights.shape[:-2]) != batch or not math.prod(grad.shape) or not source * size or not isinstance(scale, (int, float)):
        return NotImplemented
    dtype, type_ = grad.dtype, TYPES[grad.dtype]
    query, key, value = (each.broadcast((*batch, *each.shape[-2:])) for each in (query, key, value))
    by_value = Panels(Module(), type_, width, source)
    wide = by_value.shape.width
    row = by_value.count * wide
    block = max(8, min(BLOCK, ROOM // (row * dtype.itemsize) // 8 * 8))
    heads_in_all = math.prod(batch)
    lanes = min(LANES, heads_in_all)
    shapes = ((source, width), (source, size), (block, size), (block, width))  # of the right matrices: values turned, keys, queries, gradients
    sizes = [by_value.size] + [Panels(Module(), type_, *shape).size for shape in shapes[1:]]
    scratch = [Spec((lanes, block, row), dtype), *(Spec((lanes, each), dtype) for each in sizes)]

    def write(program: Program, module: Module, routine: Routine) -> list[Piece]:
        to_query, to_key, to_value, slopes, *packed = routine.others
        wanted = [each in program.slots for each in (to_query, to_key, to_value)]
        c, names = Code(module), Names()
        heads = Heads(c, batch)
        line = Row(c, by_value)
        g, q, k, v, w = (
            names.add(name, each.value) for name, each in (("g", grad), ("q", query), ("k", key), ("v", value), ("w", weights))
        )
        s = names.add("s", slopes)
        rights = [names.add(f"p{at}", each) for at, each in enumerate(packed)]
        results = [names.add(f"r{at}", each) if want else "" for at, (each, want) in enumerate(zip((to_query, to_key, to_value), wanted))]
        panels = [Panels(module, type_, width, source), *(Panels(module, type_, *shape) for shape in shapes[1:])]
        strides = [steps(value)[::-1], steps(key), steps(query), steps(grad)]
        with c.loop(Scalar("%first", "i64"), Scalar("%last", "i64")) as lane:
            mine = c.let("i64", f"sdiv i64 {c.let('i64', f'sub nsw i64 {heads_in_all + lanes - 1}, {lane.name}').name}, {lanes}")
            memory = c.address(s, c.scale(lane, block * row), type_)
            places = [c.address(name, c.scale(lane, each), type_) for name, each in zip(rights, sizes)]
            with c.loop(c.integer(0), mine) as turn:
                head = c.add(lane, c.scale(turn, lanes))
                heads.at(head)
                for at, (name, reference) in enumerate(((v, value), (k, key))):
                    panels[at].pack(c, strides[at], places[at], heads.pointer(name, reference), c.integer(0), c.integer(panels[at].count))
                with c.loop(c.integer(0), c.integer(-(-length // block))) as number:
                    begin = c.scale(number, block)
                    rows = rows_in(c, begin, block, length)
                    for at, (name, reference) in enumerate(((q, query), (g, grad)), 2):
                        origin = heads.pointer(name, reference, begin)
                        panels[at].pack(c, strides[at], places[at], origin, c.integer(0), c.integer(panels[at].count), rows)
                    gradient, given = heads.pointer(g, grad, begin), heads.pointer(w, weights, begin)
                    across, down = steps(grad)[::-1]
                    panels[0].multiply(c, (gradient, down), places[0], (memory, row), rows, columns=across, width=c.integer(row))
                    with c.loop(c.integer(0), rows) as at_row:
                        slope(c, line, c.address(memory, c.scale(at_row, row), type_), given, at_row, weights, scale)
                    if wanted[0]:
                        to = c.address(results[0], c.scale(c.add(c.scale(head, length), begin), size), type_)
                        panels[1].multiply(c, (memory, row), places[1], (to, size), rows)
                    for at, want, left, across in ((2, wanted[1], (memory, 1, row), size), (3, wanted[2], (given, *steps(weights)[::-1]), width)):
                        if want:  # all queries are summed up, block by block, from zeros on
                            to = c.address(results[at - 1], c.scale(head, source * across), type_)
                            with c.loop(c.integer(0), first_block(c, number, source)) as line_of, c.loop(c.integer(0), c.integer(across)) as column:
                                c.store(c.constant(type_, 0.0), to, c.add(c.scale(line_of, across), column))
                            panels[at].multiply(c, left[:2], places[at], (to, across), c.integer(source), None, "matrix", columns=left[2], depth=rows)
        nanoseconds = heads_in_all * length * source * (2 * width + 2 * size) * 2 / FLOPS_PER_NANOSECOND
        return [names.piece(module, c, "attention_backward", lanes, nanoseconds)]

    return tuple(builder.routine([grad, query, key, value, weights], list(specs), node, write, scratch))


def slope(c: Code, line: Row, here: str, given: str, at: Scalar, weights: Reference, scale: float) -> None:
    """From gradients of weights to those of scores, in place: ``w * (g - sum(w * g)) * scale``."""
    type_, source, (rows, columns) = line.type, weights.shape[-1], steps(weights)
    own = c.address(given, c.scale(at, rows), type_)
    # Panels end in zeros, which the weights do not have.
    count = c.integer(source // line.length)
    rest = source - source // line.length * line.length

    def weight(column: Scalar) -> Scalar:
        return c.load(own, c.scale(column, columns), type_)

    total = line.fold(count, "fadd", lambda column: c.binary("fmul", weight(column), c.load(here, column, type_)))
    if rest:
        c.write(total, line.result)
        with c.loop(c.integer(source - rest), c.integer(source)) as column:
            c.write(line.combine("fadd", c.read(line.result, type_), c.binary("fmul", weight(column), c.load(here, column, type_))), line.result)
        total = c.read(line.result, type_)

    def change(column: Scalar) -> None:
        made = c.binary("fmul", weight(column), c.binary("fsub", c.load(here, column, type_), total))
        c.store(c.binary("fmul", made, c.constant(type_, scale)), here, column)

    line.each(count, lambda column, lane: change(column))
    if rest:
        with c.loop(c.integer(source - rest), c.integer(source)) as column:
            change(column)


def first_block(c: Code, number: Scalar, rows: int) -> Scalar:
    """So many rows where a block is the first, else none."""
    return c.select(c.compare("eq", number, c.integer(0)), c.integer(rows), c.integer(0))


ROUTINES.update({"attention": attention, "attention_backward": attention_backward})

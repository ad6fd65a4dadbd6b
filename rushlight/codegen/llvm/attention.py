"""Blocked attention: the scores of a block of queries stay in the cache, and the whole matrix of scores is stored only if it is an output.

The keys and values of a head are packed into panels when its first block begins.  A block multiplies its queries by the keys up to the last one that
its mask allows, takes the softmax of the scores row by row, and multiplies the weights by the values.  The gradient goes through the same blocks, and recomputes weights that
were not kept.
"""

from __future__ import annotations

import math
from typing import Any

from ...core.base import Spec
from ...schedule.lowering import lowering
from ...schedule.routines.attention import Attention, AttentionGradient
from ...schedule.tensor_ir import Reference, Routine, TensorIRBuilder, Value
from . import vector_math
from .gemm.panels import Panels, shared_work, workers_for
from .ir import TYPES, IRBuilder, Module, Scalar, pointers
from .native_call import Lowering, NativeCall
from .vectors import Vectors

llvm = lowering("llvm")
BLOCK = 32  # queries
ROOM = 1 << 18  # bytes of scores that a block should keep to
FLOPS_PER_NANOSECOND = 60


class HeadIndices:
    """The batch indices of an attention: the offsets of each head's matrices."""

    def __init__(self, c: IRBuilder, shape: tuple[int, ...]) -> None:
        self.c = c
        self.shape = shape
        self.count = math.prod(shape)
        self.indices: list[Scalar] = []

    def at(self, head: Scalar) -> None:
        """Go to a head."""
        c, rest = self.c, head
        self.indices = []
        for size in reversed(self.shape):
            self.indices.insert(0, c.rem(rest, size))
            rest = c.div(rest, size)

    def pointer(self, name: str, reference: Reference, row: Scalar | None = None) -> str:
        """The address of the head's matrix, from a row on."""
        c = self.c
        offset = c.integer(reference.offset)
        for index, stride in zip(self.indices, reference.strides):
            offset = c.add(offset, c.scale(index, stride))
        if row is not None:
            offset = c.add(offset, c.scale(row, reference.strides[-2]))
        return c.address(name, offset, TYPES[reference.dtype])


def steps(reference: Reference) -> tuple[int, int]:
    """The strides of a matrix; the column stride is 1 where there is one column."""
    rows, columns = reference.strides[-2:]
    return rows, columns if reference.shape[-1] > 1 else 1


def memory_order(builder: TensorIRBuilder, node: Any, part: int, source: Reference, shape: tuple[int, ...]) -> list[int]:
    """The memory order of a result's dimensions: that of a source, unless it is an output.

    Heads that were sliced from a wider tensor then give results that can be merged without a copy.
    """
    if builder.is_output(node, part):
        return list(range(len(shape)))
    return [*sorted(range(len(shape) - 1), key=lambda at: -source.strides[at]), len(shape) - 1]


def permuted_spec(spec: Spec, order: list[int]) -> Spec:
    """The stored tensor of a result whose dimensions are permuted in memory."""
    return Spec(tuple([spec.shape[at] for at in order]), spec.dtype)


def unpermuted(value: Value, order: list[int]) -> Reference:
    """A stored result with its dimensions in their own order."""
    offsets = [order.index(at) for at in range(len(order))]
    return Reference(value, tuple([value.shape[at] for at in offsets]), tuple([value.strides[at] for at in offsets]))


def rows_of_block(c: IRBuilder, start: Scalar, block: int, count: int) -> Scalar:
    """The number of rows of the block at a row."""
    return c.min(c.sub(count, start), block)


class NamedBuffers:
    """The buffers of a function, by the names of their parameters."""

    def __init__(self) -> None:
        self.values: dict[str, Value] = {}

    def add(self, name: str, value: Value) -> str:
        self.values[name] = value
        return f"%{name}"

    def native_call(self, module: Module, c: IRBuilder, name: str, extent: int, nanoseconds: float) -> NativeCall:
        function = module.add(name, c.function("", pointers([f"%{each}" for each in self.values])))
        return NativeCall(function, list(self.values.values()), extent, nanoseconds)


class ScoreRow:
    """Passes over one row of scores, in vectors; rows are padded to whole panels, so that no pass has a remainder."""

    def __init__(self, c: IRBuilder, panels: Panels) -> None:
        self.c = c
        self.type = panels.type
        self.v = Vectors(c, panels.type, panels.lanes)
        self.vectors = panels.tile.vectors
        self.partial = c.slot(self.v.type)

    def each(self, panels: Scalar, body: Any) -> None:
        """``body(column)`` for the vectors of some panels."""
        c = self.c
        with c.loop(panels) as panel:
            for at in range(self.vectors):
                body(c.add(c.scale(panel, self.vectors * self.v.count), at * self.v.count))

    def reduce(self, panels: Scalar, start: float, combine: Any, body: Any) -> Scalar:
        """The lane-wise reduction of ``body(column)``: a vector."""
        c = self.c
        c.write(self.v.splat(c.constant(self.type, start)), self.partial)
        self.each(panels, lambda column: c.write(combine(c.read(self.partial, self.v.type), body(column)), self.partial))
        return c.read(self.partial, self.v.type)

    def add(self, a: Scalar, b: Scalar) -> Scalar:
        return self.c.binary("fadd", a, b)

    def multiply(self, a: Scalar, b: Scalar) -> Scalar:
        return self.c.binary("fmul", a, b)

    def number(self, value: float) -> Scalar:
        """A vector of one constant."""
        return self.v.splat(self.c.constant(self.type, value))

    def mask(self, column: Scalar, limit: Scalar | int) -> Scalar | None:
        """A mask of the elements of a vector before a limit; None where all of them are."""
        c = self.c
        if isinstance(limit, int):
            return self.v.first(c.sub(limit, column)) if limit % (self.v.count * self.vectors) else None
        return self.v.first(c.sub(limit, column))


@llvm.register("attention")
def attention(builder: TensorIRBuilder, op: Attention, specs: Any, node: Any) -> Any:
    query, key, value, mask, causal, scale = op.query, op.key, op.value, op.mask, op.causal, op.scale
    batch, length, size, source, width = op.batch, op.length, op.size, op.source, op.width
    dtype, type_ = query.dtype, TYPES[query.dtype]
    by_key, by_value = Panels(Module(), type_, size, source), Panels(Module(), type_, source, width)
    wide = by_key.columns
    row = by_key.count * wide  # of scores, padded to whole panels
    block = max(8, min(BLOCK, ROOM // (row * dtype.itemsize) // 8 * 8))
    blocks = -(-length // block)
    units = math.prod(batch) * blocks
    workers = workers_for(units)
    scratch = [Spec((workers, each), dtype) for each in (by_key.size, by_value.size, block * row)]
    order = memory_order(builder, node, 0, query, specs[0].shape)

    def write(program: Lowering, module: Module, routine: Routine) -> list[NativeCall]:
        output, weights, *memories = routine.others
        keys, values = Panels(module, type_, size, source), Panels(module, type_, source, width)
        c, names = IRBuilder(module), NamedBuffers()
        heads, scores, made = HeadIndices(c, batch), ScoreRow(c, keys), unpermuted(output, order)
        q, k, v, o = (names.add(name, each) for name, each in (("q", query.value), ("k", key.value), ("v", value.value), ("o", output)))
        own = [names.add(name, each) for name, each in zip(("kp", "vp", "s"), memories)]
        w = names.add("w", weights) if weights in program.slots else ""
        m = "" if mask is None else names.add("m", mask.value)
        with shared_work(c, workers, units) as (lane, first, last):
            packed_key, packed_value, memory = (c.address(name, c.scale(lane, each.shape[1]), type_) for name, each in zip(own, scratch))
            begin = c.div(first, blocks)
            end = c.ceil_div(last, blocks)
            with c.loop(begin, end) as head:
                heads.at(head)
                keys.pack(c, steps(key)[::-1], packed_key, heads.pointer(k, key))
                values.pack(c, steps(value), packed_value, heads.pointer(v, value))
                before = c.scale(head, blocks)
                from_ = c.max(c.sub(first, before), 0)
                to = c.min(c.sub(last, before), blocks)
                with c.loop(from_, to) as number:
                    start = c.scale(number, block)
                    rows = rows_of_block(c, start, block, length)
                    seen, count = seen_keys(c, heads, m, mask, causal, start, rows, source, wide)
                    down, across = steps(query)
                    keys.multiply(
                        c,
                        (heads.pointer(q, query, start), down),
                        packed_key,
                        (memory, row),
                        rows,
                        columns=across,
                        width=c.scale(count, wide),
                    )
                    with c.loop(rows) as at:
                        here = c.address(memory, c.scale(at, row), type_)
                        mine = c.add(start, at)
                        limit = c.min(c.add(mine, 1), source) if causal else source
                        if mask is not None:
                            apply_mask(c, scores, here, heads.pointer(m, mask, mine), mask, scale, seen)
                        offset = c.address(w, c.scale(c.add(c.scale(head, length), mine), source), type_) if w else ""
                        softmax(scores, here, count, limit, 1.0 if mask is not None else scale, offset, source)
                        if w and (causal or skips(mask)):  # beyond the columns that were computed
                            with c.loop(c.scale(count, wide), source) as column:
                                c.store(c.constant(type_, 0.0), offset, column)
                    values.multiply(c, (memory, row), packed_value, (heads.pointer(o, made, start), made.strides[-2]), rows, depth=seen)
        nanoseconds = units * block * source * (size + width) * 2 / FLOPS_PER_NANOSECOND
        return [names.native_call(module, c, "attention", workers, nanoseconds)]

    sources = [query, key, value] + ([] if mask is None else [mask])
    output, weights = builder.routine(sources, [permuted_spec(specs[0], order), specs[1]], node, write, scratch)
    return unpermuted(output.value, order), weights


def skips(mask: Reference | None) -> bool:
    """Whether a mask may rule out the last keys of a block of queries: one of booleans that tells keys apart."""
    return mask is not None and mask.dtype.kind == "b" and bool(mask.strides[-1])


def seen_keys(
    c: IRBuilder, heads: HeadIndices, name: str, mask: Reference | None, causal: bool, start: Scalar, rows: Scalar, source: Any, wide: int
) -> tuple[Scalar, Scalar]:
    """How many keys a block of queries sees, up to the last one that it may attend to, and the panels that hold them."""
    if causal:
        seen = c.min(c.add(start, rows), source)
        return seen, c.ceil_div(seen, wide)
    if mask is None or not skips(mask):
        return c.integer(source), c.ceil_div(c.integer(source), wide)
    last, found, panels = c.slot("i64"), c.slot("i8"), c.ceil_div(c.integer(source), wide)
    c.write(Scalar("0", "i64"), last)
    with c.loop(panels) as number, c.when(c.compare("eq", c.read(last, "i64"), Scalar("0", "i64"))):  # from the last panel on
        end = c.sub(panels, number)
        c.write(Scalar("0", "i8"), found)
        with c.loop(rows if mask.strides[-2] else 1) as row:
            here = heads.pointer(name, mask, c.add(start, row))
            with c.loop(c.scale(c.sub(end, 1), wide), c.min(c.scale(end, wide), source)) as column:
                allowed = c.load(here, c.scale(column, mask.strides[-1]), "i8")
                c.write(c.binary("or", c.read(found, "i8"), allowed), found)
        c.write(c.select(c.compare("ne", c.read(found, "i8"), Scalar("0", "i8")), end, Scalar("0", "i64")), last)
    count = c.max(c.read(last, "i64"), 1)
    return c.min(c.scale(count, wide), source), count


def apply_mask(c: IRBuilder, scores: ScoreRow, here: str, mask_at: str, mask: Reference, scale: float, seen: Scalar) -> None:
    """Scale a row of the scores that are seen, and apply a mask: excluded scores are -inf."""
    type_ = scores.type
    with c.loop(seen) as column:
        found = c.binary("fmul", c.load(here, column, type_), c.constant(type_, scale))
        given = c.load(mask_at, c.scale(column, mask.strides[-1]), TYPES[mask.dtype])
        lowest = c.constant(type_, -math.inf)
        c.store(c.select(given, found, lowest) if mask.dtype.kind == "b" else c.binary("fadd", found, given), here, column)


def softmax(scores: ScoreRow, here: str, panels: Scalar, limit: Scalar | int, scale: float, offset: str, source: int) -> None:
    """The softmax of a row of scores up to a limit, in place; zeros beyond it, and in a row that may attend to nothing.

    The weights are stored to ``place``, too, where one is given.
    """
    c, v, type_ = scores.c, scores.v, scores.type
    lowest, nothing = c.constant(type_, -math.inf), c.constant(type_, 0.0)

    def score(column: Scalar) -> Scalar:
        found = v.load(here, column)
        if scale != 1:
            found = scores.multiply(found, scores.number(scale))
        inside = scores.mask(column, limit)
        if inside is not None:
            found = c.select(inside, found, scores.number(-math.inf))
        v.store(found, here, column)
        return found

    highest = v.reduce_max(scores.reduce(panels, -math.inf, v.maximum, score))
    highest = c.select(c.compare("oeq", highest, lowest), nothing, highest)

    def power(column: Scalar) -> Scalar:
        with c.loop(v.count) as lane:  # LLVM makes one vector of it
            at = c.add(column, lane)
            c.store(vector_math.exp_nonpositive(c, c.binary("fsub", c.load(here, at, type_), highest)), here, at)
        return v.load(here, column)

    total = v.reduce_add(scores.reduce(panels, 0.0, scores.add, power))
    total = c.select(c.compare("oeq", total, nothing), c.constant(type_, 1.0), total)
    factor = v.splat(c.binary("fdiv", c.constant(type_, 1.0), total))

    def finish(column: Scalar) -> None:
        made = scores.multiply(v.load(here, column), factor)
        v.store(made, here, column)
        if offset:
            v.store(made, offset, column, scores.mask(column, source))

    scores.each(panels, finish)


@llvm.register("attention_backward")
def attention_backward(builder: TensorIRBuilder, op: AttentionGradient, specs: Any, node: Any) -> Any:
    grad, query, key, value, mask, causal, scale = op.grad, op.query, op.key, op.value, op.mask, op.causal, op.scale
    batch, length, size, source, width, weights = op.batch, op.length, op.size, op.source, op.width, op.weights
    dtype, type_ = grad.dtype, TYPES[grad.dtype]
    if weights is not None:
        weights = weights if steps(weights)[1] == 1 else builder.copy(weights, None)
    by_value = Panels(Module(), type_, width, source)
    wide = by_value.columns
    row = by_value.count * wide
    block = max(8, min(BLOCK, ROOM // (row * dtype.itemsize) // 8 * 8))
    heads_in_all = math.prod(batch)
    workers = workers_for(heads_in_all)
    shapes = [
        (width, source),
        (source, size),
        (block, size),
        (block, width),
    ]  # of the right matrices: values transposed, keys, queries, gradients
    if weights is None:
        shapes.append((size, source))  # and keys transposed, for the scores
    scratch = [Spec((workers, each), dtype) for each in (block * row, *(Panels(Module(), type_, *shape).size for shape in shapes))]
    if weights is None:
        scratch.append(Spec((workers, block * row), dtype))
    orders = [memory_order(builder, node, at, each, spec.shape) for at, (each, spec) in enumerate(zip((query, key, value), specs))]

    def write(program: Lowering, module: Module, routine: Routine) -> list[NativeCall]:
        results, memories = routine.others[:3], routine.others[3:]
        wanted = [each in program.slots for each in results]
        c, names = IRBuilder(module), NamedBuffers()
        heads, scores = HeadIndices(c, batch), ScoreRow(c, by_value)
        g, q, k, v = (names.add(name, each.value) for name, each in (("g", grad), ("q", query), ("k", key), ("v", value)))
        w = "" if weights is None else names.add("w", weights.value)
        m = "" if mask is None else names.add("m", mask.value)
        own = [names.add(f"m{at}", each) for at, each in enumerate(memories)]
        targets = [names.add(f"r{at}", each) if want else "" for at, (each, want) in enumerate(zip(results, wanted))]
        made = [unpermuted(each, order) for each, order in zip(results, orders)]
        panels = [Panels(module, type_, *shape) for shape in shapes]
        strides = [steps(value)[::-1], steps(key), steps(query), steps(grad), steps(key)[::-1]]
        with shared_work(c, workers, heads_in_all) as (lane, first, last):
            memory, *offsets = (c.address(name, c.scale(lane, each.shape[1]), type_) for name, each in zip(own, scratch))
            with c.loop(first, last) as head:
                heads.at(head)
                for at, name, reference in ((0, v, value), (1, k, key), *([] if w else [(4, k, key)])):
                    panels[at].pack(c, strides[at], offsets[at], heads.pointer(name, reference))
                for at, across in ((1, size), (2, width)):
                    if wanted[at]:  # sums over all queries, block by block, start at zero
                        to = heads.pointer(targets[at], made[at])
                        with c.loop(source) as line_of, c.loop(across) as column:
                            c.store(c.constant(type_, 0.0), to, c.add(c.scale(line_of, made[at].strides[-2]), column))
                with c.loop(-(-length // block)) as number:
                    begin = c.scale(number, block)
                    rows = rows_of_block(c, begin, block, length)
                    seen, count = seen_keys(c, heads, m, mask, causal, begin, rows, source, wide)
                    for at, (name, reference) in enumerate(((q, query), (g, grad)), 2):
                        origin = heads.pointer(name, reference, begin)
                        panels[at].pack(c, strides[at], offsets[at], origin, rows=rows)
                    gradient, given, apart = heads.pointer(g, grad, begin), offsets[-1], row
                    down, across = steps(grad)
                    panels[0].multiply(c, (gradient, down), offsets[0], (memory, row), rows, columns=across, width=c.scale(count, wide))
                    if weights is not None:
                        given, apart = heads.pointer(w, weights, begin), weights.strides[-2]
                    else:
                        down, across = steps(query)
                        panels[4].multiply(
                            c,
                            (heads.pointer(q, query, begin), down),
                            offsets[4],
                            (given, row),
                            rows,
                            columns=across,
                            width=c.scale(count, wide),
                        )
                    with c.loop(rows) as at_row:
                        own_weights = c.address(given, c.scale(at_row, apart), type_)
                        if not w:
                            mine = c.add(begin, at_row)
                            limit = c.min(c.add(mine, 1), source) if causal else source
                            if mask is not None:
                                apply_mask(c, scores, own_weights, heads.pointer(m, mask, mine), mask, scale, seen)
                            softmax(scores, own_weights, count, limit, 1.0 if mask is not None else scale, "", source)
                        softmax_gradient(scores, c.address(memory, c.scale(at_row, row), type_), own_weights, count, source, scale)
                    if wanted[0]:
                        to = heads.pointer(targets[0], made[0], begin)
                        panels[1].multiply(c, (memory, row), offsets[1], (to, made[0].strides[-2]), rows, depth=seen)
                    for at, left, step in ((1, memory, row), (2, given, apart)):
                        if wanted[at]:
                            result = (heads.pointer(targets[at], made[at]), made[at].strides[-2])
                            panels[at + 1].multiply(c, (left, 1), offsets[at + 1], result, seen, None, "matrix", columns=step, depth=rows)
        nanoseconds = heads_in_all * length * source * (2 * width + (2 if w else 3) * size) * 2 / FLOPS_PER_NANOSECOND
        return [names.native_call(module, c, "attention_backward", workers, nanoseconds)]

    stored = [permuted_spec(spec, order) for spec, order in zip(specs, orders)]
    sources = [grad, query, key, value, *(each for each in (weights, mask) if each is not None)]
    found = builder.routine(sources, stored, node, write, scratch)
    return tuple([unpermuted(each.value, order) for each, order in zip(found, orders)])


def softmax_gradient(scores: ScoreRow, here: str, weights: str, panels: Scalar, source: int, scale: float) -> None:
    """The gradient of softmax, from gradients of weights to those of scores, in place: ``w * (g - sum(w * g)) * scale``."""
    c, v = scores.c, scores.v

    def weight(column: Scalar) -> Scalar:
        return v.load(weights, column, scores.mask(column, source))  # panels end in zeros, which the weights do not have

    total = v.splat(
        v.reduce_add(scores.reduce(panels, 0.0, scores.add, lambda column: scores.multiply(weight(column), v.load(here, column))))
    )

    def change(column: Scalar) -> None:
        made = scores.multiply(weight(column), c.binary("fsub", v.load(here, column), total))
        v.store(scores.multiply(made, scores.number(scale)), here, column)

    scores.each(panels, change)

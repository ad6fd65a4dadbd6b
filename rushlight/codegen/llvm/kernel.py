"""A group as a kernel: loops over its rows, and inside them passes over the elements of a row.

A fold needs all elements of a row before what follows from it can begin, so a row takes as many passes as folds depend on
each other.  What a later pass needs again is computed anew where that is cheap, else kept beside the stack, in the cache.

Where the last dimension is not folded, neighbouring rows lie side by side in memory.  A pass then works on a tile of
rows at once, with a place for each of them, so that memory is still read in its order.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from typing import Any

import numpy as np

from ...schedule.fusion import Group, substituted
from ...schedule.scalar_ir import Expression
from ...schedule.symbolic_shape import differs, may_reach, same
from ...schedule.tensor_ir import Fold, Partial, Pointwise, Reference, Value, operands, strides_of
from .ir import STORED, TYPES, Code, Module, Scalar
from .scalar_code import Emission, frequent
from .target import processor
from .vector_code import Wide
from .vector_math import SINGLE_ONLY

ROWS = 128  # elements that are added up in single precision, where rows are worked on side by side; otherwise the processor says how many
TILE = 256  # rows that are worked on side by side
FLOAT = np.dtype(np.float32)
FLAT = frozenset((FLOAT, np.dtype(np.int32), np.dtype(np.bool_)))  # types that code of vectors is written for
UNIT = 64  # elements: a multiple of what LLVM computes at a time in a loop
FEW = 8  # steps of a loop that is written for their number
AGAIN = 2  # an expression of at most this cost, of at most so many operands, is computed anew in a later pass
SCRATCH = 1 << 18  # bytes that a kernel may keep on its stack
ROOM = 1 << 12  # elements that it keeps room for where their number may differ


class Dimension:
    """A loop of a kernel: how far it runs, and whether it folds."""

    __slots__ = ("folds", "places", "size")

    def __init__(self, size: int, folds: bool, places: tuple[int, ...]) -> None:
        self.size = size
        self.folds = folds
        self.places = places  # the dimensions of the space that it stands for, which merge into one


class Kernel:
    """Writes the code of one group."""

    def __init__(self, module: Module, group: Group, name: str, whole: bool = True) -> None:
        self.module = module
        self.group = group
        self.name = name
        self.whole = whole  # whether who calls it gives ranges of units, not of elements
        self.code = Code(module)
        self.members = set(group.members)
        self.partials = [each for each in group.members if isinstance(each, Partial)]
        self.buffers: dict[Value, str] = {}  # the parameters of the kernel
        self.expressions = {each: self.own_expression(each) for each in group.members}  # type: ignore[arg-type]
        self.code.called = frequent(self.expressions.values())
        self.levels = self.find_levels()
        self.kept = self.find_kept()
        self.dimensions = self.find_dimensions()
        folded = [each for each in self.dimensions if each.folds]
        outer = [each for each in self.dimensions if not each.folds]
        self.tiled = bool(group.rows) and bool(outer) and not self.dimensions[-1].folds
        self.tile = outer.pop() if self.tiled else None
        if group.axes is None:
            folded = [outer.pop()]
        self.outer, self.inner = outer, folded
        self.indices: dict[Dimension, Scalar] = {}
        self.lane: Scalar | None = None  # the row of the tile
        self.row_slots: dict[Value, str] = {}
        self.scratch: dict[Value, str] = {}
        self.borrowed = self.find_borrowed()
        self.read: dict[Any, Scalar] = {}  # what was read in code of vectors, by where it lies
        lanes = self.find_lanes()
        if lanes > 1:  # vectors are written out, which saves LLVM most of its work
            called, self.code = self.code.called, Wide(module, lanes)
            self.code.called = called
        with self.scalars():
            self.emit()

    def find_lanes(self) -> int:
        """How many elements are computed at once, where the innermost loop goes through memory from end to end, in single precision; else 1."""
        if len(self.inner) != 1 or self.tiled or not self.inner[0].places:
            return 1
        last, place = self.inner[0], self.inner[0].places[-1]
        if type(last.size) is not int or last.size > 2 * processor().chunk and last.folds or (last is self.parallel and self.unit == 1):
            return 1
        if any(each.how not in ("add", "max", "min") or each.dtype != FLOAT for each in self.group.members if isinstance(each, Fold)):
            return 1
        if any(each.strides[place] != 1 for each in self.group.members if each not in self.group.rows):
            return 1
        waiting, seen, angles = list(self.expressions.values()), set(), False
        while waiting:
            each = waiting.pop()
            if id(each) not in seen:
                seen.add(id(each))
                waiting.extend(each.args)
                angles = angles or each.op in SINGLE_ONLY
                if each.dtype not in FLAT or (
                    each.op == "operand" and not self.inside(each.data) and each.data.strides[place] not in (0, 1)
                ):
                    return 1
        lanes = processor().vector_bits // 32
        if last.folds and not angles and not self.code.called:
            lanes *= 2  # a sum that waits for the one before takes twice as long
        return lanes if last.size % lanes == 0 else 1

    def scalars(self) -> Any:
        """Where what is written is of scalars."""
        return self.code.one() if isinstance(self.code, Wide) else nullcontext()

    # -- what is computed ----------------------------------------------------------------------------------------

    def own_expression(self, value: Pointwise | Fold) -> Expression:
        """A member's expression, with what other groups do not store computed here."""

        def inner(operand: Expression) -> Expression:
            reference: Reference = operand.data
            source = reference.value
            if source.stored or source in self.members:
                return operand
            assert isinstance(source, Pointwise)
            return substituted(source.expression, lambda each: Expression("operand", (), each.dtype, each.data.broadcast(reference.shape)))

        return substituted(value.expression, inner)

    def inside(self, reference: Reference) -> bool:
        """Whether an operand is a member's element in the same place."""
        return reference.value in self.members and reference.aligned()

    def find_levels(self) -> dict[Value, int]:
        """The pass in which a member can be computed; of a row's value, the pass before which it is known."""
        levels: dict[Value, int] = {}
        for value in self.group.members:
            known = [levels[each.value] for each in operands(self.expressions[value]) if self.inside(each)]
            levels[value] = max(known, default=0) + (1 if isinstance(value, Fold) else 0)
        return levels

    def find_kept(self) -> set[Value]:
        """The members of the whole space that a later pass reads again instead of computing them anew."""
        kept: set[Value] = set()
        wanted = self.find_wanted(kept)
        costs: dict[Value, int] = {}  # of computing a member anew, from what is kept
        reads: dict[Value, set[Any]] = {}  # and what has to be read for it
        for value in self.group.members:
            costs[value], reads[value] = self.expressions[value].cost, set()
            for each in operands(self.expressions[value]):
                if not self.inside(each) or each.value in kept:
                    if any(
                        differs(each.strides[at]) or each.strides[at] for at in self.group.axes or ()
                    ):  # not one number for all of a row
                        reads[value].add((each.value, each.offset, each.strides))
                elif each.value not in self.group.rows:
                    costs[value] += costs[each.value]
                    reads[value] |= reads[each.value]
            dear = costs[value] > AGAIN or len(reads[value]) > AGAIN or value.stored
            if value not in self.group.rows and wanted.get(value, 0) > self.levels[value] and dear:
                kept.add(value)
        wanted = self.find_wanted(kept)
        return {each for each in kept if wanted[each] > self.levels[each]}

    def find_wanted(self, kept: set[Value]) -> dict[Value, int]:
        """For each member of the whole space (and fold), the latest pass that uses it."""
        wanted: dict[Value, int] = {}
        for value in reversed(self.group.members):
            if value in self.group.rows and not isinstance(value, Fold):
                continue
            own = self.levels[value] - isinstance(value, Fold)
            wanted[value] = max(wanted.get(value, 0), own)
            at = own if value in kept or value.stored else wanted[value]
            for each in operands(self.expressions[value]):
                if self.inside(each) and each.value not in self.group.rows:
                    wanted[each.value] = max(wanted.get(each.value, 0), at)
        return wanted

    def find_borrowed(self) -> dict[Value, Value]:
        """For members that are kept, results of later passes in whose memory they lie until then: that is fetched early so, and less is in the cache."""
        wanted = self.find_wanted(self.kept)
        free = [
            each
            for each in self.group.members
            if isinstance(each, Pointwise) and each.stored and each.place is None and each not in self.group.rows
        ]
        found: dict[Value, Value] = {}
        for value in self.group.members:
            if value in self.kept and not value.stored:
                for other in free:
                    if other.dtype == value.dtype and other not in self.kept and self.levels[value] < wanted[value] <= self.levels[other]:
                        found[value] = other
                        free.remove(other)
                        break
        return found

    # -- loops ---------------------------------------------------------------------------------------------------

    def find_dimensions(self) -> list[Dimension]:
        """The loops: neighbouring dimensions that all operands run through as through one become one."""
        group, space = self.group, self.group.space
        references = [each for value in group.members for each in operands(self.expressions[value]) if not self.inside(each)]
        strides = [each.strides for each in references] + [strides_of(space)]
        if group.row_shape is not None:
            strides.append(strides_of(group.row_shape))
        axes = group.axes or ()
        found: list[Dimension] = []
        for at, size in enumerate(space):
            if same(size, 1):
                continue
            folds = at in axes
            if found and found[-1].folds is folds:
                last = found[-1].places[-1]
                if all(same(each[last], each[at] * size) for each in strides):
                    found[-1] = Dimension(found[-1].size * size, folds, (*found[-1].places, at))
                    continue
            found.append(Dimension(size, folds, (at,)))
        if not any(not each.folds for each in found) and not (group.axes is not None and found):
            found.append(Dimension(1, False, ()))
        return found

    @property
    def extent(self) -> int:
        """How many pieces of work there are that can be done side by side."""
        if self.partials:
            return self.partials[0].shape[0]
        return self.parallel.size // self.unit if self.parallel is not None else 1

    @property
    def unit(self) -> int:
        """How many elements such a piece has.  LLVM writes no code for what is left over by vectors where nothing can be."""
        loop = self.parallel
        fits = loop is not None and loop in self.inner[-1:] and type(loop.size) is int and loop.size % UNIT == 0
        return UNIT if self.whole and fits else 1

    @property
    def nanoseconds(self) -> float:
        """About how long the kernel takes on one thread."""
        work = sum(
            0.03 * self.expressions[each].cost + 0.1 for each in self.group.members if each not in self.group.rows or isinstance(each, Fold)
        )
        return math.prod(self.group.space) * work

    @property
    def parallel(self) -> Dimension | None:
        """The loop that is cut into pieces."""
        if self.partials:
            return None
        if self.outer:
            return self.outer[0]
        return self.tile if self.tiled else self.inner[0] if self.group.axes is None else None

    def bounds(self, dimension: Dimension) -> tuple[Scalar, Scalar]:
        if dimension is self.parallel:
            first, last = Scalar("%first", "i64"), Scalar("%last", "i64")
            return self.code.scale(first, self.unit), self.code.scale(last, self.unit)
        return self.code.integer(0), self.limit(dimension)

    def limit(self, dimension: Dimension) -> Scalar:
        """Where a loop ends; how long it is along the first dimension, which may be a batch, the text does not say."""
        outermost = 0 in dimension.places and may_reach(dimension.size, FEW + 1)
        return self.code.number(dimension.size) if outermost else self.code.integer(dimension.size)

    def emit(self) -> None:
        c = self.code
        with ExitStack() as nest:
            if self.partials:
                self.blocks(nest)
            for dimension in () if self.partials else self.outer:
                self.indices[dimension] = nest.enter_context(c.loop(*self.bounds(dimension)))
            if self.tile is not None:
                first, last = self.bounds(self.tile)
                length = c.let("i64", f"sub nsw i64 {last.name}, {first.name}")
                count = c.let("i64", f"sdiv i64 {c.add(length, c.integer(TILE - 1)).name}, {TILE}")
                at = nest.enter_context(c.loop(c.integer(0), count))
                self.start = c.add(first, c.scale(at, TILE))
                self.stop = c.intrinsic("smin", c.add(self.start, c.integer(TILE)), last)
            self.row()
        parameters = [f"ptr noalias {name}" for name in self.buffers.values()]
        text = c.function("NAME", ", ".join([*parameters, "i64 %first", "i64 %last"]))
        self.name = self.module.add(self.name, text)

    def blocks(self, nest: ExitStack) -> None:
        """Loops over blocks of rows, and over the rows of a block, all of whose sums go to one place in memory."""
        c = self.code
        block = nest.enter_context(c.loop(Scalar("%first", "i64"), Scalar("%last", "i64")))
        length = math.prod([each.size for each in self.inner])
        self.block = c.scale(block, length)
        step = c.all if isinstance(c, Wide) else 1
        with c.loop(c.integer(0), c.integer(length // step)) as number, c.vectors() if isinstance(c, Wide) else nullcontext():
            index = c.scale(number, step)
            for each in self.partials:
                c.store(c.constant(TYPES[each.dtype], 0), self.buffer(each), c.add(self.block, index))
        rows, count = c.number(self.partials[0].rows), c.number(math.prod([each.size for each in self.outer]))
        first = c.let("i64", f"mul nsw i64 {block.name}, {rows.name}")
        row = nest.enter_context(c.loop(first, c.intrinsic("smin", c.add(first, rows), count)))
        for dimension in reversed(self.outer[1:]):
            self.indices[dimension] = c.let("i64", f"srem i64 {row.name}, {dimension.size}")
            row = c.let("i64", f"sdiv i64 {row.name}, {dimension.size}")
        self.indices[self.outer[0]] = row

    def row(self) -> None:
        """The passes over a row, or over a tile of rows."""
        group = self.group
        passes = max(
            [self.levels[each] - (each in group.rows) for each in group.members if each not in group.rows or isinstance(each, Fold)],
            default=0,
        )
        self.row_values(0)
        for number in range(passes + 1):
            folds = [each for each in group.members if isinstance(each, Fold) and self.levels[each] == number + 1]
            stores = [
                each
                for each in group.members
                if each not in group.rows and self.levels[each] == number and (each.stored or each in self.kept)
            ]
            if folds or stores:
                self.one_pass(number, folds, stores)
            self.row_values(number + 1)

    def lanes(self, stack: ExitStack) -> None:
        """A loop over the rows of a tile, where there is one."""
        if self.tile is not None:
            index = stack.enter_context(self.code.loop(self.start, self.stop))
            self.indices[self.tile] = index
            self.lane = self.code.let("i64", f"sub nsw i64 {index.name}, {self.start.name}")

    def row_values(self, level: int) -> None:
        """The values of rows that are known at a level: computed from folds, stored where they are needed."""
        c = self.code
        values = [each for each in self.group.members if each in self.group.rows and self.levels[each] == level]
        if not values:
            return
        with ExitStack() as stack:
            self.lanes(stack)
            emission = Emission(c, lambda reference: self.operand(reference, emission, level))
            for value in values:
                if isinstance(value, Pointwise):
                    self.store_row(value, emission.value(self.expressions[value]))
                if value.stored:
                    c.store(self.load_row(value), self.buffer(value), self.position(value.strides, 0))

    def store_row(self, value: Value, scalar: Scalar) -> None:
        type = "i8" if scalar.type == "i1" else scalar.type
        if value not in self.row_slots:
            self.row_slots[value] = self.code.slot(type, TILE if self.tiled else 1)
        self.code.store(scalar, self.row_slots[value], self.lane or self.code.integer(0))

    def load_row(self, value: Value) -> Scalar:
        return self.code.load(self.row_slots[value], self.lane or self.code.integer(0), STORED[value.dtype])

    # -- one pass ------------------------------------------------------------------------------------------------

    def one_pass(self, number: int, folds: list[Any], stores: list[Value]) -> None:
        c = self.code
        sums = {each: Accumulator(self, each) for each in folds}
        self.for_each_row([each.begin for each in sums.values()])
        with ExitStack() as nest:
            for dimension in self.inner[:-1]:
                self.indices[dimension] = nest.enter_context(c.loop(*self.bounds(dimension)))
            if self.inner:
                self.innermost(nest, [each for each in sums.values() if each.in_chunks])
            self.lanes(nest)
            emission = Emission(c, lambda reference: self.operand(reference, emission, number))
            # All is computed before anything is stored: what is kept may lie where a result goes.  Where functions are called, values that wait cost much.
            at_once = bool(c.called) and not self.borrowed and all(each.place is None for each in stores)
            results = []
            for value in stores:
                results.append((value, emission.value(self.expressions[value])))
                if at_once:
                    self.put(*results.pop())
            elements = [(each, emission.value(self.expressions[each.value])) for each in sums.values()]
            for value, made in results:
                self.put(value, made)
            for each, element in elements:
                each.take(element)
        with ExitStack() as stack:
            self.lanes(stack)
            for each in sums.values():
                self.store_row(each.value, each.finish())

    def innermost(self, nest: ExitStack, sums: list[Accumulator]) -> None:
        """The last loop of a pass (but for the rows of a tile); long sums are cut into chunks."""
        c, dimension = self.code, self.inner[-1]
        if isinstance(c, Wide):
            self.read.clear()
            count = self.unit // c.all if dimension is self.parallel else 0
            ends = (
                [c.scale(Scalar(each, "i64"), count) for each in ("%first", "%last")]
                if count
                else [c.integer(0), c.integer(dimension.size // c.all)]
            )
            self.indices[dimension] = c.scale(nest.enter_context(c.loop(*ends)), c.all)
            nest.enter_context(c.vectors())
            return
        first, last = self.bounds(dimension)
        if sums:
            length = ROWS if self.tiled else processor().chunk
            if may_reach(dimension.size, 2 * length + 1):
                limit = self.limit(dimension)
                chunks = c.let("i64", f"sdiv i64 {c.add(limit, c.integer(length - 1)).name}, {length}")
                chunk = nest.enter_context(c.loop(c.integer(0), chunks))
                first = c.scale(chunk, length)
                last = c.intrinsic("smin", c.add(first, c.integer(length)), limit)
            self.for_each_row([each.begin_chunk for each in sums])
            nest.callback(self.for_each_row, [each.end_chunk for each in sums])
        self.indices[dimension] = nest.enter_context(c.loop(first, last))

    def for_each_row(self, actions: list[Callable[[], None]]) -> None:
        """Do something once, or for each row of a tile."""
        with ExitStack() as stack:
            self.lanes(stack)
            for each in actions:
                each()

    def position(self, strides: tuple[int, ...], offset: int) -> Scalar:
        """Where the element of the loops' indices is, for strides over the space."""
        c = self.code
        result = c.integer(offset)
        for dimension in self.dimensions:
            if dimension.places and dimension in self.indices:
                result = c.add(result, c.scale(self.indices[dimension], strides[dimension.places[-1]]))
        return result

    def operand(self, reference: Reference, emission: Emission, number: int) -> Scalar:
        """The value of an operand in a pass (or of a row, before it)."""
        value = reference.value
        if not self.inside(reference):
            if isinstance(self.code, Wide) and self.code.lanes > 1:
                return self.vector(self.code, reference)
            return self.code.load(self.buffer(value), self.position(reference.strides, reference.offset), STORED[value.dtype])
        if value in self.group.rows:
            if isinstance(self.code, Wide) and self.code.lanes > 1:
                return self.code.load_one(self.row_slots[value], self.code.integer(0), STORED[value.dtype])
            return self.load_row(value)
        if value in self.kept and self.levels[value] < number:
            if value.stored:
                return self.code.load(self.buffer(value), self.position(value.strides, 0), STORED[value.dtype])
            if value in self.borrowed:
                return self.code.load(self.buffer(self.borrowed[value]), self.position(value.strides, 0), STORED[value.dtype])
            if value in self.scratch:
                return self.code.load(self.scratch[value], self.place_in_row(), STORED[value.dtype])
        return emission.value(self.expressions[value])

    def vector(self, c: Wide, reference: Reference) -> Scalar:
        """The elements of an operand, in code of vectors; each is read once."""
        buffer, stride = self.buffer(reference.value), reference.strides[self.inner[0].places[-1]]
        key = (buffer, stride, reference.offset)
        if key not in self.read:
            at = self.position(reference.strides, reference.offset)
            self.read[key] = (c.load if stride else c.load_one)(buffer, at, STORED[reference.value.dtype])
        return self.read[key]

    def put(self, value: Value, made: Scalar) -> None:
        """Store what a pass has computed, where it belongs."""
        c = self.code
        if isinstance(value, Partial):
            at = c.add(self.block, self.place_in_row())
            c.store(c.binary("fadd", c.load(self.buffer(value), at, made.type), made), self.buffer(value), at)
        elif value.stored:
            c.store(made, self.buffer(value), self.position(value.strides, 0))
        elif value in self.kept:
            self.keep(value, made)

    def keep(self, value: Value, made: Scalar) -> None:
        """Keep an element for later passes, where a row is short enough."""
        if value in self.borrowed:
            self.code.store(made, self.buffer(self.borrowed[value]), self.position(value.strides, 0))
            return
        length = math.prod([each.size for each in self.inner]) * (TILE if self.tiled else 1)
        if differs(length):
            length = ROOM if length <= ROOM else SCRATCH
        if (len(self.scratch) + 1) * length * 8 > SCRATCH:
            return
        if value not in self.scratch:
            self.scratch[value] = self.code.slot("i8" if made.type == "i1" else made.type, length)
        self.code.store(made, self.scratch[value], self.place_in_row())

    def place_in_row(self) -> Scalar:
        """The number of an element in its row (or in its tile)."""
        c = self.code
        step = TILE if self.tiled else 1
        result = self.lane or c.integer(0)
        for dimension in reversed(self.inner):
            result = c.add(result, c.scale(self.indices[dimension], step))
            step *= dimension.size
        return result

    def buffer(self, value: Value) -> str:
        """The parameter for the memory of a value."""
        value = value.place or value
        if value not in self.buffers:
            self.buffers[value] = f"%b{len(self.buffers)}"
        return self.buffers[value]


class Accumulator:
    """The running result of a fold; sums of single precision go on in double precision from chunk to chunk."""

    def __init__(self, kernel: Kernel, value: Any) -> None:
        self.kernel = kernel
        self.value = value
        self.type = TYPES[value.dtype]
        inner = kernel.inner
        long = len(inner) > 1 or (bool(inner) and may_reach(inner[-1].size, 2 * (ROWS if kernel.tiled else processor().chunk) + 1))
        self.in_chunks = value.how == "add" and self.type == "float" and long
        self.wide = "double" if self.in_chunks else self.type
        length = TILE if kernel.tiled else 1
        code = kernel.code
        if isinstance(code, Wide):
            self.slot, self.chunk = code.slot(self.type, code.all), ""
            return
        self.slot = kernel.code.slot("i8" if self.type == "i1" else self.wide, length)
        self.chunk = kernel.code.slot(self.type, length) if self.in_chunks else ""

    @property
    def place(self) -> Scalar:
        return self.kernel.lane or self.kernel.code.integer(0)

    def identity(self, type: str) -> Scalar:
        """What changes nothing."""
        c, how, dtype = self.kernel.code, self.value.how, self.value.dtype
        if how in ("add", "or"):
            return c.constant(type, 0)
        if how in ("mul", "and"):
            return c.constant(type, 1)
        if dtype.kind == "f":
            return c.constant(type, -math.inf if how == "max" else math.inf)
        limits = np.iinfo(dtype)
        value = int(limits.min if how == "max" else limits.max)
        return c.constant(type, value - 256 if dtype.kind == "u" and value > 127 else value)

    def combine(self, a: Scalar, b: Scalar) -> Scalar:
        c, how = self.kernel.code, self.value.how
        if self.value.dtype.kind == "f":
            if how in ("max", "min"):  # NaN where there is one; of two zeros either may be taken, as in NumPy
                return c.intrinsic("maximum" if how == "max" else "minimum", a, b, flags="nsz ")
            type = c.vector(a.type) if isinstance(c, Wide) else a.type
            return c.let(a.type, f"f{how} reassoc {type} {a.name}, {b.name}")  # the order of a sum is free
        if how in ("max", "min"):
            return c.intrinsic(("u" if self.value.dtype.kind == "u" else "s") + how, a, b)
        return c.binary(how, a, b)

    def begin(self) -> None:
        code = self.kernel.code
        if isinstance(code, Wide):
            with code.vectors():
                code.store(self.identity(self.type), self.slot, self.place)
            return
        self.kernel.code.store(self.identity("i1" if self.type == "i1" else self.wide), self.slot, self.place)

    def begin_chunk(self) -> None:
        self.kernel.code.store(self.identity(self.type), self.chunk, self.place)

    def take(self, element: Scalar) -> None:
        """Fold one element in."""
        c, slot = self.kernel.code, self.chunk or self.slot
        c.store(self.combine(c.load(slot, self.place, self.type), element), slot, self.place)

    def end_chunk(self) -> None:
        c = self.kernel.code
        part = c.convert("fpext", c.load(self.chunk, self.place, self.type), self.wide)
        c.store(c.binary("fadd", c.load(self.slot, self.place, self.wide), part), self.slot, self.place)

    def finish(self) -> Scalar:
        """The result."""
        c = self.kernel.code
        if isinstance(c, Wide):
            with c.vectors():
                return c.folded(self.value.how, c.load(self.slot, self.place, self.type))
        result = c.load(self.slot, self.place, self.wide)
        return result if self.wide == self.type else c.convert("fptrunc", result, self.type)

"""The LLVM emitter of kernel plans (``schedule/kernel_plan.py``): every decision is in the plan, this writes it as code."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from typing import Any

from ...schedule.kernel_plan import (
    Accumulate,
    Axis,
    BlockElement,
    Element,
    KernelPlan,
    Location,
    Pass,
    RowElement,
    RowStage,
    ScratchElement,
    identity,
)
from ...schedule.tensor_ir import Value
from .ir import FIRST, LAST, STORED, TYPES, ZERO, IRBuilder, Module, Scalar
from .scalar_code import Emission
from .vectors import Wide


class KernelEmitter:
    """The code of one kernel: a function of its buffers and of a range of units of work."""

    def __init__(self, module: Module, plan: KernelPlan, name: str) -> None:
        self.plan = plan
        self.buffers = {value: f"%b{at}" for at, value in enumerate(plan.buffers)}
        self.indices: dict[Axis, Scalar] = {}  # of the enclosing loops
        self.lane: Scalar | None = None  # the row of the tile
        self.row_slots: dict[Value, str] = {}
        self.scratch: dict[Value, str] = {}
        self.loaded: dict[Any, Scalar] = {}  # vectors loaded in this pass, by location
        self.code = Wide(module, plan.lanes) if plan.lanes > 1 else IRBuilder(module)
        self.code.called = plan.calls
        with self.code.one() if isinstance(self.code, Wide) else nullcontext():
            self.emit()
        parameters = [f"ptr noalias {each}" for each in self.buffers.values()]
        self.name = module.add(name, self.code.function("NAME", ", ".join([*parameters, "i64 %first", "i64 %last"])))

    # -- loops over rows -----------------------------------------------------------------------------------------

    def emit(self) -> None:
        c, plan = self.code, self.plan
        with ExitStack() as nest:
            if plan.partials:
                self.open_blocks(nest)
            for axis in () if plan.partials else plan.outer:
                self.indices[axis] = nest.enter_context(c.loop(*self.bounds(axis)))
            if plan.tile is not None:
                first, last = self.bounds(plan.tile)
                tile = plan.target.tile
                length = c.sub(last, first)
                count = c.ceil_div(length, tile)
                at = nest.enter_context(c.loop(ZERO, count))
                self.start = c.add(first, c.scale(at, tile))
                self.stop = c.intrinsic("smin", c.add(self.start, tile), last)
            for part in plan.body:
                if isinstance(part, Pass):
                    self.emit_pass(part)
                else:
                    self.emit_rows(part)

    def bounds(self, axis: Axis) -> tuple[Scalar, Scalar]:
        if axis is self.plan.parallel:
            return self.code.scale(FIRST, self.plan.unit), self.code.scale(LAST, self.plan.unit)
        return ZERO, self.limit(axis)

    def limit(self, axis: Axis) -> Scalar:
        return self.code.number(axis.size) if axis.runtime_size else self.code.integer(axis.size)

    def open_blocks(self, nest: ExitStack) -> None:
        """Loops over blocks of rows, whose partial sums start at zero, and over the rows of a block."""
        c, plan = self.code, self.plan
        block = nest.enter_context(c.loop(FIRST, LAST))
        length = math.prod([each.size for each in plan.inner])
        self.block = c.scale(block, length)
        step = c.all if isinstance(c, Wide) else 1
        with c.loop(length // step) as number, c.vectors() if isinstance(c, Wide) else nullcontext():
            index = c.scale(number, step)
            for each in plan.partials:
                c.store(c.constant(TYPES[each.dtype], 0), self.buffers[each], c.add(self.block, index))
        rows, count = c.number(plan.partials[0].rows), c.number(math.prod([each.size for each in plan.outer]))
        first = c.mul(block, rows)
        row = nest.enter_context(c.loop(first, c.intrinsic("smin", c.add(first, rows), count)))
        for axis in reversed(plan.outer[1:]):
            self.indices[axis] = c.rem(row, axis.size)
            row = c.div(row, axis.size)
        self.indices[plan.outer[0]] = row

    def open_tile(self, stack: ExitStack) -> None:
        """A loop over the rows of a tile, where there is one."""
        if self.plan.tile is not None:
            index = stack.enter_context(self.code.loop(self.start, self.stop))
            self.indices[self.plan.tile] = index
            self.lane = self.code.sub(index, self.start)

    def for_each_row(self, actions: list[Callable[[], None]]) -> None:
        """Run a function once, or for each row of a tile."""
        with ExitStack() as stack:
            self.open_tile(stack)
            for each in actions:
                each()

    # -- row values ----------------------------------------------------------------------------------------------

    def emit_rows(self, stage: RowStage) -> None:
        c = self.code
        with ExitStack() as stack:
            self.open_tile(stack)
            emission = Emission(c, self.load)
            for each in stage.values:
                if each.expression is not None:
                    self.store_row(each.value, emission.value(each.expression))
                if each.to is not None:
                    self.store(each.to, self.load_row(each.value))

    def store_row(self, value: Value, scalar: Scalar) -> None:
        type = "i8" if scalar.type == "i1" else scalar.type
        if value not in self.row_slots:
            self.row_slots[value] = self.code.slot(type, self.rows_at_once)
        self.code.store(scalar, self.row_slots[value], self.lane or ZERO)

    def load_row(self, value: Value) -> Scalar:
        return self.code.load(self.row_slots[value], self.lane or ZERO, STORED[value.dtype])

    @property
    def rows_at_once(self) -> int:
        return 1 if self.plan.tile is None else self.plan.target.tile

    # -- one pass ------------------------------------------------------------------------------------------------

    def emit_pass(self, part: Pass) -> None:
        c, plan = self.code, self.plan
        sums = [Accumulator(self, each) for each in part.reductions]
        self.for_each_row([each.begin for each in sums])
        with ExitStack() as nest:
            for axis in plan.inner[:-1]:
                self.indices[axis] = nest.enter_context(c.loop(*self.bounds(axis)))
            if plan.inner:
                self.open_innermost(nest, part, [each for each in sums if each.plan.chunked])
            self.open_tile(nest)
            emission = Emission(c, self.load)
            results = []
            for store in part.stores:
                results.append((store.to, emission.value(store.expression)))
                if part.eager_stores:
                    self.store(*results.pop())
            elements = [(each, emission.value(each.plan.expression)) for each in sums]
            for to, made in results:
                self.store(to, made)
            for each, element in elements:
                each.take(element)
        with ExitStack() as stack:
            self.open_tile(stack)
            for each in sums:
                self.store_row(each.plan.value, each.finish())

    def open_innermost(self, nest: ExitStack, part: Pass, chunked: list[Accumulator]) -> None:
        """The last loop of a pass (but for the rows of a tile); long sums are cut into chunks."""
        c, axis = self.code, self.plan.inner[-1]
        if isinstance(c, Wide):
            self.loaded.clear()
            count = self.plan.unit // c.all if axis is self.plan.parallel else 0
            ends = [c.scale(each, count) for each in (FIRST, LAST)] if count else [ZERO, c.integer(axis.size // c.all)]
            self.indices[axis] = c.scale(nest.enter_context(c.loop(*ends)), c.all)
            nest.enter_context(c.vectors())
            return
        first, last = self.bounds(axis)
        if part.chunk:
            limit, length = self.limit(axis), part.chunk
            chunks = c.ceil_div(limit, length)
            first = c.scale(nest.enter_context(c.loop(ZERO, chunks)), length)
            last = c.intrinsic("smin", c.add(first, length), limit)
        if chunked:
            self.for_each_row([each.begin_chunk for each in chunked])
            nest.callback(self.for_each_row, [each.end_chunk for each in chunked])
        self.indices[axis] = nest.enter_context(c.loop(first, last))

    # -- memory --------------------------------------------------------------------------------------------------

    def load(self, at: Location) -> Scalar:
        """The element at a location, or a vector of elements."""
        c, type = self.code, STORED[at.value.dtype]
        vectors = isinstance(c, Wide) and c.lanes > 1
        if isinstance(at, Element):
            return self.load_vector(c, at) if vectors else c.load(self.buffers[at.buffer], self.position(at), type)  # type: ignore[arg-type]
        if isinstance(at, RowElement):
            return c.load_one(self.row_slots[at.value], ZERO, type) if vectors else self.load_row(at.value)  # type: ignore[attr-defined]
        return c.load(self.scratch[at.value], self.index_in_row(), type)

    def load_vector(self, c: Wide, at: Element) -> Scalar:
        """Adjacent elements, or one element in all lanes; each is loaded once in a pass."""
        buffer, stride = self.buffers[at.buffer], at.strides[self.plan.inner[0].dims[-1]]
        key = (buffer, repr(at.strides), repr(at.offset))
        if key not in self.loaded:
            self.loaded[key] = (c.load if stride else c.load_one)(buffer, self.position(at), STORED[at.value.dtype])
        return self.loaded[key]

    def store(self, at: Location, made: Scalar) -> None:
        """Store an element, or add it to a partial sum."""
        c = self.code
        if isinstance(at, BlockElement):
            buffer, index = self.buffers[at.value], c.add(self.block, self.index_in_row())
            c.store(c.binary("fadd", c.load(buffer, index, made.type), made), buffer, index)
        elif isinstance(at, ScratchElement):
            if at.value not in self.scratch:
                self.scratch[at.value] = c.slot("i8" if made.type == "i1" else made.type, self.plan.scratch[at.value])
            c.store(made, self.scratch[at.value], self.index_in_row())
        else:
            assert isinstance(at, Element)
            c.store(made, self.buffers[at.buffer], self.position(at))

    def position(self, at: Element) -> Scalar:
        """The index of an element in its buffer."""
        c = self.code
        result = c.integer(at.offset)
        for axis in self.plan.axes:
            if axis.dims and axis in self.indices:
                result = c.add(result, c.scale(self.indices[axis], at.strides[axis.dims[-1]]))
        return result

    def index_in_row(self) -> Scalar:
        """The linear index of an element in its row, or in its tile of rows."""
        c = self.code
        step = self.rows_at_once
        result = self.lane or ZERO
        for axis in reversed(self.plan.inner):
            result = c.add(result, c.scale(self.indices[axis], step))
            step *= axis.size
        return result


class Accumulator:
    """The running result of a reduction in a stack slot; a chunked sum has a second one, in float64."""

    def __init__(self, kernel: KernelEmitter, plan: Accumulate) -> None:
        self.kernel = kernel
        self.plan = plan
        self.type = TYPES[plan.value.dtype]
        self.wide = "double" if plan.chunked else self.type
        length, code = kernel.rows_at_once, kernel.code
        if isinstance(code, Wide):
            self.slot, self.chunk = code.slot(self.type, code.all), ""
            return
        self.slot = code.slot("i8" if self.type == "i1" else self.wide, length)
        self.chunk = code.slot(self.type, length) if plan.chunked else ""

    @property
    def index(self) -> Scalar:
        return self.kernel.lane or ZERO

    def identity(self, type: str) -> Scalar:
        value = identity(self.plan.value)
        unsigned = self.plan.value.dtype.kind == "u" and value > 127  # LLVM's integer types are signless
        return self.kernel.code.constant(type, value - 256 if unsigned else value)

    def combine(self, a: Scalar, b: Scalar) -> Scalar:
        c, how, dtype = self.kernel.code, self.plan.value.how, self.plan.value.dtype
        if dtype.kind == "f":
            if how in ("max", "min"):  # NaN where there is one; of two zeros either may be taken, as in NumPy
                return c.intrinsic("maximum" if how == "max" else "minimum", a, b, flags="nsz ")
            return c.binary(f"f{how}", a, b, "reassoc")  # the order of a sum is free
        if how in ("max", "min"):
            return c.intrinsic(("u" if dtype.kind == "u" else "s") + how, a, b)
        return c.binary(how, a, b)

    def begin(self) -> None:
        code = self.kernel.code
        if isinstance(code, Wide):
            with code.vectors():
                code.store(self.identity(self.type), self.slot, self.index)
            return
        code.store(self.identity("i1" if self.type == "i1" else self.wide), self.slot, self.index)

    def begin_chunk(self) -> None:
        self.kernel.code.store(self.identity(self.type), self.chunk, self.index)

    def take(self, element: Scalar) -> None:
        """Add one element."""
        c, slot = self.kernel.code, self.chunk or self.slot
        c.store(self.combine(c.load(slot, self.index, self.type), element), slot, self.index)

    def end_chunk(self) -> None:
        c = self.kernel.code
        part = c.convert("fpext", c.load(self.chunk, self.index, self.type), self.wide)
        c.store(c.binary("fadd", c.load(self.slot, self.index, self.wide), part), self.slot, self.index)

    def finish(self) -> Scalar:
        """The result."""
        c = self.kernel.code
        if isinstance(c, Wide):
            with c.vectors():
                return c.reduced(self.plan.value.how, c.load(self.slot, self.index, self.type))
        result = c.load(self.slot, self.index, self.wide)
        return result if self.wide == self.type else c.convert("fptrunc", result, self.type)

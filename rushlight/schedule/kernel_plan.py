"""Kernel plans: a fused kernel as a loop nest, in plain data that prints, is checked, and that any code generator can emit.

A kernel runs parallel loops over rows, and inside them *passes* over the elements of a row.  A reduction needs all elements of a row before what is
computed from it can begin, so a row takes as many passes as reductions depend on each other.  What a later pass needs again is recomputed where
that is cheap, else kept: in the buffer where it is stored anyway, in the buffer of a later result (until the result is stored), or in scratch memory.

Where the innermost dimension is not reduced, neighbouring rows are adjacent in memory.  A pass then works on a *tile* of rows at once, with one
accumulator for each, so that memory is still read in order.

``plan_kernel.py`` makes plans; ``codegen/llvm/kernel.py`` and ``codegen/numpy/kernel.py`` emit them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .scalar_ir import ScalarExpression, subexpressions
from .symbolic_shape import SymbolicNumber, same
from .target import Target
from .tensor_ir import PartialReduce, Reduce, Value


@dataclass(frozen=True, eq=False)
class Axis:
    """A loop of a kernel."""

    name: str
    size: int
    reduced: bool
    dims: tuple[int, ...]  # the dimensions of the space that it runs over, merged into one
    runtime_size: bool = False  # whether the size is a parameter of the code and no constant in it, so that batch sizes share code


# -- where an element is -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Element:
    """An element of a buffer, at ``offset`` plus the loops' indices times ``strides`` (over the dimensions of the space)."""

    value: Value  # whose element it is
    buffer: Value  # whose memory it is in
    strides: tuple[int, ...]
    offset: int = 0


@dataclass(frozen=True, eq=False)
class RowElement:
    """The element of a row value, held in a register or in a slot of the tile."""

    value: Value


@dataclass(frozen=True, eq=False)
class ScratchElement:
    """The element of a kept value in scratch memory, which holds one row (or one tile of rows)."""

    value: Value


@dataclass(frozen=True, eq=False)
class BlockElement:
    """The element of a partial reduction for the current block of rows, which results are added to."""

    value: Value


Location = Element | RowElement | ScratchElement | BlockElement


# -- what is done ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Store:
    """Compute a value and store it.  Operands of the expression are :data:`Location` objects."""

    value: Value
    expression: ScalarExpression
    to: Location


@dataclass(frozen=True, eq=False)
class Accumulate:
    """Add an element to a reduction; the result is a row value after the pass."""

    value: Reduce
    expression: ScalarExpression
    chunked: bool  # whether float32 sums of chunks are added in float64


@dataclass(frozen=True, eq=False)
class Pass:
    """One pass over the elements of a row (or of a tile of rows)."""

    number: int
    stores: list[Store]
    reductions: list[Accumulate]
    chunk: int = 0  # the innermost loop is cut into chunks of so many elements; 0: it is not
    eager_stores: bool = False  # whether each value is stored before the next is computed; otherwise all are computed first


@dataclass(frozen=True, eq=False)
class RowValue:
    """A value with one element per row: computed from other row values, or the result of a reduction."""

    value: Value
    expression: ScalarExpression | None  # None: the reduction of the pass before
    to: Element | None  # where it is stored, if it is


@dataclass(frozen=True, eq=False)
class RowStage:
    """The row values that are known before the first pass, or after a pass."""

    values: list[RowValue]


@dataclass(eq=False)
class KernelPlan:
    """One fused kernel."""

    target: Target
    space: tuple[int, ...]  # the shape that the loops run over
    axes: list[Axis]  # all loops, in the order of the dimensions
    outer: list[Axis]  # loops over rows
    inner: list[Axis]  # loops of a pass
    tile: Axis | None  # the loop over rows that is tiled
    parallel: Axis | None  # the loop that is split among threads; None: there is none, or blocks of rows are split
    unit: int  # elements of the parallel loop that a thread takes together
    lanes: int  # elements that are computed at once; 1: vectorization is left to the emitter
    calls: set[tuple[str, np.dtype[Any]]]  # functions (exp, ...) that are called and not inlined
    partials: list[PartialReduce]  # sums over the rows of a block; then the outer loops run over blocks
    nanoseconds: float  # estimated, on one thread
    body: list[Pass | RowStage] = field(default_factory=list)
    buffers: list[Value] = field(default_factory=list)  # the parameters, in order
    scratch: dict[Value, int] = field(default_factory=dict)  # kept values, with the elements of memory for each

    @property
    def extent(self) -> int:
        """The number of independent units of work."""
        if self.partials:
            return self.partials[0].shape[0]
        return self.parallel.size // self.unit if self.parallel is not None else 1

    @property
    def passes(self) -> list[Pass]:
        return [each for each in self.body if isinstance(each, Pass)]

    def check(self) -> None:
        """Raise AssertionError where the plan is inconsistent."""
        Checker(self).run()

    def __str__(self) -> str:
        return "\n".join(Printer(self).lines())


def locations(expression: ScalarExpression) -> list[Location]:
    """The operands of a planned expression."""
    return [each.data for each in subexpressions([expression]) if each.op == "operand"]


# -- verification ------------------------------------------------------------------------------------------------


class Checker:
    """Verifies a kernel plan by walking it in the order of execution."""

    def __init__(self, plan: KernelPlan) -> None:
        self.plan = plan
        self.buffers = set(plan.buffers)
        self.rows: set[Value] = set()  # row values that are known
        self.accumulated: set[Value] = set()  # reductions that are complete
        self.written: dict[Value, Value] = {}  # by buffer: the value whose elements it has
        self.stored: set[Value] = set()
        self.scratch: set[Value] = set()
        self.own: set[Value] = {
            each.value for part in plan.passes for each in part.stores
        }  # values of the whole space that the kernel makes

    def run(self) -> None:
        plan = self.plan
        self.check_axes()
        assert len(plan.buffers) == len(self.buffers), "a buffer is declared twice"
        for part in plan.body:
            if isinstance(part, Pass):
                self.check_pass(part)
            else:
                self.check_rows(part)
        for value in self.accumulated:
            assert value in self.rows, f"the result of {value!r} is dropped"
        assert all(size > 0 for size in plan.scratch.values()) and plan.scratch.keys() == self.scratch, (
            "scratch memory that nothing is kept in"
        )

    def check_axes(self) -> None:
        plan = self.plan
        dims = [dim for axis in plan.axes for dim in axis.dims]
        assert sorted(dims) == [dim for dim, size in enumerate(plan.space) if not same(size, 1)], "the axes do not cover the space"
        for axis in plan.axes:
            assert same(axis.size, math.prod([plan.space[dim] for dim in axis.dims])), f"the size of {axis.name}"
        loops = [*plan.outer, *([plan.tile] if plan.tile is not None else []), *plan.inner]
        assert sorted(map(id, loops)) == sorted(map(id, plan.axes)), "a loop is missing, or there twice"
        assert plan.parallel is None or (plan.parallel in loops and not plan.parallel.reduced), "a parallel loop over what is reduced"
        assert plan.lanes == 1 or plan.inner[-1].size % plan.lanes == 0, "vectors that do not fit the innermost loop"
        assert plan.unit == 1 or (plan.parallel is not None and plan.parallel.size % plan.unit == 0)

    def check_pass(self, part: Pass) -> None:
        assert part.stores or part.reductions, f"pass {part.number} is empty"
        statements: list[Store | Accumulate] = [*part.stores, *part.reductions]
        for each in statements:
            for found in locations(each.expression):
                self.check_load(found)
        for store in part.stores:
            self.check_store(store.value, store.to)
        for reduction in part.reductions:
            assert reduction.value not in self.accumulated, f"{reduction.value!r} is reduced twice"
            self.accumulated.add(reduction.value)

    def check_rows(self, stage: RowStage) -> None:
        for each in stage.values:
            if each.expression is None:
                assert each.value in self.accumulated, f"{each.value!r} is used before it is reduced"
            else:
                for found in locations(each.expression):
                    self.check_load(found)
            assert each.value not in self.rows, f"{each.value!r} is computed twice"
            self.rows.add(each.value)
            if each.to is not None:
                self.check_store(each.value, each.to)

    def check_load(self, found: Location) -> None:
        if isinstance(found, RowElement):
            assert found.value in self.rows, f"{found.value!r} is used before it is known"
        elif isinstance(found, ScratchElement):
            assert found.value in self.scratch, f"{found.value!r} is read from scratch memory before it is there"
        else:
            assert isinstance(found, Element), "a partial reduction is read in its own kernel"
            assert found.buffer in self.buffers, f"the buffer of {found.buffer!r} is not declared"
            assert len(found.strides) == len(self.plan.space), f"strides of another space: {found.strides}"
            if found.value in self.own:
                assert self.written.get(found.buffer) is found.value, f"{found.value!r} is read before it is written, or after others are"

    def check_store(self, value: Value, to: Location) -> None:
        if isinstance(to, ScratchElement):
            self.scratch.add(value)
            return
        if isinstance(to, BlockElement):
            assert value in self.plan.partials and value in self.buffers
            return
        assert isinstance(to, Element) and to.buffer in self.buffers, f"the buffer for {value!r} is not declared"
        self.written[to.buffer] = value
        if to.buffer is (value.alias_of or value):
            assert value.stored and value not in self.stored, f"{value!r} is stored twice, or for nobody"
            self.stored.add(value)


# -- text --------------------------------------------------------------------------------------------------------


_INFIX = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!=", "and": "&", "or": "|", "xor": "^"
}  # fmt: skip


class Printer:
    """A kernel plan as pseudo-code; what is used several times in a pass has a name of its own."""

    def __init__(self, plan: KernelPlan) -> None:
        self.plan = plan
        self.names = {value: f"b{at}" for at, value in enumerate(plan.buffers)}
        self.shared: dict[int, str] = {}  # by id of an expression: its name in this pass
        self.count = 0

    def lines(self) -> list[str]:
        plan = self.plan
        parameters = [f"{name}: {each.dtype}{list(each.shape)}" for each, name in self.names.items()]
        lines = [f"kernel over {list(plan.space)} ({', '.join(parameters)})"]
        depth = 1
        if plan.partials:
            lines.append(f"  parallel for block in 0..{plan.extent!r}:")
            depth += 1
        for axis in plan.outer:
            rows = f"  # {plan.partials[0].rows!r} rows of the block" if plan.partials else ""
            lines.append(f"{'  ' * depth}{self.loop(axis)}{rows}")
            depth += 1
        if plan.tile is not None:
            lines.append(f"{'  ' * depth}{self.loop(plan.tile)}  # in tiles of {plan.target.tile}")
            depth += 1
        for value, size in plan.scratch.items():
            lines.append(f"{'  ' * depth}scratch {name_of(value)}: {value.dtype}[{size!r}]")
        for part in plan.body:
            found = self.pass_lines(part) if isinstance(part, Pass) else self.row_lines(part)
            lines += [f"{'  ' * depth}{each}" for each in found]
        return lines

    def loop(self, axis: Axis, note: str = "") -> str:
        kind = "parallel for" if axis is self.plan.parallel else "for"
        return f"{kind} {axis.name} in 0..{axis.size!r}{note}:"

    def pass_lines(self, part: Pass) -> list[str]:
        plan = self.plan
        lines = [f"{name_of(each.value)} = {identity(each.value)!r}{' (float64)' if each.chunked else ''}" for each in part.reductions]
        for depth, axis in enumerate(plan.inner):
            note = ""
            if axis is plan.inner[-1]:
                note = f" in vectors of {plan.lanes}" if plan.lanes > 1 else f" in chunks of {part.chunk}" if part.chunk else ""
            lines.append("  " * depth + self.loop(axis, note))
        inner = self.bind([*(each.expression for each in part.stores), *(each.expression for each in part.reductions)])
        for store in part.stores:
            sign = "+=" if isinstance(store.to, BlockElement) else "="
            inner.append(f"{self.location(store.to)} {sign} {self.formula(store.expression)}")
        for each in part.reductions:
            name, element = name_of(each.value), self.formula(each.expression)
            update = {"add": "+=", "mul": "*=", "and": "&=", "or": "|="}.get(each.value.how)
            inner.append(f"{name} {update} {element}" if update else f"{name} = {each.value.how}({name}, {element})")
        return [*lines, *("  " * len(plan.inner) + each for each in inner)]

    def row_lines(self, stage: RowStage) -> list[str]:
        lines = self.bind([each.expression for each in stage.values if each.expression is not None])
        for each in stage.values:
            if each.expression is not None:
                lines.append(f"{name_of(each.value)} = {self.formula(each.expression)}")
            if each.to is not None:
                lines.append(f"{self.location(each.to)} = {name_of(each.value)}")
        return lines

    def bind(self, expressions: list[ScalarExpression]) -> list[str]:
        """Names for what several of some expressions have in common."""
        uses: dict[int, int] = {}
        order: list[ScalarExpression] = []

        def visit(each: ScalarExpression) -> None:
            uses[id(each)] = uses.get(id(each), 0) + 1
            if uses[id(each)] == 1:
                for arg in each.args:
                    visit(arg)
                order.append(each)

        for each in expressions:
            visit(each)
        self.shared = {}
        lines = []
        for each in order:
            if uses[id(each)] > 1 and each.args:
                lines.append(f"t{self.count} = {self.formula(each)}")
                self.shared[id(each)] = f"t{self.count}"
                self.count += 1
        return lines

    def formula(self, expression: ScalarExpression, inside: bool = False) -> str:
        if id(expression) in self.shared:
            return self.shared[id(expression)]
        if expression.op == "constant":
            return repr(expression.data)
        if expression.op == "operand":
            return self.location(expression.data)
        if expression.op in _INFIX:
            text = f" {_INFIX[expression.op]} ".join(self.formula(each, True) for each in expression.args)
            return f"({text})" if inside else text
        op = str(expression.dtype) if expression.op == "cast" else expression.op
        return f"{op}({', '.join(self.formula(each) for each in expression.args)})"

    def location(self, at: Location) -> str:
        if isinstance(at, Element):
            steps = [(axis.name, at.strides[axis.dims[-1]]) for axis in self.plan.axes if axis.dims]
            terms = [name if same(step, 1) else f"{step!r}*{name}" for name, step in steps if isinstance(step, SymbolicNumber) or step]
            terms += [repr(at.offset)] if isinstance(at.offset, SymbolicNumber) or at.offset or not terms else []
            return f"{self.names[at.buffer]}[{' + '.join(terms)}]"
        if isinstance(at, RowElement):
            return name_of(at.value)
        indices = ", ".join(axis.name for axis in self.plan.inner)
        return f"{self.names[at.value]}[block, {indices}]" if isinstance(at, BlockElement) else f"{name_of(at.value)}[{indices}]"


def name_of(value: Any) -> str:
    """A value by the node that it comes from."""
    return f"{value.node.name if value.node is not None else 'value'}.{value.index}"


def identity(value: Reduce) -> Any:
    """The neutral element of a reduction: its result for no elements."""
    if value.how in ("add", "or"):
        return 0
    if value.how in ("mul", "and"):
        return 1
    if value.dtype.kind == "f":
        return -math.inf if value.how == "max" else math.inf
    limits = np.iinfo(value.dtype)
    return int(limits.min if value.how == "max" else limits.max)


__all__ = [
    "Accumulate",
    "Axis",
    "BlockElement",
    "Element",
    "KernelPlan",
    "Location",
    "Pass",
    "RowElement",
    "RowStage",
    "RowValue",
    "ScratchElement",
    "Store",
]

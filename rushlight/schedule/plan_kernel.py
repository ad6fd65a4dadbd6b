"""How a fused group becomes a kernel plan: loops, passes, what is kept between passes and where, vectors, parameters."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

from .fusion import FusionGroup, substituted
from .kernel_plan import (
    Accumulate,
    Axis,
    BlockElement,
    Element,
    KernelPlan,
    Location,
    Pass,
    RowElement,
    RowStage,
    RowValue,
    ScratchElement,
    Store,
)
from .scalar_ir import FLOAT32, SINGLE_FUNCTIONS, UNARY_FUNCTIONS, ScalarExpression, subexpressions
from .symbolic_shape import SymbolicNumber, may_reach, same
from .target import Target
from .tensor_ir import PartialReduce, Pointwise, Reduce, Reference, Value, operands, strides_of

_VECTOR_DTYPES = frozenset((FLOAT32, np.dtype(np.int32), np.dtype(np.bool_)))
_INLINED = frozenset((*UNARY_FUNCTIONS, *SINGLE_FUNCTIONS))  # functions that are code in the kernel rather than an instruction


def plan_kernel(group: FusionGroup, target: Target, whole: bool = True) -> KernelPlan:
    """The plan of a group.  Where it is not ``whole``, the kernel is called for ranges of elements and not of units."""
    return Planner(group, target, whole).plan


class Planner:
    """Plans the kernel of one group."""

    def __init__(self, group: FusionGroup, target: Target, whole: bool) -> None:
        self.group = group
        self.target = target
        self.members = set(group.members)
        self.is_inside: dict[Reference, bool] = {}
        self.expressions = {each: self.own_expression(each) for each in group.members}  # type: ignore[arg-type]
        self.operands = {each: operands(expression) for each, expression in self.expressions.items()}
        self.levels = self.find_levels()
        self.kept = self.find_kept()
        self.result_buffers = self.find_result_buffers()
        self.plan = self.make_loops(whole)
        self.plan.lanes = self.find_lanes()
        self.buffers: dict[Value, None] = {}
        self.fill_body()
        self.plan.buffers = list(self.buffers)

    # -- what is computed ----------------------------------------------------------------------------------------

    def own_expression(self, value: Pointwise | Reduce) -> ScalarExpression:
        """A member's expression, in which what other groups compute and do not store is computed here."""
        if all(each.value.stored or each.value in self.members for each in value.inputs):
            return value.expression

        def inner(operand: ScalarExpression) -> ScalarExpression:
            reference: Reference = operand.data
            source = reference.value
            if source.stored or source in self.members:
                return operand
            assert isinstance(source, Pointwise)
            return substituted(
                source.expression, lambda each: ScalarExpression("operand", (), each.dtype, each.data.broadcast(reference.shape))
            )

        return substituted(value.expression, inner)

    def inside(self, reference: Reference) -> bool:
        """Whether an operand is a member's element at the same index."""
        if reference not in self.is_inside:
            self.is_inside[reference] = reference.value in self.members and reference.aligned()
        return self.is_inside[reference]

    def find_levels(self) -> dict[Value, int]:
        """The pass in which a member can be computed; of a row value, the pass before which it is known."""
        levels: dict[Value, int] = {}
        for value in self.group.members:
            known = [levels[each.value] for each in self.operands[value] if self.inside(each)]
            levels[value] = max(known, default=0) + (1 if isinstance(value, Reduce) else 0)
        return levels

    def find_kept(self) -> set[Value]:
        """The members of the whole space that a later pass reads again instead of recomputing them."""
        kept: set[Value] = set()
        last_use = self.find_last_uses(kept)
        limit = self.target.recompute_cost
        costs: dict[Value, int] = {}  # of recomputing a member from what is kept
        reads: dict[Value, set[Any]] = {}  # and the loads that it takes
        for value in self.group.members:
            costs[value], reads[value] = self.expressions[value].cost, set()
            for each in self.operands[value]:
                if not self.inside(each) or each.value in kept:
                    strides = [each.strides[at] for at in self.group.axes or ()]
                    if any(isinstance(step, SymbolicNumber) or step for step in strides):  # not one element per row
                        reads[value].add((each.value, each.offset, each.strides))
                elif each.value not in self.group.rows:
                    costs[value] += costs[each.value]
                    reads[value] |= reads[each.value]
            costly = costs[value] > limit or len(reads[value]) > limit or value.stored
            if value not in self.group.rows and last_use.get(value, 0) > self.levels[value] and costly:
                kept.add(value)
        last_use = self.find_last_uses(kept)
        return {each for each in kept if last_use[each] > self.levels[each]}

    def find_last_uses(self, kept: set[Value]) -> dict[Value, int]:
        """For each member of the whole space (and reduction), the latest pass that uses it."""
        last_use: dict[Value, int] = {}
        for value in reversed(self.group.members):
            if value in self.group.rows and not isinstance(value, Reduce):
                continue
            own = self.levels[value] - isinstance(value, Reduce)
            last_use[value] = max(last_use.get(value, 0), own)
            at = own if value in kept or value.stored else last_use[value]
            for each in self.operands[value]:
                if self.inside(each) and each.value not in self.group.rows:
                    last_use[each.value] = max(last_use.get(each.value, 0), at)
        return last_use

    def find_result_buffers(self) -> dict[Value, Value]:
        """Kept members that are stored in the buffer of a later pass's result until that pass: the buffer comes into the cache early, and the working set is smaller."""
        last_use = self.find_last_uses(self.kept)
        free = [
            each
            for each in self.group.members
            if isinstance(each, Pointwise) and each.stored and each.alias_of is None and each not in self.group.rows
        ]
        buffers: dict[Value, Value] = {}
        for value in self.group.members:
            if value in self.kept and not value.stored:
                for other in free:
                    if other.dtype == value.dtype and other not in self.kept and self.levels[value] < last_use[value] <= self.levels[other]:
                        buffers[value] = other
                        free.remove(other)
                        break
        return buffers

    # -- loops ---------------------------------------------------------------------------------------------------

    def find_axes(self) -> list[Axis]:
        """The loops: neighbouring dimensions are merged where all operands step through them as through one."""
        group, space = self.group, self.group.space
        references = [each for value in group.members for each in self.operands[value] if not self.inside(each)]
        strides = [each.strides for each in references] + [strides_of(space)]
        if group.row_shape is not None:
            strides.append(strides_of(group.row_shape))
        reduced = group.axes or ()
        merged: list[tuple[Any, bool, tuple[int, ...]]] = []
        for at, size in enumerate(space):
            if same(size, 1):
                continue
            reduces = at in reduced
            if merged and merged[-1][1] is reduces:
                outer_size, _, dims = merged[-1]
                if all(same(each[dims[-1]], each[at] * size) for each in strides):
                    merged[-1] = outer_size * size, reduces, (*dims, at)
                    continue
            merged.append((size, reduces, (at,)))
        if not any(not reduces for _, reduces, _ in merged) and not (group.axes is not None and merged):
            merged.append((1, False, ()))
        limit = self.target.unrolled + 1
        return [
            Axis(f"{'r' if reduces else 'i'}{number}", size, reduces, dims, 0 in dims and may_reach(size, limit))
            for number, (size, reduces, dims) in enumerate(merged)
        ]

    def make_loops(self, whole: bool) -> KernelPlan:
        """A plan with loops, and nothing in them yet."""
        group, target = self.group, self.target
        axes = self.find_axes()
        inner = [each for each in axes if each.reduced]
        outer = [each for each in axes if not each.reduced]
        tile = outer.pop() if group.rows and outer and not axes[-1].reduced else None
        if group.axes is None:
            inner = [outer.pop()]
        partials = [each for each in group.members if isinstance(each, PartialReduce)]
        parallel: Axis | None = None
        if not partials:
            parallel = outer[0] if outer else tile if tile is not None else inner[0] if group.axes is None else None
        units = (
            whole and parallel is not None and parallel in inner[-1:] and type(parallel.size) is int and parallel.size % target.unit == 0
        )
        work = sum(
            target.operation_nanoseconds * self.expressions[each].cost + target.element_nanoseconds
            for each in group.members
            if each not in group.rows or isinstance(each, Reduce)
        )
        return KernelPlan(
            target=target,
            space=group.space,
            axes=axes,
            outer=outer,
            inner=inner,
            tile=tile,
            parallel=parallel,
            unit=target.unit if units else 1,
            lanes=1,
            calls=frequent_functions(self.expressions.values(), target.inlined_calls),
            partials=partials,
            nanoseconds=math.prod(group.space) * work,
        )

    def find_lanes(self) -> int:
        """The number of elements computed at once, where the innermost loop reads contiguous memory in single precision; otherwise 1."""
        plan, group = self.plan, self.group
        if len(plan.inner) != 1 or plan.tile is not None or not plan.inner[0].dims:
            return 1
        last, dim = plan.inner[0], plan.inner[0].dims[-1]
        long = last.reduced and type(last.size) is int and last.size > 2 * self.target.chunk
        if type(last.size) is not int or long or (last is plan.parallel and plan.unit == 1):
            return 1
        if any(each.how not in ("add", "max", "min") or each.dtype != FLOAT32 for each in group.members if isinstance(each, Reduce)):
            return 1
        if any(each.strides[dim] != 1 for each in group.members if each not in group.rows):
            return 1
        angles = False
        for each in subexpressions(self.expressions.values()):
            angles = angles or each.op in SINGLE_FUNCTIONS
            strided = each.op == "operand" and not self.inside(each.data) and each.data.strides[dim] not in (0, 1)
            if each.dtype not in _VECTOR_DTYPES or strided:
                return 1
        lanes = self.target.vector_bits // 32
        if last.reduced and not angles and not plan.calls:
            lanes *= 2  # two accumulators: an addition waits for the one before
        return lanes if last.size % lanes == 0 else 1

    # -- passes --------------------------------------------------------------------------------------------------

    def fill_body(self) -> None:
        """The passes, and the row values between them; buffers are parameters in the order of their first use."""
        group, levels, body = self.group, self.levels, self.plan.body
        for each in self.plan.partials:
            self.buffer(each)
        passes = max(
            [levels[each] - (each in group.rows) for each in group.members if each not in group.rows or isinstance(each, Reduce)], default=0
        )
        self.add_rows(0)
        for number in range(passes + 1):
            reductions = [each for each in group.members if isinstance(each, Reduce) and levels[each] == number + 1]
            stores = [
                each
                for each in group.members
                if each not in group.rows and levels[each] == number and (each.stored or (each in self.kept and self.fits_scratch(each)))
            ]
            if reductions or stores:
                body.append(self.make_pass(number, reductions, stores))
            self.add_rows(number + 1)

    def add_rows(self, level: int) -> None:
        """The row values that are known at a level."""
        values = [each for each in self.group.members if each in self.group.rows and self.levels[each] == level]
        resolve = Resolver(self, level)
        row_values = []
        for value in values:
            expression = resolve(self.expressions[value]) if isinstance(value, Pointwise) else None
            row_values.append(RowValue(value, expression, self.element(value) if value.stored else None))
        if row_values:
            self.plan.body.append(RowStage(row_values))

    def make_pass(self, number: int, reductions: list[Reduce], stores: list[Value]) -> Pass:
        plan = self.plan
        resolve = Resolver(self, number)
        # Kept values may be in the memory of results, so all is computed before anything is stored.  Around calls of functions, values that wait are costly.
        eager = bool(plan.calls) and not self.result_buffers and all(each.alias_of is None for each in stores)
        made: list[Store] = []
        if eager:
            made = [Store(value, resolve(self.expressions[value]), self.location_of(value)) for value in stores]
            elements = [resolve(self.expressions[each]) for each in reductions]
        else:
            results = [resolve(self.expressions[value]) for value in stores]
            elements = [resolve(self.expressions[each]) for each in reductions]
            made = [Store(value, expression, self.location_of(value)) for value, expression in zip(stores, results)]
        length = self.target.tile_chunk if plan.tile is not None else self.target.chunk
        cut = bool(plan.inner) and may_reach(plan.inner[-1].size, 2 * length + 1)
        chunked = [each.how == "add" and each.dtype == FLOAT32 and (cut or len(plan.inner) > 1) for each in reductions]
        sums = [Accumulate(value, expression, long) for value, expression, long in zip(reductions, elements, chunked)]
        return Pass(number, made, sums, length if cut and any(chunked) else 0, eager)

    def location_of(self, value: Value) -> Location:
        """Where a pass stores a value."""
        if isinstance(value, PartialReduce):
            self.buffer(value)
            return BlockElement(value)
        if value.stored:
            return self.element(value)
        if value in self.result_buffers:
            return Element(value, self.buffer(self.result_buffers[value]), value.strides)
        return ScratchElement(value)

    def fits_scratch(self, value: Value) -> bool:
        """Whether a kept value can be kept: its row fits the scratch memory, where it needs some.  Otherwise it is recomputed after all."""
        if value.stored or value in self.result_buffers or value in self.plan.scratch:
            return True
        length = math.prod([each.size for each in self.plan.inner]) * (self.target.tile if self.plan.tile is not None else 1)
        if isinstance(length, SymbolicNumber):
            length = self.target.scratch_elements if length <= self.target.scratch_elements else self.target.scratch_bytes
        if (len(self.plan.scratch) + 1) * length * 8 > self.target.scratch_bytes:
            return False
        self.plan.scratch[value] = length
        return True

    def element(self, value: Value) -> Element:
        return Element(value, self.buffer(value), value.strides)

    def buffer(self, value: Value) -> Value:
        """The value whose memory a value is in, which becomes a parameter."""
        value = value.alias_of or value
        self.buffers.setdefault(value)
        return value


class Resolver:
    """Expressions of one pass with locations as operands; members that are recomputed become part of them, each once."""

    def __init__(self, planner: Planner, number: int) -> None:
        self.planner = planner
        self.number = number
        # By id of the expression, which is in the entry so that no other object gets its id.
        self.resolved: dict[int, tuple[ScalarExpression, ScalarExpression]] = {}

    def __call__(self, expression: ScalarExpression) -> ScalarExpression:
        entry = self.resolved.get(id(expression))
        if entry is None:
            if expression.op == "operand":
                resolved = self.operand(expression)
            else:
                resolved = expression.with_args([self(each) for each in expression.args]) if expression.args else expression
            entry = self.resolved[id(expression)] = expression, resolved
        return entry[1]

    def operand(self, expression: ScalarExpression) -> ScalarExpression:
        planner, reference = self.planner, expression.data
        value = reference.value
        at: Location
        if not planner.inside(reference):
            at = Element(value, planner.buffer(value), reference.strides, reference.offset)
        elif value in planner.group.rows:
            at = RowElement(value)
        elif value in planner.kept and planner.levels[value] < self.number and planner.fits_scratch(value):
            at = planner.location_of(value)
        else:
            return self(planner.expressions[value])
        return ScalarExpression("operand", (), value.dtype, at)


def frequent_functions(expressions: Iterable[ScalarExpression], limit: int) -> set[tuple[str, np.dtype[Any]]]:
    """The functions that are used more often than the limit: they are called, since inlining each use would take long to compile."""
    counts = Counter((each.op, each.dtype) for each in subexpressions(expressions) if each.op in _INLINED)
    return {key for key, count in counts.items() if count > limit}


__all__ = ["plan_kernel"]

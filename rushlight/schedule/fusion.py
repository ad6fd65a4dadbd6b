"""Fusion: which values one kernel computes.

A fusion group has a space, the shape that its loops run over, and at most one set of reduced axes.  Its members are values of the
whole space, reductions along those axes, and row values, which have one element per reduction.  A sum along the other axes (a
column sum) that nothing of the whole space depends on starts in the group too: as partial sums of blocks of rows.
"""

from __future__ import annotations

import heapq
import math
from typing import Any

from ..core.facets import Facet
from .scalar_ir import ScalarExpression
from .simplify import is_column_sum
from .symbolic_shape import least, most, never_more, same
from .target import Target
from .tensor_ir import Call, Computed, Leaf, PartialReduce, Pointwise, Product, Reduce, Reference, Routine, Value

exchange: Facet[str] = Facet(
    "exchange",
    "'start' of an op that starts an exchange between processes, which runs as soon as its operands are there; 'wait' of one that waits for it, "
    "which runs just before its first user: steps between them overlap with the exchange",
    of_custom_ops=True,
)


class FusionGroup:
    """The values of one fused kernel."""

    def __init__(self, space: tuple[int, ...]) -> None:
        self.space = space
        self.axes: tuple[int, ...] | None = None
        self.members: list[Value] = []
        self.rows: set[Value] = set()  # the members with one element per row
        self.dependencies: set[Any] = set()  # the groups and steps that it depends on
        self.order = 0

    @property
    def row_shape(self) -> tuple[int, ...] | None:
        return None if self.axes is None else tuple([1 if at in self.axes else size for at, size in enumerate(self.space)])

    def add(self, value: Value) -> None:
        self.members.append(value)
        self.order = value.index

    def __repr__(self) -> str:
        names = [each.node.name if each.node is not None else "copy" for each in self.members]
        return f"group over {list(self.space)}{f' reducing {list(self.axes)}' if self.axes and self.rows else ''}: {', '.join(names)}"


class OpStep:
    """A step of one op: a product, a routine or a call."""

    def __init__(self, value: Any) -> None:
        self.value = value
        self.members = [value]  # all results that are used
        self.dependencies: set[Any] = set()
        self.order = value.index

    def __repr__(self) -> str:
        kind = "call" if isinstance(self.value, Call) else "routine" if isinstance(self.value, Routine) else "BLAS"
        return f"{kind}: {self.value.node.name if self.value.node is not None else self.value}"


class Fusion:
    """Forms the fusion groups of a graph greedily, in the order of its values."""

    def __init__(self, values: list[Value], outputs: list[Reference], target: Target) -> None:
        self.target = target
        self.step_of: dict[Value, Any] = {}  # the group or step that computes a value
        self.inlined: dict[Value, bool] = {}
        self.partials: list[Value] = []
        self.read_by: dict[Any, list[Value]] = {}  # elements that members of groups read, and which members
        live = self.live_values(values, outputs)
        self.column_sums, deferred = self.find_column_sums([each for each in values if each in live])
        for value in sorted(values, key=lambda each: each in deferred):
            if value not in live or isinstance(value, Leaf):
                continue
            if isinstance(value, (Product, Routine, Call)):
                self.add_step(value)
            else:
                self.assign_group(value)
        self.mark_stored([*values, *self.partials], live.union(self.partials))
        self.steps = self.scheduled()

    def live_values(self, values: list[Value], outputs: list[Reference]) -> set[Value]:
        """The values that the outputs, or side effects, depend on; others are dead code."""
        live: set[Value] = {each.value for each in outputs}
        for value in reversed(values):
            if isinstance(value, Call):
                first = value.first or value
                if first.node.is_impure() or any(each in live for each in first.others):  # type: ignore[union-attr]
                    live.update(first.others)
            if isinstance(value, Routine) and value in live:
                live.add(value.first or value)
                live.update(each for each in value.others if each.scratch)
            if value in live:
                live.update(each.value for each in value.inputs)
        return live

    def find_column_sums(self, values: list[Value]) -> tuple[set[Value], set[Value]]:
        """Column sums that nothing of the whole space depends on; and these with all their users, which join groups last."""
        users: dict[Value, list[Value]] = {}
        for value in values:
            for each in value.inputs:
                users.setdefault(each.value, []).append(value)
        column_sums: set[Value] = set()
        deferred: set[Value] = set()
        for value in values:
            if not isinstance(value, Reduce) or value.how != "add" or value.dtype.kind != "f":
                continue
            if not is_column_sum(value.source, value.axes, self.target):
                continue
            dependents: set[Value] = set()
            worklist: list[Value] = [value]
            while worklist:
                user = worklist.pop()
                if user not in dependents:
                    dependents.add(user)
                    worklist += users.get(user, ())
            if all(isinstance(user, (Pointwise, Reduce)) and never_more(user.size, value.size) for user in dependents):
                column_sums.add(value)
                deferred |= dependents
        return column_sums, deferred

    # -- forming groups ------------------------------------------------------------------------------------------

    def add_step(self, value: Any) -> None:
        """Make a step of a product, routine or call."""
        if isinstance(value, (Routine, Call)) and value.first is not None:
            self.step_of[value] = self.step_of[value.first]
            self.step_of[value].members.append(value)
            return
        step = self.step_of[value] = OpStep(value)
        self.add_dependencies(step, value)

    def add_dependencies(self, step: Any, value: Value) -> None:
        step.dependencies |= self.dependencies_of(value) - {step}

    def dependencies_of(self, value: Value) -> set[Any]:
        """The groups and steps that a value depends on."""
        sources = [each.value for each in value.inputs]
        if value.after is not None:
            sources.append(value.after)
        return {self.step_of[each] for each in sources if each in self.step_of}

    def assign_group(self, value: Any) -> None:
        """Put a value into the group of one of its operands, or into a new one."""
        space = value.source if isinstance(value, Reduce) else value.shape
        candidates: list[FusionGroup] = []
        for each in value.inputs:
            group = self.step_of.get(each.value)
            if isinstance(group, FusionGroup) and each.aligned() and group not in candidates:
                candidates.append(group)
        if not candidates and value in self.column_sums and self.target.sums_late:
            candidates = self.readers(value.inputs)
        for group in sorted(candidates, key=lambda each: -each.order):
            role = self.role(group, value, space)
            if role and not self.makes_cycle(group, value):
                break
        else:
            group, role = (
                FusionGroup(space),
                "column" if value in self.column_sums else "reduction" if isinstance(value, Reduce) else "full",
            )
        if role == "column":
            group.axes = other_axes(value)  # those of a group that is merged with it must be the same
        for other in candidates:
            if other is not group and role != "reduction" and not self.is_sibling(other, value) and self.can_merge(group, other, value):
                self.merge(group, other)
        if role == "column":
            self.split_column_sum(group, value)
            self.assign_group(value)
            return
        if role == "reduction":
            group.axes = value.axes
        if role in ("reduction", "row"):
            group.rows.add(value)
        group.add(value)
        self.step_of[value] = group
        self.add_dependencies(group, value)

    def readers(self, sources: list[Reference]) -> list[FusionGroup]:
        """The groups that read the same elements from memory: a sum can be taken on the way."""
        if not self.read_by:  # column sums join last: all other values have a step
            for member, step in self.step_of.items():
                if isinstance(step, FusionGroup):
                    for each in member.inputs:
                        self.read_by.setdefault((each.value, each.shape, each.strides, each.offset), []).append(member)
        members = [member for each in sources for member in self.read_by.get((each.value, each.shape, each.strides, each.offset), ())]
        return list(dict.fromkeys(self.step_of[member] for member in members))

    def is_sibling(self, group: FusionGroup, value: Value) -> bool:
        """Whether a value has no operand in a group."""
        return not any(self.step_of.get(each.value) is group for each in value.inputs)

    def split_column_sum(self, group: FusionGroup, value: Reduce) -> None:
        """Split a column sum in two steps: a group computes partial sums over blocks of its rows, and the sum adds those."""
        count = math.prod(value.source[: len(value.axes)])
        smallest, largest = self.target.block_rows
        rows = least(most(-(-count // self.target.row_blocks), smallest), largest)
        part = PartialReduce(value.index, (-(-count // rows), *value.shape[1:]), value.dtype, value.node)
        part.define(value.expression)
        part.rows, part.stored = rows, True
        group.add(part)
        self.partials.append(part)
        self.step_of[part] = group
        self.add_dependencies(group, part)
        value.source = part.shape
        value.define(ScalarExpression("operand", (), part.dtype, Reference(part, part.shape, part.strides)))
        self.column_sums.discard(value)

    def can_merge(self, group: FusionGroup, other: FusionGroup, value: Value) -> bool:
        """Whether two groups that a value depends on can be one."""
        fits = same(group.space, other.space) and (group.axes == other.axes or None in (group.axes, other.axes))
        if not fits or len(group.members) + len(other.members) >= self.target.group_limit:
            return False
        # Where launches cost much, one of the two may depend on the other: then they follow each other in one kernel.
        if self.reaches(self.dependencies_of(value) - ({group, other} if self.target.sums_late else {other}), other):
            return False
        if not all(each.aligned() for each in value.inputs if self.step_of.get(each.value) is other):
            return False
        inputs = [each for member in (*group.members, *other.members) for each in member.inputs]
        if not all(each.aligned() for each in inputs if self.step_of.get(each.value) in (group, other)):
            return False
        return not self.reaches(group.dependencies - {other}, other) and not self.reaches(other.dependencies - {group}, group)

    def merge(self, group: FusionGroup, other: FusionGroup) -> None:
        """Merge a group into another."""
        group.members = sorted(group.members + other.members, key=lambda each: each.index)
        group.order = group.members[-1].index
        group.axes = group.axes if group.axes is not None else other.axes
        group.rows |= other.rows
        group.dependencies = (group.dependencies | other.dependencies) - {group, other}
        for member in other.members:
            self.step_of[member] = group
        for step in set(self.step_of.values()):
            if other in step.dependencies:
                step.dependencies.discard(other)
                step.dependencies.add(group)
        group.dependencies.discard(group)

    def role(self, group: FusionGroup, value: Any, space: tuple[int, ...]) -> str:
        """The role that a value would have in a group: column, reduction, full, row; empty where it can't be a member."""
        if len(group.members) >= self.target.group_limit:
            return ""
        inside = [each for each in value.inputs if self.step_of.get(each.value) is group]
        if not all(each.aligned() for each in inside):
            return ""
        if (
            value in self.column_sums
            and same(group.space, space)
            and (group.axes == other_axes(value) or (group.axes is None and not group.rows))
        ):
            return "column"
        if isinstance(value, Reduce):
            fits = same(group.space, space) and group.axes in (None, value.axes)
            # A reduction of what depends on row values of other axes needs all of them first.
            return "reduction" if fits and (group.axes is not None or not group.rows) else ""
        if same(value.shape, group.space):
            return "full"
        if group.axes is not None and same(value.shape, group.row_shape) and all(each.value in group.rows for each in inside):
            return "row"
        return ""

    def makes_cycle(self, group: FusionGroup, value: Value) -> bool:
        """Whether another dependency of the value depends on the group."""
        return self.reaches(self.dependencies_of(value) - {group}, group)

    def reaches(self, steps: set[Any], group: FusionGroup) -> bool:
        """Whether one of some groups and steps depends on a group, directly or indirectly."""
        worklist, visited = list(steps), set(steps)
        while worklist:
            step = worklist.pop()
            if step is group:
                return True
            new = step.dependencies - visited
            visited |= new
            worklist.extend(new)
        return False

    # -- stored values ------------------------------------------------------------------------------------------

    def can_inline(self, value: Value) -> bool:
        """Whether a value is cheap enough to be recomputed by each user."""
        if value not in self.inlined:
            self.inlined[value] = (
                isinstance(value, Pointwise)
                and value.expression.cost <= self.target.inline_cost
                and all(isinstance(each.value, (Leaf, Product, Routine, Call)) or each.value.stored for each in value.inputs)
            )
        return self.inlined[value]

    def mark_stored(self, values: list[Value], used: set[Value]) -> None:
        """Mark the values that are stored: those that another group uses and does not recompute."""
        for value in values:
            if value not in used or not isinstance(value, Computed):
                continue
            step = self.step_of[value]
            for each in value.inputs:
                source = each.value
                if self.step_of.get(source) is step and each.aligned():
                    continue
                if each.aligned() and self.can_inline(source):
                    continue
                source.stored = True
        # Where a value is recomputed, its operands must be there.
        for value in values:
            step = self.step_of.get(value)
            if isinstance(step, FusionGroup):
                for each in value.inputs:
                    if self.step_of.get(each.value) is not step and not each.value.stored and self.can_inline(each.value):
                        self.add_dependencies(step, each.value)

    # -- the order -----------------------------------------------------------------------------------------------

    def scheduled(self) -> list[Any]:
        """Groups and steps in topological order; groups that store nothing are left out."""
        steps = list(dict.fromkeys(self.step_of.values()))
        steps = [each for each in steps if isinstance(each, OpStep) or any(value.stored for value in each.members)]
        alive = set(steps)
        unscheduled = {step: step.dependencies & alive for step in steps}  # the dependencies of a step that are not in the order yet
        users: dict[Any, list[Any]] = {step: [] for step in steps}
        for step, dependencies in unscheduled.items():
            for each in dependencies:
                users[each].append(step)
        self.order_exchanges(steps, users)
        number = {step: at for at, step in enumerate(steps)}
        ready = [(step.order, number[step]) for step in steps if not unscheduled[step]]
        heapq.heapify(ready)
        order: list[Any] = []
        while ready:
            step = steps[heapq.heappop(ready)[1]]
            order.append(step)
            for user in users[step]:
                unscheduled[user].discard(step)
                if not unscheduled[user]:
                    heapq.heappush(ready, (user.order, number[user]))
        assert len(order) == len(steps), "groups depend on each other"
        return order

    def order_exchanges(self, steps: list[Any], users: dict[Any, list[Any]]) -> None:
        """Have exchanges between processes started early and waited for late."""
        roles = [(exchange_role(step), step) for step in steps]
        waits = sorted((step for role, step in roles if role == "wait"), key=lambda each: each.order)
        for step in reversed(waits):
            step.order = min([each.order for each in users[step]], default=1 << 62)
        for one, other in zip(waits, waits[1:]):  # what needs the first alone is computed while the second goes on
            other.order = max(other.order, *(each.order for each in users[one]), 0)
        for step in (step for role, step in roles if role == "start"):
            step.order = -1


def exchange_role(step: Any) -> str | None:
    """Whether a step starts an exchange between processes or waits for one; None of all others."""
    if not isinstance(step, OpStep) or not isinstance(step.value, Call) or step.value.node is None:
        return None
    op = step.value.node.table_op
    return None if op is None else exchange.of(op)


def other_axes(value: Reduce) -> tuple[int, ...]:
    """The axes that a reduction does not reduce."""
    return tuple([at for at in range(len(value.source)) if at not in value.axes])


def substituted(expression: ScalarExpression, inner: Any) -> ScalarExpression:
    """An expression in which operands are replaced by expressions."""
    replaced: dict[int, ScalarExpression] = {}  # by id

    def visit(each: ScalarExpression) -> ScalarExpression:
        if id(each) not in replaced:
            replaced[id(each)] = inner(each) if each.op == "operand" else each.with_args([visit(arg) for arg in each.args])
        return replaced[id(each)]

    return visit(expression)

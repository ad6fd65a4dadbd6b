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
        self.needs: set[Any] = set()  # the groups and steps that it depends on
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
        self.needs: set[Any] = set()
        self.order = value.index

    def __repr__(self) -> str:
        kind = "call" if isinstance(self.value, Call) else "routine" if isinstance(self.value, Routine) else "BLAS"
        return f"{kind}: {self.value.node.name if self.value.node is not None else self.value}"


class Fusion:
    """Forms the fusion groups of a graph greedily, in the order of its values."""

    def __init__(self, values: list[Value], outputs: list[Reference], target: Target) -> None:
        self.target = target
        self.home: dict[Value, Any] = {}  # the group or step that computes a value
        self.inlined: dict[Value, bool] = {}
        self.partials: list[Value] = []
        self.read_by: dict[Any, list[Value]] = {}  # elements that members of groups read, and which members
        used = self.used(values, outputs)
        self.columns, late = self.find_columns([each for each in values if each in used])
        for value in sorted(values, key=lambda each: each in late):
            if value not in used or isinstance(value, Leaf):
                continue
            if isinstance(value, (Product, Routine, Call)):
                self.step(value)
            else:
                self.place(value)
        self.mark_stored([*values, *self.partials], used.union(self.partials))
        self.steps = self.scheduled()

    def used(self, values: list[Value], outputs: list[Reference]) -> set[Value]:
        """The values that the outputs, or side effects, depend on."""
        found: set[Value] = {each.value for each in outputs}
        for value in reversed(values):
            if isinstance(value, Call):
                first = value.first or value
                if first.node.is_impure() or any(each in found for each in first.others):  # type: ignore[union-attr]
                    found.update(first.others)
            if isinstance(value, Routine) and value in found:
                found.add(value.first or value)
                found.update(each for each in value.others if each.scratch)
            if value in found:
                found.update(each.value for each in value.inputs)
        return found

    def find_columns(self, values: list[Value]) -> tuple[set[Value], set[Value]]:
        """Column sums that nothing of the whole space depends on; and these with all their users, which are placed last."""
        users: dict[Value, list[Value]] = {}
        for value in values:
            for each in value.inputs:
                users.setdefault(each.value, []).append(value)
        columns: set[Value] = set()
        late: set[Value] = set()
        for value in values:
            if (
                not isinstance(value, Reduce)
                or value.how != "add"
                or value.dtype.kind != "f"
                or not is_column_sum(value.source, value.axes, self.target)
            ):
                continue
            found: set[Value] = set()
            waiting: list[Value] = [value]
            while waiting:
                user = waiting.pop()
                if user not in found:
                    found.add(user)
                    waiting += users.get(user, ())
            if all(isinstance(user, (Pointwise, Reduce)) and never_more(user.size, value.size) for user in found):
                columns.add(value)
                late |= found
        return columns, late

    # -- forming groups ------------------------------------------------------------------------------------------

    def step(self, value: Any) -> None:
        """Make a step of a product, routine or call."""
        if isinstance(value, (Routine, Call)) and value.first is not None:
            self.home[value] = self.home[value.first]
            self.home[value].members.append(value)
            return
        step = self.home[value] = OpStep(value)
        self.depend(step, value)

    def depend(self, home: Any, value: Value) -> None:
        home.needs |= self.before(value) - {home}

    def before(self, value: Value) -> set[Any]:
        """The groups and steps that a value depends on."""
        found = [each.value for each in value.inputs]
        if value.after is not None:
            found.append(value.after)
        return {self.home[each] for each in found if each in self.home}

    def place(self, value: Any) -> None:
        """Put a value into the group of one of its operands, or into a new one."""
        space = value.source if isinstance(value, Reduce) else value.shape
        candidates: list[FusionGroup] = []
        for each in value.inputs:
            group = self.home.get(each.value)
            if isinstance(group, FusionGroup) and each.aligned() and group not in candidates:
                candidates.append(group)
        if not candidates and value in self.columns and self.target.sums_late:
            candidates = self.readers(value.inputs)
        for group in sorted(candidates, key=lambda each: -each.order):
            role = self.role(group, value, space)
            if role and not self.makes_cycle(group, value):
                break
        else:
            group, role = FusionGroup(space), "column" if value in self.columns else "reduction" if isinstance(value, Reduce) else "full"
        if role == "column":
            group.axes = other_axes(value)  # those of a group that is merged with it must be the same
        for other in candidates:
            if other is not group and role != "reduction" and not self.is_sibling(other, value) and self.can_merge(group, other, value):
                self.merge(group, other)
        if role == "column":
            self.begin_column(group, value)
            self.place(value)
            return
        if role == "reduction":
            group.axes = value.axes
        if role in ("reduction", "row"):
            group.rows.add(value)
        group.add(value)
        self.home[value] = group
        self.depend(group, value)

    def readers(self, sources: list[Reference]) -> list[FusionGroup]:
        """The groups that read the same elements from memory: a sum can be taken on the way."""
        if not self.read_by:  # sums are placed last: all others have a home
            for member, home in self.home.items():
                if isinstance(home, FusionGroup):
                    for each in member.inputs:
                        self.read_by.setdefault((each.value, each.shape, each.strides, each.offset), []).append(member)
        found = [member for each in sources for member in self.read_by.get((each.value, each.shape, each.strides, each.offset), ())]
        return list(dict.fromkeys(self.home[member] for member in found))

    def is_sibling(self, group: FusionGroup, value: Value) -> bool:
        """Whether a value has no operand in a group."""
        return not any(self.home.get(each.value) is group for each in value.inputs)

    def begin_column(self, group: FusionGroup, value: Reduce) -> None:
        """Have a group compute the partial sums of a column sum for blocks of its rows; the sum then adds those."""
        count = math.prod(value.source[: len(value.axes)])
        smallest, largest = self.target.block_rows
        rows = least(most(-(-count // self.target.row_blocks), smallest), largest)
        part = PartialReduce(value.index, (-(-count // rows), *value.shape[1:]), value.dtype, value.node)
        part.define(value.expression)
        part.rows, part.stored = rows, True
        group.add(part)
        self.partials.append(part)
        self.home[part] = group
        self.depend(group, part)
        value.source = part.shape
        value.define(ScalarExpression("operand", (), part.dtype, Reference(part, part.shape, part.strides)))
        self.columns.discard(value)

    def can_merge(self, group: FusionGroup, other: FusionGroup, value: Value) -> bool:
        """Whether two groups that a value depends on can be one."""
        fits = same(group.space, other.space) and (group.axes == other.axes or None in (group.axes, other.axes))
        if not fits or len(group.members) + len(other.members) >= self.target.group_limit:
            return False
        # Where launches cost much, one of the two may depend on the other: then they follow each other in one kernel.
        if self.leads_to(self.before(value) - ({group, other} if self.target.sums_late else {other}), other):
            return False
        if not all(each.aligned() for each in value.inputs if self.home.get(each.value) is other):
            return False
        inputs = [each for member in (*group.members, *other.members) for each in member.inputs]
        if not all(each.aligned() for each in inputs if self.home.get(each.value) in (group, other)):
            return False
        return not self.leads_to(group.needs - {other}, other) and not self.leads_to(other.needs - {group}, group)

    def merge(self, group: FusionGroup, other: FusionGroup) -> None:
        """Merge a group into another."""
        group.members = sorted(group.members + other.members, key=lambda each: each.index)
        group.order = group.members[-1].index
        group.axes = group.axes if group.axes is not None else other.axes
        group.rows |= other.rows
        group.needs = (group.needs | other.needs) - {group, other}
        for member in other.members:
            self.home[member] = group
        for home in set(self.home.values()):
            if other in home.needs:
                home.needs.discard(other)
                home.needs.add(group)
        group.needs.discard(group)

    def role(self, group: FusionGroup, value: Any, space: tuple[int, ...]) -> str:
        """The role that a value would have in a group: column, reduction, full, row; empty where it can't be a member."""
        if len(group.members) >= self.target.group_limit:
            return ""
        inside = [each for each in value.inputs if self.home.get(each.value) is group]
        if not all(each.aligned() for each in inside):
            return ""
        if (
            value in self.columns
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
        return self.leads_to(self.before(value) - {group}, group)

    def leads_to(self, homes: set[Any], group: FusionGroup) -> bool:
        """Whether one of some groups and steps depends on a group, directly or indirectly."""
        waiting, seen = list(homes), set(homes)
        while waiting:
            home = waiting.pop()
            if home is group:
                return True
            new = home.needs - seen
            seen |= new
            waiting.extend(new)
        return False

    # -- stored values ------------------------------------------------------------------------------------------

    def can_inline(self, value: Value) -> bool:
        """Whether a value is cheap enough to be recomputed by each user."""
        found = self.inlined.get(value)
        if found is None:
            found = isinstance(value, Pointwise) and value.expression.cost <= self.target.inline_cost
            found = found and all(isinstance(each.value, (Leaf, Product, Routine, Call)) or each.value.stored for each in value.inputs)
            self.inlined[value] = found
        return found

    def mark_stored(self, values: list[Value], used: set[Value]) -> None:
        """Mark the values that are stored: those that another group uses and does not recompute."""
        for value in values:
            if value not in used or not isinstance(value, Computed):
                continue
            home = self.home[value]
            for each in value.inputs:
                source = each.value
                if self.home.get(source) is home and each.aligned():
                    continue
                if each.aligned() and self.can_inline(source):
                    continue
                source.stored = True
        # Where a value is recomputed, its operands must be there.
        for value in values:
            home = self.home.get(value)
            if isinstance(home, FusionGroup):
                for each in value.inputs:
                    if self.home.get(each.value) is not home and not each.value.stored and self.can_inline(each.value):
                        self.depend(home, each.value)

    # -- the order -----------------------------------------------------------------------------------------------

    def scheduled(self) -> list[Any]:
        """Groups and steps in topological order; groups that store nothing are left out."""
        homes = list(dict.fromkeys(self.home.values()))
        homes = [each for each in homes if isinstance(each, OpStep) or any(value.stored for value in each.members)]
        alive = set(homes)
        needs = {home: {each for each in home.needs if each in alive} for home in homes}
        users: dict[Any, list[Any]] = {home: [] for home in homes}
        for home, wanted in needs.items():
            for each in wanted:
                users[each].append(home)
        self.order_exchanges(homes, users)
        ready = [(home.order, at) for at, home in enumerate(homes) if not needs[home]]
        places = {home: at for at, home in enumerate(homes)}
        heapq.heapify(ready)
        order: list[Any] = []
        while ready:
            home = homes[heapq.heappop(ready)[1]]
            order.append(home)
            for user in users[home]:
                needs[user].discard(home)
                if not needs[user]:
                    heapq.heappush(ready, (user.order, places[user]))
        assert len(order) == len(homes), "groups depend on each other"
        return order

    def order_exchanges(self, homes: list[Any], users: dict[Any, list[Any]]) -> None:
        """Have exchanges between processes started early and waited for late."""
        roles = [(exchange_role(home), home) for home in homes]
        waits = sorted((home for role, home in roles if role == "wait"), key=lambda each: each.order)
        for home in reversed(waits):
            home.order = min([each.order for each in users[home]], default=1 << 62)
        for one, other in zip(waits, waits[1:]):  # what needs the first alone is computed while the second goes on
            other.order = max(other.order, *(each.order for each in users[one]), 0)
        for home in (home for role, home in roles if role == "start"):
            home.order = -1


def exchange_role(home: Any) -> str | None:
    """Whether a step starts an exchange between processes or waits for one; None of all others."""
    if not isinstance(home, OpStep) or not isinstance(home.value, Call) or home.value.node is None:
        return None
    op = home.value.node.table_op
    return None if op is None else exchange.of(op)


def other_axes(value: Reduce) -> tuple[int, ...]:
    """The axes that a reduction does not reduce."""
    return tuple([at for at in range(len(value.source)) if at not in value.axes])


def substituted(expression: ScalarExpression, inner: Any) -> ScalarExpression:
    """An expression in which operands are replaced by expressions."""
    made: dict[int, ScalarExpression] = {}

    def visit(each: ScalarExpression) -> ScalarExpression:
        found = made.get(id(each))
        if found is None:
            if each.op == "operand":
                found = inner(each)
            elif each.args:
                args = tuple([visit(arg) for arg in each.args])
                same = all(a is b for a, b in zip(args, each.args))
                found = each if same else ScalarExpression(each.op, args, each.dtype, each.data)
            else:
                found = each
            made[id(each)] = found
        return found

    return visit(expression)

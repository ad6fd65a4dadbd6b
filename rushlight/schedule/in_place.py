"""In-place updates: which final values of inputs are computed directly in the memory of the input."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ..passes.decompose import Declined
from .fusion import FusionGroup
from .tensor_ir import Call, Input, Leaf, Pointwise, Reduce, Reference, Routine, Value


def plan_in_place(steps: list[Any], outputs: list[Reference | None], writes: list[int], inputs: list[Input]) -> list[tuple[int, int]]:
    """Let final values of inputs use the input's memory (``value.alias_of``); those that can't are returned as pairs of output and input, to be copied.

    The last outputs are the final values of the ``writes``.  A value may use an input's memory when nothing reads the old elements after it:
    other readers run before, and its own step reads every element before it writes the new one.
    """
    count = len(outputs) - len(writes)
    input_at = {each.position: each for each in inputs}
    returned = [each.value for each in outputs if each is not None]
    if any(input_at[position] in returned[:count] for position in writes):
        raise Declined("it returns what an input was before it is written to")
    copied: list[tuple[int, int]] = []
    uses, order = Counter(returned), Order(steps)
    for number, position in enumerate(writes, count):
        reference, target = outputs[number], input_at[position]
        assert reference is not None
        shared = uses[reference.value] > 1 or target in uses
        if shared or not is_whole(reference, target) or not order.is_safe(reference.value, target):
            copied.append((number, position))
        else:
            reference.value.alias_of = target
    return copied


def is_whole(reference: Reference, target: Input) -> bool:
    """Whether an output is a whole value with the strides of an input."""
    value = reference.value
    updates = isinstance(value, Routine) and value.updates is target
    return (
        (isinstance(value, Pointwise) or updates) and value.dtype == target.dtype and value.shape == target.shape == reference.shape
        and value.strides == target.strides == reference.strides and not reference.offset
    )  # fmt: skip


class Order:
    """The steps in which values are computed and inputs are read for the last time."""

    def __init__(self, steps: list[Any]) -> None:
        self.steps = steps
        self.computed_at = {member: at for at, step in enumerate(steps) for member in step.members}
        self.last_read: dict[Value, int] = {}
        self.readers: dict[Value, set[int]] = {}
        for at, step in enumerate(steps):
            for each in [each for member in step.members for each in references(member)]:
                self.last_read[each.value] = at
                self.readers.setdefault(each.value, set()).add(at)
        self.refused = max((at for at, step in enumerate(steps) if may_refuse(step)), default=-1)

    def is_safe(self, value: Value, target: Input) -> bool:
        """Whether nothing reads the input's old elements after the value's are written."""
        at = self.computed_at.get(value)
        if isinstance(value, Routine):
            # It may be given up after the write, where a later index is out of range: then eager mode writes the same once more, as nothing has read it.
            return at is not None and self.readers.get(target) == {at}
        if at is None or max(self.last_read.get(target, -1), self.refused) > at:
            return False
        return isinstance(self.steps[at], FusionGroup) and in_group(self.steps[at], value, target)


def may_refuse(step: Any) -> bool:
    """Whether a step may refuse to run for these inputs (an index out of range): nothing may have been written to them by then."""
    if isinstance(step, FusionGroup):
        return False
    value = step.value
    return isinstance(value, Call) or (isinstance(value, Routine) and any(each.dtype.kind in "iu" for each in value.inputs))


def writes_inside(step: Any) -> bool:
    """Whether a step writes to an input."""
    return any(isinstance(each.alias_of, Input) for each in step.members)


def in_group(group: FusionGroup, value: Value, target: Value) -> bool:
    """Whether that holds within the group that computes the value: old elements are read at the same index, by operands of the value."""
    row = value in group.rows
    if group.axes is not None and not row:  # several passes over a row: the last one may write
        reads = [each for member in group.members for each in references(member) if each.value is target]
        return in_last_pass(group, value) and all(each.aligned() and each.shape == value.shape for each in reads)
    live: set[Value] = {value}
    for member in reversed(group.members):
        if member in live:
            live.update(each.value for each in member.inputs)
    for member in group.members:
        reads = [each for each in references(member) if each.value is target]
        if reads and (member not in live or not isinstance(member, Pointwise) or (member in group.rows) is not row):
            return False
        if not all(each.aligned() and each.shape == value.shape for each in reads):
            return False
    return True


def in_last_pass(group: FusionGroup, value: Value) -> bool:
    """Whether an element is computed in the last pass over its row."""
    passes: dict[Value, int] = {}  # in which a member is computed, or before which a row value is known
    for member in group.members:
        known = [passes[each.value] + isinstance(each.value, Reduce) for each in references(member) if each.value in passes]
        passes[member] = max(known, default=0)
    return passes[value] == max(at for member, at in passes.items() if member not in group.rows or isinstance(member, Reduce))


def references(value: Value) -> list[Reference]:
    """The stored values that a value reads, with recomputed operands expanded."""
    reads: list[Reference] = []
    for each in value.inputs:
        if each.value.stored or isinstance(each.value, Leaf) or not isinstance(each.value, Pointwise):
            reads.append(each)
        else:
            reads += [inner.broadcast(each.shape) for inner in each.value.inputs]
    return reads

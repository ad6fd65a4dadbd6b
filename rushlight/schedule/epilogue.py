"""Epilogues: groups that a routine runs on its result while that is in the cache (bias, activation, residual); and early updates of inputs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .fusion import FusionGroup, OpStep
from .in_place import may_refuse
from .tensor_ir import Input, Leaf, PartialReduce, Reference, Routine, Value


def stored_operands(members: Iterable[Value]) -> dict[Value, None]:
    """The stored values that some values read, in order: their operands, or the operands of what is recomputed."""
    operands: dict[Value, None] = {}
    worklist = [each.value for member in members for each in member.inputs][::-1]
    while worklist:
        value = worklist.pop()
        if value.stored or isinstance(value, Leaf):
            operands[value] = None
        else:
            worklist += [each.value for each in value.inputs][::-1]
    return operands


def fuse_epilogues(steps: list[Any], outputs: list[Reference | None]) -> list[Any]:
    """Make groups epilogues of the routines whose results they read, where the routine takes one.

    A result without other users is then not stored.
    """
    users: dict[Value, list[Any]] = {}
    operands_of: dict[Any, list[Value]] = {}
    computed_at: dict[Value, int] = {}  # the step that computes a value
    for at, step in enumerate(steps):
        operands = stored_operands(step.members)
        operands_of[step] = list(operands)
        computed_at.update(dict.fromkeys(step.members, at))
        for source in operands:
            users.setdefault(source, []).append(step)
    returned = {each.value for each in outputs if each is not None}
    order: dict[Any, Any] = {step: step for step in steps}  # what replaces each step
    for at, step in enumerate(steps):
        value = step.value if isinstance(step, OpStep) else None
        if not isinstance(value, Routine) or not value.takes_epilogue:
            continue
        sole_user = len(users.get(value, ())) == 1 and value not in returned
        for group in users.get(value, ()):
            early = all(computed_at.get(each, -1) < at for each in operands_of[group] if each is not value and each not in group.members)
            if order[group] is group and is_epilogue(group, value) and (early or sole_user):
                fused = OpStep(value)
                fused.members = [*step.members, *group.members]
                value.epilogue, value.kept = group, not sole_user
                order[step], order[group] = (fused, None) if early else (None, fused)
                break
    return [order[step] for step in steps if order[step] is not None]


def update_early(steps: list[Any], final_values: dict[Value, Input]) -> list[Any]:
    """Move the final values of inputs (``ends`` says which) to right after their last operand: a gradient is still in the cache then.

    They stay after all other readers of the input, and after all steps that may refuse to run.  Values that other steps read do not move.
    """
    operands_of = {step: needed(step) for step in steps}
    read = {value for step in steps for value in operands_of[step].difference(step.members)}
    early = [
        step for step in steps if isinstance(step, FusionGroup) and step.axes is None and not final_values.keys().isdisjoint(step.members)
    ]
    early = [step for step in early if read.isdisjoint(step.members)]
    moved = set(early)
    order = [step for step in steps if step not in moved]
    computed_at: dict[Value, int] = {}  # after how many of these steps a value is computed
    last_read: dict[Value, int] = {}  # after how many it is read for the last time
    for at, step in enumerate(order, 1):
        computed_at.update(dict.fromkeys(step.members, at))
        last_read.update(dict.fromkeys(operands_of[step], at))
    earliest = max((at for at, step in enumerate(order, 1) if may_refuse(step)), default=0)
    after: dict[int, list[Any]] = {}
    for step in early:
        own = [final_values[each] for each in step.members if each in final_values]
        waits = [*operands_of[step], *(each.after for each in step.members if each.after is not None)]
        at = max(earliest, *(computed_at.get(each, 0) for each in waits), *(last_read.get(each, 0) for each in own))
        after.setdefault(at, []).append(step)
        computed_at.update(dict.fromkeys(step.members, at))
        last_read.update((each, max(at, last_read.get(each, 0))) for each in operands_of[step])
    return [each for at, step in enumerate([None, *order]) for each in ([step] if step is not None else []) + after.get(at, [])]


def needed(step: Any) -> set[Value]:
    """The stored values that a step reads."""
    return set(stored_operands(step.members))


def is_epilogue(group: Any, value: Routine) -> bool:
    """Whether a group reads a result element by element, and reduces at most within an image."""
    if not isinstance(group, FusionGroup) or 0 in (group.axes or ()) or group.space != value.shape:
        return False
    if any(isinstance(each, PartialReduce) for each in group.members):
        return False
    return all(each.aligned() for member in group.members for each in member.inputs if each.value is value)

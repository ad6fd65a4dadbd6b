"""Epilogues: groups that a routine runs on its result while that is in the cache (bias, activation, residual); and early updates of inputs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .fusion import FusionGroup, OpStep
from .in_place import may_refuse
from .tensor_ir import Input, Leaf, PartialReduce, Reference, Routine, Value


def stored_operands(members: Iterable[Value]) -> dict[Value, None]:
    """The stored values that some values read, in order: their operands, or the operands of what is recomputed."""
    found: dict[Value, None] = {}
    waiting = [each.value for member in members for each in member.inputs][::-1]
    while waiting:
        value = waiting.pop()
        if value.stored or isinstance(value, Leaf):
            found[value] = None
        else:
            waiting += [each.value for each in value.inputs][::-1]
    return found


def fuse_epilogues(steps: list[Any], outputs: list[Reference | None]) -> list[Any]:
    """Make groups epilogues of the routines whose results they read, where the routine takes one.

    A result without other users is then not stored.
    """
    users: dict[Value, list[Any]] = {}
    needs: dict[Any, list[Value]] = {}
    made: dict[Value, int] = {}  # the step that computes a value
    for at, step in enumerate(steps):
        found = stored_operands(step.members)
        needs[step] = list(found)
        made.update(dict.fromkeys(step.members, at))
        for source in found:
            users.setdefault(source, []).append(step)
    returned = {each.value for each in outputs if each is not None}
    order: dict[Any, Any] = {step: step for step in steps}  # what replaces each step
    for at, step in enumerate(steps):
        value = step.value if isinstance(step, OpStep) else None
        if not isinstance(value, Routine) or not value.takes_epilogue:
            continue
        alone = len(users.get(value, ())) == 1 and value not in returned
        for group in users.get(value, ()):
            early = all(made.get(each, -1) < at for each in needs[group] if each is not value and each not in group.members)
            if order[group] is group and is_epilogue(group, value) and (early or alone):
                joined = OpStep(value)
                joined.members = [*step.members, *group.members]
                value.epilogue, value.kept = group, not alone
                order[step], order[group] = (joined, None) if early else (None, joined)
                break
    return [order[step] for step in steps if order[step] is not None]


def update_early(steps: list[Any], ends: dict[Value, Input]) -> list[Any]:
    """Move the final values of inputs (``ends`` says which) to right after their last operand: a gradient is still in the cache then.

    They stay after all other readers of the input, and after all steps that may refuse to run.  Values that other steps read do not move.
    """
    needs = {step: needed(step) for step in steps}
    read = {value for step in steps for value in needs[step].difference(step.members)}
    early = [step for step in steps if isinstance(step, FusionGroup) and step.axes is None and not ends.keys().isdisjoint(step.members)]
    early = [step for step in early if read.isdisjoint(step.members)]
    late = set(early)
    order = [step for step in steps if step not in late]
    made: dict[Value, int] = {}  # after how many of these steps a value is computed
    seen: dict[Value, int] = {}  # after how many it is read for the last time
    for at, step in enumerate(order, 1):
        made.update(dict.fromkeys(step.members, at))
        seen.update(dict.fromkeys(needs[step], at))
    begun = max((at for at, step in enumerate(order, 1) if may_refuse(step)), default=0)
    placed: dict[int, list[Any]] = {}
    for step in early:
        own = [ends[each] for each in step.members if each in ends]
        waits = [*needs[step], *(each.after for each in step.members if each.after is not None)]
        at = max(begun, *(made.get(each, 0) for each in waits), *(seen.get(each, 0) for each in own))
        placed.setdefault(at, []).append(step)
        made.update(dict.fromkeys(step.members, at))
        seen.update((each, max(at, seen.get(each, 0))) for each in needs[step])
    return [each for at, step in enumerate([None, *order]) for each in ([step] if step is not None else []) + placed.get(at, [])]


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

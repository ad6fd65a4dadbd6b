"""Sums of partial sums in one place: where a launch costs more than a small sum, they run together, right before the first of them is needed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .fusion import FusionGroup


def sum_late(steps: list[Any], partials: Iterable[Any]) -> list[Any]:
    """Steps in an order in which groups that read nothing but partial sums follow each other."""
    known = set(partials)
    late = [each for each in steps if isinstance(each, FusionGroup) and reads(each) <= known]
    made = {value for each in late for value in each.members}
    chosen = set(late)
    needed = next((at for at, each in enumerate(steps) if each not in chosen and reads(each) & made), len(steps))
    moved = [each for each in steps[:needed] if each in chosen]
    return [*(each for each in steps[:needed] if each not in chosen), *moved, *steps[needed:]]


def reads(step: Any) -> set[Any]:
    """The values of other steps that a step reads."""
    found = {each.value for value in step.members for each in value.inputs} - set(step.members)
    waiting = [value for value in found if not value.stored]
    while waiting:  # what is computed again is read where it comes from
        for each in waiting.pop().inputs:
            if each.value not in found:
                found.add(each.value)
                if not each.value.stored:
                    waiting.append(each.value)
    return found


__all__ = ["sum_late"]

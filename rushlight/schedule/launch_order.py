"""The order of small kernels where a launch costs more than they do: those that can wait for each other follow each other, and become one launch.

Sums of partial sums run together, right before the first of them is needed; what is computed of inputs alone (factors of batch norms at inference, casts of
weights) runs first.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from .fusion import FusionGroup
from .tensor_ir import Leaf

_FEW = 1 << 18  # elements of what is computed first: it takes memory until it is used


def sum_late(steps: list[Any], partials: Iterable[Any]) -> list[Any]:
    """Steps in an order in which groups that read nothing but partial sums follow each other."""
    known = set(partials)
    late = [each for each in steps if isinstance(each, FusionGroup) and reads(each) <= known]
    sums = {value for each in late for value in each.members}
    moving = set(late)
    needed = next((at for at, each in enumerate(steps) if each not in moving and reads(each) & sums), len(steps))
    moved = [each for each in steps[:needed] if each in moving]
    return [*(each for each in steps[:needed] if each not in moving), *moved, *steps[needed:]]


def inputs_first(steps: list[Any]) -> list[Any]:
    """Steps in an order that begins with small groups without reductions that read nothing but inputs and constants."""
    early = {
        each
        for each in steps
        if isinstance(each, FusionGroup)
        and each.axes is None
        and math.prod(each.space) <= _FEW
        and all(isinstance(value, Leaf) for value in reads(each))
    }
    return [*(each for each in steps if each in early), *(each for each in steps if each not in early)]


def reads(step: Any) -> set[Any]:
    """The values of other steps that a step reads."""
    values = {each.value for value in step.members for each in value.inputs} - set(step.members)
    worklist = [value for value in values if not value.stored]
    while worklist:  # what is computed again is read where it comes from
        for each in worklist.pop().inputs:
            if each.value not in values:
                values.add(each.value)
                if not each.value.stored:
                    worklist.append(each.value)
    return values


__all__ = ["inputs_first", "sum_late"]

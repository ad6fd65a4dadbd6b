"""The memory plan: live ranges of intermediate values, in-place reuse of their memory, and offsets in the arena."""

from __future__ import annotations

from typing import Any

import numpy as np

from .epilogue import stored_operands
from .fusion import FusionGroup
from .in_place import in_group
from .symbolic_shape import hint, same
from .tensor_ir import Call, Pointwise, Value

ALIGNMENT = 64


def plan_memory(steps: list[Any], outside: set[Value]) -> dict[Value, tuple[int, int]]:
    """The live range (first and last step) of every value in the arena; values that reuse the memory of others (``value.place``) are not among them.

    ``outside`` are values with memory of their own.
    """
    lives = live_ranges(steps, outside)
    reuse_in_place(steps, lives)
    return lives


def assign_offsets(lives: dict[Value, tuple[int, int]]) -> tuple[dict[Value, int], int]:
    """The offset of every value in the arena, and the arena's size."""
    sizes = {value: -(-max(hint(value.size), 1) * value.dtype.itemsize // ALIGNMENT) * ALIGNMENT for value in lives}
    offsets = packed([(sizes[value], *life) for value, life in lives.items()])
    return dict(zip(lives, offsets)), max([offset + size for offset, size in zip(offsets, sizes.values())], default=0)


def live_ranges(steps: list[Any], outside: set[Value]) -> dict[Value, tuple[int, int]]:
    """For each value the step that computes it and the step that uses it last."""
    found: dict[Value, tuple[int, int]] = {}
    for at, step in enumerate(steps):
        for value in step.members:
            if value.stored and not isinstance(value, Call) and value.place is None and value not in outside:
                found[value] = at, at
        for source in stored_operands(step.members):
            if source in found:
                found[source] = found[source][0], at
    return found


def reuse_in_place(steps: list[Any], lives: dict[Value, tuple[int, int]]) -> None:
    """Let a group store results in the memory of values that it is the last to read, element by element."""
    ending: dict[int, list[Value]] = {}
    for value, (_, end) in lives.items():
        ending.setdefault(end, []).append(value)
    for at, step in enumerate(steps):
        if not isinstance(step, FusionGroup):
            continue
        for value in step.members:
            if value not in lives or not isinstance(value, Pointwise) or lives[value][1] == at:
                continue
            for other in ending.get(at, ()):
                root = other.place or other
                alike = other.dtype == value.dtype and same(other.shape, value.shape) and same(other.strides, value.strides)
                if alike and lives[root] == (lives[root][0], at) and lives[root][0] < at and in_group(step, value, other):
                    value.place = root
                    start, end = lives[root][0], lives.pop(value)[1]
                    lives[root] = start, end
                    ending[end] = [*ending.get(end, ()), value]
                    break


def packed(pieces: list[tuple[int, int, int]]) -> list[int]:
    """Offsets for blocks of memory (size, first and last step): large ones first, each at the lowest offset where it fits."""
    order = sorted(range(len(pieces)), key=lambda at: (-pieces[at][0], pieces[at][1]))
    count = len(pieces)
    starts, ends, low, high = (np.zeros(count, np.int64) for _ in range(4))
    made = [0] * count
    for number, at in enumerate(order):
        size, start, end = pieces[at]
        together = (starts[:number] <= end) & (ends[:number] >= start)
        below, above = low[:number][together], high[:number][together]
        by_place = np.argsort(below, kind="stable")
        free = np.maximum.accumulate(np.concatenate(([0], above[by_place])))  # where gaps begin
        fits = np.flatnonzero(below[by_place] - free[:-1] >= size)
        made[at] = int(free[fits[0]] if len(fits) else free[-1])
        starts[number], ends[number], low[number], high[number] = start, end, made[at], made[at] + size
    return made

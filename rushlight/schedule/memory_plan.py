"""The memory plan: live ranges of intermediate values, in-place reuse of their memory, and offsets in the arena or in the memory of results to come."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

import numpy as np

from .epilogue import stored_operands
from .fusion import FusionGroup
from .in_place import in_group
from .symbolic_shape import hint, same
from .tensor_ir import Call, Pointwise, Value

ALIGNMENT = 64
LEAST_LENT = 1 << 18  # bytes of a result from which on its memory is lent


def plan_memory(steps: list[Any], outside: set[Value]) -> dict[Value, tuple[int, int]]:
    """The live range (first and last step) of every value in the arena; values that reuse the memory of others (``value.alias_of``) are not among them.

    ``outside`` are values with memory of their own.
    """
    lives = live_ranges(steps, outside)
    reuse_in_place(steps, lives)
    return lives


def assign_offsets(lives: dict[Value, tuple[int, int]]) -> tuple[dict[Value, int], int]:
    """The offset of every value in the arena, and the arena's size."""
    sizes = {value: bytes_of(value) for value in lives}
    offsets = first_fit([(sizes[value], *life) for value, life in lives.items()])
    return dict(zip(lives, offsets)), max([offset + size for offset, size in zip(offsets, sizes.values())], default=0)


def lend_results(steps: list[Any], roots: list[Value], lives: dict[Value, tuple[int, int]]) -> dict[Value, tuple[Value, int]]:
    """Values that are placed in the memory of a result which is computed after their last use: the result, and the offset in bytes.

    They are taken out of ``lives``.  Gradients are such results: their memory is there during the whole step, and written at its end.
    """
    sizes = {value: size for value in (*roots, *lives) if (size := bytes_of(value)) >= LEAST_LENT}
    first: dict[Value, int] = {}  # the step that computes a result
    known = {root for root in roots if root in sizes and root.alias_of is None}
    for at, step in enumerate(steps):
        for value in step.members:
            root = value.alias_of or value
            if root in known:
                first.setdefault(root, at)
    lenders = sorted(first, key=first.__getitem__)
    begins = [first[each] for each in lenders]
    rooms = {each: hint(each.size) * each.dtype.itemsize for each in lenders}  # their own bytes, and no more
    placed: dict[Value, list[tuple[int, int, int, int]]] = {each: [] for each in lenders}  # first and last step, first and last byte
    lent: dict[Value, tuple[Value, int]] = {}
    for value in sorted((each for each in lives if each in sizes), key=sizes.__getitem__, reverse=True):
        (start, end), size = lives[value], sizes[value]
        for root in lenders[bisect_right(begins, end) :]:  # the next to be computed first: others can lend to more
            offset, room = 0, rooms[root]
            if size > room:
                continue
            for low, high in sorted((low, high) for begin, last, low, high in placed[root] if begin <= end and last >= start):
                if offset + size <= low:
                    break
                offset = max(offset, high)
            if offset + size <= room:
                placed[root].append((start, end, offset, offset + size))
                lent[value] = root, offset
                break
    for value in lent:
        del lives[value]
    return lent


def bytes_of(value: Value) -> int:
    """The bytes of a value's memory, aligned."""
    return -(-max(hint(value.size), 1) * value.dtype.itemsize // ALIGNMENT) * ALIGNMENT


def live_ranges(steps: list[Any], outside: set[Value]) -> dict[Value, tuple[int, int]]:
    """For each value the step that computes it and the step that uses it last."""
    lives: dict[Value, tuple[int, int]] = {}
    for at, step in enumerate(steps):
        for value in step.members:
            if value.stored and not isinstance(value, Call) and value.alias_of is None and value not in outside:
                lives[value] = at, at
        for source in stored_operands(step.members):
            if source in lives:
                lives[source] = lives[source][0], at
    return lives


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
                root = other.alias_of or other
                alike = other.dtype == value.dtype and same(other.shape, value.shape) and same(other.strides, value.strides)
                if alike and lives[root] == (lives[root][0], at) and lives[root][0] < at and in_group(step, value, other):
                    value.alias_of = root
                    start, end = lives[root][0], lives.pop(value)[1]
                    lives[root] = start, end
                    ending[end] = [*ending.get(end, ()), value]
                    break


def first_fit(blocks: list[tuple[int, int, int]]) -> list[int]:
    """Offsets for blocks of memory (size, first and last step): large ones first, each at the lowest offset where it fits."""
    order = sorted(range(len(blocks)), key=lambda index: (-blocks[index][0], blocks[index][1]))
    starts, ends, low, high = (np.zeros(len(blocks), np.int64) for _ in range(4))  # of the blocks that have an offset, in that order
    offsets = [0] * len(blocks)
    for count, index in enumerate(order):
        size, start, end = blocks[index]
        live_together = (starts[:count] <= end) & (ends[:count] >= start)
        begins, limits = low[:count][live_together], high[:count][live_together]
        by_offset = np.argsort(begins, kind="stable")
        gaps = np.maximum.accumulate(np.concatenate(([0], limits[by_offset])))  # where gaps begin
        fits = np.flatnonzero(begins[by_offset] - gaps[:-1] >= size)
        offset = offsets[index] = int(gaps[fits[0]] if len(fits) else gaps[-1])
        starts[count], ends[count], low[count], high[count] = start, end, offset, offset + size
    return offsets

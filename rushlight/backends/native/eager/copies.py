"""Copies between arrays of one shape and any strides whose rows are contiguous, split over threads."""

from __future__ import annotations

import functools
import math
from typing import Any

from ....codegen.llvm.ir import FIRST, LAST, IRBuilder, Module, Scalar, pointers
from ....runtime.cpu.arena import address
from ....runtime.cpu.parallel_task import Task

SHORT, FEW, DIMENSIONS = 64, 64, 4  # the shortest rows in bytes, rows enough for all threads (fewer are cut), and the most dimensions


def run(target: Any, source: Any) -> bool:
    """Copy, where both have rows that are long enough; False: then nothing was done."""
    found = arranged(target.shape, target.strides, source.strides, target.itemsize)
    if found is None:
        return False
    words, rows = found
    task(len(words) // 3)([address(target), address(source), *words], rows)
    return True


@functools.lru_cache(1024)
def arranged(shape: tuple[int, ...], target: tuple[int, ...], source: tuple[int, ...], itemsize: int) -> tuple[list[int], int] | None:
    """The bytes of a row, the sizes of the outer dimensions but the first, both arrays' strides in these; and the number of rows."""
    if 0 in shape or min((*target, *source), default=0) < 0:
        return None
    dims: list[list[int]] = [[1, itemsize, itemsize]]  # from the last dimension: sizes and strides in bytes
    for size, to, from_ in zip(reversed(shape), reversed(target), reversed(source)):
        last = dims[-1]
        if size > 1 and to == last[0] * last[1] and from_ == last[0] * last[2]:
            last[0] *= size
        elif size > 1:
            dims.append([size, to, from_])
    inner, *outer = dims
    length = inner[0] * itemsize
    while math.prod([each[0] for each in outer]) < FEW and length >= 2 * SHORT and length % 2 == 0:
        part = next(each for each in (16, 8, 4, 2) if length % each == 0 and length // each >= SHORT)
        length //= part
        outer.insert(0, [part, length, length])
    if length < SHORT or not 1 <= len(outer) <= DIMENSIONS:
        return None
    outer.reverse()
    words = [length, *[each[0] for each in outer[1:]], *[each[1] for each in outer], *[each[2] for each in outer]]
    return words, math.prod([each[0] for each in outer])


@functools.cache
def task(outer: int) -> Task:
    """The compiled copy over so many outer dimensions."""
    module = Module()
    return Task(module, body(module, outer), 2 + 3 * outer)


def body(module: Module, outer: int) -> str:
    """A function that copies a range of rows from ``%a1`` to ``%a0``.  Its name."""
    c = IRBuilder(module)
    length, *words = [c.convert("ptrtoint", Scalar(f"%a{at}", "ptr"), "i64") for at in range(2, 2 + 3 * outer)]
    sizes, to, from_ = words[: outer - 1], words[outer - 1 : 2 * outer - 1], words[2 * outer - 1 :]
    with c.loop(FIRST, LAST) as row:
        places, left = [], row
        for size in reversed(sizes):
            places.append(c.rem(left, size))
            left = c.div(left, size)
        places.append(left)
        there, here = c.integer(0), c.integer(0)
        for place, step, other in zip(reversed(places), to, from_):
            there, here = c.add(there, c.mul(place, step)), c.add(here, c.mul(place, other))
        ends = [Scalar(c.address(pointer, at, "i8"), "ptr") for pointer, at in (("%a0", there), ("%a1", here))]
        c.call_external("@llvm.memcpy.p0.p0.i64", "void", (*ends, length, Scalar("false", "i1")))
    return module.add("copy", c.function("", pointers([f"%a{at}" for at in range(2 + 3 * outer)])))

"""Optimizer steps of eager mode on the CPU: one parallel loop for all parameters of a group, whatever the optimizer.

The arithmetic of an optimizer (its ``update``) is traced to scalar IR, as it is for CUDA.  The instructions are those that NumPy runs in sequence over
blocks, with the same rounding, so a step is bitwise equal either way.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from ....codegen.llvm.instructions import FunctionParameter
from ....codegen.llvm.ir import FIRST, LAST, STORED, IRBuilder, Module, Scalar, pointers
from ....codegen.llvm.scalar_code import Emission
from ....codegen.llvm.target import processor
from ....core.process_safety import free_after_fork
from ....runtime.cpu.arena import address
from ....runtime.cpu.jit import log
from ....runtime.cpu.parallel_task import Task
from ....schedule.optimizer_update import computed_in, traced_update, update_key
from ....schedule.scalar_ir import cast, check_target

CHUNK = 1 << 14  # elements that a thread updates at a time
_KEPT = 64  # tables of chunks

_lock = free_after_fork(threading.Lock())
_tasks: dict[Any, Task | None] = {}
_chunks: dict[tuple[int, ...], np.ndarray[Any, Any]] = {}


def run(update: Any, group: dict[str, Any], numbers: tuple[Any, ...], rows: list[list[Any]]) -> bool:
    """Update parameters in place: each of ``rows`` is a parameter, its gradient and its buffers, contiguous arrays of one shape and dtype.

    False where nothing was done: there is no native code for it, or parameters share memory, and so must be updated sequentially.
    """
    dtype, width = rows[0][0].dtype, len(rows[0])
    key = (*update_key(update, group), dtype, width, len(numbers))
    if key not in _tasks:
        prepare(key, update, group, dtype, width, len(numbers))
    task = _tasks[key]
    if task is None:
        return False
    sizes = tuple([row[0].size for row in rows])
    addresses = np.array([[address(each) for each in row] for row in rows], np.int64)
    written = np.concatenate((addresses[:, 0], addresses[:, 2:].T.reshape(-1)))  # by kind of array
    order = np.argsort(written)
    starts = written[order]
    lengths = np.tile(np.array(sizes) * dtype.itemsize, width - 1)[order]
    if np.any(starts[1:] < starts[:-1] + lengths[:-1]):
        return False
    chunks = _chunks.get(sizes)
    if chunks is None:
        if len(_chunks) >= _KEPT:
            _chunks.clear()
        places = [(at, first, min(first + CHUNK, size)) for at, size in enumerate(sizes) for first in range(0, size, CHUNK)]
        chunks = _chunks[sizes] = np.array(places, np.int64).reshape(-1, 3)
    given = np.array(numbers, computed_in(dtype))
    task([address(addresses), address(chunks), address(given)], len(chunks))
    return True


def prepare(key: Any, update: Any, group: dict[str, Any], dtype: np.dtype[Any], width: int, numbers: int) -> None:
    """Compile the step of an optimizer, or find out that it can't be."""
    with _lock:
        if key in _tasks:
            return
        task = None
        try:
            traced = traced_update(update, group, dtype, width - 2, numbers)
            if traced is not None:
                for _, each in traced:
                    check_target(each, processor().target)
                module = Module()
                task = Task(module, over_chunks(module, traced, dtype, width, numbers), 3)
        except Exception as error:  # falls back to NumPy
            log.info("no native step for %s: %s: %s", update.__qualname__, type(error).__name__, error)
        _tasks[key] = task


def over_chunks(module: Module, traced: Any, dtype: np.dtype[Any], width: int, numbers: int) -> str:
    """The function that works on a range of chunks, from the addresses of all arrays, the table of chunks, and the numbers.  Its name."""
    inner = elements(module, traced, dtype, width, numbers)
    c = IRBuilder(module)
    with c.loop(FIRST, LAST) as chunk:
        row, first, last = [c.load("%a1", c.add(c.scale(chunk, 3), at), "i64") for at in range(3)]
        found = [c.load("%a0", c.add(c.scale(row, width), at), "ptr") for at in range(width)]
        c.call_function(inner, *[each.name for each in found], "%a2", first, last)
    return module.add("chunks", c.function("", pointers(["%a0", "%a1", "%a2"])))


def elements(module: Module, traced: Any, dtype: np.dtype[Any], width: int, numbers: int) -> str:
    """The function that updates a range of elements of one parameter and its buffers.  Its name."""
    c = IRBuilder(module)
    compute = computed_in(dtype)
    known = {f"n{at}": c.load("%numbers", at, STORED[compute]) for at in range(numbers)}
    with c.loop(FIRST, LAST) as index:
        emission = Emission(c, lambda data: known[data] if isinstance(data, str) else c.load(f"%x{data}", index, STORED[dtype]))
        made: list[tuple[int, Scalar]] = [(at, emission.value(cast(each, dtype))) for at, each in traced]
        for at, value in made:
            c.store(value, f"%x{at}", index)
    arrays = [FunctionParameter("ptr", f"%x{at}", at != 1) for at in range(width)]
    return module.add("update", c.function("", [*arrays, *pointers(["%numbers"])]))

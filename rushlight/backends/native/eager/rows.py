"""Native loops over the rows of large matrices, for eager mode: sums, extremes and softmax, for rows of any number and length.

A sum accumulates in single precision for some thousand elements, and those partial sums in double precision, as in compiled graphs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from ....codegen.llvm import vector_math
from ....codegen.llvm.ir import FIRST, LAST, TYPES, IRBuilder, Module, Scalar
from ....codegen.llvm.target import processor
from ....core.kernel_providers import runs_once
from ....core.process_safety import free_after_fork
from ....runtime.cpu.arena import address
from ....runtime.cpu.jit import log
from ....runtime.cpu.parallel_task import Task

_lock = free_after_fork(threading.Lock())
_tasks: dict[tuple[str, np.dtype[Any]], Task | None] = {}


class RowCode:
    """The emitter of one row's code: reductions of its elements, and stores."""

    def __init__(self, code: IRBuilder, start: Scalar, length: Scalar, type: str) -> None:
        self.code = code
        self.start = start
        self.length = length
        self.type = type

    def extreme(self, how: str) -> Scalar:
        """The largest (``maximum``) or smallest element; NaN where there is one."""
        c = self.code
        slot = c.slot(self.type)
        c.write(c.constant(self.type, -np.inf if how == "maximum" else np.inf), slot)
        with c.loop(self.length) as index:
            c.write(c.intrinsic(how, c.read(slot, self.type), c.load("%a0", c.add(self.start, index), self.type)), slot)
        return c.read(slot, self.type)

    def sum(self, element: Callable[[Scalar], Scalar]) -> Scalar:
        """The sum of what a function of the index gives, in double precision."""
        c = self.code
        total, part = c.slot("double"), c.slot(self.type)
        c.write(c.constant("double", 0), total)
        size = processor().chunk
        chunks = c.ceil_div(self.length, size)
        with c.loop(chunks) as chunk:
            first = c.scale(chunk, size)
            last = c.min(c.add(first, size), self.length)
            c.write(c.constant(self.type, 0), part)
            with c.loop(first, last) as index:
                value = element(c.add(self.start, index))
                c.write(c.binary("fadd", c.read(part, self.type), value, "reassoc"), part)
            c.write(c.binary("fadd", c.read(total, "double"), self.widened(c.read(part, self.type))), total)
        return c.read(total, "double")

    def widened(self, value: Scalar) -> Scalar:
        return value if value.type == "double" else self.code.convert("fpext", value, "double")

    def narrowed(self, value: Scalar) -> Scalar:
        return value if value.type == self.type else self.code.convert("fptrunc", value, self.type)

    def each(self, element: Callable[[Scalar], Scalar]) -> None:
        """Store what a function of the index gives."""
        c = self.code
        with c.loop(self.length) as index:
            at = c.add(self.start, index)
            c.store(element(at), "%a1", at)


def _softmax(row: RowCode, number: Scalar) -> None:
    c, largest = row.code, row.extreme("maximum")

    def exponential(at: Scalar) -> Scalar:
        value = vector_math.scaled_exp(c, c.binary("fsub", c.load("%a0", at, row.type), largest))  # its factor is divided away
        c.store(value, "%a1", at)
        return value

    inverse = row.narrowed(c.binary("fdiv", c.constant("double", 1), row.sum(exponential)))
    row.each(lambda at: c.binary("fmul", c.load("%a1", at, row.type), inverse))


def _log_softmax(row: RowCode, number: Scalar) -> None:
    c, largest = row.code, row.extreme("maximum")
    total = row.sum(lambda at: vector_math.exp_nonpositive(c, c.binary("fsub", c.load("%a0", at, row.type), largest)))
    logarithm = row.narrowed(vector_math.log(c, total))
    row.each(lambda at: c.binary("fsub", c.binary("fsub", c.load("%a0", at, row.type), largest), logarithm))


def _sum(row: RowCode, number: Scalar) -> None:
    row.code.store(row.narrowed(row.sum(lambda at: row.code.load("%a0", at, row.type))), "%a1", number)


def _maximum(row: RowCode, number: Scalar) -> None:
    row.code.store(row.extreme("maximum"), "%a1", number)


def _minimum(row: RowCode, number: Scalar) -> None:
    row.code.store(row.extreme("minimum"), "%a1", number)


# What is done to a row, and whether the result has an element for each element of it.
KINDS: dict[str, tuple[Callable[[RowCode, Scalar], None], bool]] = {
    "softmax": (_softmax, True), "log_softmax": (_log_softmax, True), "sum": (_sum, False), "maximum": (_maximum, False),
    "minimum": (_minimum, False),
}  # fmt: skip


def run(name: str, rows: Any) -> Any:
    """The result for a contiguous matrix with at least one column, or None where there is no native code for it."""
    if rows.dtype.char not in "fd" or not rows.flags.c_contiguous or not rows.flags.aligned or not rows.shape[1]:
        return None
    try:
        task = _tasks[name, rows.dtype]
    except KeyError:
        if runs_once():
            return None
        task = prepare(name, rows.dtype)
    if task is None:
        return None
    made = np.empty(rows.shape if KINDS[name][1] else len(rows), rows.dtype)
    task([address(rows), address(made), rows.shape[1]], len(rows))
    return made


def prepare(name: str, dtype: np.dtype[Any]) -> Task | None:
    """Compile a row kernel, or record that there is none."""
    with _lock:
        if (name, dtype) not in _tasks:
            task = None
            try:
                module = Module()
                task = Task(module, body(module, name, TYPES[dtype]), 3)
            except Exception as error:  # falls back to the op's kernel
                log.info("no native rows for %s: %s: %s", name, type(error).__name__, error)
            _tasks[name, dtype] = task
        return _tasks[name, dtype]


def body(module: Module, name: str, type: str) -> str:
    """The function that works on a range of rows: from ``%a0`` to ``%a1``, of a length that is ``%a2`` itself.  Its name."""
    c = IRBuilder(module)
    length = c.convert("ptrtoint", Scalar("%a2", "ptr"), "i64")
    with c.loop(FIRST, LAST) as number:
        start = c.mul(number, length)
        KINDS[name][0](RowCode(c, start, length, type), number)
    return module.add("rows", c.function("", "ptr noalias %a0, ptr noalias %a1, ptr %a2, i64 %first, i64 %last"))

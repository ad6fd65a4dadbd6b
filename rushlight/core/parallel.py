"""Parallel loops over large NumPy arrays: in blocks that fit the cache, on a few threads.

NumPy releases the interpreter's lock inside its loops, so that threads run in parallel.  Results do not depend on the number of
threads: every element is computed in the same way.
"""

from __future__ import annotations

import ctypes
import gc
import os
import queue
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

LARGE = 1 << 19  # from this many elements on it pays to wake other threads
BLOCK = 1 << 18  # elements of a block: few enough that what a kernel reads again is still in the cache
HEAD_START = 1 << 18  # elements that can be read while a worker wakes up; the calling thread takes that many more

QUOTAS = (("/sys/fs/cgroup/cpu.max",), ("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "/sys/fs/cgroup/cpu/cpu.cfs_period_us"))
KEPT = ((-3, 32 << 20), (-1, 256 << 20))  # glibc's M_MMAP_THRESHOLD and M_TRIM_THRESHOLD, and bytes


def keep_memory() -> None:
    """Have the C library keep freed memory of large arrays for later ones, up to 256 MB.

    Memory that comes new from the system is cleared page by page when it is first touched, which takes longer than most ops.
    """
    set_option = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if set_option is not None:  # the library is glibc
        for option, size in KEPT:
            set_option(option, size)


keep_memory()


def return_memory() -> None:
    """Give the system what nobody uses: garbage in cycles, and freed memory that the C library keeps.  It takes tens of milliseconds."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)


def usable_cores() -> int:
    """The processors that this process may use: those of its affinity, or fewer where its control group has a quota."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    for files in QUOTAS:  # the second version of control groups has both numbers in one file
        try:
            words = []
            for name in files:
                with open(name, encoding="ascii") as file:
                    words += file.read().split()
            quota, period = int(words[0]), int(words[1])
        except (OSError, ValueError, IndexError):  # no such file, or "max"
            continue
        if quota > 0 and period > 0:
            cores = min(cores, max(1, -(-quota // period)))
    return cores


class EagerPool:
    """Worker threads that live as long as the process; made when they are first needed."""

    def __init__(self) -> None:
        self.threads = usable_cores()
        self.forget()

    def forget(self) -> None:
        """Start over without workers: after a fork the child has none of the threads."""
        self._workers = 0
        self._tasks: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._inside = threading.local()

    def _serve(self, tasks: queue.SimpleQueue[Any]) -> None:
        self._inside.active = True
        while True:
            task, index, outcome = tasks.get()
            failure = None
            try:
                task(index)
            except BaseException as error:  # raised in the calling thread
                failure = error
            task = None  # drop the arrays first, so that their memory can be used for the next result
            outcome.put(failure)
            outcome = failure = None

    def run(self, task: Callable[[int], None], count: int) -> None:
        """Call ``task(0)`` … ``task(count - 1)`` in parallel."""
        if count <= 1 or getattr(self._inside, "active", False):
            for index in range(count):
                task(index)
            return
        if self._workers < count - 1:
            self._start_workers(count - 1)
        if not self._workers:  # the system gives no threads
            for index in range(count):
                task(index)
            return
        outcome: queue.SimpleQueue[Any] = queue.SimpleQueue()  # the fastest signal between threads that Python has
        for index in range(1, count):
            self._tasks.put((task, index, outcome))
        try:
            task(0)
        finally:
            failures = [error for error in [outcome.get() for _ in range(1, count)] if error is not None]
        if failures:
            raise failures[0]

    def _start_workers(self, count: int) -> None:
        with self._lock:
            while self._workers < count:
                try:
                    threading.Thread(target=self._serve, args=(self._tasks,), daemon=True, name="rushlight").start()
                except RuntimeError:  # RLIMIT_NPROC is reached: those that there are do the work
                    return
                self._workers += 1


pool = EagerPool()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=pool.forget)


def split(total: int, parts: int) -> list[tuple[int, int]]:
    """``total`` things cut into at most ``parts`` ranges of about equal length."""
    step = -(-total // parts)
    return [(start, min(start + step, total)) for start in range(0, total, step)]


def over_rows(task: Callable[[int, int], None], rows: int, elements: int, work: int = 1) -> None:
    """Call ``task(start, end)`` on ranges of rows that together make all of them; large work is split over threads.

    ``work`` says how many times as long as reading it the work on an element takes, roughly.
    """
    if elements < LARGE or elements * work < 8 * HEAD_START or pool.threads < 2:
        task(0, rows)
        return
    extra = rows * HEAD_START // (elements * work)
    ranges = [(start + extra, end + extra) for start, end in split(rows - extra, pool.threads)]
    ranges[0] = (0, ranges[0][1])
    pool.run(lambda index: task(*ranges[index]), len(ranges))


def in_blocks(function: Callable[..., Any], operands: list[Any], dtype: Any, writes: bool = False) -> Any:
    """``function(*operands)`` of large contiguous arrays of one shape (and scalars), block by block, on several threads.

    ``writes`` says that the function takes ``out=`` and writes to that.  None where the operands are not of that kind.
    """
    shape = None
    for each in operands:
        if each.__class__ is np.ndarray and each.ndim:
            if not each.flags.c_contiguous or (shape is not None and each.shape != shape):
                return None
            shape = each.shape
    if shape is None:
        return None
    result = np.empty(shape, dtype)
    flat = result.reshape(-1)
    inputs = [each.reshape(-1) if each.__class__ is np.ndarray and each.ndim else each for each in operands]
    ranges = split(flat.size, pool.threads)

    def work(index: int) -> None:
        for start in range(*ranges[index], BLOCK):
            end = min(start + BLOCK, ranges[index][1])
            pieces = [each[start:end] if each.__class__ is np.ndarray and each.ndim else each for each in inputs]
            block = flat[start:end]
            if writes:
                function(*pieces, out=block)
            else:
                block[...] = function(*pieces)

    pool.run(work, len(ranges))
    return result


def ufunc_in_blocks(ufunc: Any, *operands: Any) -> Any:
    """A ufunc on large arrays: every thread writes its part of the result.  ``ufunc(*operands)`` where that can't be."""
    shape = operands[0].shape
    inputs = []
    for each in operands:
        if each.__class__ is np.ndarray:
            if each.shape != shape:
                return ufunc(*operands)
            if any(each.strides):
                if not each.flags.c_contiguous:
                    return ufunc(*operands)
                each = each.reshape(-1)
            else:  # one number, broadcast
                each = each[(0,) * each.ndim]
        inputs.append(each)
    arrays = [each for each in inputs if each.__class__ is np.ndarray]
    if pool.threads < 2 or not arrays:
        return ufunc(*operands)
    probe = ufunc(*[each[:1] if each.__class__ is np.ndarray else each for each in inputs])
    result = np.empty(shape, probe.dtype)
    flat = result.reshape(-1)
    ranges = split(flat.size, pool.threads)

    def work(index: int) -> None:
        start, end = ranges[index]
        ufunc(*[each[start:end] if each.__class__ is np.ndarray else each for each in inputs], out=flat[start:end])

    pool.run(work, len(ranges))
    return result

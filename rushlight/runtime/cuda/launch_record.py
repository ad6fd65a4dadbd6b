"""Copies and fills of device memory, and the record of what a call queues, by which it can be repeated (``launch_replay.py``)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

current: LaunchRecord | None = None  # of the call that is recorded now


class LaunchRecord:
    """The record of a thread's launches, copies and fills: for each a function of the stream and arguments, and the arguments, each flagged if an address."""

    __slots__ = ("steps", "thread", "whole")

    def __init__(self, thread: int) -> None:
        self.thread, self.whole = thread, True
        self.steps: list[tuple[Callable[[int, tuple[Any, ...]], None], list[tuple[Any, bool]]]] = []

    def add(self, call: Callable[[int, tuple[Any, ...]], None], arguments: Sequence[Any], addresses: Sequence[bool]) -> None:
        """Record what was queued; other threads' work is not part of the call."""
        if threading.get_ident() == self.thread:
            self.steps.append((call, list(zip(arguments, addresses))))


def invalidate() -> None:
    """Mark that something unrecorded is queued: the call can't be replayed."""
    if current is not None:
        current.whole = False


def copy(cupy: Any, to: int, start: int, count: int) -> None:
    """Copy bytes inside the device."""
    queue = cupy.cuda.runtime.memcpyAsync
    queue(to, start, count, 3, cupy.cuda.get_current_stream().ptr)
    if current is not None:
        current.add(lambda stream, given: queue(*given, 3, stream), (to, start, count), (True, True, False))


def zeros(cupy: Any, shape: Any, dtype: Any) -> Any:
    """A new array of zeros."""
    made, fill = cupy.ndarray(shape, dtype), cupy.cuda.runtime.memsetAsync
    if made.size:
        fill(made.data.ptr, 0, made.nbytes, cupy.cuda.get_current_stream().ptr)
        if current is not None:
            current.add(lambda stream, given: fill(*given, stream), (made.data.ptr, 0, made.nbytes), (True, False, False))
    return made

"""Per-step timing of programs: those compiled within :func:`timed` measure themselves, and ``describe`` prints the times."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...codegen.llvm.ir import IRBuilder, Scalar

_wanted = [False]


@contextmanager
def timed() -> Iterator[None]:
    """Programs that are compiled in this block measure how long each of their steps takes.

    >>> import rushlight
    >>> from rushlight.backends import native
    >>> with native.timed(), rushlight.no_grad():
    ...     double = rushlight.compile(lambda x: x * 2, backend="native")
    ...     kept = [double(rushlight.ones(3)) for _ in range(3)]
    >>> "µs in" in native.describe(double)
    True
    """
    before, _wanted[0] = _wanted[0], True
    try:
        yield
    finally:
        _wanted[0] = before


def clocks_for(steps: list[Any]) -> Clocks | None:
    """Timers for the steps of a program, where requested and where the system has a clock that native code can read."""
    function = getattr(ctypes.CDLL(None), "clock_gettime", None) if _wanted[0] else None
    return Clocks(steps, ctypes.cast(function, ctypes.c_void_p).value or 0) if function is not None else None


class Clocks:
    """The time that native code has spent in each step, and how often."""

    def __init__(self, steps: list[Any], function: int) -> None:
        self.places = {id(step): at for at, step in enumerate(steps)}
        self.function = function
        self.found = (ctypes.c_int64 * (2 * len(steps)))()  # nanoseconds and calls, step by step

    def now(self, c: IRBuilder) -> Scalar:
        """The time in nanoseconds."""
        place = c.shared_slot("i64", 2)
        operands = Scalar(c.bound("clock", self.function), "ptr"), Scalar(str(time.CLOCK_MONOTONIC), "i32"), Scalar(place, "ptr")
        c.emit("call", "i32", operands)
        seconds, rest = c.load(place, c.integer(0), "i64"), c.load(place, c.integer(1), "i64")
        return c.add(c.scale(seconds, 1_000_000_000), rest)

    def add(self, c: IRBuilder, step: Any, begin: Scalar) -> None:
        """Count a step that has begun at a time, and ends now."""
        spent = c.sub(self.now(c), begin)
        for at, more in enumerate((spent, c.integer(1))):
            place = c.integer(2 * self.places[id(step)] + at)
            found = c.bound("clocks", ctypes.addressof(self.found))
            c.store(c.add(c.load(found, place, "i64"), more), found, place)

    def text(self, step: Any) -> str:
        """The measured time of a step."""
        nanoseconds, calls = self.found[2 * self.places[id(step)] :][:2]
        return f"{nanoseconds / calls / 1e3:10.1f} µs in {calls} calls " if calls else " " * 24

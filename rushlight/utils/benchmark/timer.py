"""A timer that chooses how often to run a program."""

from __future__ import annotations

import sys
import textwrap
import time
import timeit
from collections.abc import Callable
from enum import Enum
from typing import Any

import numpy as np

from ...core.errors import NotSupported
from ...core.missing import PACKAGE
from .measurement import Measurement, TaskSpec, set_torch_threads

timer = time.perf_counter


class Language(Enum):
    """The language of a statement: that of this package is Python."""

    PYTHON = 0
    CPP = 1


class Timer:
    """Times a statement; ``torch`` is defined for it, and what ``globals`` holds."""

    def __init__(
        self, stmt: str = "pass", setup: str = "pass", global_setup: str = "", timer: Callable[[], float] = timer,
        globals: dict[str, Any] | None = None, label: str | None = None, sub_label: str | None = None,
        description: str | None = None, env: str | None = None, num_threads: int = 1, language: Any = "python",
    ) -> None:  # fmt: skip
        if not isinstance(stmt, str) or not isinstance(setup, str):
            raise ValueError("Currently only a `str` stmt and setup are supported.")
        if str(getattr(language, "name", language)).lower() not in ("python", "py"):
            raise NotSupported(f"benchmarks are of Python code; language={language!r} is not there")
        if global_setup:
            raise ValueError(f"global_setup is C++ only, got `{global_setup}`. Most likely this code can simply be moved to `setup`.")
        names = {"torch": sys.modules[PACKAGE], **(globals or {})}
        stmt, setup = textwrap.dedent(stmt).strip(), textwrap.dedent(setup).strip()
        self._clock = timer
        self._timer = timeit.Timer(stmt, setup, timer, names)
        self._task_spec = TaskSpec(stmt, setup, "", label, sub_label, description, env, num_threads)

    def _time(self, number: int) -> float:
        return max(self._timer.timeit(number), 1e-9)

    def timeit(self, number: int = 1_000_000) -> Measurement:
        """One measurement of ``number`` executions."""
        with set_torch_threads(self._task_spec.num_threads):
            self._time(max(number // 100, 1))  # to warm up
            return Measurement(number, [self._time(number)], self._task_spec)

    def repeat(self, repeat: int = -1, number: int = -1) -> None:
        """Raise: ``blocked_autorange`` does it better."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def autorange(self, callback: Any = None) -> None:
        """Raise: ``blocked_autorange`` does it better."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def _block_size(self, min_run_time: float) -> int:
        """The number of executions per measurement: reading the clock takes less than a ten-thousandth of its time."""
        overhead = float(np.median([timeit.Timer("pass", timer=self._clock).timeit(0) for _ in range(5)]))
        number = 1
        while True:
            taken = self._time(number)
            if overhead <= taken * 1e-4 and taken >= min_run_time / 1000 or taken > min_run_time:
                return number
            number *= 10

    def blocked_autorange(self, callback: Callable[[int, float], Any] | None = None, min_run_time: float = 0.2) -> Measurement:
        """Runs of a size chosen so that the clock does not matter, until they have taken ``min_run_time`` seconds."""
        with set_torch_threads(self._task_spec.num_threads):
            number = self._block_size(min_run_time)
            return self._measure(number, min_run_time, callback, lambda times: True)

    def adaptive_autorange(
        self, threshold: float = 0.1, *, min_run_time: float = 0.01, max_run_time: float = 10.0,
        callback: Callable[[int, float], Any] | None = None,
    ) -> Measurement:  # fmt: skip
        """Measure until the spread of the times is small, for at most ``max_run_time`` seconds."""
        with set_torch_threads(self._task_spec.num_threads):
            number = self._block_size(min_run_time)
            start = time.perf_counter()

            def settled(times: list[float]) -> bool:
                enough = Measurement(number, times, self._task_spec).meets_confidence(threshold) and len(times) > 3
                return enough or time.perf_counter() - start > max_run_time

            return self._measure(number, min_run_time, callback, settled)

    def _measure(self, number: int, min_run_time: float, callback: Any, done: Callable[[list[float]], bool]) -> Measurement:
        times: list[float] = []
        total = 0.0
        while total < min_run_time or not done(times):
            taken = self._time(number)
            if callback is not None:
                callback(number, taken)
            times.append(taken)
            total += taken
        return Measurement(number, times, self._task_spec)

    def collect_callgrind(self, *args: Any, **kwargs: Any) -> None:
        """Raise: instructions are not counted here."""
        raise NotSupported("collect_callgrind needs Valgrind and PyTorch's own binaries: use blocked_autorange")

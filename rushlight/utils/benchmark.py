"""Timing of small programs: a Timer that chooses how often to run, and Measurements that say how sure they are.

>>> measured = Timer("x + 1", globals={"x": 1}).timeit(100)
>>> measured.number_per_run
100
"""

from __future__ import annotations

import contextlib
import math
import sys
import textwrap
import time
import timeit
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.errors import NotSupported
from ..core.missing import PACKAGE, absents, missing
from ..core.parallel import pool

__all__ = ["Measurement", "TaskSpec", "Timer", "select_unit", "set_torch_threads", "timer", "trim_sigfig", "unit_to_english"]

timer = time.perf_counter
_UNITS = {-3: "ns", -2: "us", -1: "ms"}
_ENGLISH = {"ns": "nanosecond", "us": "microsecond", "ms": "millisecond", "s": "second"}
_WARN_AT = 0.1  # of the median: an interquartile range beyond it says that something disturbs the machine


def select_unit(t: float) -> tuple[str, float]:
    """The unit in which a time reads best, and its length in seconds.

    >>> select_unit(1e-5)
    ('us', 1e-06)
    """
    power = int(math.log10(t) // 3) if t > 0 else 0
    power = max(power, -3)
    return (_UNITS[power], 10.0 ** (3 * power)) if power < 0 else ("s", 1.0)


def unit_to_english(u: str) -> str:
    """The name of a unit: ``us`` is a microsecond."""
    return _ENGLISH[u]


def trim_sigfig(x: float, n: int) -> float:
    """A number rounded to ``n`` significant figures."""
    return float(f"{x:.{max(n, 1) - 1}e}") if x else 0.0


@contextlib.contextmanager
def set_torch_threads(n: int) -> Iterator[None]:
    """A context in which operations use ``n`` threads."""
    before, pool.threads = pool.threads, n
    try:
        yield
    finally:
        pool.threads = before


@dataclass(frozen=True)
class TaskSpec:
    """What was measured."""

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """A heading: the labels, or else the statement."""
        if self.label is not None:
            return self.label + (f": {self.sub_label}" if self.sub_label else "")
        if "\n" not in self.stmt:
            return self.stmt
        return self.stmt if self.sub_label is None else f"stmt: {self.sub_label}"

    def setup_str(self) -> str:
        """The setup, as a measurement shows it."""
        if self.setup == "pass" or not self.setup:
            return ""
        return f"setup:\n{textwrap.indent(self.setup, '  ')}" if "\n" in self.setup else f"setup: {self.setup}"

    def summarize(self) -> str:
        """The heading, the description and the setup."""
        parts = [self.title, self.description or "", self.setup_str()]
        return "\n".join(part for part in parts if part)


@dataclass(eq=False)
class Measurement:
    """Times of several runs of one program, each of ``number_per_run`` executions."""

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = field(default=None)

    @property
    def times(self) -> list[float]:
        """Seconds of one execution, for each run."""
        return [each / self.number_per_run for each in self.raw_times]

    def _quantile(self, share: float) -> float:
        if not self.raw_times:
            raise RuntimeError("this Measurement has no times")
        return float(np.quantile(self.times, share))

    @property
    def median(self) -> float:
        """The time in the middle."""
        return self._quantile(0.5)

    @property
    def mean(self) -> float:
        """The average time."""
        return float(np.mean(self.times))

    @property
    def iqr(self) -> float:
        """The interquartile range of the times."""
        return self._quantile(0.75) - self._quantile(0.25)

    @property
    def significant_figures(self) -> int:
        """How many figures of the median can be trusted, judging from the middle half of the times."""
        spread = self.iqr / math.sqrt(len(self.raw_times)) / (self.median or 1.0)
        if not spread:
            return 1 if len(self.raw_times) < 3 else 4
        return min(max(int(-math.log10(spread)), 1), 4)

    @property
    def has_warnings(self) -> bool:
        """Whether the spread of the times is large."""
        return len(self.raw_times) >= 2 and self.iqr > _WARN_AT * self.median

    def meets_confidence(self, threshold: float = _WARN_AT) -> bool:
        """Whether the spread of the times is small."""
        return len(self.raw_times) >= 2 and self.iqr < threshold * self.median

    @property
    def title(self) -> str:
        """The heading of the task."""
        return self.task_spec.title

    @property
    def env(self) -> str:
        """Which of several environments was measured."""
        return self.task_spec.env or "Unspecified env"

    @property
    def as_row_name(self) -> str:
        """What to call it in a table."""
        return self.task_spec.sub_label or self.task_spec.stmt or "[Unknown]"

    def __repr__(self) -> str:
        unit, scale = select_unit(self.median)
        count = len(self.raw_times)
        lines = [f"<torch.utils.benchmark.utils.common.Measurement object at {id(self):#x}>", self.task_spec.summarize()]
        if count == 1:
            lines.append(f"  {self.median / scale:.2f} {unit}")
        else:
            lines.append(f"  Median: {self.median / scale:.2f} {unit}")
        if count >= 4:
            low, high = self._quantile(0.25), self._quantile(0.75)
            lines.append(f"  IQR:    {self.iqr / scale:.2f} {unit} ({low / scale:.2f} to {high / scale:.2f})")
        runs = f"{self.number_per_run} runs " + ("per measurement" if count > 1 else "")
        threads = self.task_spec.num_threads
        lines.append(f"  {count} measurement{'s' * (count > 1)}, {runs}, {threads} thread{'s' * (threads > 1)}")
        if self.has_warnings:
            lines.append(f"  WARNING: Interquartile range is {self.iqr / self.median * 100:.1f}% of the median measurement.")
            lines.append("           This suggests significant environmental influence.")
        return "\n".join(lines)

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """Measurements of the same task as one each."""
        groups: dict[TaskSpec, list[Measurement]] = {}
        for each in measurements:
            groups.setdefault(each.task_spec, []).append(each)
        return [Measurement(1, [time for each in found for time in each.times], task) for task, found in groups.items()]


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


if not TYPE_CHECKING:
    absents(
        globals(),
        "instructions are not counted here, which needs Valgrind and PyTorch's own binaries: use blocked_autorange",
        classes="CallgrindStats CopyIfCallgrind FunctionCount FunctionCounts",
    )
    absents(
        globals(),
        "it makes up inputs, or prints tables, for PyTorch's own benchmarks: compare the medians of Timer(...).blocked_autorange()",
        classes="Colorize Compare FuzzedParameter FuzzedSparseTensor FuzzedTensor Fuzzer ParameterAlias",
    )
    __getattr__ = missing(__name__)

"""Times of a small program, and how sure they are."""

from __future__ import annotations

import contextlib
import math
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from ...core.parallel import pool

_UNITS = {-3: "ns", -2: "us", -1: "ms"}
_ENGLISH = {"ns": "nanosecond", "us": "microsecond", "ms": "millisecond", "s": "second"}
_FLUCTUATION, _DISTURBED = 0.1, 0.25  # of the median: an interquartile range beyond it says that something disturbs the machine
_LEAST_INTERVAL = 25e-9  # seconds: no median is known better
_MOST_FIGURES = 4


def select_unit(t: float) -> tuple[str, float]:
    """The unit in which a time reads best, and its length in seconds.

    >>> select_unit(1e-5)
    ('us', 1e-06)
    """
    unit = _UNITS.get(int(math.log10(t) // 3) if t > 0 else -3, "s")
    return unit, {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}[unit]


def unit_to_english(u: str) -> str:
    """The name of a unit: ``us`` is a microsecond."""
    return _ENGLISH[u]


def trim_sigfig(x: float, n: int) -> float:
    """A number rounded to ``n`` significant figures."""
    return float(f"{x:.{max(n, 1) - 1}e}") if x else 0.0


def ordered_unique(elements: Iterable[Any]) -> list[Any]:
    """The elements without repetitions, in the order in which they come first."""
    return list(dict.fromkeys(elements))


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
        """A heading: the label or the statement, and what tells it from others."""
        if self.label is not None:
            return self.label + (f": {self.sub_label}" if self.sub_label else "")
        if "\n" not in self.stmt:
            return self.stmt + (f": {self.sub_label}" if self.sub_label else "")
        return f"stmt:{f' ({self.sub_label})' if self.sub_label else ''}\n{textwrap.indent(self.stmt, '  ')}"

    def setup_str(self) -> str:
        """The setup, as a measurement shows it."""
        if self.setup == "pass" or not self.setup:
            return ""
        return f"setup:\n{textwrap.indent(self.setup, '  ')}" if "\n" in self.setup else f"setup: {self.setup}"

    def summarize(self) -> str:
        """The heading, the description and the setup."""
        parts = (self.title, self.description or "", self.setup_str())
        return "\n".join(f"{part}\n" if "\n" in part else part for part in parts if part)


_FIELDS = frozenset(each.name for each in fields(TaskSpec))


@dataclass(repr=False)
class Measurement:
    """Times of several runs of one program, each of ``number_per_run`` executions; the fields of its task are its own, too."""

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = field(default=None)

    def __getattr__(self, name: str) -> Any:
        if name in _FIELDS:
            return getattr(self.task_spec, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

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
        """How many figures of the median can be trusted: those beyond a 90 % confidence interval, judged from the middle half of the times."""
        times = sorted(self.times)
        middle = times[len(times) // 4 : math.ceil(3 * len(times) / 4)]
        interval = max(1.645 * float(np.std(middle)) / math.sqrt(len(middle)), _LEAST_INTERVAL)
        return min(max(math.floor(math.log10(self.median / interval)), 1), _MOST_FIGURES)

    @property
    def _warning(self) -> str:
        """What the spread of the times suggests; "" where it is small."""
        if self.meets_confidence():
            return ""
        what = "could indicate system fluctuation" if self.meets_confidence(_DISTURBED) else "suggests significant environmental influence"
        share = self.iqr / self.median * 100
        return f"  WARNING: Interquartile range is {share:.1f}% of the median measurement.\n           This {what}."

    @property
    def has_warnings(self) -> bool:
        """Whether the spread of the times is large."""
        return bool(self._warning)

    def meets_confidence(self, threshold: float = _FLUCTUATION) -> bool:
        """Whether the spread of the times is small."""
        return self.iqr < threshold * self.median

    @property
    def title(self) -> str:
        """The heading of the task."""
        return self.task_spec.title

    @property
    def as_row_name(self) -> str:
        """What to call it in a table."""
        return self.task_spec.sub_label or self.task_spec.stmt or "[Unknown]"

    def __repr__(self) -> str:
        unit, scale = select_unit(self.median)
        count = len(self.raw_times)
        lines = [f"<torch.utils.benchmark.utils.common.Measurement object at {id(self):#x}>", self.task_spec.summarize()]
        lines.append(f"  {'Median: ' if count > 1 else ''}{self.median / scale:.2f} {unit}")
        if count >= 4:
            low, high = self._quantile(0.25), self._quantile(0.75)
            lines.append(f"  IQR:    {self.iqr / scale:.2f} {unit} ({low / scale:.2f} to {high / scale:.2f})")
        runs = f"{self.number_per_run} runs {'per measurement,' if count > 1 else ','}"
        threads = self.task_spec.num_threads
        lines.append(f"  {count} measurement{'s' * (count > 1)}, {runs} {threads} thread{'s' * (threads > 1)}")
        return "\n".join([*lines, self._warning] if self._warning else lines)

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """Measurements of the same task as one each."""
        groups: dict[TaskSpec, list[Measurement]] = {}
        for each in measurements:
            groups.setdefault(each.task_spec, []).append(each)
        return [Measurement(1, [time for each in group for time in each.times], task) for task, group in groups.items()]

"""Measurements as a table: a row for each variant of a program, a column for each description, the threads between the rows."""

from __future__ import annotations

import math
from collections.abc import Iterable
from enum import Enum
from itertools import groupby
from typing import Any

from .measurement import Measurement, ordered_unique, select_unit, trim_sigfig, unit_to_english

_BOLD, _END = "\033[1m", "\033[0m"
_BEST, _GOOD, _BAD, _WORST = "\033[92m" + _BOLD, "\033[34m" + _BOLD, "\033[2m\033[91m", "\033[31m" + _BOLD
_GAP = "  |  "


class Colorize(Enum):
    """Among which measurements the colours of a table tell the best."""

    NONE = "none"
    COLUMNWISE = "columnwise"
    ROWWISE = "rowwise"


def _colored(text: str, time: float, best: float) -> str:
    """A cell in the colour of its distance from the best."""
    if time <= best * 1.01 or time <= best + 100e-9:
        return _BEST + text + _END * 2
    if time <= best * 1.1:
        return _GOOD + text + _END * 2
    if time >= best * 5:
        return _WORST + text + _END * 2
    return _BAD + text + _END * 2 if time >= best * 2 else text


class _Column:
    """How the numbers of a column are written: in one width, with as many decimals as its least sure measurement has."""

    def __init__(self, cells: Iterable[Measurement | None], scale: float, trim: bool, warn: bool) -> None:
        given = [each for each in cells if each is not None]
        digits = [math.ceil(math.log10(each.median / scale)) for each in given]
        self.scale, self.trim = scale, trim
        self.decimals = min(max(each.significant_figures - n, 0) for each, n in zip(given, digits)) if trim else 1
        self.width = max(digits) + self.decimals + bool(self.decimals)
        self.warn = warn and any(each.has_warnings for each in given)

    def text(self, cell: Measurement | None) -> str:
        """A cell; one without a measurement is as wide as the others."""
        if cell is None:
            return " " * (max(self.width, len(f"{1:.{self.decimals}f}")) + 7 * self.warn)
        value = cell.median / self.scale
        if self.trim:
            value = trim_sigfig(value, cell.significant_figures)
        spread = f" (! {cell.iqr / cell.median * 100:.0f}%)" if self.warn and cell.has_warnings else ""
        return f"{value:>{self.width}.{self.decimals}f}{spread:>{7 * self.warn}}"


class Compare:
    """A table of measurements for each label: ``str`` gives it, ``print`` prints it.

    >>> from rushlight.utils.benchmark import Timer
    >>> table = Compare([Timer("x + 1", globals={"x": 1}, description="add").timeit(10)])
    >>> "add" in str(table)
    True
    """

    def __init__(self, results: list[Measurement]) -> None:
        self._results: list[Measurement] = []
        self._trim = self._warn = False
        self._colors = Colorize.NONE
        self.extend_results(results)

    def extend_results(self, results: Iterable[Measurement]) -> None:
        """Add measurements; those of the same task count as one."""
        results = list(results)
        for each in results:
            if not isinstance(each, Measurement):
                raise ValueError(f"Expected an instance of `Measurement`, got {type(each)} instead.")
        self._results.extend(results)

    def trim_significant_figures(self) -> None:
        """Write only the figures that can be trusted."""
        self._trim = True

    def colorize(self, rowwise: bool = False) -> None:
        """Show by colours how far a time is from the best of its column, or of its row."""
        self._colors = Colorize.ROWWISE if rowwise else Colorize.COLUMNWISE

    def highlight_warnings(self) -> None:
        """Mark measurements whose times spread much."""
        self._warn = True

    def print(self) -> None:
        """Print the tables."""
        print(str(self))

    def __str__(self) -> str:
        groups: dict[str | None, list[Measurement]] = {}
        for each in Measurement.merge(self._results):
            groups.setdefault(each.task_spec.label, []).append(each)
        return "\n".join(map(self._table, groups.values()))

    def _table(self, results: list[Measurement]) -> str:
        """The table of one label."""
        unit, scale = select_unit(min(each.median for each in results))
        names = ordered_unique(each.task_spec.description for each in results)
        cells = {(self._row(each), each.task_spec.description): each for each in results}
        keys = sorted(ordered_unique(map(self._row, results)), key=lambda key: (key[0], key[1] or ""))
        rows = {key: [cells.get((key, name)) for name in names] for key in keys}
        columns = [_Column(column, scale, self._trim, self._warn) for column in zip(*rows.values())]

        environments = {key[1] for key in keys}
        room = max(len(str(each)) for each in environments) if len(environments) > 1 else 0
        lines, shown = [], []
        for threads, group in groupby(keys, key=lambda key: key[0]):
            before: Any = object()
            for key in group:
                environment = f"({key[1]})" if room and key[1] != before else ""
                before = key[1]
                shown.append((threads, key, f"  {environment:<{room + 4}}{key[2]}"))
        texts = [["", *(name or "" for name in names)]]
        texts += [[name, *(column.text(cell) for column, cell in zip(columns, rows[key]))] for _, key, name in shown]
        widths = [max(map(len, column)) for column in zip(*texts)]
        lines.append(_GAP.join(text.center(width) for text, width in zip(texts[0], widths)))
        whole = len(lines[0])

        last = None
        for (threads, key, name), row in zip(shown, texts[1:]):
            if threads != last:
                lines.append(f"{threads} threads: ".ljust(whole, "-"))
                last = threads
            marked = [text.center(width) for text, width in zip(row[1:], widths[1:])]
            if self._colors is not Colorize.NONE:
                best = self._best(rows, key)
                marked = [
                    text if cell is None else _colored(text, cell.median, best[at])
                    for at, (text, cell) in enumerate(zip(marked, rows[key]))
                ]
            lines.append(_GAP.join([name.ljust(widths[0]), *marked]))
        heading = f"[{f' {results[0].task_spec.label or str()} '.center(whole - 2, '-')}]"
        note = "(! XX%) Measurement has high variance, where XX is the IQR / median * 100.\n"
        warned = note if self._warn and any(each.has_warnings for each in results) else ""
        return "\n".join([heading, *lines, "", f"Times are in {unit_to_english(unit)}s ({unit}).", warned])

    @staticmethod
    def _row(each: Measurement) -> tuple[int, str | None, str]:
        """What tells the rows of a table apart."""
        return each.task_spec.num_threads, each.task_spec.env, each.as_row_name

    def _best(self, rows: dict[Any, list[Measurement | None]], key: Any) -> list[float]:
        """For each cell of a row the best time that it is compared with: of the row, or of its column with as many threads."""
        if self._colors is Colorize.ROWWISE:
            return [min(each.median for each in rows[key] if each is not None)] * len(rows[key])
        group = [row for other, row in rows.items() if other[0] == key[0]]
        return [min((each.median for each in column if each is not None), default=0.0) for column in zip(*group)]

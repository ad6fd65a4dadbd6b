"""The report of a check: one row per property, with advice where it fails."""

from __future__ import annotations

import textwrap
from dataclasses import asdict, dataclass
from typing import Any

PASSED, FAILED, WARNED, SKIPPED = "ok", "failed", "look", "skipped"


@dataclass
class Row:
    """One row: the property, its outcome, details, and advice."""

    name: str
    outcome: str
    detail: str = ""
    advice: str = ""


class Report:
    """The rows of a check; prints as a table, and is true if nothing failed."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.rows: list[Row] = []

    def add(self, name: str, outcome: str, detail: str = "", advice: str = "") -> None:
        """Add a row."""
        self.rows.append(Row(name, outcome, detail, advice))

    @property
    def ok(self) -> bool:
        """Whether nothing failed."""
        return not self.failed

    @property
    def failed(self) -> list[Row]:
        """The rows that failed."""
        return [row for row in self.rows if row.outcome == FAILED]

    def __bool__(self) -> bool:
        return self.ok

    def data(self) -> dict[str, Any]:
        """The same as plain data."""
        return {"function": self.name, "ok": self.ok, "rows": [asdict(row) for row in self.rows]}

    def __str__(self) -> str:
        wide = max((len(row.name) for row in self.rows), default=0)
        lines = []
        for row in self.rows:
            first, *rest = row.detail.splitlines() or [""]
            lines.append(f"{row.name:<{wide}}  {row.outcome:<7}  {first}".rstrip())
            lines += [f"{'':<{wide}}           {each}" for each in rest]
            if row.advice:
                indent = " " * (wide + 11)
                lines += textwrap.wrap(
                    f"→ {row.advice}", 120, initial_indent=indent, subsequent_indent=indent + "  ", break_on_hyphens=False
                )
        count = len(self.failed)
        lines.append(f"{self.name}: " + ("nothing is wrong" if not count else f"{count} of {len(self.rows)} checks failed"))
        return "\n".join(lines)

    __repr__ = __str__

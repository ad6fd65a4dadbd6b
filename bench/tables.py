"""How the benchmarks write down what they found: rows of tables in Markdown."""

from __future__ import annotations


def shown(seconds: float) -> str:
    """A time in the unit that fits it."""
    if seconds < 1e-3:
        return f"{seconds * 1e6:.2f} µs"
    return f"{seconds * 1e3:.2f} ms" if seconds < 1 else f"{seconds:.2f} s"


def cell(seconds: float | None) -> str:
    """A time, or a dash where there is none."""
    return "–" if seconds is None else shown(seconds)


def line(*cells: str) -> str:
    """A row."""
    return f"| {' | '.join(cells)} |"


def header(*names: str) -> list[str]:
    """The first two lines of a table."""
    return [line(*names), "|" + "---|" * len(names)]

"""How the benchmarks write down what they found: rows of tables in Markdown."""

from __future__ import annotations

import datetime
import pathlib

RESULTS = pathlib.Path(__file__).with_name("RESULTS.md")


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


BEST = "Times are the best of interleaved rounds; a ratio is rushlight's time to PyTorch's."


def keep(title: str, about: str, body: str, times: str = BEST) -> None:
    """Put a benchmark's section into the results file, in the place of its older one; ``times`` says how they were taken."""
    section = f"# {title}\n\n{datetime.date.today()}. {about}. {times}\n\n{body}\n"
    parts = RESULTS.read_text(encoding="utf8").split("\n# ") if RESULTS.exists() else []
    parts = [part if part.startswith("# ") else "# " + part for part in parts]
    parts = [part.strip() + "\n" for part in parts if not part.startswith(f"# {title}\n")]
    RESULTS.write_text("\n".join(sorted([*parts, section])), encoding="utf8")

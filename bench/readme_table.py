"""Puts the measured numbers of bench/RESULTS.md into README.md, so that the two can't drift apart.

python bench/readme_table.py            writes the table
python bench/readme_table.py --check    fails where it is not up to date
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
START, END = "<!-- measured: bench/readme_table.py -->\n", "<!-- end -->\n"
# Section of the results, row, and how the README calls it.  Rows are chosen for what users ask about, lost ones included.
ROWS = [
    ("Eager speed", "import", "import"),
    ("Eager speed", "(a * b).sum().backward() on 4 elements", "`(a * b).sum().backward()` on 4 elements"),
    (
        "Eager speed",
        "20 custom Functions on 128 elements, forward and backward",
        "20 custom Functions, forward and backward",
    ),
    ("Eager speed", "matrix product 1024", "matrix product 1024 x 1024"),
    ("Eager speed", "exp, 4 million floats", "exp, 4 million floats"),
    ("Eager speed", "sum, 4 million floats", "sum, 4 million floats"),
    ("Eager speed", "softmax of rows, 4 million floats", "softmax, 4 million floats"),
    ("Training steps, eager", "MLP 64-64-64-1, batch 32", "training step, MLP"),
    ("Training steps, eager", "GPT, 4 layers of width 128, batch 8, length 64", "training step, GPT of 4 layers"),
    ("Training steps, eager", "CNN 3-32-64-128 with BatchNorm, batch 32 of 32x32", "training step, CNN with BatchNorm"),
    ("Training steps, eager", "LSTM 64-128, length 50, batch 16", "training step, LSTM"),
    ("Loading data", "reading a checkpoint of 1.0 GB", "reading a checkpoint of 1 GB"),
    ("ONNX export", "ResNet-18, dynamo=True", "ONNX export of ResNet-18, `dynamo=True`"),
    ("ONNX export", "ResNet-18, dynamo=False", "ONNX export of ResNet-18, `dynamo=False`"),
    ("ONNX export", "GPT, 12 layers of width 768, dynamo=True", "ONNX export of GPT, 12 layers, `dynamo=True`"),
]
COMPILED = "Native code"  # native code against the better of PyTorch's eager and torch.compile
COMPILED_ROWS = [
    f"{case}, {row}"
    for case in (
        "pointwise, 4M floats",
        "MLP, batch 32",
        "GPT, 4 layers",
        "CNN, batch 32",
        "LSTM, length 50",
        "20 Functions, 128 elements",
    )
    for row in ("inference", "training", "training as compile(train_step)")
]
RATIO = "native to the best of PyTorch"
PEERS = ("PyTorch", "torch.compile", "torch.compile of the step")  # the columns of PyTorch's forms


class Section:
    """A benchmark's part of the results."""

    def __init__(self, body: str) -> None:
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in body.splitlines() if line.startswith("| ")]
        self.names = rows[0] if rows else []
        self.rows = {row[0]: row[1:] for row in reversed(rows)}  # where several tables have a row, the first of them
        about = re.search(r"^(\d{4}-\d\d-\d\d)\. (.*?), load before the run (\d+(?:\.\d+)?)", body, re.M)
        self.date, self.machine, self.load = about.groups() if about else ("", "", "")

    def cells(self, row: str) -> dict[str, str]:
        """The cells of a row of the first table by the names of their columns; of columns of one name, the first."""
        return dict(reversed([*zip(self.names[1:], self.rows[row])]))


def sections(text: str) -> dict[str, Section]:
    """The sections by their titles."""
    return {title: Section(body) for title, _, body in (part.partition("\n") for part in re.split(r"^# ", text, flags=re.M)[1:])}


def table(text: str) -> str:
    """The table of the README, from the text of the results; rows that were not measured are left out."""
    found = sections(text)
    lines = ["| | rushlight | PyTorch | ratio | limit | |", "|---|---|---|---|---|---|"]
    used: list[Section] = []
    for title, row, name in ROWS:
        section = found.get(title)
        if section is not None and row in section.rows:
            ours, theirs, ratio, limit, note = section.rows[row]
            lines.append(f"| {name} | {ours} | {theirs} | {ratio} | {limit} | {note} |")
            used.append(section)
    section = found.get(COMPILED)
    for row in COMPILED_ROWS:
        if section is not None and row in section.rows:
            cells = section.cells(row)
            best = min((name for name in PEERS if cells.get(name, "–") != "–"), key=lambda name: seconds(cells[name]))
            form = "eager" if best == "PyTorch" else f"`{best}`"
            lines.append(
                f"| compiled, {row} | {cells['native']} | {cells[best]} ({form}) | {cells[RATIO]} | {cells.get('allowed', '')} | {cells.get('', '')} |"
            )
            used.append(section)
    loads = sorted(float(each.load) for each in used if each.load)
    dates = sorted({each.date for each in used if each.date})
    machine = next((f"{each.machine}; {' to '.join(dates[:: max(len(dates) - 1, 1)])}" for each in used if each.machine), "")
    note = f"{machine}, load before the runs {loads[0]:g} to {loads[-1]:g}. " if loads else ""
    note += "A ratio below 1 is in rushlight's favour; a limit is what the project sets itself. Compiled rows are against the best of PyTorch's ways; what is missed there names the peer. "
    return "\n".join(lines) + "\n\n" + note + "[bench/RESULTS.md](bench/RESULTS.md) has every number, with what was missed.\n"


def seconds(text: str) -> float:
    """A printed time as a number."""
    number, unit = text.split()[:2]
    return float(number) * {"µs": 1e-6, "ms": 1e-3, "s": 1.0}[unit]


def updated(readme: str, results: str) -> str:
    """The README with the table in its place."""
    before, _, rest = readme.partition(START)
    _, end, after = rest.partition(END)
    if not end:
        raise SystemExit("README.md has no place for the table")
    return before + START + table(results) + END + after


def main() -> None:
    """Write it, or look whether it is written."""
    path = ROOT / "README.md"
    readme = path.read_text(encoding="utf-8")
    made = updated(readme, (ROOT / "bench" / "RESULTS.md").read_text(encoding="utf-8"))
    if "--check" in sys.argv[1:]:
        raise SystemExit("run bench/readme_table.py: the table of README.md is not that of bench/RESULTS.md" if made != readme else 0)
    path.write_text(made, encoding="utf-8")


if __name__ == "__main__":
    main()

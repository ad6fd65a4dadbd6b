"""Popular libraries on rushlight in PyTorch's place: each program of tests/libraries runs, and its output is compared with PyTorch's.

    python tools/try_libraries.py                 # all programs, in the environment of this Python (no PyTorch in it)
    python tools/try_libraries.py timm einops     # those whose names begin so
    python tools/try_libraries.py --record        # in an environment with PyTorch: write tests/libraries/expected
    python tools/try_libraries.py --table         # also write docs/libraries.md

A program is plain PyTorch code that prints its results and knows nothing of rushlight; it is started by ``rushlight run``.  Text must be equal;
numbers may differ by rounding (1e-3 of their size, or 1e-5).  A program that says ``# libraries: a b`` in its first lines is listed under these.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import math
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = ROOT / "tests" / "libraries"
EXPECTED = PROGRAMS / "expected"
NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.\d*(?:[eE][-+]?\d+)?|\d+[eE][-+]?\d+|inf|nan)(?![\w])")


@dataclass
class Outcome:
    """What became of one program."""

    program: str
    libraries: str
    seconds: float
    said: str  # empty where the output is PyTorch's


def libraries_of(program: Path) -> list[str]:
    """The distributions that a program is about: named in it, or the first word of its file's name."""
    named = re.search(r"^# libraries: (.+)$", program.read_text(encoding="utf8"), re.M)
    return named[1].split() if named else [program.stem.partition("_")[0]]


def with_versions(names: list[str]) -> str:
    """Names of distributions with their installed versions."""
    shown = []
    for name in names:
        try:
            shown.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            shown.append(name)
    return ", ".join(shown)


def difference(expected: str, printed: str) -> str:
    """The first line that differs in more than rounding, or nothing."""
    want, have = expected.splitlines(), printed.splitlines()
    for number, (line, other) in enumerate(zip(want, have), 1):
        if NUMBER.sub("#", line) != NUMBER.sub("#", other) or not all(map(close, NUMBER.findall(line), NUMBER.findall(other))):
            return f"line {number}: {other.strip()!r}, PyTorch {line.strip()!r}"
    return "" if len(want) == len(have) else f"{len(have)} lines, PyTorch {len(want)}"


def close(expected: str, printed: str) -> bool:
    """Whether two printed numbers are equal but for rounding."""
    a, b = float(expected), float(printed)
    return (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=1e-3, abs_tol=1e-5)


def run(program: Path, *, under_rushlight: bool, seconds: float) -> tuple[str, str, float]:
    """The output of a program, what went wrong (the last line of its error output), and how long it took."""
    start = time.perf_counter()
    command = [sys.executable, *(["-m", "rushlight", "run"] if under_rushlight else []), str(program)]
    environment = {**os.environ, "TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1", "TQDM_DISABLE": "1", "PYTHONWARNINGS": "ignore"}
    with tempfile.TemporaryDirectory() as folder:
        try:
            ended = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=seconds)
        except subprocess.TimeoutExpired:
            return "", f"not done in {seconds:.0f} s", seconds
    wrong = "" if ended.returncode == 0 else (ended.stderr.strip().splitlines() or [f"exit status {ended.returncode}"])[-1]
    return ended.stdout, wrong, time.perf_counter() - start


def record(programs: list[Path], seconds: float) -> int:
    """Write what PyTorch prints; the number of programs that fail with it."""
    EXPECTED.mkdir(exist_ok=True)
    failed = 0
    for program in programs:
        printed, wrong, took = run(program, under_rushlight=False, seconds=seconds)
        if wrong:
            failed += 1
            print(f"{program.stem:28} {wrong}")
            continue
        (EXPECTED / f"{program.stem}.txt").write_text(printed, encoding="utf8")
        print(f"{program.stem:28} recorded, {took:.1f} s")
    return failed


def compare(programs: list[Path], seconds: float) -> list[Outcome]:
    """Run the programs one after another, saying how each went."""
    outcomes = []
    for number, program in enumerate(programs, 1):
        expected = EXPECTED / f"{program.stem}.txt"
        printed, wrong, took = run(program, under_rushlight=True, seconds=seconds)
        if not wrong:
            wrong = difference(expected.read_text(encoding="utf8"), printed) if expected.exists() else "no recorded output: run --record"
        outcomes.append(Outcome(program.stem, with_versions(libraries_of(program)), took, wrong))
        print(f"[{number}/{len(programs)}] {program.stem:28} {wrong or 'as PyTorch'} ({took:.1f} s)", flush=True)
    return outcomes


def table(outcomes: list[Outcome]) -> str:
    """The page docs/libraries.md."""
    good = sum(not outcome.said for outcome in outcomes)
    lines = [
        "# Libraries that run unchanged",
        "",
        "Written by `make test-libraries`, which installs the libraries from the package index into an environment without PyTorch and runs the",
        "programs of `tests/libraries` under `rushlight run`: plain PyTorch programs on random weights, seeded, whose printed results are compared",
        "with those that PyTorch 2.13 printed (text equal, numbers to rounding).",
        "",
        f"{good} of {len(outcomes)} programs print PyTorch's results.",
        "",
        "| program | libraries | result |",
        "|---|---|---|",
    ]
    for each in outcomes:
        said = each.said.replace("|", "\\|").replace("<", "&lt;")
        lines.append(f"| `{each.program}` | {each.libraries} | {said or 'as PyTorch'} |")
    parts = [(PROGRAMS / each).read_text(encoding="utf8") for each in ("compiled.md", "notes.md")]  # the first is tools/compile_models.py's
    return "\n".join([*lines, "".join(parts)])


def main() -> int:
    """Record or compare, as asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="programs whose names begin so; all by default")
    parser.add_argument("--record", action="store_true", help="write the expected output, with PyTorch")
    parser.add_argument("--table", action="store_true", help="write docs/libraries.md")
    parser.add_argument("--seconds", type=float, default=180, help="time limit of one program")
    given = parser.parse_args()
    programs = [file for file in sorted(PROGRAMS.glob("*.py")) if not given.names or file.stem.startswith(tuple(given.names))]
    if not programs:
        parser.error(f"no program in {PROGRAMS.relative_to(ROOT)} begins with {' or '.join(given.names)}")
    if given.record:
        return min(record(programs, given.seconds), 1)
    outcomes = compare(programs, given.seconds)
    good = sum(not outcome.said for outcome in outcomes)
    print(f"{good} of {len(outcomes)} programs print PyTorch's results")
    if given.table:
        (ROOT / "docs" / "libraries.md").write_text(table(outcomes), encoding="utf8")
    return 0 if good == len(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())

"""Runs the ONNX project's own test cases, in eager mode and compiled, and writes the table in docs/onnx-import.md.

    python tools/onnx_conformance.py [--compiled] [--gradients] [--table] [--only TEXT] [--failures] [--shard 0/2]

Without ``--compiled`` eager mode alone is run, which takes seconds.
"""

from __future__ import annotations

import argparse
import collections
import re
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import onnx_cases  # type: ignore[import-not-found]  # noqa: E402
import onnx_derivatives  # type: ignore[import-not-found]  # noqa: E402

import rushlight  # noqa: E402
from rushlight.onnx.errors import UnsupportedModelError  # noqa: E402

PAGE = ROOT / "docs" / "onnx-import.md"
TABLE = "<!-- conformance: begin -->", "<!-- conformance: end -->"
GRADIENTS = "<!-- gradients: begin -->", "<!-- gradients: end -->"


def outcome(case: Any, compiler: Any) -> str:
    """What came of a case: nothing where it passes, else the error."""
    try:
        onnx_cases.run(case, compiler)
    except UnsupportedModelError as error:
        return f"refused: {str(error).splitlines()[0]}"
    except Exception as error:
        text = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
        return f"{type(error).__name__}: {text}"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiled", action="store_true", help="run the cases compiled too")
    parser.add_argument("--gradients", action="store_true", help="compare gradients with differences, and write their table with --table")
    parser.add_argument("--table", action="store_true", help="write the table in docs/onnx-import.md")
    parser.add_argument("--only", default="", help="cases whose name matches this expression")
    parser.add_argument("--failures", action="store_true", help="print every case that does not pass")
    parser.add_argument("--shard", default="0/1", help="every so manieth case, from the first")
    options = parser.parse_args()
    first, step = map(int, options.shard.split("/"))
    found = {name: case for name, case in onnx_cases.cases().items() if re.search(options.only, name)}
    chosen = dict(list(found.items())[first::step])
    if options.gradients:
        return gradients(chosen, options.table)
    passed: dict[str, collections.Counter[str]] = {"eager": collections.Counter(), "compiled": collections.Counter()}
    refused: list[tuple[str, str]] = []
    for mode, compiler in (("eager", None), ("compiled", rushlight.compile))[: 2 if options.compiled else 1]:
        begun = time.perf_counter()
        for name, case in chosen.items():
            what = outcome(case, compiler)
            if not what:
                passed[mode][name.partition("/")[0]] += 1
                continue
            if mode == "eager":
                refused.append((name, what))
            if options.failures:
                print(f"{mode}: {name}: {what}", flush=True)
        print(f"{mode}: {passed[mode].total()} of {len(chosen)} pass ({time.perf_counter() - begun:.0f} s)", flush=True)
    if options.table:
        write(chosen, passed, refused, options.compiled)
    return 0


def gradients(chosen: dict[str, Any], table: bool) -> int:
    """Compare the gradients of cases with differences."""
    counts, others = onnx_derivatives.counted(chosen)
    print(dict(counts))
    for name, what in others.items():
        print(f"{name}: {what}")
    if table:
        replace(GRADIENTS, onnx_derivatives.rows(counts))
    return 1 if others else 0


def replace(marks: tuple[str, str], lines: list[str]) -> None:
    """Put lines between two marks of the page."""
    page = PAGE.read_text()
    before, _, rest = page.partition(marks[0])
    _, _, after = rest.partition(marks[1])
    PAGE.write_text(before + marks[0] + "\n" + "\n".join(lines) + "\n" + marks[1] + after)


def write(chosen: dict[str, Any], passed: dict[str, Any], refused: list[tuple[str, str]], compiled: bool) -> None:
    """Write the table into the page."""
    totals = collections.Counter(name.partition("/")[0] for name in chosen)
    lines = ["| cases | number | eager | compiled |", "|---|---:|---:|---:|"]
    for kind in (*totals, "all"):
        row = [totals.total() if kind == "all" else totals[kind]]
        row += [passed[mode].total() if kind == "all" else passed[mode][kind] for mode in ("eager", "compiled")]
        lines.append(f"| {kind} | {row[0]} | {row[1]} | {row[2] if compiled else ''} |")
    if refused:
        lines += ["", "What does not pass:", "", "| case | why |", "|---|---|"]
        lines += [f"| `{name}` | {onnx_cases.NOT_PASSING.get(name, what).replace('|', ' ')[:160]} |" for name, what in refused]
    replace(TABLE, lines)


if __name__ == "__main__":
    sys.exit(main())

"""What rushlight costs before it computes anything: the time to import it, and the installed size of each extra.

python bench/footprint.py        (what `make bench` runs last)
"""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
import time
from importlib.metadata import PackageNotFoundError, distribution, requires
from pathlib import Path

import rushlight

MODULES = {"": "rushlight", "onnx": "rushlight.onnx, onnx, onnxruntime", "native": "rushlight.backends.native, llvmlite.binding"}
ROUNDS = 5


def parts(package: str, extra: str = "") -> set[str]:
    """A package and what it needs, by name; with an extra, what the extra adds."""
    found: set[str] = set()
    waiting = [(package, extra)]
    while waiting:
        name, chosen = waiting.pop()
        for line in requires(name) or []:
            needed, _, condition = line.partition(";")
            marks = re.findall(r"extra\s*==\s*['\"]([\w-]+)['\"]", condition)
            child = re.split(r"[^\w.-]", needed.strip())[0]
            if (marks and chosen not in marks) or child in found:
                continue
            try:
                distribution(child)
            except PackageNotFoundError:
                continue  # of another system, or not installed
            found.add(child)
            waiting.append((child, ""))
    return found


def missing(extra: str) -> list[str]:
    """What an extra names and is not installed."""
    names = [re.split(r"[^\w.-]", line)[0] for line in requires("rushlight") or [] if re.search(rf"extra\s*==\s*['\"]{extra}['\"]", line)]
    found = []
    for name in names:
        try:
            distribution(name)
        except PackageNotFoundError:
            found.append(name)
    return found


def size(package: str) -> int:
    """The bytes of a package's files."""
    return sum(
        path.stat().st_size
        for file in distribution(package).files or []
        if (path := file.locate()).exists() and "__pycache__" not in str(path)
    )


def own_size() -> int:
    """The bytes of rushlight's own files, wherever it is installed."""
    folder = Path(rushlight.__file__).parent
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)


def import_time(modules: str) -> float:
    """Seconds of an import in a fresh process, less those of an empty one; the median of a few."""

    def once(program: str) -> float:
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", program], check=True)
        return time.perf_counter() - start

    once(f"import {modules}")
    return statistics.median(once(f"import {modules}") for _ in range(ROUNDS)) - statistics.median(once("pass") for _ in range(ROUNDS))


def main() -> None:
    """Print the table."""
    core = parts("rushlight")
    rows = [
        ("rushlight", own_size(), "itself", import_time(MODULES[""])),
        ("its dependencies", sum(map(size, core)), ", ".join(sorted(core)), None),
    ]
    for extra in ("onnx", "native", "cuda", "mpi"):
        absent = missing(extra)
        if absent:
            rows.append((f"rushlight[{extra}]", None, f"not installed: {', '.join(absent)}", None))
            continue
        added = parts("rushlight", extra) - core
        rows.append((f"rushlight[{extra}]", sum(map(size, added)), ", ".join(sorted(added)), import_time(MODULES[extra])))
    print("| installed | MB | what it adds | import |\n|---|---|---|---|")
    for name, count, what, seconds in rows:
        megabytes = "" if count is None else f"{count / 1e6:.1f}"
        print(f"| {name} | {megabytes} | {what} | {'' if seconds is None else f'{seconds * 1e3:.0f} ms'} |")


if __name__ == "__main__":
    main()

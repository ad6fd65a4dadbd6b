"""Two checkouts of rushlight side by side, in one run: what a change does to speed.

python bench/before_after.py BEFORE [--quick] [--only CASE]      (BEFORE is the root of another checkout, as `git worktree add` makes one)

Measures eager calls, eager and compiled training steps and inference, first compiled calls without a disk cache, and the import; each pair in
interleaved rounds.  Prints a table and keeps it in bench/RESULTS.md.  Needs llvmlite; PyTorch takes no part.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile

from cases import CASES
from peers import Peer, closing, progress
from tables import header, keep, line, shown

AFTER = str(pathlib.Path(__file__).resolve().parent.parent)
TITLE = "Before and after"
FORMS = {"inference": ("eager", "model"), "training": ("eager", "model", "step")}
NOISE = 1.1  # of a ratio: what two runs of one checkout differ by on a shared machine

SNIPPETS = {
    "add of 4 elements, gradient recorded": ("a, b = (r.ones(4).requires_grad_() for _ in range(2))", "a + b"),
    "(a * b).sum().backward() on 4 elements": ("a, b = (r.ones(4).requires_grad_() for _ in range(2))", "(a * b).sum().backward()"),
    "softmax of 64 x 64": ("a = r.ones(64, 64)", "r.softmax(a, 1)"),
    "indexing a[1:, None]": ("a = r.ones(64, 64)", "a[1:, None]"),
    "vmap of a product over 8": ("a = r.ones(8, 4, 4); f = r.vmap(lambda x: x @ x)", "f(a)"),
    "jit.trace call of x + x": ("a = r.ones(4)\ndef g(x):\n    return x + x\nf = r.jit.trace(g, (a,))", "f(a)"),
}
TIME = """
import timeit, rushlight as r
{setup}
run = lambda: {body}
run()
number = max(1, int(0.05 / max(timeit.timeit(run, number=20) / 20, 1e-7)))
print(min(timeit.repeat(run, number=number, repeat=5)) / number)
"""
IMPORT = "import time; start = time.perf_counter(); import rushlight; print(time.perf_counter() - start)"


def seconds(program: str, tree: str) -> float:
    """What a program that prints a time prints, run on the package of a checkout."""
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True, cwd="/", env={"PYTHONPATH": tree})
    return float(done.stdout)


def in_turn(program: str, trees: list[str], rounds: int) -> list[float]:
    """The best time of each checkout over interleaved rounds."""
    found: list[list[float]] = [[] for _ in trees]
    for _ in range(rounds):
        for tree, times in zip(trees, found):
            times.append(seconds(program, tree))
    return [min(each) for each in found]


def row(name: str, before: float, after: float) -> str:
    """A row of the table; a ratio beyond noise is marked."""
    ratio = after / before
    progress(f"{name}: {ratio:.2f}\n")
    return line(name, shown(before), shown(after), f"{ratio:.2f}", "**slower**" if ratio > NOISE else "")


def compiled_rows(case: str, kind: str, trees: list[str], rounds: int, budget: float) -> list[str]:
    """The rows of a case: calls in each form, and the first two calls of what is compiled."""
    rows = []
    for form in FORMS[kind]:
        name = f"{case}, {kind}, {form if form == 'eager' else f'compiled ({form})'}"
        first: list[list[float]] = [[] for _ in trees]
        calls: list[list[float]] = [[] for _ in trees]
        with tempfile.TemporaryDirectory() as folder:
            for number in range(3 if form != "eager" else 1):  # first calls of a new process, several times
                with closing({}) as peers:
                    for at, tree in enumerate(trees):
                        own = pathlib.Path(folder) / f"{number}{at}"
                        own.mkdir()
                        peers[at] = Peer("rushlight", form, kind, case, str(own), tree)
                        first[at].append(peers[at].loading + peers[at].first)
                    for _ in range(rounds if number == 0 else 1):
                        for at, peer in peers.items():
                            calls[at].append(peer.ask("time", budget))
        rows.append(row(name, *[min(each) for each in calls]))
        if form != "eager":
            rows.append(row(f"{name}, first two calls", *[statistics.median(each) for each in first]))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", help="the root of the checkout to compare with")
    parser.add_argument("--quick", action="store_true", help="fewer rounds; nothing is kept")
    parser.add_argument("--only", default="", help="rows whose names contain this; nothing is kept")
    args = parser.parse_args()
    trees = [str(pathlib.Path(args.before).resolve()), AFTER]
    if not (pathlib.Path(trees[0]) / "rushlight" / "__init__.py").exists():
        parser.error(f"{args.before} is no checkout of rushlight")
    load = os.getloadavg()[0]
    rounds, budget = (2, 0.1) if args.quick else (5, 0.2)
    rows = [row("import", *in_turn(IMPORT, trees, 2 * rounds))] if args.only in "import" else []
    for name, (setup, body) in SNIPPETS.items():
        if args.only in name:
            rows.append(row(name, *in_turn(TIME.format(setup=setup, body=body), trees, rounds)))
    for case in CASES:
        if args.only in case:
            for kind in FORMS:
                rows += compiled_rows(case, kind, trees, rounds, budget)
    body = "\n".join([*header("case", "before", "after", "ratio", ""), *rows])
    print(body)
    if not (args.quick or args.only):
        machine = f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
        about = f"{machine}, load before the run {load:.2f}"
        keep(
            TITLE,
            about,
            f"Two checkouts of rushlight, `bench/before_after.py`: a ratio here is the new one's time to the old one's.\n\n{body}",
        )


if __name__ == "__main__":
    main()

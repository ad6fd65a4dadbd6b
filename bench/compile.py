"""Speed of capture and of compiled calls, compared with PyTorch's.

    python bench/compile.py [--quick]      # needs torch in the same environment; prints a table and adds it to bench/RESULTS.md

The back-end is "eager" on both sides, so that capture alone is compared.  A capture is timed by the wall clock, in a fresh process and
again in the same process after a reset: the time of the first call of the compiled model, less that of a call of the model itself.
Beside it stands what a user waits: the time of that first call as a whole, most of it arithmetic where the model is wide.
"""

from __future__ import annotations

import argparse
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
    "GPT, 12 layers of width 192": lambda package: gpt(package, width=192),
    "GPT, 12 layers of width 768": gpt,
    "ResNet-18": resnet,
}


def first_call(package: Any, name: str) -> tuple[float, ...]:
    """Seconds that the first compiled call takes, and that it takes more than an eager one: in a fresh process, and after a reset."""
    model, args = MODELS[name](package)
    model.eval()
    with package.no_grad():
        model(*args)
        eager, found = [], []
        for _ in range(5):
            eager.append(timeit.timeit(lambda: model(*args), number=3) / 3)
            package.compiler.reset()
            start = time.perf_counter()
            package.compile(model, backend="eager", fullgraph=True)(*args)
            found.append(time.perf_counter() - start)
    again = min(found[1:])
    return found[0], found[0] - min(eager), again, again - min(eager)


def capture_times(package: str, name: str) -> list[float]:
    """The same, measured in a process of its own."""
    output = subprocess.run([sys.executable, __file__, "--measure", package, name], capture_output=True, text=True, check=True).stdout
    return [float(each) for each in output.split()[-4:]]


def guarded(package: Any) -> Callable[[], Any]:
    """A call with some twenty guards: two tensors, and numbers that are attributes, elements and variables."""
    settings = SimpleNamespace(a=1, b=2, c=3, d=4, e=5.0, f=True, g="mode", h=None)
    table = {"one": 1, "two": 2, "three": 3}
    values = [1, 2, 3, 4]
    scale = 2

    def program(x: Any, y: Any, n: int) -> Any:
        total = (
            settings.a + settings.b + settings.c + settings.d + settings.e + table["one"] + table["two"] + values[0] + values[3] + scale + n
        )
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
        times = {package: [capture_times(package, name) for _ in range(1 if options.quick else 2)] for package in PACKAGES}
        for kind, index in (("in a fresh process", 0), ("again", 2)):
            whole, capture = ([min(each[at] for each in times[package]) for package in ("rushlight", "torch")] for at in (index, index + 1))
            note = f"the whole first call: {shown(whole[0])} and {shown(whole[1])}"
            table.add(f"capture of {name}, {kind}", shown(capture[0]), shown(capture[1]), capture[0] / capture[1], 0.2, note)
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

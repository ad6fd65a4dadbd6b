"""Speed of scripts, compared with PyTorch's.

    python bench/script.py [--quick]      # needs torch in the same environment; prints a table and adds it to bench/RESULTS.md

Compiling is timed with the first call, as a program pays for both; a fresh function each time, as both packages keep what they
have compiled.  "New source" are functions of a file that was never seen; the others are made by one ``def`` again and again (as
a factory of functions does), of which rushlight keeps the program as long as its names mean the same.
"""

from __future__ import annotations

import argparse
import linecache
import pathlib
import runpy
import tempfile
import warnings
from collections.abc import Callable
from typing import Any

from sidebyside import Table, keep, machine

warnings.filterwarnings("ignore", category=DeprecationWarning)


BRANCH = """
def function_{number}(x):
    if bool(x.sum() > 0):
        y = x * 2
    else:
        y = x - 1
    return y.relu()
"""
LOOPS = """
def function_{number}(x, n: int = 5):
    total = x
    for i in range(n):
        if i % 2 == 0:
            total = total + x * i
            continue
        j = 0
        while j < i:
            total = total - j
            if j > 2:
                break
            j += 1
    return total
"""


def new_source(text: str) -> Callable[[Any], Callable[[], Any]]:
    """Each call scripts and calls a function that is in a file, but was never scripted; files are written as they are needed."""

    def make(package: Any) -> Callable[[], Any]:
        x = package.ones(4)
        folder = tempfile.TemporaryDirectory()
        waiting: list[Any] = []

        def more() -> None:
            count = 4000
            path = pathlib.Path(folder.name) / f"{package.__name__}_{len(list(pathlib.Path(folder.name).iterdir()))}.py"
            path.write_text("".join(text.replace("{number}", str(number)) for number in range(count)))
            names = runpy.run_path(str(path))
            linecache.getlines(str(path))
            waiting.extend(names[f"function_{number}"] for number in range(count))

        def run() -> None:
            if not waiting:
                more()
            package.jit.script(waiting.pop())(x)

        more()
        return run

    return make


def compile_branch(package: Any) -> Callable[[], Any]:
    x = package.ones(4)

    def run() -> None:
        def choose(x):
            if bool(x.sum() > 0):
                y = x * 2
            else:
                y = x - 1
            return y.relu()

        package.jit.script(choose)(x)

    return run


def compile_loops(package: Any) -> Callable[[], Any]:
    x = package.ones(4)

    def run() -> None:
        def loops(x, n: int):
            total = x
            for i in range(n):
                if i % 2 == 0:
                    total = total + x * i
                    continue
                j = 0
                while j < i:
                    total = total - j
                    if j > 2:
                        break
                    j += 1
            return total

        package.jit.script(loops)(x, 5)

    return run


def compile_module(package: Any) -> Callable[[], Any]:
    class Layer(package.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = package.nn.Linear(8, 8)

        def forward(self, x):
            y = self.linear(x)
            if bool(y.sum() > 0):
                return y.relu()
            return y.tanh()

    class Net(package.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = package.nn.ModuleList([Layer() for _ in range(4)])

        def forward(self, x):
            for layer in self.layers:
                x = layer(x)
            return x

    x = package.ones(2, 8)
    return lambda: package.jit.script(Net())(x)


def small_ops(package: Any) -> Callable[[], Any]:
    def repeat(x, n: int):
        for _ in range(n):
            x = x + 1
        return x

    scripted, x = package.jit.script(repeat), package.ones(4)
    return lambda: scripted(x, 1000)


def small_ops_with_branches(package: Any) -> Callable[[], Any]:
    def repeat(x, n: int):
        for i in range(n):
            if i % 3 == 0:
                x = x * 0.5
            else:
                x = x + 1
        return x

    scripted, x = package.jit.script(repeat), package.ones(4)
    return lambda: scripted(x, 1000)


def numbers(package: Any) -> Callable[[], Any]:
    def count(x, n: int):
        total = 0
        i = 0
        while i < n:
            if i % 7 == 3:
                total += i * 2
            i += 1
        return x + total

    scripted, x = package.jit.script(count), package.ones(1)
    return lambda: scripted(x, 1000)


def recorded_region(package: Any) -> Callable[[], Any]:
    def chain(x, y):
        return ((x * y).sin().exp() + y).tanh() * x

    scripted = package.jit.script(chain)
    x, y = package.ones(64).requires_grad_(), package.ones(64).requires_grad_()
    return lambda: scripted(x, y).sum().backward()


def recorded_loop(package: Any) -> Callable[[], Any]:
    def repeat(x, n: int):
        for _ in range(n):
            x = x * 1.01
        return x.sum()

    scripted, x = package.jit.script(repeat), package.ones(64).requires_grad_()
    return lambda: scripted(x, 200).backward()


# Name, maker, and how many times PyTorch's time ours may be.
CASES: list[tuple[str, Callable[[Any], Callable[[], Any]], float]] = [
    ("script and first call: a branch", compile_branch, 0.2),
    ("script and first call: loops with break and continue", compile_loops, 0.2),
    ("script and first call: a Module with four layers", compile_module, 0.2),
    ("script and first call: a branch, new source", new_source(BRANCH), 0.2),
    ("script and first call: loops with break and continue, new source", new_source(LOOPS), 0.2),
    ("a loop of 1,000 small ops", small_ops, 1.5),
    ("a loop of 1,000 small ops with branches", small_ops_with_branches, 1.5),
    ("a loop of 1,000 steps on numbers", numbers, 10.0),
    ("a differentiable region, forwards and backwards", recorded_region, 3.0),
    ("a loop of 200 ops, forwards and backwards", recorded_loop, 3.0),
]


def main() -> None:
    """Time all cases."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer rounds, and no file")
    options = parser.parse_args()
    about = machine()
    table = Table()
    for name, make, limit in CASES:
        table.time(name, make, limit, rounds=2 if options.quick else 5, budget=0.05 if options.quick else 0.3)
    print(table)
    if not options.quick:
        keep("Scripts", about, str(table))


if __name__ == "__main__":
    main()

"""Eager speed, compared with PyTorch, in one run.

    python bench/eager.py [--quick]      # needs torch in the same environment; prints a table and writes bench/RESULTS.md

Each case is timed in both packages in turn, several rounds, and the best round of each counts: the machine's other work
then hurts both alike.  A case whose PyTorch times scatter widely (its threads stall when a core is taken) is marked.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
from sidebyside import Table, keep, machine, shown

import rushlight


def leaf(package: Any, *shape: int) -> Any:
    return package.ones(*shape).requires_grad_()


def add_recorded(package: Any) -> Callable[[], Any]:
    a, b = leaf(package, 4), leaf(package, 4)
    return lambda: a + b


def multiply_sum_backward(package: Any) -> Callable[[], Any]:
    a, b = leaf(package, 4), leaf(package, 4)
    return lambda: (a * b).sum().backward()


def function_chain(package: Any) -> Callable[[], Any]:
    class Double(package.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            ctx.saved_tensors  # noqa: B018
            return g * 2

    x = leaf(package, 128)

    def run() -> None:
        y = x
        for _ in range(20):
            y = Double.apply(y)
        y.sum().backward()

    return run


def product(size: int) -> Callable[[Any], Callable[[], Any]]:
    def make(package: Any) -> Callable[[], Any]:
        package.manual_seed(0)
        a, b = package.rand(size, size), package.rand(size, size)
        return lambda: a @ b

    return make


def large(operation: Callable[[Any, Any, Any], Any]) -> Callable[[Any], Callable[[], Any]]:
    def make(package: Any) -> Callable[[], Any]:
        package.manual_seed(0)
        a, b = package.rand(2000, 2000), package.rand(2000, 2000)
        return lambda: operation(package, a, b)

    return make


# name, what it is made by, how many times PyTorch's time is allowed
CASES: list[tuple[str, Callable[[Any], Callable[[], Any]], float]] = [
    ("add of 4 elements, gradient recorded", add_recorded, 1.5),
    ("(a * b).sum().backward() on 4 elements", multiply_sum_backward, 0.5),
    ("20 custom Functions on 128 elements, forward and backward", function_chain, 0.5),
    ("matrix product 64", product(64), 1.2),
    ("matrix product 256", product(256), 1.2),
    ("matrix product 1024", product(1024), 1.2),
    ("add, 4 million floats", large(lambda p, a, b: a + b), 2.0),
    ("multiply, 4 million floats", large(lambda p, a, b: a * b), 2.0),
    ("exp, 4 million floats", large(lambda p, a, b: a.exp()), 2.0),
    ("tanh, 4 million floats", large(lambda p, a, b: a.tanh()), 2.0),
    ("sigmoid, 4 million floats", large(lambda p, a, b: a.sigmoid()), 2.0),
    ("relu, 4 million floats", large(lambda p, a, b: a.relu()), 2.0),
    ("where, 4 million floats", large(lambda p, a, b: p.where(a > b, a, b)), 2.0),
    ("sum, 4 million floats", large(lambda p, a, b: a.sum()), 2.0),
    ("sum of rows, 4 million floats", large(lambda p, a, b: a.sum(1)), 2.0),
    ("mean of columns, 4 million floats", large(lambda p, a, b: a.mean(0)), 2.0),
    ("max of rows, 4 million floats", large(lambda p, a, b: a.amax(1)), 2.0),
    ("softmax of rows, 4 million floats", large(lambda p, a, b: p.softmax(a, 1)), 2.0),
]


def import_seconds() -> dict[str, float]:
    """The time an import statement takes in a fresh interpreter, where compiled bytecode is there: the best of several, in turn."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    code = "import time; start = time.perf_counter(); import {}; print(time.perf_counter() - start)"
    best = {"rushlight": float("inf"), "torch": float("inf")}
    for _ in range(8):
        for package in best:
            command = [sys.executable, "-c", code.format(package)]
            done = subprocess.run(command, check=True, env=environment, capture_output=True, text=True)
            best[package] = min(best[package], float(done.stdout))
    return best


STEP = """
import pathlib, {package} as p
def status(key):
    line = next(l for l in pathlib.Path("/proc/self/status").read_text().splitlines() if l.startswith(key))
    return int(line.split()[1])
base = status("VmRSS")
p.manual_seed(0)
ws = [p.randn(1024, 1024).mul_(0.03).requires_grad_() for _ in range(8)]
x = p.randn(4096, 1024)
for _ in range(3):
    y = x
    for w in ws:
        y = (y @ w).tanh()
    (y * y).sum().backward()
    with p.no_grad():
        for w in ws:
            w -= 0.01 * w.grad
            w.grad = None
print(status("VmHWM") - base)
"""


def step_memory(package: str) -> float:
    """Megabytes that three training steps of an 8-layer network add to the process at their peak."""
    done = subprocess.run([sys.executable, "-c", STEP.format(package=package)], check=True, capture_output=True, text=True)
    return int(done.stdout) / 1024


def growth(package: Any) -> list[tuple[int, float]]:
    """Microseconds a node that backward takes through chains of 100 to 100,000 nodes."""
    found = []
    for count in (100, 1_000, 10_000, 100_000):
        best = float("inf")
        for _ in range(3):
            x = leaf(package, 1)
            y = x
            for _ in range(count):
                y = y * 1.0
            start = time.perf_counter()
            y.backward()
            best = min(best, time.perf_counter() - start)
        found.append((count, best / count * 1e6))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer rounds, and no results file")
    quick = parser.parse_args().quick
    about = machine()
    table = Table()
    for name, make, allowed in CASES:
        table.time(name, make, allowed, 3 if quick else 7, 0.05 if quick else 0.2)
    ours, theirs = import_seconds().values()
    table.add("import", shown(ours), shown(theirs), ours / theirs, 0.125)
    ours, theirs = step_memory("rushlight"), step_memory("torch")
    table.add("memory of a training step (peak added)", f"{ours:.0f} MB", f"{theirs:.0f} MB", ours / theirs, 1.0)
    lines = [f"| {count:,} | {own:.2f} | {other:.2f} |" for (count, own), (_, other) in zip(growth(rushlight), growth(torch))]
    chain = "\n".join(["| nodes | rushlight, µs a node | PyTorch, µs a node |", "|---|---|---|", *lines])
    body = f"{table}\n\nHow backward grows with the length of the graph:\n\n{chain}"
    print(body)
    if not quick:
        keep("Eager speed", about, body)


if __name__ == "__main__":
    main()

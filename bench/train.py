"""Eager training steps (forward, backward, SGD), compared with PyTorch, in one run.

python bench/train.py [--quick]      # needs torch in the same environment; prints a table and keeps it in bench/RESULTS.md
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from cases import Made, cnn, gpt, lstm, mlp
from sidebyside import PACKAGES, Table, keep, machine


def step(build: Callable[[Any], Made]) -> Callable[[Any], Callable[[], Any]]:
    """One training step of a model, for a package."""

    def make(package: Any) -> Callable[[], Any]:
        package.manual_seed(0)
        model, inputs, target, loss_of = build(package)
        optimizer = package.optim.SGD(model.parameters(), lr=0.001)

        def run() -> Any:
            optimizer.zero_grad()
            loss = loss_of(model(*inputs), target)
            loss.backward()
            optimizer.step()
            return loss

        for _ in range(30):  # kernels for shapes that come again and again are compiled after some calls
            run()
        return run

    return make


def first_loss(build: Callable[[Any], Made], package: Any) -> float:
    """The loss before any step."""
    package.manual_seed(0)
    model, inputs, target, loss_of = build(package)
    return float(loss_of(model(*inputs), target).item())


CASES = [
    ("MLP 64-64-64-1, batch 32", mlp, 1.0),
    ("GPT, 4 layers of width 128, batch 8, length 64", gpt, 1.0),
    ("CNN 3-32-64-128 with BatchNorm, batch 32 of 32x32", cnn, 1.0),
    ("LSTM 64-128, length 50, batch 16", lstm, 1.0),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer rounds, and no results file")
    quick = parser.parse_args().quick
    about = machine()
    table = Table()
    for name, build, allowed in CASES:
        losses = [first_loss(build, package) for package in PACKAGES.values()]
        if abs(losses[0] - losses[1]) > 1e-4 * abs(losses[1]):
            raise SystemExit(f"{name}: the first losses differ: {losses}")
        table.time(name, step(build), allowed, 3 if quick else 7, 0.1 if quick else 0.5)
    print(table)
    if not quick:
        keep("Training steps, eager", about, str(table))


if __name__ == "__main__":
    main()

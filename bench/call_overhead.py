"""What the hand-written machine-level parts of a compiled call buy: the trampoline and the guard virtual machine, on and off.

    python bench/call_overhead.py [--quick]      # prints a table and adds it to bench/RESULTS.md

Models are so small that a call is overhead and little else.  All four combinations are measured in one process, in interleaved rounds; the best
round counts.  A ratio is the time without a part to the time with both.
"""

from __future__ import annotations

import argparse
import os
import platform
import time
import warnings
from collections.abc import Callable
from typing import Any

from tables import header, keep, line, shown

import rushlight as torch
from rushlight.runtime.call.settings import settings

nn, F = torch.nn, torch.nn.functional
WAYS = {"both": (True, True), "no trampoline": (False, True), "no guard VM": (True, False), "neither": (False, False)}
TITLE = "Call overhead"
WARM_UP = 40  # calls: guards are compiled after a few, or no more attempts are made


def model() -> Any:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 1))


def inference() -> Callable[[], Any]:
    """A call of a compiled model without gradients."""
    compiled, x = torch.compile(model().requires_grad_(False)), torch.randn(5, 6)
    return lambda: compiled(x)


def gradients() -> Callable[[], Any]:
    """Forward and backward of a compiled model."""
    compiled, x = torch.compile(model()), torch.randn(5, 6)
    return lambda: compiled(x).sum().backward()


def training_step() -> Callable[[], Any]:
    """A compiled training step: forward, backward and update."""
    inner = model()
    optimizer = torch.optim.SGD(inner.parameters(), lr=0.01)
    x, y = torch.randn(5, 6), torch.randn(5, 1)

    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = F.mse_loss(inner(x), y)
        loss.backward()
        optimizer.step()
        return loss

    compiled = torch.compile(step)
    return lambda: compiled(x, y)


CASES = {"inference, MLP 6-8-1": inference, "forward and backward, MLP 6-8-1": gradients, "training step, MLP 6-8-1": training_step}


def prepared(make: Callable[[], Callable[[], Any]], way: tuple[bool, bool]) -> Callable[[], Any]:
    """A case, compiled with some parts switched off."""
    before = settings.trampoline, settings.guard_vm
    settings.trampoline, settings.guard_vm = way
    try:
        run = make()
        for _ in range(WARM_UP):
            run()
        return run
    finally:
        settings.trampoline, settings.guard_vm = before


def seconds(run: Callable[[], Any], count: int) -> float:
    start = time.perf_counter()
    for _ in range(count):
        run()
    return (time.perf_counter() - start) / count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer rounds, and no entry in RESULTS.md")
    quick = parser.parse_args().quick
    warnings.filterwarnings("ignore")
    load = os.getloadavg()[0]
    rows = header("case", *WAYS, *(f"{each} to both" for each in list(WAYS)[1:]))
    for name, make in CASES.items():
        runs = {way: prepared(make, chosen) for way, chosen in WAYS.items()}
        best = dict.fromkeys(WAYS, float("inf"))
        for _ in range(3 if quick else 25):
            for way, run in runs.items():
                best[way] = min(best[way], seconds(run, 200 if quick else 1000))
        rows.append(line(name, *(shown(best[way]) for way in WAYS), *(f"{best[way] / best['both']:.2f}" for way in list(WAYS)[1:])))
    print("\n".join(rows))
    if not quick:
        about = f"Python {platform.python_version()}, {os.cpu_count()} cores, load before the run {load:.2f}"
        keep(TITLE, about, "\n".join(rows))


if __name__ == "__main__":
    main()

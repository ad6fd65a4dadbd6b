"""What the benchmarks share: timing two packages in turn, and the table that comes out of it."""

from __future__ import annotations

import gc
import os
import pathlib
import platform
import sys
from collections.abc import Callable
from typing import Any

import torch
from serving import time_of
from tables import keep as keep
from tables import shown

import rushlight

PACKAGES = {"rushlight": rushlight, "torch": torch}


def compare(make: Callable[[Any], Callable[[], Any]], rounds: int, budget: float) -> tuple[dict[str, float], float]:
    """The best time of each package over interleaved rounds, and how far PyTorch's rounds scatter."""
    functions = {name: make(package) for name, package in PACKAGES.items()}
    times: dict[str, list[float]] = {name: [] for name in PACKAGES}
    gc.collect()
    for _ in range(rounds):
        for name, function in functions.items():
            times[name].append(time_of(function, budget))
    scatter = sorted(times["torch"])[len(times["torch"]) // 2] / min(times["torch"])
    return {name: min(each) for name, each in times.items()}, scatter


def machine() -> str:
    """The machine, the versions, and how busy it was."""
    model = platform.processor() or platform.machine()
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines() if os.path.exists("/proc/cpuinfo") else ():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    return (
        f"{model}, {os.cpu_count()} cores, Python {platform.python_version()}, PyTorch {torch.__version__}, "
        f"load before the run {os.getloadavg()[0]:.2f}"
    )


class Table:
    """Rows of a comparison; a ratio above what is allowed is marked."""

    def __init__(self) -> None:
        self.rows = ["| case | rushlight | PyTorch | ratio | allowed | |", "|---|---|---|---|---|---|"]

    def add(self, name: str, ours: str, theirs: str, ratio: float, allowed: float, note: str = "") -> None:
        verdict = "" if ratio <= allowed else "**missed**"
        print(f"{name}: {ratio:.2f} (allowed {allowed:g})", file=sys.stderr, flush=True)
        self.rows.append(f"| {name} | {ours} | {theirs} | {ratio:.2f} | {allowed:g} | {verdict} {note} |")

    def time(self, name: str, make: Callable[[Any], Callable[[], Any]], allowed: float, rounds: int, budget: float) -> None:
        best, scatter = compare(make, rounds, budget)
        note = "PyTorch's times scattered" if scatter > 1.3 else ""
        self.add(name, shown(best["rushlight"]), shown(best["torch"]), best["rushlight"] / best["torch"], allowed, note)

    def __str__(self) -> str:
        return "\n".join(self.rows)

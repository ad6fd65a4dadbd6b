"""How far native code is from what the machine can do: its rate of matrix products and its memory bandwidth, measured here.

The least time of a case is that of its products and convolutions at the rate of BLAS, or of moving what it must move (parameters, inputs,
results) once, whichever is longer.  Exponentials and other pointwise work count for nothing, and overlap is taken to be perfect.
"""

from __future__ import annotations

import concurrent.futures
from dataclasses import dataclass

import numpy as np
from cases import CASES
from native_speed import OURS, Figures, rows_of
from serving import time_of
from tables import header, line, shown
from worker import runner, seeded

import rushlight
from rushlight.utils.flop_counter import FlopCounterMode


@dataclass
class Rates:
    """What the machine does in a second."""

    products: float  # floating-point operations
    copies: float  # bytes read and written

    def __str__(self) -> str:
        return f"sgemm {self.products / 1e9:.0f} GFLOP/s, copying {self.copies / 1e9:.0f} GB/s (read and written)"


def rates() -> Rates:
    """The best of one thread and all of them, over a few sizes."""
    threads = rushlight.get_num_threads()
    products = copies = 0.0
    for count in {1, threads}:
        rushlight.set_num_threads(count)
        for size in (512, 1024, 1536):
            a, b, out = (np.ones((size, size), np.float32) for _ in range(3))
            products = max(products, 2 * size**3 / time_of(lambda: np.matmul(a, b, out=out), 0.3))  # noqa: B023
        source, target = np.ones(1 << 25, np.float32), np.empty(1 << 25, np.float32)
        halves = list(zip(np.array_split(source, count), np.array_split(target, count)))
        with concurrent.futures.ThreadPoolExecutor(count) as pool:
            seconds = time_of(lambda: list(pool.map(lambda pair: np.copyto(pair[1], pair[0]), halves)), 0.3)  # noqa: B023
        copies = max(copies, 2 * source.nbytes / seconds)
    rushlight.set_num_threads(threads)
    return Rates(products, copies)


def work(case: str, kind: str) -> tuple[int, int]:
    """Operations of matrix products and convolutions, and the bytes that can't but be moved."""
    made = seeded(rushlight, CASES[case])
    model, inputs, target, _ = made
    function = runner(rushlight, "eager", kind, made)
    with FlopCounterMode(display=False) as counter:
        out = function()
    parameters = sum(each.nbytes for each in model.parameters())
    others = {id(each): each.nbytes for each in inputs if not any(each is one for one in model.parameters())}
    moved = 2 * parameters + target.nbytes if kind == "training" else parameters + out.nbytes
    return counter.get_total_flops(), moved + sum(others.values())


HEAD = header("case", "GFLOP", "MB", "the machine's limit", "native", "times the limit", "PyTorch's best, times the limit")


def rows(case: str, kind: str, found: Figures, machine: Rates) -> list[str]:
    """The distance of each row of a kind."""
    operations, moved = work(case, kind)
    limits = {"products": operations / machine.products, "memory": moved / machine.copies}
    limit, reason = max((seconds, name) for name, seconds in limits.items())
    theirs = found.best("torch")
    cells = [f"{operations / 1e9:.4g}", f"{moved / 1e6:.3g}", f"{shown(limit)} ({reason})"]
    found_rows = []
    for row in rows_of(kind):
        ours = found.times["rushlight", OURS[row]]
        distance = "–" if theirs is None else f"{theirs / limit:.1f}"
        found_rows.append(line(f"{case}, {row}", *cells, shown(ours), f"{ours / limit:.1f}", distance))
    return found_rows

"""What a process that measures one thing does: the first calls, then what native.py asks for, a line for each.

It needs the standard library and NumPy alone, so that it serves environments that have nothing else in common.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
import timeit
from collections.abc import Callable
from typing import Any

import numpy as np


def time_of(function: Callable[[], Any], budget: float) -> float:
    """Seconds of one call, as the best of a few batches."""
    function()
    once = max(timeit.timeit(function, number=1), 1e-7)
    number = max(1, int(budget / once / 3))
    return min(timeit.repeat(function, number=number, repeat=3)) / number


def disturbed(function: Callable[[], Any], seconds: float) -> float:
    """Seconds of one call where calls are hindered now and then: the median over windows of what a call takes there on average."""
    found, stop = [], time.perf_counter() + seconds
    while not found or time.perf_counter() < stop:
        calls, start = 0, time.perf_counter()
        while (now := time.perf_counter()) < start + seconds / 8 or not calls:
            function()
            calls += 1
        found.append((now - start) / calls)
    return statistics.median(found)


def kilobytes(key: str) -> int:
    """A line of what the system says of this process's memory."""
    with open("/proc/self/status", encoding="ascii") as file:
        return int(next(line for line in file if line.startswith(key)).split()[1])


def ordinary_priority() -> None:
    """Give up a priority above that of other processes, in all threads."""
    for thread in os.listdir("/proc/self/task"):
        os.sched_setscheduler(int(thread), os.SCHED_OTHER, os.sched_param(0))


def serve(prepare: Callable[[], Callable[[], Any]], results: str, count: int) -> None:
    """Time the making of a function and its first two calls, keep its first results in a file, and answer requests while there are any."""
    output = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the packages print is no answer

    def answer(**found: float) -> None:
        print(json.dumps(found), file=output, flush=True)

    start = time.perf_counter()
    function = prepare()
    loaded = time.perf_counter()
    values = [function(), function()]
    first = time.perf_counter()
    values += [function() for _ in range(count - len(values))]
    np.save(results, np.stack([np.asarray(value.detach() if hasattr(value, "detach") else value) for value in values]))
    del values
    answer(loading=loaded - start, first=first - loaded)
    for line in sys.stdin:
        request, seconds = line.split()
        if request == "time":
            answer(time=time_of(function, float(seconds)))
        elif request == "disturbed":
            ordinary_priority()
            answer(time=disturbed(function, float(seconds)))
        else:
            raise SystemExit(f"{request} is no request")

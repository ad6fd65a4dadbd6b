"""Which of cuBLASLt's algorithms computes a product fastest: measured where a compiled program is about to be captured, and kept on disk.

Eager mode takes the algorithm that the library's heuristics name first.  A captured program runs thousands of times, so the few algorithms that they name are
tried on the program's own operands: some milliseconds for each product, once on a machine.
"""

from __future__ import annotations

import hashlib
import logging
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...core.errors import AcceleratorError
from ..cpu.code_cache import cache

log = logging.getLogger("rushlight.triton")
_MICROSECONDS = 200.0  # that an algorithm is run for, or once
_MOST = 10  # runs of one
_GAIN = 0.97  # of the first one's time, from which on another is taken

measuring = False


@contextmanager
def measured_products() -> Iterator[None]:
    """Within this, products whose algorithm was not measured yet are measured when they run."""
    global measuring
    before, measuring = measuring, True
    try:
        yield
    finally:
        measuring = before


def digest(cupy: Any, product: Any) -> str:
    """What the fastest algorithm depends on."""
    device = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.runtime.getDevice())["name"]
    told = ("product", device, product.lt.version, product.description, [bytes(each.algorithm) for each in product.found])
    return hashlib.sha256(repr(told).encode()).hexdigest()


def choose(cupy: Any, product: Any, addresses: tuple[int, int, int], workspace: int, bias: int) -> None:
    """Have a product use the fastest of the algorithms that were found for it."""
    product.measured = True
    product.find_more()
    if len(product.found) < 2:
        return
    name = digest(cupy, product)
    known = cache.find(name)
    if known is not None and len(known) == 1 and known[0] < len(product.found):
        product.use(known[0])
        return
    cupy.cuda.Device().synchronize()
    stream = cupy.cuda.Stream(non_blocking=True)
    times: list[float] = []
    for at in range(len(product.found)):
        product.use(at)
        try:
            once = took(cupy, stream, 1, lambda: product.run(*addresses, workspace, stream.ptr, bias))
            count = min(int(_MICROSECONDS / once), _MOST)
            times.append(once if count < 2 else took(cupy, stream, count, lambda: product.run(*addresses, workspace, stream.ptr, bias)))
        except AcceleratorError:  # named, but refused for these operands
            times.append(math.inf)
    best = min(range(len(times)), key=times.__getitem__)
    product.use(best if times[best] < _GAIN * times[0] else 0)
    log.info(
        "a product of %s: algorithm %d of %d, %.1f µs, the first %.1f",
        product.description[2],
        product.used,
        len(times),
        times[best],
        times[0],
    )
    cache.store(name, bytes([product.used]))


def took(cupy: Any, stream: Any, count: int, run: Any) -> float:
    """Microseconds of one of so many runs, captured as a graph: the host is slower than small products."""
    with stream:
        stream.begin_capture()
        try:
            for _ in range(count):
                run()
        finally:
            graph = stream.end_capture()
        graph.launch(stream)  # what the first run costs besides is not the algorithm's
        start, end = cupy.cuda.Event(), cupy.cuda.Event()
        start.record(stream)
        graph.launch(stream)
        end.record(stream)
        end.synchronize()
    return float(cupy.cuda.get_elapsed_time(start, end)) * 1e3 / count

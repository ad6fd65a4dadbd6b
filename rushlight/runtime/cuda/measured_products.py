"""Autotuning of products of compiled programs: measured before the program is captured, and cached on disk.

Eager mode takes the algorithm that cuBLASLt's heuristics name first.  A captured program runs thousands of times, so the few algorithms that they name are
tried, and for float32 the product of three (``kernels/split_product.py``): some milliseconds for each product, once on a machine.
"""

from __future__ import annotations

import functools
import hashlib
import logging
import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np

from ...core.errors import AcceleratorError
from ..cpu.code_cache import cache
from .kernel_store import Address, has_triton, of_file

log = logging.getLogger("rushlight.triton")
_MICROSECONDS = 200.0  # that an algorithm is run for, or once
_MOST = 10  # runs of one
_GAIN = 0.97  # of the first one's time, below which another is chosen
_SPLIT = 255  # the number of the product of three among algorithms
_LEAST = 1 << 22  # multiplications from which on that is tried
_FLOAT32, _COMPUTE_32F = 0, 68  # cuBLAS's numbers: elements, and how they are computed (exactly)
_PROCESSORS = 132
_ALIGNED = 1 << 12  # an address that kernels are compiled for
_VERSION = 4  # of the cache entries
_FILE = str(Path(__file__).parent / "kernels" / "split_product.py")
_NO_BIAS, _OF_COLUMNS, _OF_ROWS = 0, 1, 2  # what a bias is added to
_LENGTH, _GROUP = 32, 8  # of a K step; block rows that share the second operand in the L2 cache

_HOST_TO_DEVICE, _DEVICE_TO_DEVICE = 1, 3
_DTYPES: dict[int, Any] = {0: np.float32, 1: np.float64, 2: np.float16, 14: ml_dtypes.bfloat16}
_SIZES = {0: 4, 1: 8, 2: 2, 14: 2, 4: 8, 5: 16}  # bytes of an element, by cuBLAS's numbers of dtypes

measuring = False
_device_names: dict[int, bytes] = {}
pending: dict[Any, None] = {}  # unmeasured products of compiled programs


@contextmanager
def measured_products() -> Iterator[None]:
    """A context for the products of a compiled program: the fastest known algorithm is used, and unmeasured products are recorded."""
    global measuring
    before, measuring = measuring, True
    try:
        yield
    finally:
        measuring = before


class SplitProduct:
    """A float32 product by tensor cores, described as cuBLASLt describes it: by the layouts of the transposed, column-major product."""

    def __init__(self, cupy: Any, description: tuple[Any, ...]) -> None:
        right, left, (columns, rows, length, _), _, _, self.adds, _ = description
        self.cupy, self.compiling = cupy, False
        self.launches: dict[Any, Any] = {}
        # Row-major operands: whether K is contiguous, and the row stride.
        self.left, self.right = (not left[0], left[1]), (bool(right[0]), right[1])
        self.rows, self.columns, self.length = rows, columns, length
        along = (self.left[0], self.right[0])
        # Which operand is transposed first: one of two whose K is not contiguous.
        self.transposes = "" if any(along) else "right" if columns <= rows else "left"
        self.swapped = self.transposes == "left" or (self.transposes == "" and along == (True, False))

    @staticmethod
    def takes(description: tuple[Any, ...]) -> bool:
        """Whether a product is one of two large matrices in float32."""
        _, _, (columns, rows, length, count), (kind, compute, _), *_ = description
        exact = kind == _FLOAT32 and compute == _COMPUTE_32F
        return exact and count == 1 and rows * columns * length >= _LEAST and min(rows, columns, length) >= 32

    def blocks(self, rows: int, columns: int) -> tuple[dict[str, int], int]:
        """Tile sizes and the number of warps, as measured on an H200."""
        large, middle, small = (-(-rows // down) * -(-columns // across) for down, across in ((128, 64), (64, 64), (32, 32)))
        if large >= 3 * _PROCESSORS and not self.transposes:
            return {"BM": 128, "BN": 64, "BK": _LENGTH}, 4
        if middle >= _PROCESSORS:
            return {"BM": 64, "BN": 64, "BK": _LENGTH}, 4
        if small >= _PROCESSORS or self.length % 64:
            return {"BM": 32, "BN": 32, "BK": _LENGTH}, 2
        return {"BM": 16, "BN": 32, "BK": 64 if self.length % 128 or self.length < 512 else 128}, 4

    def compile(self) -> None:
        """Compile the kernels."""
        self.compiling = True
        try:
            self.run(_ALIGNED, _ALIGNED, _ALIGNED, _ALIGNED if self.adds else 0)
        finally:
            self.compiling = False

    def launch(self, name: str, grid: tuple[int, ...], values: dict[str, Any], options: dict[str, Any]) -> None:
        """Launch a kernel, compiled at the first use of an alignment."""
        if self.compiling:
            of_file(self.cupy, _FILE, name, values, options)
            return
        addresses = [each.address for each in values.values() if isinstance(each, Address)]
        key = (name, *[each % 16 for each in addresses])
        found = self.launches.get(key)
        if found is None:
            found = self.launches[key] = of_file(self.cupy, _FILE, name, values, options).result().launch(self.cupy, grid, values)
        found(*addresses)

    def run(self, right: int, left: int, made: int, bias: int = 0) -> None:
        """Compute, given addresses, in the order of cuBLASLt's column-major product."""
        rows, columns, length = self.rows, self.columns, self.length
        a, b = (
            [left, *((self.left[1], 1) if self.left[0] else (1, self.left[1]))],
            [right, *((1, self.right[1]) if self.right[0] else (self.right[1], 1))],
        )
        transposed: Any = None
        if self.transposes:
            given, size, step = (right, columns, self.right[1]) if self.transposes == "right" else (left, rows, self.left[1])
            transposed = SimpleNamespace(ptr=_ALIGNED) if self.compiling else self.cupy.cuda.alloc(size * length * 4)
            values = {"X": Address(given), "Y": Address(transposed.ptr), "rows": length, "columns": size, "step": step}
            self.launch("transposed", (-(-length // 64), -(-size // 64)), values, {"B": 64, "num_warps": 8})
            if self.transposes == "right":
                b = [transposed.ptr, 1, length]
            else:
                a = [transposed.ptr, length, 1]
        c, adds = [made, columns, 1], _OF_COLUMNS if bias else _NO_BIAS
        if self.swapped:
            a, b, rows, columns = [b[0], b[2], b[1]], [a[0], a[2], a[1]], columns, rows
            c, adds = [made, 1, c[1]], _OF_ROWS if bias else _NO_BIAS
        sizes, warps = self.blocks(rows, columns)
        values = {
            "A": Address(a[0]), "B": Address(b[0]), "C": Address(c[0]), "BIAS": Address(bias or made), "M": rows, "N": columns, "K": length,
            "sa_m": a[1], "sa_k": a[2], "sb_k": b[1], "sb_n": b[2], "sc_m": c[1], "sc_n": c[2],
        }  # fmt: skip
        options = {"ADDS": adds, "EVEN": length % sizes["BK"] == 0, **sizes, "G": _GROUP, "num_warps": warps, "num_stages": 3}
        self.launch("split_product", (-(-rows // sizes["BM"]) * -(-columns // sizes["BN"]),), values, options)


def device_name(cupy: Any, index: int) -> bytes:
    """The name of a device, asked for once: the driver takes a millisecond to collect all properties."""
    if index not in _device_names:
        _device_names[index] = bytes(cupy.cuda.runtime.getDeviceProperties(index)["name"])
    return _device_names[index]


def digest(cupy: Any, product: Any) -> str:
    """What the fastest algorithm depends on."""
    key_fields = (
        "product",
        _VERSION,
        device_name(cupy, cupy.cuda.runtime.getDevice()),
        product.lt.version,
        product.description,
        bytes(product.found[0].algorithm),
    )
    return hashlib.sha256(repr(key_fields).encode()).hexdigest()


def measure_pending(cupy: Any) -> None:
    """Measure each product that was recorded; nothing is measured during a graph capture."""
    if not pending or cupy.cuda.get_current_stream().is_capturing():
        return
    products = list(pending)
    pending.clear()
    unmeasured: list[tuple[Any, SplitProduct | None, str]] = []
    for product in products:
        product.measured = True
        split = SplitProduct(cupy, product.description) if SplitProduct.takes(product.description) and has_triton() else None
        name = digest(cupy, product)
        known = cache.find(name)
        if known is not None and (known[0] != _SPLIT or split is not None):
            use(product, known[0] if known[0] in (0, _SPLIT) else product.restore(known[1:]), split)
            continue
        product.find_more()
        if split is not None or len(product.found) > 1:
            unmeasured.append((product, split, name))
    splits = [split for _, split, _ in unmeasured if split is not None]
    for one in splits:
        one.compile()
    if unmeasured:
        cupy.cuda.Device().synchronize()
        stream = cupy.cuda.Stream(non_blocking=True)
        pool = cupy.cuda.MemoryPool()
        with stream, cupy.cuda.using_allocator(pool.malloc):
            workspace = cupy.cuda.alloc(max(product.description[-1] for product, _, _ in unmeasured))
            for each in unmeasured:
                choose(cupy, stream, workspace.ptr, *each)


def choose(cupy: Any, stream: Any, workspace: int, product: Any, split: SplitProduct | None, name: str) -> None:
    """Measure a product on buffers of its size, and store the fastest algorithm."""
    right, left, (columns, rows, length, count), (kind, *_), _, biased, _ = product.description
    heights = (columns if right[0] else length, length if left[0] else rows)
    spans = [each[2] * (count - 1) + height * each[1] for each, height in zip((right, left), heights)] + [rows * columns * count]
    memory = [cupy.cuda.alloc(each * _SIZES[kind]) for each in spans]
    for each, span in zip(memory, spans[:2]):
        fill(cupy, each.ptr, span, kind)
    addresses, bias = (int(memory[0].ptr), int(memory[1].ptr), int(memory[2].ptr)), 0
    if biased:
        memory.append(cupy.cuda.alloc(columns * _SIZES[kind]))
        bias = memory[-1].ptr
    times: dict[int, float] = {}
    for at in range(len(product.found)):
        product.use(at)
        times[at] = measured(cupy, stream, lambda: product.run(*addresses, workspace, stream.ptr, bias))
    if split is not None:
        split.run(*addresses, bias)
        times[_SPLIT] = measured(cupy, stream, lambda: split.run(*addresses, bias))
    best = min(times, key=times.__getitem__)
    best = best if times[best] < _GAIN * times[0] else 0
    use(product, best, split)
    chosen = "three products" if best == _SPLIT else f"algorithm {best} of {len(product.found)}"
    log.info("a product of %s: %s, %.1f µs, the first %.1f", product.description[2], chosen, times[best], times[0])
    cache.store(name, bytes([best]) + (product.stored(best) if best not in (0, _SPLIT) else b""))


@functools.cache
def normal_numbers(kind: int) -> np.ndarray[Any, Any]:
    """Normal numbers of a dtype, by cuBLAS's number."""
    made: np.ndarray[Any, Any] = np.random.default_rng(0).standard_normal(1 << 16, np.float32).astype(_DTYPES[kind])
    return made


def fill(cupy: Any, address: int, count: int, kind: int) -> None:
    """Fill memory with normal numbers: zeros would take less power, and so less time."""
    if kind not in _DTYPES:
        return
    size, runtime = _SIZES[kind], cupy.cuda.runtime
    block = normal_numbers(kind)[:count]
    runtime.memcpy(address, block.ctypes.data, block.nbytes, _HOST_TO_DEVICE)
    done = block.nbytes
    while done < count * size:
        part = min(done, count * size - done)
        runtime.memcpy(address + done, address, part, _DEVICE_TO_DEVICE)
        done += part


def fill_array(cupy: Any, array: Any) -> None:
    """Fill an array with normal numbers."""
    kind = next((number for number, dtype in _DTYPES.items() if array.dtype == dtype), -1)
    fill(cupy, array.data.ptr, array.size, kind)


def use(product: Any, best: int, split: SplitProduct | None) -> None:
    """Select the algorithm of a product."""
    product.use(0 if best == _SPLIT else best)
    product.split = split if best == _SPLIT else None


def measured(cupy: Any, stream: Any, run: Any) -> float:
    """Microseconds of a run; infinity where an algorithm is refused for these operands."""
    try:
        once = measure_runs(cupy, stream, 1, run)
        count = min(int(_MICROSECONDS / once), _MOST)
        return once if count < 2 else measure_runs(cupy, stream, count, run)
    except AcceleratorError:
        return math.inf


def measure_runs(cupy: Any, stream: Any, count: int, run: Any) -> float:
    """Microseconds of one of so many runs, captured as a graph: the host is slower than small products."""
    with stream:
        stream.begin_capture()
        try:
            for _ in range(count):
                run()
        finally:
            graph = stream.end_capture()
        graph.launch(stream)  # a warm-up run, not timed
        start, end = cupy.cuda.Event(), cupy.cuda.Event()
        start.record(stream)
        graph.launch(stream)
        end.record(stream)
        end.synchronize()
    return float(cupy.cuda.get_elapsed_time(start, end)) * 1e3 / count

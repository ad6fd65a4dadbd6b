"""Memory on CUDA: how much of CuPy's caching pool tensors hold and have held at most, and pinned memory of the host."""

from __future__ import annotations

from typing import Any

import numpy as np


class Usage:
    """What the tensors of one device hold: the most at once since a reset, and the sums over all allocations."""

    __slots__ = ("allocated", "allocations", "current", "peak", "peak_reserved")

    def __init__(self) -> None:
        self.current = self.peak = self.allocated = self.allocations = self.peak_reserved = 0


class UsageCounter:
    """Counts, device by device, what the pool hands out and gets back: from the first question about a peak on, since it slows allocations down."""

    def __init__(self, cupy: Any) -> None:
        self.cupy, self.counts = cupy, False
        self.devices = {index: Usage() for index in range(cupy.cuda.runtime.getDeviceCount())}

    def _start(self) -> None:
        """Count from here on.  What was the peak before is not known: it was no more than the pool has grown to."""
        self.counts = True
        counter, cupy = self, self.cupy
        for index, usage in self.devices.items():
            with cupy.cuda.Device(index):
                usage.peak = cupy.get_default_memory_pool().total_bytes()

        class Hook(cupy.cuda.MemoryHook):  # type: ignore[misc, name-defined]
            name = "rushlight usage"

            def malloc_postprocess(self, **given: Any) -> None:
                usage, size = counter.devices[given["device_id"]], given["mem_size"]
                usage.current += size
                usage.allocated += size
                usage.allocations += 1
                if usage.current > usage.peak:
                    usage.peak = usage.current

            def free_postprocess(self, **given: Any) -> None:
                counter.devices[given["device_id"]].current -= given["mem_size"]

        Hook().__enter__()  # hooks belong to a thread: allocations of others are seen when the pool is asked

    def of(self, index: int) -> Usage:
        """What the tensors of a device hold, with the pool's own count of it."""
        usage = self.devices[index]
        if not self.counts:
            self._start()
        with self.cupy.cuda.Device(index):
            usage.current = self.cupy.get_default_memory_pool().used_bytes()
        usage.peak = max(usage.peak, usage.current)
        return usage


def pinned(cupy: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """An array in page-locked memory of the host, from CuPy's pool."""
    count = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    memory = cupy.cuda.alloc_pinned_memory(max(count, 1))
    return np.frombuffer(memory, np.uint8, count).view(dtype).reshape(shape)


def is_pinned(cupy: Any, array: np.ndarray[Any, Any]) -> bool:
    """Whether an array is in page-locked memory of the host."""
    return bool(array.size) and cupy.cuda.runtime.pointerGetAttributes(array.__array_interface__["data"][0]).type == 1

"""Memory on CUDA: current and peak use of CuPy's caching pool, and pinned host memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


class Usage:
    """Memory counters of one device: bytes in use (or an upper bound), their peak since a reset, and the number and the sum of allocations."""

    __slots__ = ("allocated", "allocations", "current", "peak", "peak_reserved")

    def __init__(self) -> None:
        self.current = self.peak = self.allocated = self.allocations = self.peak_reserved = 0


class UsageCounter:
    """The allocator hook that tracks each device's peak memory.

    Every allocation passes here, but no free.  So the sum of allocations is an upper bound, and the pool is queried only where the bound
    exceeds the peak: the peak is exact, and costs a comparison.
    """

    def __init__(self, cupy: Any) -> None:
        self.cupy, self.pool = cupy, cupy.get_default_memory_pool()
        self.devices = {index: Usage() for index in range(cupy.cuda.runtime.getDeviceCount())}
        cupy.cuda.set_allocator(self._allocator() if len(self.devices) == 1 else self._allocate)

    def _allocator(self) -> Callable[[int], Any]:
        """The function that allocates where there is one device."""
        usage, malloc, used = self.devices[0], self.pool.malloc, self.pool.used_bytes

        def allocate(size: int) -> Any:
            made = malloc(size)
            usage.current = bound = usage.current + size + 511
            usage.allocations += 1
            usage.allocated += size
            if bound > usage.peak:
                usage.current = bound = used()
                if bound > usage.peak:
                    usage.peak = bound
            return made

        return allocate

    def _allocate(self, size: int) -> Any:
        """An allocation on one of several devices."""
        made = self.pool.malloc(size)
        usage = self.devices[made.device_id]
        usage.current += size + 511
        usage.allocations += 1
        usage.allocated += size
        if usage.current > usage.peak:
            usage.current = self.pool.used_bytes()
            usage.peak = max(usage.peak, usage.current)
        return made

    def of(self, index: int) -> Usage:
        """What the tensors of a device hold, with the pool's own count of it."""
        usage = self.devices[index]
        with self.cupy.cuda.Device(index):
            usage.current = self.pool.used_bytes()
        usage.peak = max(usage.peak, usage.current)
        return usage


def pinned(cupy: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """An array in pinned host memory, from CuPy's pool."""
    count = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    memory = cupy.cuda.alloc_pinned_memory(max(count, 1))
    return np.frombuffer(memory, np.uint8, count).view(dtype).reshape(shape)


def is_pinned(cupy: Any, array: np.ndarray[Any, Any]) -> bool:
    """Whether an array is in pinned host memory."""
    return bool(array.size) and cupy.cuda.runtime.pointerGetAttributes(array.__array_interface__["data"][0]).type == 1

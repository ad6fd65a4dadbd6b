"""Launches of CUDA kernels: compiled once by NVRTC, then called through the driver with their arguments packed into one block.

A launch through CuPy checks and converts every argument, which costs as much as the launch itself; here the caller says once how the arguments
are packed.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import struct
import threading
from typing import Any

from ...core.errors import AcceleratorError
from . import faults

_END, _BLOCK, _SIZE = 0, 1, 2  # CU_LAUNCH_PARAM_…
BLOCKING = os.environ.get("CUDA_LAUNCH_BLOCKING") == "1"
_LOST = frozenset((700, 702, 714, 715, 716, 717, 718, 719))  # errors after which the context can't be used


class Kernel:
    """A kernel of CUDA C and how its arguments are packed (``format``, as in :mod:`struct`: ``"QQq"``)."""

    __slots__ = (
        "_extra",
        "_functions",
        "_keep",
        "_launch",
        "_lock",
        "_only",
        "_pack",
        "_refused",
        "_stream",
        "buffer",
        "cupy",
        "name",
        "raw",
        "what",
    )

    def __init__(self, cupy: Any, source: str, name: str, format: str, what: str = "", options: tuple[str, ...] = ()) -> None:
        self.cupy, self.name, self.what = cupy, name, what or name
        self.raw = cupy.RawKernel(source, name, options=options)
        self._functions: dict[int, Any] = {}
        self._only: Any = None  # the function, where there is but one device
        self._stream = cupy.cuda.get_current_stream
        packing = struct.Struct("@" + format)
        self.buffer = ctypes.create_string_buffer(packing.size)
        size = ctypes.c_size_t(packing.size)
        extra = (ctypes.c_void_p * 5)(_BLOCK, ctypes.addressof(self.buffer), _SIZE, ctypes.addressof(size), _END)
        self._extra, self._keep, self._pack = ctypes.addressof(extra), (size, extra), packing.pack_into
        driver = importlib.import_module("cupy_backends.cuda.api.driver")
        self._lock = threading.Lock()
        self._launch, self._refused = driver.launchKernel, driver.CUDADriverError

    def __call__(self, blocks: int, threads: int, *args: Any, shared: int = 0, rows: int = 1) -> None:
        """Queue the kernel in the current stream; arrays are passed by their addresses."""
        if faults.found is not None and faults.found[0]:
            faults.raise_found()
        function = self._only
        if function is None:
            function = self._function(shared)
        stream = self._stream().ptr
        with self._lock:  # other threads pack their arguments into the same block
            self._pack(self.buffer, 0, *args)
            try:
                self._launch(function, blocks, rows, 1, threads, 1, 1, shared, stream, 0, self._extra)
            except self._refused as error:
                raise failed(self.what, error) from error
        if BLOCKING:
            check(self.cupy, self.what)
            faults.raise_found()

    def _function(self, shared: int) -> Any:
        """The compiled kernel on the current device."""
        index = self.cupy.cuda.runtime.getDevice()
        function = self._functions.get(index)
        if function is None:
            if shared > 48 << 10:
                self.raw.max_dynamic_shared_size_bytes = shared
            function = self._functions[index] = int(self.raw.kernel.ptr)
        if self.cupy.cuda.runtime.getDeviceCount() == 1:
            self._only = function
        return function


def check(cupy: Any, what: str) -> None:
    """Wait for the GPU, and name what ran last where it has failed."""
    try:
        cupy.cuda.get_current_stream().synchronize()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise AcceleratorError(f"{what}: CUDA error: {error}") from error


def failed(what: str, error: Any) -> AcceleratorError:
    """The error of a launch that the driver has refused."""
    lost = getattr(error, "status", 0) in _LOST
    text = (
        " It may come from an earlier kernel: CUDA_LAUNCH_BLOCKING=1 finds it. The context is lost: tensors on this GPU can't be used any more."
        if lost
        else ""
    )
    return AcceleratorError(f"{what}: CUDA error: {error}.{text}")

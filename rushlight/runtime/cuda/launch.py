"""Launches of CUDA kernels: compiled once by NVRTC, then called through the driver with their arguments packed into one buffer.

A launch through CuPy checks and converts every argument, which costs as much as the launch itself; here the argument layout is
declared once.  What was compiled is kept in the cache on disk: CuPy's own cache asks NVRTC for its version first, which takes as long as a small kernel.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib
import os
import re
import struct
import threading
from collections.abc import Callable
from typing import Any

from ...core.errors import AcceleratorError
from ...core.process_safety import free_after_fork
from ..cpu.code_cache import cache
from . import faults, launch_record

_END, _BLOCK, _SIZE = 0, 1, 2  # CU_LAUNCH_PARAM_…
BLOCKING = os.environ.get("CUDA_LAUNCH_BLOCKING") == "1"
_OPTIONS = ("-ftz=true",)  # of the compiler, for all kernels
_STATIC_SHARED, _SHARED_SIZE = 48 << 10, 8  # shared memory that needs no permission, and the attribute that permits more
_VERSION = 1  # of the cache entries
_loading = free_after_fork(threading.RLock())
_LOST = frozenset((700, 702, 714, 715, 716, 717, 718, 719))  # errors after which the context can't be used


class Block:
    """The arguments of a launch, packed into one buffer."""

    __slots__ = ("_keep", "buffer", "extra", "lock", "pack")

    def __init__(self, format: str) -> None:
        packing = struct.Struct("@" + format)
        self.buffer = ctypes.create_string_buffer(packing.size)
        size = ctypes.c_size_t(packing.size)
        extra = (ctypes.c_void_p * 5)(_BLOCK, ctypes.addressof(self.buffer), _SIZE, ctypes.addressof(size), _END)
        self.extra, self._keep, self.pack = ctypes.addressof(extra), (size, extra), packing.pack_into
        self.lock = threading.Lock()  # the argument buffer is shared by all threads


def repeated(what: str, driver: Any, function: Any, format: str, grid: tuple[int, ...], threads: int, shared: int) -> Callable[..., None]:
    """A launch of a compiled kernel, as a function of the stream and of all arguments."""
    block, launch, refused = Block(format), driver.launchKernel, driver.CUDADriverError
    buffer, pack, lock, extra, (x, y, z) = block.buffer, block.pack, block.lock, block.extra, grid

    def call(stream: int, arguments: tuple[Any, ...], block: Block = block) -> None:
        with lock:
            pack(buffer, 0, *arguments)
            try:
                launch(function, x, y, z, threads, 1, 1, shared, stream, 0, extra)
            except refused as error:
                raise failed(what, error) from error

    return call


def addresses_in(format: str) -> list[bool]:
    """Which of the values of a packing are addresses."""
    return [kind == "P" for count, kind in re.findall(r"(\d*)(\D)", format) for _ in range(int(count or 1))]


def load_function(cupy: Any, source: str, name: str, options: tuple[str, ...]) -> Any:
    """A kernel on the current device, compiled once on a machine."""
    key_fields = ("cuda", _VERSION, cupy.__version__, cupy.cuda.Device().compute_capability, options, source)
    key = hashlib.sha256(repr(key_fields).encode()).hexdigest()
    code = cache.find(key)
    if code is None:
        code, _ = importlib.import_module("cupy.cuda.compiler").compile_using_nvrtc(source, (*options, *_OPTIONS), None, f"{name}.cu")
        cache.store(key, code)
    module = cupy.cuda.function.Module()
    module.load(code)
    return module.get_function(name)


class CudaKernel:
    """A kernel of CUDA C and how its arguments are packed (``format``, as in :mod:`struct`: ``"QQq"``)."""

    __slots__ = ("_block", "_extra", "_functions", "_launch", "_lock", "_only", "_pack", "_refused", "_stream", "buffer", "cupy", "driver", "format",
                 "name", "options", "source", "what")  # fmt: skip

    def __init__(self, cupy: Any, source: str, name: str, format: str, what: str = "", options: tuple[str, ...] = ()) -> None:
        self.cupy, self.name, self.what = cupy, name, what or name
        self.source, self.options = source, options
        self._functions: dict[int, Any] = {}  # by device
        self._only: Any = None  # the function, where there is but one device
        self._stream = cupy.cuda.get_current_stream
        self.format, self._block = format, Block(format)
        self.buffer, self._extra, self._pack, self._lock = self._block.buffer, self._block.extra, self._block.pack, self._block.lock
        self.driver = importlib.import_module("cupy_backends.cuda.api.driver")
        self._launch, self._refused = self.driver.launchKernel, self.driver.CUDADriverError

    def __call__(self, blocks: int, threads: int, *args: Any, shared: int = 0, rows: int = 1) -> None:
        """Queue the kernel in the current stream; arrays are passed by their addresses."""
        if faults.found is not None and faults.found[0]:
            faults.raise_found()
        function = self._only
        if function is None:
            function = self._function(shared)
        stream = self._stream().ptr
        with self._lock:  # the argument buffer is shared by all threads
            self._pack(self.buffer, 0, *args)
            try:
                self._launch(function, blocks, rows, 1, threads, 1, 1, shared, stream, 0, self._extra)
            except self._refused as error:
                raise failed(self.what, error) from error
        if launch_record.current is not None:
            again = repeated(self.what, self.driver, function, self.format, (blocks, rows, 1), threads, shared)
            launch_record.current.add(again, args, addresses_in(self.format))
        if BLOCKING:
            check(self.cupy, self.what)
            faults.raise_found()

    def compile(self) -> None:
        """Compile the kernel for the current device, before it is launched."""
        self._function(0)

    def _function(self, shared: int) -> Any:
        """The compiled kernel on the current device."""
        index = self.cupy.cuda.runtime.getDevice()
        function = self._functions.get(index)
        if function is None:
            with _loading:  # a module that another thread's takes the place of is unloaded, with a handle that was given away
                function = self._functions.get(index)
                if function is None:
                    function = self._functions[index] = load_function(self.cupy, self.source, self.name, self.options)
        if shared > _STATIC_SHARED:
            self.driver.funcSetAttribute(function.ptr, _SHARED_SIZE, shared)
        if self.cupy.cuda.runtime.getDeviceCount() == 1:
            self._only = function.ptr
        return function.ptr


def check(cupy: Any, what: str) -> None:
    """Synchronize, and name the last launch where it has failed."""
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

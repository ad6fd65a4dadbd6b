"""The device type ``cuda``: arrays of CuPy in the memory of NVIDIA GPUs.

Registered when a program first names a CUDA device (:func:`rushlight.core.devices.available`), never by importing rushlight.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
import re
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from ...core import random as streams
from ...core.devices import DeviceType, device, device_types, register_device_type, sole_accelerator
from ...core.dtypes import BY_NUMPY, HALF_PRECISION, default
from ...core.errors import AcceleratorError, DeviceError, NotSupported, OperationError, OutOfMemoryError
from ...core.families import Elementwise
from ..cpu import python_code
from . import faults
from .array_module import ArrayModule
from .kernels import HOST_ONLY, KERNELS, PAIRS, SHORTCUTS
from .memory import UsageCounter, is_pinned, pinned
from .optimizer_step import optimizer_step
from .philox import DropoutStream, PhiloxGenerator
from .pointwise import PointwiseOp

INSTALL = "pip install 'rushlight[cuda]'"
_OLD_DRIVER = 35  # cudaErrorInsufficientDriver
_devices: dict[int, device] = {}


def indexed(index: int) -> device:
    """The device of an index: always the same object, so that devices of tensors compare by identity first."""
    found = _devices.get(index)
    if found is None:
        found = _devices[index] = device("cuda", index)
    return found


class CudaDevice(DeviceType):
    """NVIDIA GPUs, whose arrays are CuPy's."""

    name = "cuda"

    def __init__(self, cupy: Any) -> None:
        self.cupy = cupy
        self.arrays = ArrayModule(cupy, self)
        self.array_type = cupy.ndarray
        self._new = cupy.ndarray.__mro__[-2].__new__  # of the class written in C: its own way of taking arguments is slow
        self.count = cupy.cuda.runtime.getDeviceCount()
        self._current = cupy.cuda.runtime.getDevice
        self._nowhere = nullcontext()
        self.usage = UsageCounter(cupy)
        self.only = indexed(0) if self.count == 1 else None
        self._kernels: dict[str, Any] = {}  # by op, once asked for
        self.side_streams: dict[tuple[int, int], Any] = {}  # CuPy's streams that programs have put work into, by device and handle
        os.register_at_fork(after_in_child=self._forked)
        default.changed.append(self._forget_plans)
        self.shortcuts = {name: functools.partial(each, cupy) for name, each in SHORTCUTS.items()}

    def _forked(self) -> None:
        self.forked = True

    def _forget_plans(self) -> None:
        """Forget what was planned for pointwise ops: quotients of integers, for one, have the default dtype."""
        for each in self._kernels.values():
            if isinstance(each, PointwiseOp):
                each.plans.clear()
                each.variants.clear()

    def device_of(self, array: Any) -> device:
        return indexed(array.data.device_id)

    def canonical(self, wanted: device) -> device:
        if self.forked:
            raise DeviceError(
                "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the 'spawn' start method"
            )
        index = self._current() if wanted.index is None else wanted.index
        if index >= self.count:
            raise no_such_device(index, self.count)
        return indexed(index)

    def active(self, place: device) -> AbstractContextManager[Any]:
        if self.count == 1 or place.index is None or place.index == self._current():
            return self._nowhere
        return self.cupy.cuda.Device(place.index)  # type: ignore[no-any-return]

    def as_array(self, value: Any) -> Any:
        return value if isinstance(value, self.array_type) else self.cupy.asarray(value)

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any], like: device) -> Any:
        with self.active(like):
            return self.cupy.empty(shape, dtype)

    def from_host(self, array: np.ndarray[Any, Any], to: device) -> Any:
        order = memory_order(array.strides)
        if array.dtype.kind == "V" and array.dtype not in HALF_PRECISION:
            raise NotSupported(f"to(): CuPy has no arrays of {BY_NUMPY[array.dtype]}: tensors of it can't be on '{to}'")
        with self.active(to):
            dense = self.cupy.asarray(np.ascontiguousarray(array.transpose(order)))
        return dense.reshape(array.shape) if not array.ndim else dense.transpose(np.argsort(order).tolist())

    def to_host(self, array: Any) -> np.ndarray[Any, Any]:
        order = memory_order(array.strides)
        with self.active(indexed(array.data.device_id)):
            dense = self.cupy.asnumpy(self.cupy.ascontiguousarray(array.transpose(order)))
        faults.raise_found()  # the copy has synchronized with all kernels: their faults are raised before their results are used
        return dense.reshape(array.shape) if not array.ndim else dense.transpose(np.argsort(order))  # type: ignore[no-any-return]

    def between(self, array: Any, to: device) -> Any:
        order = memory_order(array.strides)
        with self.active(indexed(array.data.device_id)):
            dense = self.cupy.ascontiguousarray(array.transpose(order))
            ready = self.cupy.cuda.get_current_stream().record()
        with self.active(to):
            self.cupy.cuda.get_current_stream().wait_event(ready)
            copied = dense.copy()  # from GPU to GPU
        return copied.reshape(array.shape) if not array.ndim else copied.transpose(np.argsort(order).tolist())

    def strided(self, array: Any, shape: Any, strides: Any, offset: int, dtype: np.dtype[Any]) -> Any:
        size, data = dtype.itemsize, array.data
        shape, steps, span = _laid_out(tuple(shape), tuple(strides), size)
        start = data.ptr - data.mem.ptr + offset * size
        if start < 0 or start + span > data.mem.size:
            raise OperationError(
                f"setStorage: sizes {list(shape)}, strides {list(strides)}, storage offset {offset}, and itemsize {size} requiring a "
                f"storage size of {start + span} are out of bounds for storage of size {array.data.mem.size}"
            )
        made = self._new(self.array_type)
        made._init(shape, dtype, data + offset * size if offset else data, steps)
        return made

    def shares_memory(self, a: Any, b: Any) -> bool:
        return bool(self.cupy.may_share_memory(a, b))

    def address(self, array: Any) -> int:
        return int(array.data.ptr)

    def kernel_for(self, op: Any) -> Any:
        try:
            return self._kernels[op.name]
        except KeyError:
            own = KERNELS.get(op.name)
            if op.name in HOST_ONLY:
                made: Any = functools.partial(refuse, op.public_name)
            elif own is not None:
                made = functools.partial(own, self.cupy)
                if op.name in PAIRS and sole_accelerator.kind is self:
                    sole_accelerator.pairs[op.name] = functools.partial(PAIRS[op.name], self.cupy)
            else:
                made = PointwiseOp(self.cupy, op) if isinstance(op.family, Elementwise) else None
                if made is not None and made.plain and sole_accelerator.kind is self:
                    (sole_accelerator.pairs if made.count == 2 else sole_accelerator.singles)[op.name] = (
                        made.pair if made.count == 2 else made.single
                    )
                    if made.count == 2:
                        sole_accelerator.writers[op.name] = made.write
            self._kernels[op.name] = made
            return made

    def is_foreign(self, error: Exception) -> bool:
        return isinstance(error, (TypeError, ValueError)) and any(
            each in str(error)
            for each in ("Implicit conversion to a NumPy array", "Unsupported type <class 'numpy.ndarray'>", "Unsupported dtype")
        )

    def out_of_memory(self, name: str, error: MemoryError) -> Exception:
        return out_of_memory(self.cupy, getattr(error, "args", ("",))[0])

    def generator_type(self) -> Any:
        return PhiloxGenerator

    def default_generator(self) -> PhiloxGenerator:
        return self.generators[self._current()]

    def optimizer_step(self, update: Any, group: dict[str, Any], numbers: tuple[Any, ...], tensors: list[list[Any]]) -> bool:
        if self.only is not None:
            return optimizer_step(self.cupy, update, group, numbers, tensors)
        with self.active(self.device_of(tensors[0][0])):
            return optimizer_step(self.cupy, update, group, numbers, tensors)

    def dropout_factors(self, array: Any, p: float) -> Any:
        return self.default_generator().dropout_factors(array, p) if array.dtype.kind == "f" or array.dtype in HALF_PRECISION else None

    @functools.cached_property
    def _dropout_stream(self) -> DropoutStream:
        return DropoutStream.of(self.default_generator)

    def dropout_stream(self) -> DropoutStream:
        return self._dropout_stream

    @functools.cached_property
    def generators(self) -> list[PhiloxGenerator]:
        """The default generators, one a device."""
        made = [PhiloxGenerator(indexed(index)) for index in range(self.count)]
        for each in made:
            each.manual_seed(streams.default_generator.initial_seed())
        return made

    def manual_seed_all(self, seed: int) -> None:
        for each in self.generators:
            each.manual_seed(seed)

    def synchronize(self) -> None:
        self.cupy.cuda.Device().synchronize()
        faults.raise_found()

    def before_backward(self) -> None:
        if not self.side_streams:
            return
        stream, index = self.cupy.cuda.get_current_stream(), self._current()
        capturing = stream.is_capturing()
        others = {handle: each for (place, handle), each in self.side_streams.items() if place == index}
        if not capturing:
            others[0] = self.cupy.cuda.Stream.null
        for handle, other in others.items():
            if handle != stream.ptr and other.is_capturing() == capturing:
                stream.wait_event(other.record())

    def pinned(self, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        copy = pinned(self.cupy, array.shape, array.dtype)
        copy[...] = array
        return copy

    def is_pinned(self, array: np.ndarray[Any, Any]) -> bool:
        return is_pinned(self.cupy, array)

    def dlpack(self, array: Any, **options: Any) -> Any:
        return array.__dlpack__(**options)

    def dlpack_device(self, array: Any) -> tuple[int, int]:
        return array.__dlpack_device__()  # type: ignore[no-any-return]

    def from_dlpack(self, source: Any) -> Any:
        return self.cupy.from_dlpack(source)


@functools.lru_cache(4096)
def _laid_out(shape: tuple[int, ...], strides: tuple[int, ...], size: int) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """A shape, strides in bytes, and the extent in bytes."""
    steps = tuple([stride * size for stride in strides])
    return shape, steps, 0 if 0 in shape else size + sum((count - 1) * step for count, step in zip(shape, steps))


def no_such_device(index: int, count: int) -> AcceleratorError:
    """The error of a device index that is too large: in PyTorch, too, one of the accelerator."""
    return AcceleratorError(
        f"CUDA error: invalid device ordinal\nThere is no 'cuda:{index}': this machine has {count} CUDA device{'s' * (count != 1)}."
    )


def refuse(name: str, *values: Any) -> Any:
    """The kernel of an op that has none: its error names the op, also where there is nothing to compute."""
    place = indexed(next(each.data.device_id for each in values if hasattr(each, "data") and hasattr(each.data, "device_id")))
    raise NotSupported(f"{name}() has no kernel for the device '{place}' yet: use it on the CPU")


def out_of_memory(cupy: Any, what: str) -> OutOfMemoryError:
    """The error of a failed allocation: the requested, free and reserved bytes."""
    found = re.search(r"allocating ([\d,]+) bytes", what)
    pool, index = cupy.get_default_memory_pool(), cupy.cuda.runtime.getDevice()
    free, total = cupy.cuda.runtime.memGetInfo()
    asked = f"Tried to allocate {sized(int(found[1].replace(',', '')))}. " if found else ""
    return OutOfMemoryError(
        f"CUDA out of memory. {asked}GPU {index} has a total capacity of {sized(total)} of which {sized(free)} is free. Of the allocated memory "
        f"{sized(pool.used_bytes())} is held by tensors, and {sized(pool.total_bytes() - pool.used_bytes())} is reserved but unallocated: "
        "torch.cuda.empty_cache() frees it."
    )


def sized(count: int) -> str:
    """A number of bytes as people read it, as in "2.50 GiB"."""
    for power, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if count >= 1 << power:
            return f"{count / (1 << power):.2f} {unit}"
    return f"{count} bytes"


def memory_order(strides: tuple[int, ...]) -> list[int]:
    """The dimensions from the largest stride to the smallest: in this order an array without gaps is contiguous."""
    return sorted(range(len(strides)), key=lambda dim: -abs(strides[dim]))


def first_line(error: Exception) -> str:
    """The first non-empty line of an error's text."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)


def unusable(runtime: Any, error: Any) -> str:
    """Why the CUDA runtime finds no device, in a sentence."""
    if getattr(error, "status", 0) != _OLD_DRIVER:
        return first_line(error)
    have, wanted = (f"{version // 1000}.{version % 1000 // 10}" for version in (runtime.driverGetVersion(), runtime.runtimeGetVersion()))
    if have == "0.0":
        return "there is no NVIDIA driver on this machine"
    return f"the NVIDIA driver has CUDA {have} and CuPy was built for {wanted}: update the driver, or install the CuPy of its version"


def register() -> DeviceType:
    """Make ``cuda`` a device type; raises a DeviceError that says what is missing."""
    if "cuda" in device_types:
        return device_types["cuda"]
    if importlib.util.find_spec("cupy") is None:
        raise DeviceError(f"device 'cuda' is not available: CuPy is not installed ({INSTALL})")
    try:
        cupy = importlib.import_module("cupy")
    except (ImportError, OSError) as error:
        raise DeviceError(f"device 'cuda' is not available: CuPy can't be loaded ({first_line(error)}): {INSTALL}") from error
    runtime = cupy.cuda.runtime
    try:
        count = runtime.getDeviceCount()
    except runtime.CUDARuntimeError as error:
        raise DeviceError(f"device 'cuda' is not available: {unusable(runtime, error)}") from error
    if not count:
        raise DeviceError("device 'cuda' is not available: this machine has no CUDA device")
    python_code.load()
    kind = CudaDevice(cupy)
    register_device_type(kind)
    return kind

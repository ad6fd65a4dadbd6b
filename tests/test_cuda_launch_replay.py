"""Launches that are kept and repeated, on a stand-in for CuPy whose memory is counted and whose kernels are noted."""

from __future__ import annotations

import importlib
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

_FLOAT = np.dtype(np.float32)


class Pointer:
    def __init__(self, ptr: int, size: int) -> None:
        self.ptr, self.size = ptr, size


class Device:
    """Memory that is never given back, and a list of what was queued."""

    def __init__(self) -> None:
        self.next, self.queued = 4096, list[tuple[Any, ...]]()
        self.asked: list[int] = []
        self.allocate: Any = self.plain

    def plain(self, size: int) -> Pointer:
        made = Pointer(self.next, size)
        self.next += (size + 511) // 512 * 512 or 512
        self.asked.append(made.ptr)
        return made


device = Device()


class ndarray:
    """An array as CuPy's: a shape, strides, a dtype and an address."""

    __slots__ = ("data", "dtype", "flags", "itemsize", "nbytes", "ndim", "shape", "size", "strides")

    def __init__(self, *given: Any) -> None:
        self._init(*given)

    def _init(self, shape: Any, dtype: Any, memptr: Any = None, strides: Any = None) -> None:
        self.shape, self.dtype = tuple(shape), np.dtype(dtype)
        self.size = int(np.prod(self.shape))
        self.itemsize, self.ndim = self.dtype.itemsize, len(self.shape)
        self.nbytes = self.size * self.itemsize
        row_major = np.empty(self.shape, self.dtype).strides
        self.strides = row_major if strides is None else strides
        self.data = device.allocate(self.nbytes) if memptr is None else memptr
        self.flags = SimpleNamespace(c_contiguous=self.strides == row_major)


class Rows(ndarray):
    """A class of arrays that a kernel keeps something in."""

    __slots__ = ()


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    device.__init__()  # type: ignore[misc]

    @contextmanager
    def using_allocator(allocate: Any) -> Iterator[None]:
        before, device.allocate = device.allocate, allocate
        yield
        device.allocate = before

    driver = ModuleType("cupy_backends.cuda.api.driver")
    runtime = SimpleNamespace(
        getDevice=lambda: 0, getDeviceCount=lambda: 1,
        memcpyAsync=lambda *given: device.queued.append(("copy", *given)), memsetAsync=lambda *given: device.queued.append(("fill", *given)),
    )  # fmt: skip
    made = SimpleNamespace(
        ndarray=ndarray,
        cuda=SimpleNamespace(
            runtime=runtime, get_current_stream=lambda: SimpleNamespace(ptr=7), alloc=lambda size: device.allocate(size),
            get_allocator=lambda: device.allocate, using_allocator=using_allocator,
        ),
    )  # fmt: skip
    launch = importlib.import_module("rushlight.runtime.cuda.launch")
    monkeypatch.setattr(launch, "load_function", lambda cupy, source, name, options: SimpleNamespace(ptr=int(source)))
    formats: dict[int, str] = {1: "PPPqf", 2: "PPi"}

    def queue(function: int, *rest: Any) -> None:
        extra = (launch.ctypes.c_void_p * 5).from_address(rest[-1])
        packed = launch.ctypes.string_at(extra[1], struct.calcsize("@" + formats[function]))
        device.queued.append((function, *rest[:8], *struct.unpack("@" + formats[function], packed)))

    driver.launchKernel, driver.CUDADriverError = queue, type("CUDADriverError", (Exception,), {})  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "cupy_backends.cuda.api.driver", driver)
    yield made


def sorts(call: Any) -> list[Any]:
    """What a call has queued, with addresses by what they are: an input's, or memory's in the order in which it was asked for."""
    device.queued.clear()
    device.asked.clear()
    arrays, made = call()
    names = {each.data.ptr: f"input {at}" for at, each in enumerate(arrays)}
    names |= {address: f"memory {at}" for at, address in enumerate(device.asked)}
    names |= {address + 64: f"memory {at} later" for at, address in enumerate(device.asked)}
    results = [
        each if each is None or each is NotImplemented else (type(each), each.shape, each.strides, names[each.data.ptr]) for each in made
    ]
    return [[tuple(names.get(value, value) for value in entry) for entry in device.queued], results, len(device.asked)]


def kernel(cupy: Any) -> Any:
    from rushlight.runtime.cuda import launch_record
    from rushlight.runtime.cuda.launch import CudaKernel
    from rushlight.runtime.cuda.launch_replay import replayed

    first, second = CudaKernel(cupy, "1", "first", "PPPqf"), CudaKernel(cupy, "2", "second", "PPi")
    calls = []

    @replayed
    def work(cupy: Any, x: Any, y: Any, dims: Any, eps: float) -> Any:
        calls.append(x)
        if eps < 0:
            return NotImplemented
        scratch, out = cupy.ndarray((40,), _FLOAT), cupy.ndarray(x.shape, x.dtype)
        kept = Rows(x.shape[::-1], _FLOAT, None, (4, 4 * x.shape[1]))
        copied = launch_record.zeros(cupy, (3,), _FLOAT)
        first(5, 128, x.data.ptr, y.data.ptr, scratch.data.ptr + 64, len(dims), eps)
        second(9, 32, scratch.data.ptr, out.data.ptr, 3, rows=2)
        launch_record.copy(cupy, kept.data.ptr, copied.data.ptr, 12)
        return [out, None, kept]

    return work, calls


def test_a_third_call_queues_what_the_first_did(cupy: Any) -> None:
    work, calls = kernel(cupy)
    found = []
    for _ in range(4):
        x, y = ndarray((2, 3), _FLOAT), ndarray((3,), _FLOAT)
        found.append(sorts(lambda x=x, y=y: ([x, y], work(cupy, x, y, [0, 1], 0.5))))
    assert len(calls) == 2 and all(each == found[0] for each in found)
    assert len(found[0][0]) == 4 and found[0][0][1][9:12] == ("input 0", "input 1", "memory 0 later") and found[0][2] == 4


def test_other_layouts_options_and_addresses_are_other_calls(cupy: Any) -> None:
    work, calls = kernel(cupy)

    def thrice(*given: Any) -> list[Any]:
        return [sorts(lambda: ([each for each in given if isinstance(each, ndarray)], work(cupy, *given))) for _ in range(3)][-1]

    x, y = ndarray((2, 3), _FLOAT), ndarray((3,), _FLOAT)
    plain = thrice(x, y, (0, 1), 0.5)
    assert thrice(x, y, (0,), 0.5) != plain and thrice(x, y, (0, 1), 0.25) != plain
    count = len(calls)
    turned = ndarray((2, 3), _FLOAT, None, (4, 8))
    assert thrice(turned, y, (0, 1), 0.5)[1][0][2] == (12, 4) and len(calls) == count + 2
    off = ndarray((3,), _FLOAT, Pointer(y.data.ptr + 4, 12))
    thrice(x, off, (0, 1), 0.5)
    assert len(calls) == count + 4
    same = ndarray((3,), _FLOAT, Pointer(x.data.ptr, 12))  # both in one place: not what is known of two places
    assert [each[9:11] for each in thrice(x, same, (0, 1), 0.5)[0] if each[0] == 1] == [("input 1", "input 1")]
    assert len(calls) == count + 6
    assert thrice(x, y, (0, 1), 0.5) == plain


def test_refusals_and_what_is_not_noted_are_not_repeated(cupy: Any) -> None:
    from rushlight.runtime.cuda import launch_record
    from rushlight.runtime.cuda.launch_replay import replayed

    work, calls = kernel(cupy)
    x, y = ndarray((2, 3), _FLOAT), ndarray((3,), _FLOAT)
    assert [work(cupy, x, y, (0,), -1.0) for _ in range(4)] == [NotImplemented] * 4 and len(calls) == 2
    seen = []

    @replayed
    def other(cupy: Any, x: Any) -> Any:
        seen.append(x)
        launch_record.invalidate()
        return cupy.ndarray((1,), _FLOAT)

    @replayed
    def held(cupy: Any, x: Any) -> Any:
        seen.append(x)
        return ndarray((1,), _FLOAT, Pointer(64, 4))  # memory of somebody else

    for function in (other, held):
        seen.clear()
        assert all(function(cupy, x).shape == (1,) for _ in range(5)) and len(seen) == 5


def test_a_result_that_is_an_input_and_options_without_a_hash(cupy: Any) -> None:
    from rushlight.runtime.cuda.launch import CudaKernel
    from rushlight.runtime.cuda.launch_replay import replayed

    write, seen = CudaKernel(cupy, "2", "second", "PPi"), []

    @replayed
    def update(cupy: Any, x: Any, y: Any, options: Any) -> Any:
        seen.append(x)
        write(1, 32, x.data.ptr, y.data.ptr, 1)
        return x

    for _ in range(4):
        x, y = ndarray((4,), _FLOAT), ndarray((4,), _FLOAT)
        assert update(cupy, x, y, None) is x and device.queued[-1][9:11] == (x.data.ptr, y.data.ptr)
    assert len(seen) == 2
    for _ in range(4):
        assert update(cupy, x, y, {"a": 1}) is x
    assert len(seen) == 6

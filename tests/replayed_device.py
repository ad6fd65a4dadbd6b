"""A stand-in for a GPU that captures and replays: arrays of the toy device under the name ``cuda``, Triton's kernels interpreted, a graph that runs again.

Capturing runs the program once and puts back what it has written, as a capture computes nothing; a replay runs it and writes its results to the memory of the
captured ones.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from toy_device import ToyArray, ToyDevice

from rushlight.core import devices
from rushlight.runtime.cuda import captured_work, graph_replay, replay_launcher
from rushlight.runtime.cuda.schedule_run import TritonSchedule
from rushlight.tensor.generator import default_generator


def pointer(array: ToyArray) -> Any:
    """What CuPy says of the memory of an array."""
    root = array.held
    while isinstance(root.base, np.ndarray):
        root = root.base
    return SimpleNamespace(ptr=array.held.ctypes.data, mem=SimpleNamespace(ptr=root.ctypes.data))


class Stream:
    """A queue in which nothing ever waits."""

    ptr = 0

    def is_capturing(self) -> bool:
        return False


def memcpy(to: int, start: int, size: int, kind: int, stream: int) -> None:
    ctypes.memmove(to, start, size)


def ndarray(shape: Any, dtype: Any, data: Any, strides: Any) -> ToyArray:
    return ToyArray(np.lib.stride_tricks.as_strided(memories[data.ptr], shape, strides))


memories: dict[int, np.ndarray] = {}


def empty(count: int, dtype: Any) -> Any:
    made = np.zeros(count, dtype)
    memories[made.ctypes.data] = made
    return ToyArray(made)


cupy = SimpleNamespace(
    empty=empty,
    ndarray=ndarray,
    cuda=SimpleNamespace(
        get_current_stream=Stream, MemoryPool=lambda: SimpleNamespace(malloc=None, free_all_blocks=lambda: None),
        Stream=lambda non_blocking=False: Stream(), using_allocator=lambda allocate: nullcontext(), Device=lambda: SimpleNamespace(synchronize=bool),
        runtime=SimpleNamespace(getDevice=lambda: 0, memcpyAsync=memcpy),
    ),
)  # fmt: skip


class StandIn(ToyDevice):
    name = "cuda"
    cupy = cupy

    def device_of(self, array: Any) -> Any:
        return devices.device("cuda", array.index)

    def canonical(self, wanted: Any) -> Any:
        return devices.device("cuda", wanted.index or 0)


class Allocations:
    """Nothing is allocated apart: results of a second graph that stay where those of the first are, are copied there."""

    again: dict[int, Any] = {}
    places: list[int] = []
    count = 0

    def __init__(self, cupy: Any) -> None:
        self.note = self.allocate = None

    def found(self, arrays: Any) -> None:
        pass

    def begin(self, pool: Any, again: Any) -> None:
        Allocations.again = again

    def right(self, arrays: Any) -> bool:
        return True


class Work:
    """A call that is run again by each replay."""

    failing: Exception | None = None  # what captures raise

    def __init__(self, cupy: Any) -> None:
        self.pool: Any = None

    def capture(self, stream: Any, allocate: Any, run: Any, args: tuple[Any, ...]) -> Any:
        if Work.failing is not None:
            raise Work.failing
        self.run, self.args = run, args
        arrays = [each._array.held for each in args]
        before, random = [each.copy() for each in arrays], default_generator.get_state()
        made = run(args)
        default_generator.set_state(random)
        for array, each in zip(arrays, before):
            array[...] = each
        self.results = [None if each is None else Allocations.again.get(at, each._array).held for at, each in enumerate(made)]
        for each in self.results:
            if each is not None and not any(np.may_share_memory(each, one) for one in arrays):
                each[...] = 77  # a capture computes nothing
        return made

    def replay(self, stream: Any) -> None:
        for own, new in zip(self.results, self.run(self.args)):
            if own is not None:
                own[...] = new._array.held


def put_words(cupy: Any, address: int, *words: int) -> None:
    data = np.array(words, np.uint64)
    ctypes.memmove(address, data.ctypes.data, data.nbytes)


@contextmanager
def stand_in(patch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have ``cuda`` be the stand-in."""
    patch.setattr(ToyArray, "data", property(pointer), raising=False)
    patch.setattr(TritonSchedule, "prepare", lambda self, args: None)
    for module, name, value in (
        (graph_replay, "CapturedWork", Work), (graph_replay, "Allocations", Allocations), (replay_launcher, "put_words", put_words),
    ):  # fmt: skip
        patch.setattr(module, name, value)
    captured_work._memories.clear()
    devices.register_device_type(StandIn())
    try:
        yield
    finally:
        captured_work._memories.clear()
        devices.unregister_device_type("cuda")
        devices._NAMES.insert(1, "cuda")  # the name is known without a device, too

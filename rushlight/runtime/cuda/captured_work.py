"""Captured work: the launches between two points of a stream, as one CUDA graph that is replayed.

Both ``torch.cuda.CUDAGraph`` and compiled programs capture by :class:`CapturedWork`.  Random streams continue from replay to replay: kernels add an offset in
device memory, which each replay advances.  Compiled programs share the memory of a graph's temporaries (:class:`GraphMemory`): replays are
serialized, so the temporaries of one are dead in the next.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from typing import Any
from weakref import WeakSet

from ...core.devices import device_types
from .gemm import blas
from .launch import CudaKernel

_WORDS = 16  # of 8 bytes, that one launch writes to device memory
_PUT = """
extern "C" __global__ void put(unsigned long long* to, int count, @GIVEN@) {
    unsigned long long words[] = {@NAMES@};
    if (threadIdx.x < count) to[threadIdx.x] = words[threadIdx.x];
}
"""


class CapturedWork:
    """Work that is captured once and replayed."""

    def __init__(self, cupy: Any) -> None:
        self.cupy = cupy
        self.graph: Any = None
        self.draws: list[tuple[Any, Any, int]] = []  # generators that it draws from, their offsets in device memory, and words of a replay
        self.pool: Any = None  # memory that is its own
        self._open: ExitStack | None = None
        self._begun: list[tuple[Any, Any]] = []

    @property
    def capturing(self) -> bool:
        """Whether launches are being captured into it now."""
        return self._open is not None

    def begin(self, stream: Any, allocate: Callable[[int], Any]) -> None:
        """Begin to capture what this thread queues in the current stream; memory comes from ``allocate``."""
        kind: Any = device_types["cuda"]
        self.stream = stream
        self._begun = [(each, each.begin_capture()) for each in kind.generators]
        self._open = ExitStack()
        self._open.enter_context(self.cupy.cuda.using_allocator(allocate))
        stream.begin_capture()

    def end(self) -> None:
        """End the capture; raises CUDA's error where it was invalidated, and nothing can be replayed then."""
        assert self._open is not None
        try:
            self.graph = self.stream.end_capture()
        finally:
            self._open.close()
            self._open = None
            moves = [(each, base, each.end_capture()) for each, base in self._begun]
            self.draws = [each for each in moves if each[2]]

    def capture(self, stream: Any, allocate: Callable[[int], Any], run: Callable[..., Any], *args: Any) -> Any:
        """Capture a call; gives what it returns, whose memory has no contents yet."""
        with stream:
            self.begin(stream, allocate)
            try:
                return run(*args)
            finally:
                self.end()

    def replay(self, stream: Any) -> None:
        """Queue the work in a stream."""
        for generator, base, words in self.draws:
            put_words(self.cupy, base.data.ptr, generator.advance_replay(words))
        self.graph.launch(stream)


@functools.cache
def _put(cupy: Any) -> CudaKernel:
    names = [f"w{at}" for at in range(_WORDS)]
    source = _PUT.replace("@GIVEN@", ", ".join(f"unsigned long long {each}" for each in names)).replace("@NAMES@", ", ".join(names))
    return CudaKernel(cupy, source, "put", "Pi" + "Q" * _WORDS, "numbers for a captured graph")


def put_words(cupy: Any, address: int, *words: int) -> None:
    """Write 8-byte words to device memory, as kernel arguments: asynchronous, and in stream order with what was queued before."""
    for at in range(0, len(words), _WORDS):
        part = words[at : at + _WORDS]
        _put(cupy)(1, _WORDS, address + 8 * at, len(part), *part, *(0,) * (_WORDS - len(part)))


def make_ready(cupy: Any, index: int) -> None:
    """Load in the background what most programs need: NVRTC, with the kernel that writes numbers, and cuBLAS."""
    with cupy.cuda.Device(index):
        _put(cupy).compile()
        blas(cupy)


class GraphMemory:
    """What compiled programs on a device share: the memory pool of graph temporaries, the capture stream, and the order of replays."""

    def __init__(self, cupy: Any) -> None:
        self.cupy = cupy
        self.pool = cupy.cuda.MemoryPool()
        self.stream = cupy.cuda.Stream(non_blocking=True)  # memory of a pool belongs to a stream: all programs are captured in one
        self.lock = threading.Lock()
        self.last: Any = None  # the stream of the last replay
        self.users: WeakSet[Any] = WeakSet()  # captured work that uses the memory, which the pool holds for free

    def enter(self, stream: Any) -> None:
        """Let a stream wait for the last replay, where that was in another."""
        if self.last is not None and self.last.ptr != stream.ptr:
            stream.wait_event(self.last.record())
        self.last = stream

    def release(self) -> None:
        """Free the memory where no graph uses it any more."""
        if not len(self.users):
            self.pool.free_all_blocks()


_memories: dict[int, GraphMemory] = {}


def graph_memory(cupy: Any) -> GraphMemory:
    """The memory of the current device's graphs."""
    index = cupy.cuda.runtime.getDevice()
    if index not in _memories:
        _memories[index] = GraphMemory(cupy)
    return _memories[index]


def release_unused() -> None:
    """Free the memory of destroyed graphs, on all devices."""
    for each in _memories.values():
        each.release()


def held_by_graphs() -> int:
    """The bytes of memory inside the graphs of compiled programs, on all devices; results are tensors like others."""
    return sum(each.pool.total_bytes() for each in _memories.values())


class Allocations:
    """The allocations of a program, in order: those of its results come from memory that other programs never use.

    A run before the capture determines which allocations become results.  The capture allocates in the same order.
    """

    def __init__(self, cupy: Any) -> None:
        self.cupy = cupy
        self.places: list[int] = []  # addresses, in order, of the run before the capture
        self.results: dict[int, int] = {}  # which of them are results: their numbers
        self.count = 0
        self.given: set[int] = set()  # addresses of results in the capture

    def note(self, size: int) -> Any:
        """An allocation of the run before the capture."""
        made = self.cupy.get_default_memory_pool().malloc(size)
        self.places.append(made.ptr)
        return made

    def found(self, arrays: Mapping[int, Any]) -> None:
        """The run has ended with these results (by their numbers), in memory that it has allocated."""
        last = {address: at for at, address in enumerate(self.places)}
        self.results = {last[each.data.mem.ptr]: number for number, each in arrays.items() if each.data.mem.ptr in last}

    def begin(self, pool: Any, again: Mapping[int, Any]) -> None:
        """Begin the allocations of a capture, with a pool for temporaries; ``again`` are indices of results whose memory is reused."""
        self.count, self.pool, self.again = 0, pool, again
        self.given = {each.data.mem.ptr for each in self.again.values()}

    def allocate(self, size: int) -> Any:
        """An allocation of the capture."""
        number = self.results.get(self.count)
        self.count += 1
        if number is None:
            return self.pool.malloc(size)
        if number in self.again:
            return self.cupy.cuda.MemoryPointer(self.again[number].data.mem, 0)
        made = self.cupy.get_default_memory_pool().malloc(size)
        self.given.add(made.mem.ptr)
        return made

    def right(self, arrays: Iterable[Any]) -> bool:
        """Whether the capture allocated as the run before it: all results are in their own memory."""
        return self.count == len(self.places) and all(each.data.mem.ptr in self.given for each in arrays)


__all__ = ["Allocations", "CapturedWork", "GraphMemory", "graph_memory", "held_by_graphs", "make_ready", "put_words", "release_unused"]

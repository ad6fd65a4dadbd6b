"""CUDA graphs: work captured once and replayed with one launch.

What is captured allocates from a memory pool of the graph's own, so that its addresses stay its own until it is reset.  ``runtime/cuda/captured_work.py``
does the capturing, as it does for compiled programs.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from ..core.devices import available, device_types
from ..core.errors import DeviceError, OperationError
from ..core.missing import missing
from ..runtime.cuda.captured_work import CapturedWork
from .streams import Stream, _cupy

__all__ = ["CUDAGraph", "graph", "graph_pool_handle", "is_current_stream_capturing", "make_graphed_callables"]


def is_current_stream_capturing() -> bool:
    """Whether the current queue's work is captured into a graph."""
    return "cuda" in device_types and bool(_cupy().cuda.get_current_stream().is_capturing())


class _Pool:
    """The memory of one graph, or of several that are never replayed at the same time."""

    def __init__(self, cupy: Any) -> None:
        self.memory = cupy.cuda.MemoryPool()


def graph_pool_handle() -> Any:
    """A handle of memory that several graphs may share."""
    return _Pool(_cupy())


class CUDAGraph:
    """A graph of work on a GPU, captured once and replayed."""

    def __init__(self, keep_graph: bool = False) -> None:
        try:
            self._cupy = _cupy()
        except DeviceError as error:
            raise DeviceError(f"torch.cuda.CUDAGraph requires CUDA support: {error}") from error
        self._work: CapturedWork | None = None
        self._pool: _Pool | None = None

    def capture_begin(self, pool: Any = None, capture_error_mode: str = "global") -> None:
        """Capture what is queued from now on, in the current queue, which may not be the default one."""
        stream = self._cupy.cuda.get_current_stream()
        if stream.ptr == 0:
            raise OperationError("CUDA graphs must be captured on a non-default stream: use torch.cuda.graph(), or torch.cuda.stream()")
        if self._work is not None:
            raise OperationError("This CUDAGraph instance already owns a captured graph: reset() it first")
        self._pool = pool if isinstance(pool, _Pool) else (pool._pool if isinstance(pool, CUDAGraph) else None) or _Pool(self._cupy)
        work = CapturedWork(self._cupy)
        work.begin(stream, self._pool.memory.malloc)
        self._work = work

    def capture_end(self) -> None:
        """End the capture; :meth:`replay` then runs what was captured."""
        if self._work is None or not self._work.capturing:
            raise OperationError("capture_end() without capture_begin()")
        try:
            self._work.end()
        except self._cupy.cuda.runtime.CUDARuntimeError as error:
            self._work = None
            raise OperationError(
                f"CUDA error: the capture failed: {error}. An operation that waits for the GPU can't be captured."
            ) from error

    def replay(self) -> None:
        """Run what was captured, in the current queue."""
        if self._work is None or self._work.capturing:
            raise OperationError("Called CUDAGraph::replay without a preceding successful capture.")
        self._work.replay(self._cupy.cuda.get_current_stream())

    def reset(self) -> None:
        """Free the graph and its memory."""
        self._work = self._pool = None

    def pool(self) -> Any:
        """The handle of the graph's memory, to share with further graphs."""
        return self._pool

    def instantiate(self) -> None:
        """The graph is ready when the capture ends."""


class graph:
    """A context whose work is captured into a :class:`CUDAGraph`, in a queue of its own."""

    default_capture_stream: Any = None

    def __init__(self, cuda_graph: CUDAGraph, pool: Any = None, stream: Any = None, capture_error_mode: str = "global") -> None:
        if stream is None:
            if graph.default_capture_stream is None:
                graph.default_capture_stream = Stream()
            stream = graph.default_capture_stream
        self.cuda_graph, self.pool, self.capture_stream = cuda_graph, pool, stream
        self.capture_error_mode = capture_error_mode

    def __enter__(self) -> None:
        kind: Any = device_types["cuda"]
        kind.synchronize()
        self._current = self.capture_stream.__enter__()
        self.cuda_graph.capture_begin(self.pool, self.capture_error_mode)

    def __exit__(self, *exception: Any) -> None:
        try:
            self.cuda_graph.capture_end()
        finally:
            self.capture_stream.__exit__(*exception)


def make_graphed_callables(
    callables: Any, sample_args: Any, num_warmup_iters: int = 3, allow_unused_input: bool = False, pool: Any = None
) -> Any:
    """Callables (functions or modules) whose forward and backward are replayed as CUDA graphs."""
    available("cuda")
    build: Callable[..., Any] = importlib.import_module("rushlight.cuda.graphed_callables").graphed
    if isinstance(callables, (tuple, list)):
        return tuple(build(each, args, num_warmup_iters, allow_unused_input, pool) for each, args in zip(callables, sample_args))
    return build(callables, sample_args, num_warmup_iters, allow_unused_input, pool)


__getattr__ = missing(__name__)

"""Loops of many launches, as over the times of a recurrent layer: where all their addresses come again, they are captured, and one launch repeats them.

A step of training asks for memory in the same order again and again, and the pool answers with the same addresses.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import faults, gemm, launch_record, measured_products
from ..launch import BLOCKING

_FEW = 16  # launches that are not worth a graph
_MOST_GRAPHS, _MOST_SEEN = 32, 1024
_graphs: dict[Any, Any] = {}
_seen: set[Any] = set()
_streams: dict[int, Any] = {}  # by device: where loops are captured


def queue(cupy: Any, count: int, key: tuple[Any, ...], run: Callable[[], None]) -> None:
    """Queue what ``run`` does, in so many launches.  ``key`` has the addresses of all that it reads and writes, and all else that it depends on."""
    stream = cupy.cuda.get_current_stream()
    if count < _FEW or BLOCKING or launch_record.current is not None or measured_products.measuring or stream.is_capturing():
        run()
        return
    key = (cupy.cuda.runtime.getDevice(), stream.ptr, *key)
    graph = _graphs.get(key)
    if graph is None:
        if key not in _seen:  # what comes twice will come again
            if len(_seen) >= _MOST_SEEN:
                _seen.clear()
            _seen.add(key)
            run()
            return
        if len(_graphs) >= _MOST_GRAPHS:
            _graphs.pop(next(iter(_graphs)))
        graph = _graphs[key] = _captured(cupy, stream, run)
    if faults.found is not None and faults.found[0]:
        faults.raise_found()
    graph.launch(stream)


def _captured(cupy: Any, stream: Any, run: Callable[[], None]) -> Any:
    """The graph of what is queued: captured in a stream of its own, whose products work in the memory of the stream that the graph runs in."""
    index = cupy.cuda.runtime.getDevice()
    side = _streams.get(index)
    if side is None:
        side = _streams[index] = cupy.cuda.Stream(non_blocking=True)
    handle = gemm.blas(cupy)
    handle.workspace_of(stream.ptr)
    handle.workspaces[side.ptr] = handle.workspaces[stream.ptr]
    with side:
        side.begin_capture()
        try:
            run()
        finally:
            graph = side.end_capture()
    return graph


__all__ = ["queue"]

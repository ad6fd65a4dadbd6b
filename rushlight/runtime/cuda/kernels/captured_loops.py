"""Loops of many launches, as over the time steps of a recurrent layer: where all their addresses repeat, they are captured, and one graph launch replays them.

Training steps allocate in the same order, so the caching pool returns the same addresses.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import faults, gemm, launch_record, measured_products
from ..launch import BLOCKING

_FEW = 16  # too few launches for a graph
_MOST_GRAPHS, _MOST_SEEN = 32, 1024
_graphs: dict[Any, Any] = {}
_seen: set[Any] = set()
_streams: dict[int, Any] = {}  # by device: where loops are captured


def queue(cupy: Any, count: int, key: tuple[Any, ...], run: Callable[[], None]) -> None:
    """Queue the ``count`` launches of ``run``.  ``key`` has all addresses that it reads or writes, and all else that it depends on."""
    stream = cupy.cuda.get_current_stream()
    if count < _FEW or BLOCKING or launch_record.current is not None or measured_products.measuring or stream.is_capturing():
        run()
        return
    key = (cupy.cuda.runtime.getDevice(), stream.ptr, *key)
    graph = _graphs.get(key)
    if graph is None:
        if key not in _seen:  # captured at the second use of a key
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
    """The graph of ``run``: captured in a side stream, whose products use the workspace of the stream that the graph is launched in."""
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

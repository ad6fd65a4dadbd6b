"""Ranges and marks that NVIDIA's profilers show, as ``torch.cuda.nvtx`` has them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..core.missing import missing
from .streams import _cupy

__all__ = ["mark", "range", "range_pop", "range_push"]
_depth = 0


def range_push(msg: str) -> int:
    """Begin a range; returns how deep it is nested."""
    global _depth
    _cupy().cuda.nvtx.RangePush(msg)
    _depth += 1
    return _depth - 1


def range_pop() -> int:
    """End the range begun last; returns how deep it was nested."""
    global _depth
    _cupy().cuda.nvtx.RangePop()
    _depth -= 1
    return _depth


def mark(msg: str) -> None:
    """A moment with a name."""
    _cupy().cuda.nvtx.Mark(msg)


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """A context, or a decorator, that is a range of its own."""
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()


__getattr__ = missing(__name__)

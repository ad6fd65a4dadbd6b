"""Queues that carry tensors in shared memory: Python's own, which pickle by the reductions of this package."""

from __future__ import annotations

from multiprocessing.queues import Queue, SimpleQueue

__all__ = ["Queue", "SimpleQueue"]

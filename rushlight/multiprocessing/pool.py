"""A pool of processes whose tasks and results carry tensors in shared memory."""

from __future__ import annotations

from multiprocessing.pool import Pool

__all__ = ["Pool"]

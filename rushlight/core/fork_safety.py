"""Locks that a forked child finds free: the thread that held one in the parent does not exist in the child, and would never release it."""

from __future__ import annotations

import os
import weakref
from typing import Any

_locks: weakref.WeakSet[Any] = weakref.WeakSet()


def free_after_fork(lock: Any) -> Any:
    """The same lock, which is free in children of this process.

    >>> import threading
    >>> lock = free_after_fork(threading.RLock())
    """
    _locks.add(lock)
    return lock


def _free() -> None:
    for each in list(_locks):
        each._at_fork_reinit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free)

"""Locks that a forked child finds free: the thread that held one in the parent does not exist in the child, and would never release it.

Python's own locks of modules are not among those that Python frees: a child that imports what another thread was importing would wait forever, and
ops, lowerings and methods are imported when they are first used.  So a fork waits until the other threads' imports are through.
"""

from __future__ import annotations

import importlib
import os
import threading
import time
import weakref
from typing import Any

_LONGEST = 10.0  # seconds that a fork waits for imports of other threads
_locks: weakref.WeakSet[Any] = weakref.WeakSet()
_module_locks: dict[str, Any] = getattr(getattr(importlib, "_bootstrap"), "_module_locks", {})  # noqa: B009, no public name


def free_after_fork(lock: Any) -> Any:
    """The same lock, which is free in children of this process.

    >>> import threading
    >>> lock = free_after_fork(threading.RLock())
    """
    _locks.add(lock)
    return lock


def _is_importing_elsewhere() -> bool:
    """Whether a thread other than this one is importing a module."""
    held = [lock for reference in list(_module_locks.values()) if (lock := reference()) is not None]
    return any(getattr(lock, "owner", None) not in (None, threading.get_ident()) for lock in held)


def _wait_for_imports() -> None:
    last = time.monotonic() + _LONGEST
    while _is_importing_elsewhere() and time.monotonic() < last:
        time.sleep(0.0005)


def _free() -> None:
    for each in list(_locks):
        each._at_fork_reinit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_wait_for_imports, after_in_child=_free)

"""Fork and interrupt safety: neither a forked child nor a ``KeyboardInterrupt`` may see a change that is half made.

Forks.  ``free_after_fork`` gives a lock that a forked child finds free: the thread that held it in the parent does not exist in the child, and would never
release it.  Python's own locks of modules are not among those that Python frees: a child that imports what another thread was importing would wait forever, and
ops, lowerings and methods are imported when they are first used.  So a fork waits until the other threads' imports are through.

Interrupts (Ctrl-C).  Python raises ``KeyboardInterrupt`` at any instruction of the main thread.  A module of ops that is half imported can't be imported again, a tracer
that was switched on and never off sees every later op, and a module of LLVM that has two owners is freed twice.  Such changes are made under
``deferred()``: the interrupt is noted, and raised when the change is whole, or where ``poll`` is called.

Garbage collections, too, come in the middle; they only take time, and ``paused_collection`` puts them off.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib
import os
import signal
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from types import FrameType, ModuleType, TracebackType
from typing import Any, TypeVar

_LONGEST = 10.0  # seconds that a fork waits for imports of other threads
_locks: weakref.WeakSet[Any] = weakref.WeakSet()
_module_locks: dict[str, Any] = getattr(getattr(importlib, "_bootstrap"), "_module_locks", {})  # noqa: B009, no public name


Value = TypeVar("Value")


class cached_property(functools.cached_property[Value]):
    """A cached property without a lock: that of Python 3.11 is one for all objects, and held forever where another thread computes at a fork."""

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        known = instance.__dict__
        return known[self.attrname] if self.attrname in known else known.setdefault(self.attrname, self.func(instance))


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


# -- interrupts -----------------------------------------------------------------------------------------------------------


class Deferral:
    """A context in which interrupts wait until its end; a second one does not wait, since the first may never get there."""

    def __init__(self) -> None:
        self.depth = 0
        self.pending = False
        self.handler: Any = None  # what was there before

    def __enter__(self) -> Deferral:
        if threading.current_thread() is not threading.main_thread():
            return self  # Python's signals go to the main thread
        if not self.depth:
            handler = signal.getsignal(signal.SIGINT)
            if not callable(handler):
                return self  # ignored, or left to the system
            if handler != self.receive:
                self.handler = handler
            self.pending = False
            try:
                signal.signal(signal.SIGINT, self.receive)
            except ValueError:  # not the main interpreter
                return self
        self.depth += 1
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        if not self.depth or threading.current_thread() is not threading.main_thread():
            return
        self.depth -= 1
        if not self.depth:
            self.release()
            self.poll()

    def release(self) -> None:
        """Have interrupts raised again as they come."""
        self.depth = 0
        if signal.getsignal(signal.SIGINT) == self.receive:  # else the program has set another one meanwhile
            signal.signal(signal.SIGINT, self.handler)

    def receive(self, number: int, frame: FrameType | None) -> None:
        """Note an interrupt; a second one ends the wait, whatever is half done."""
        if self.pending and self.depth:
            self.release()
            self.poll()
        self.pending = True

    def poll(self) -> None:
        """Hand a noted interrupt to the handler that waits for it, which raises ``KeyboardInterrupt`` as a rule."""
        if self.pending and threading.current_thread() is threading.main_thread():
            self.pending = False
            self.handler(signal.SIGINT, None)


_deferral = Deferral()


def deferred() -> Deferral:
    """The context in which interrupts wait.

    >>> with deferred() as interrupts:
    ...     interrupts.poll()
    """
    return _deferral


def load_module(name: str) -> ModuleType:
    """Import a module of the package at its first use: whole, or not at all.

    >>> load_module("rushlight.core.process_safety").__name__
    'rushlight.core.process_safety'
    """
    with _deferral:
        return importlib.import_module(name)


def removal_callback(entries: dict[Any, Any], key: Any) -> Callable[[Any], None]:
    """The callback of a weak reference that removes an entry; it looks up no global, which is gone when the interpreter ends.

    >>> entries = {1: "one"}
    >>> removal_callback(entries, 1)(None)
    >>> entries
    {}
    """
    return lambda _: entries.pop(key, None)


@contextlib.contextmanager
def paused_collection() -> Iterator[None]:
    """No garbage collection inside: what a compilation allocates is alive until its end, so that collections would find nothing."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()

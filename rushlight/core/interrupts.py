"""Interrupts (Ctrl-C) that wait: an exception between two halves of a change would leave the package, or LLVM, with one of them.

Python raises ``KeyboardInterrupt`` at any instruction of the main thread.  A module of ops that is half imported can't be imported again, a tracer
that was switched on and never off sees every later op, and a module of LLVM that has two owners is freed twice.  Such changes are made under
``deferred()``: the interrupt is noted, and raised when the change is whole, or where ``poll`` is called.
"""

from __future__ import annotations

import importlib
import signal
import threading
from types import FrameType, ModuleType, TracebackType
from typing import Any


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

    >>> load_module("rushlight.core.interrupts").__name__
    'rushlight.core.interrupts'
    """
    with _deferral:
        return importlib.import_module(name)

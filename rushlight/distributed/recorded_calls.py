"""Calls of a process group as they are started: each is recorded with the user's line, compared in the debug mode, and named in faults."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any

import numpy as np

from ..capture.compile.record.graph_breaks import Break
from ..core.state import state
from .calls import Call, user_place
from .debug import debug
from .stores import DistBackendError
from .work import Work

observers: list[Callable[[str, bool], None]] = []  # told of each collective: its name, and whether it is a functional one
_functional = threading.local()
_new_call = tuple.__new__  # a named tuple without its checks


@contextmanager
def as_functional() -> Iterator[None]:
    """Collectives inside are reported as functional ones: those of DTensors, and those that return their result."""
    before = getattr(_functional, "on", False)
    _functional.on = True
    try:
        yield
    finally:
        _functional.on = before


def observe(name: str) -> None:
    """Tell observers of a collective."""
    for each in observers:
        each(name, getattr(_functional, "on", False))


class AfterOthers:
    """The request of an exchange that ends after others."""

    def __init__(self, others: list[Work], request: Any) -> None:
        self._others, self._request = others, request

    def Test(self) -> bool:
        """Whether all of them have ended."""
        while self._others and self._others[0]._poll():
            self._others.pop(0)
        if self._request is not None and self._request.Test():
            self._request = None
        return not self._others and self._request is None


_PROFILED = {
    "all_gather_into_tensor": "_all_gather_base",
    "all_to_all_single": "all_to_all",
    "reduce_scatter_tensor": "_reduce_scatter_base",
}


def _both(first: Callable[[], Any] | None, second: Callable[[], None]) -> Callable[[], None]:
    """A function that calls two."""

    def both() -> None:
        if first is not None:
            first()
        second()

    return both


class RecordedCalls:
    """What a process group knows of its calls; the base of ``ProcessGroup``."""

    _engine: Any
    _ranks: list[int]
    _name: str
    _watch: Any
    _count: int
    _calls: deque[Call]
    _now: Call | None
    _ended: Callable[[], None] | None = None  # ends the profiler's event of the call that is about to start
    _started: dict[Work, None]  # exchanges that run: kept, also where a program drops their handles, and waited for by a barrier

    def _profile(self, name: str, tensors: Any) -> None:
        """Begin the event of a call that a profiler shows: ``gloo:all_reduce``, with the shapes of its tensors."""
        if state.profiler is not None:
            self._ended = state.profiler.asynchronous(f"{self.name()}:{name}", tensors)  # type: ignore[attr-defined]

    def _note(self, name: str, *signature: Any, depth: int = 2, tensors: Any = ()) -> Call:
        """Record a call; a fault that another process has reported is raised here.

        A program that is being captured communicates nothing: its graph breaks before the call, which then runs eagerly.
        """
        if state.capture is not None:
            raise Break("exchange", name=name, reason="only collectives that write one tensor, and are waited for, are nodes of graphs")
        if observers:
            observe(name)
        if state.profiler is not None:
            self._profile(_PROFILED.get(name, name), tensors)
        self._count += 1
        call = _new_call(Call, (self._count, name, signature, user_place(depth), self._name, monotonic()))
        if self._watch is not None:
            if self._watch.fault is not None:
                self._check_fault(call)
            self._calls.append(call)
            self._now = call
            if debug.detail and self._engine.size > 1:
                self._compare(call)
        return call

    def _start(self, call: Call, begin: Callable[[], Any], outputs: Any, finish: Callable[[], Any] | None = None) -> Work:
        try:
            request = begin()
        except (ValueError, TypeError, NotImplementedError):
            raise
        except Exception as error:
            raise self._broken(call, error) from error
        if self._ended is not None:
            finish, self._ended = _both(finish, self._ended), None
        made = Work(outputs, request, finish, self, call)
        if request is not None:
            self._started[made] = None
        return made

    def _compare(self, call: Call) -> None:
        """Raise on all processes if one of them calls something else (the debug mode)."""
        mine = np.zeros(512, np.uint8)
        text = call.signature_text().encode()[:512]
        mine[: len(text)] = np.frombuffer(text, np.uint8)
        out = np.zeros((self._engine.size, 512), np.uint8)
        Work([], self._engine.all_gather(out, mine), None, self, call).wait()
        texts = [bytes(row).rstrip(b"\0").decode(errors="replace") for row in out]
        if len({each.partition(" at ")[0] for each in texts}) > 1:
            self._calls.pop()  # it is refused on all processes, and the group goes on
            described = "; ".join(f"rank {rank}: {each}" for rank, each in zip(self._ranks, texts))
            raise RuntimeError(
                f"Detected mismatch between collectives on ranks: call {call.number} of group {self._name!r} is not the same on all. {described}"
            )

    def _check_fault(self, call: Call) -> None:
        if self._watch is not None and self._watch.fault is not None:
            raise self._watch.failure(self, call)

    def _timed_out(self, call: Call, seconds: float) -> BaseException:
        if self._watch is None:
            return DistBackendError(f"{call} has not ended within {seconds:g} seconds")
        return self._watch.timed_out(self, call, seconds)  # type: ignore[no-any-return]

    def _broken(self, call: Call, error: BaseException) -> BaseException:
        if self._watch is None:
            return DistBackendError(f"{call} failed: {error}")
        return self._watch.broken(self, call, error)  # type: ignore[no-any-return]

    def _later(self, work: Work) -> None:
        """Hand a work to the progress thread."""
        if self._watch is not None:
            self._watch.later(work)

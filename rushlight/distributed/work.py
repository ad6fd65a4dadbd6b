"""``Work``: the handle of an asynchronous operation between processes."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from ..core.futures import Future, completed

_PATIENCE = 1.0  # seconds of polling before the process sleeps between polls


class Pace:
    """How a process waits: how often it tests a request at once, and what it does between further tests."""

    def __init__(self) -> None:
        self.spins = 200
        self.rest: Callable[[], Any] = getattr(os, "sched_yield", lambda: time.sleep(0))

    def crowded(self) -> None:
        """Wait with more processes than cores: sleeping frees the core for others, which yielding alone does not."""
        self.spins, self.rest = 10, lambda: time.sleep(1e-6)


pace = Pace()


class Work:
    """An exchange that was started; its tensors are written when ``wait`` has returned."""

    __slots__ = ("_call", "_error", "_finish", "_future", "_group", "_lock", "_outputs", "_request", "__weakref__")

    def __init__(
        self, outputs: Any = None, request: Any = None, finish: Callable[[], Any] | None = None, group: Any = None, call: Any = None
    ):
        self._outputs, self._request, self._finish, self._group, self._call = outputs, request, finish, group, call
        self._lock: Any = None  # where the progress thread may test the request as well
        self._error: BaseException | None = None
        self._future: Future[Any] | None = None
        if request is None and finish is not None:
            self._end()

    # -- progress ------------------------------------------------------------------------------------------------

    def _end(self) -> None:
        """Complete the operation when its data have arrived: copies to tensors, a division, a future."""
        if self._request is not None:
            self._request = None
            self._group._started.pop(self, None)
        finish, self._finish = self._finish, None
        if finish is not None:
            finish()
        if self._future is not None:
            self._future.set_result(self.result())

    def _fail(self, error: BaseException) -> None:
        self._error, self._request, self._finish = error, None, None
        if self._group is not None:
            self._group._started.pop(self, None)
        if self._future is not None and not self._future.done():
            self._future.set_exception(error)  # type: ignore[arg-type]

    def _poll(self) -> bool:
        """Make progress; whether the exchange has ended."""
        if self._lock is None:
            return self._test()
        with self._lock:
            return self._test()

    def _test(self) -> bool:
        if self._request is None:
            return True
        try:
            ended = self._request.Test()
        except Exception as error:  # MPI's own, which is named with the call
            failure = self._group._broken(self._call, error)
            self._fail(failure)
            raise failure from error
        if ended:
            self._end()
        return bool(ended)

    def _shared(self) -> Work:
        """This work, handed to the progress thread, too."""
        if self._request is not None:
            self._lock = threading.RLock()
            self._group._later(self)
        return self

    def _await(self, timeout: float | None) -> None:
        """Wait until the exchange has ended; a fault of another process, or the time limit, raises."""
        if self._lock is None and self._request is not None:
            test = self._request.Test
            try:
                for _ in range(pace.spins):
                    if test():
                        self._end()
                        return
            except Exception as error:
                raise self._group._broken(self._call, error) from error
        begun = time.monotonic()
        turns = 0
        while not self._poll():
            pace.rest()
            turns += 1
            if turns & 63:
                continue
            self._group._check_fault(self._call)
            waited = time.monotonic() - begun
            if timeout is not None and waited > timeout:
                failure = self._group._timed_out(self._call, timeout)
                self._fail(failure)
                raise failure
            if waited > _PATIENCE:
                time.sleep(5e-5)

    # -- PyTorch's methods ---------------------------------------------------------------------------------------

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Wait until it has ended; True.  An error is raised here, within the time limit of the group."""
        if self._error is not None:
            raise self._error
        if self._request is not None:
            limit = self._group._seconds if timeout is None or not timeout.total_seconds() else timeout.total_seconds()
            self._await(limit)
            if self._error is not None:
                raise self._error
        return True

    def is_completed(self) -> bool:
        """Whether it has ended."""
        return self._error is not None or self._poll()

    def is_success(self) -> bool:
        """Whether it has ended without an error."""
        return self._error is None and self._poll()

    def exception(self) -> BaseException | None:
        """The error it has ended with."""
        return self._error

    def result(self) -> list[Any]:
        """The tensors it has written."""
        return self._outputs if isinstance(self._outputs, list) else [self._outputs]

    def source_rank(self) -> int:
        """The process that a received tensor came from."""
        return int(self._outputs[1]) if isinstance(self._outputs, tuple) else 0

    _source_rank = source_rank

    def synchronize(self) -> None:
        """Wait."""
        self.wait()

    block_current_stream = synchronize

    def get_future(self) -> Future[Any]:
        """A future of the tensors it has written."""
        if self._lock is None:
            return self._make_future()
        with self._lock:  # the progress thread may be about to end it, and would not know of a future that is made meanwhile
            return self._make_future()

    def _make_future(self) -> Future[Any]:
        if self._request is None and self._error is None:
            return completed(self.result())
        if self._future is None:
            self._future = _WorkFuture(self)
            if self._error is not None:
                self._fail(self._error)
            elif self._lock is None:
                self._shared()
        return self._future

    def get_future_result(self) -> Future[Any]:
        """A future that says how it has ended."""
        return self.get_future().then(lambda future: 0)


class _WorkFuture(Future[Any]):
    """The future of a work: waiting for it makes progress."""

    def __init__(self, work: Work) -> None:
        super().__init__()
        self._work = work

    def wait(self) -> Any:
        """The tensors, when they are there."""
        if not self.done():
            self._work.wait()
        return super().wait()


class Works(Work):
    """Several operations as one."""

    __slots__ = ("_parts",)

    def __init__(self, parts: list[Work], outputs: Any = None) -> None:
        super().__init__(outputs if outputs is not None else [each for part in parts for each in part.result()])
        self._parts = parts

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Wait for all of them."""
        return all(each.wait(timeout) for each in self._parts)

    def is_completed(self) -> bool:
        """Whether all have ended."""
        return all(each.is_completed() for each in self._parts)

    def is_success(self) -> bool:
        """Whether all have ended without an error."""
        return all(each.is_success() for each in self._parts)

    def exception(self) -> BaseException | None:
        """The first error."""
        return next((each.exception() for each in self._parts if each.exception() is not None), None)

    def _shared(self) -> Work:
        """This work, with its parts handed to the progress thread, too."""
        for each in self._parts:
            each._shared()
        return self

    def get_future(self) -> Future[Any]:
        """A future of the tensors they have written."""
        made: Future[Any] = Future()
        left = [len(self._parts)]

        def count(future: Future[Any]) -> None:
            left[0] -= 1
            if not left[0]:
                made.set_result(self.result())

        for each in self._parts:
            each.get_future().then(count)
        return made if self._parts else completed(self.result())

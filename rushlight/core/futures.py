"""A future: a result that is there later, with functions to be called then."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

Result = TypeVar("Result")


class Future(Generic[Result]):
    """A result that is there later: ``wait()`` gives it, ``then(f)`` is a future of ``f(this future)``."""

    def __init__(self, *, devices: Any = None) -> None:
        self._ready = threading.Event()
        self._lock = threading.Lock()
        self._value: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[Any], Any]] = []

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise RuntimeError("Can not pickle torch.futures.Future")

    def done(self) -> bool:
        """Whether the result, or an error, is there."""
        return self._ready.is_set()

    def wait(self) -> Result:
        """The result, when it is there; an error is raised."""
        self._ready.wait()
        if self._error is not None:
            raise self._error
        return self._value  # type: ignore[no-any-return]

    def value(self) -> Result:
        """The result, which must be there."""
        if not self.done():
            raise RuntimeError("value() called on a future that is not completed")
        return self.wait()

    def set_result(self, result: Result) -> None:
        """Set the result; it can be set once."""
        self._complete(result, None)

    def set_exception(self, result: BaseException) -> None:
        """Set an error, which ``wait`` raises."""
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._complete(None, result)

    def _complete(self, value: Any, error: BaseException | None) -> None:
        with self._lock:
            if self._ready.is_set():
                raise RuntimeError("Future can only be marked completed once")
            self._value, self._error = value, error
            self._ready.set()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback(self)

    def _when_done(self, callback: Callable[[Any], Any]) -> None:
        with self._lock:
            if not self._ready.is_set():
                self._callbacks.append(callback)
                return
        callback(self)

    def add_done_callback(self, callback: Callable[[Future[Result]], None]) -> None:
        """Call a function with this future when it is completed; its errors are dropped, as PyTorch drops them."""

        def quietly(future: Any) -> None:
            try:
                callback(future)
            except Exception as error:
                threading.excepthook(threading.ExceptHookArgs((type(error), error, error.__traceback__, threading.current_thread())))

        self._when_done(quietly)

    def then(self, callback: Callable[[Future[Result]], Any]) -> Future[Any]:
        """A future of what a function returns for this one; an error in it is the cause of the RuntimeError that waiting raises."""
        result: Future[Any] = Future()

        def go_on(future: Any) -> None:
            try:
                value = callback(future)
            except Exception as error:
                failed = RuntimeError(f"Got the following error when running the callback: {type(error).__name__}: {error}")
                failed.__cause__ = error
                result.set_exception(failed)
            else:
                result.set_result(value)

        self._when_done(go_on)
        return result


def completed(value: Any) -> Future[Any]:
    """A future whose result is there."""
    future: Future[Any] = Future()
    future.set_result(value)
    return future

"""``jit.fork`` and ``jit.wait``: calls whose results are there at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from ...core.futures import Future as CompletableFuture

Result = TypeVar("Result")


class Future(Generic[Result]):
    """The result of :func:`fork`; it is there already, since the call ran at once."""

    def __init__(self, value: Result) -> None:
        self._value = value

    def wait(self) -> Result:
        """The result."""
        return self._value

    value = wait

    def done(self) -> bool:
        """Whether the result is there."""
        return True


def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Future:
    """Call a function; its result by :func:`wait`.  It runs at once, and in a trace its ops stand in line with the others."""
    return Future(func(*args, **kwargs))


def wait(future: Any) -> Any:
    """The result of a fork."""
    if future is None:
        raise RuntimeError("Future can't be None")
    if not isinstance(future, (Future, CompletableFuture)):
        raise TypeError(f"jit.wait() takes what jit.fork() gave, not {type(future).__name__}")
    return future.wait()

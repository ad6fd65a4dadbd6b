"""``torch.profiler.itt``: marks for Intel's VTune.  There is no such profiler here, which :func:`is_available` says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..core.errors import OperationError


def is_available() -> bool:
    """False: no marks are passed to VTune."""
    return False


def _refuse() -> Any:
    raise OperationError("ITT functions not installed. Are you sure you have a ITT build?")


def range_push(msg: str) -> None:
    """Raise: there is nothing that a range could be passed to."""
    _refuse()


def range_pop() -> None:
    """Raise: there is nothing that a range could be passed to."""
    _refuse()


def mark(msg: str) -> None:
    """Raise: there is nothing that a mark could be passed to."""
    _refuse()


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """A range over a block of code: raises, as :func:`range_push` does."""
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()

"""Errors of processes that a launcher has started."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

__all__ = ["ChildFailedError", "ProcessFailure", "get_error_handler", "record"]


class ProcessFailure(Exception):
    """A process that has failed."""


class ChildFailedError(Exception):
    """A process that the launcher has started has failed."""

    def __init__(self, name: str, failures: dict[int, Any]) -> None:
        super().__init__(f"{name} failed: {failures}")
        self.name, self.failures = name, failures


def record(fn: Callable[..., Any], error_handler: Any = None) -> Callable[..., Any]:
    """The function itself: an error is raised where the program was started, so that there is nobody to write it down for."""

    @functools.wraps(fn)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    return wrapper

"""Errors of scripts, with the line and a caret."""

from __future__ import annotations

import ast
import functools
from typing import Any

from ....core.errors import CaptureError


class ScriptError(CaptureError):
    """A program that is outside the language of scripts, or that does not fit together."""

    code = "RL404"

    def __init__(self, message: str, source: Any = None, node: ast.AST | None = None) -> None:
        self.reason = message
        if source is not None:
            message += source.excerpt(node)
        super().__init__(message)


class NotSupportedError(ScriptError):
    """A part of Python that scripts do not have."""

    code = "RL405"


class UnusedCallError(CaptureError):
    """A function that was marked as unused was called all the same."""

    code = "RL406"


class Error(Exception):
    """What a scripted program raises by itself.  It is also of the class that the program names: either can be caught."""


@functools.cache
def raised(kind: Any) -> Any:
    """A class of exceptions as scripted programs raise them."""
    if issubclass(kind, Error) or not issubclass(kind, Exception):
        return kind
    return type(
        kind.__name__,
        (kind, Error),
        {"__module__": kind.__module__, "__doc__": kind.__doc__, "__reduce__": lambda self: (again, (kind, self.args))},
    )


def again(kind: Any, arguments: tuple[Any, ...]) -> BaseException:
    """An exception that was pickled."""
    return raised(kind)(*arguments)  # type: ignore[no-any-return]

"""Errors of scripts, with the line and a caret."""

from __future__ import annotations

import ast
from typing import Any

from ....core.declare import PACKAGE
from ....core.errors import CaptureError


class ScriptError(CaptureError):
    """A program that is outside the language of scripts, or that does not fit together."""

    code = "RL404"

    def __init__(self, message: str, source: Any = None, node: ast.AST | None = None) -> None:
        self.reason = message
        if source is not None:
            message += f":{source.excerpt(node)}"
        super().__init__(message)

    def called_from(self, name: str, caller: str, source: Any, node: ast.AST | None) -> None:
        """Add to the text which call led to the function that the error is in."""
        self.args = (f"{self}\n'{name}' is being compiled since it was called from '{caller}'{source.excerpt(node)}", *self.args[1:])


class FrontendError(Exception):
    """A program that can't be read as a script."""


class NotSupportedError(ScriptError, FrontendError):
    """A part of Python that scripts do not have."""

    code = "RL405"


class Error(Exception):
    """What a scripted program raises by itself, whatever class its ``raise`` names; that exception is the cause."""


Error.__module__ = f"{PACKAGE}.jit"  # where users find it


class UnusedCallError(CaptureError, Error):
    """A function that was marked as unused was called all the same."""

    code = "RL406"


class RaisedInScript(Error):
    """An exception that a scripted program raises, on its way out: it becomes an :class:`Error` where Python called the program."""

    deliberate = True  # unlike the error of an op

    def __init__(self, original: BaseException) -> None:
        super().__init__(*original.args)
        self.original = original

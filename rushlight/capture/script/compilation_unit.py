"""``jit.CompilationUnit`` and ``ScriptModule.define``: scripts whose source is given as text."""

from __future__ import annotations
import __future__

import functools
import inspect
import linecache
import math
import sys
import textwrap
from itertools import count
from types import FunctionType
from typing import Any

from ...core.declare import PACKAGE
from .frontend.errors import NotSupportedError, ScriptError
from .frontend.types import TYPE_NAMES
from .script_function import script_function

_numbers = count()
_SYNTAX_ERRORS = {
    "multiple starred expressions": "Only one starred expression is allowed on the lhs",
    "starred assignment target": "A Starred expression may only appear on the lhs within the presence of another non-starred expression",
    "illegal expression for augmented assignment": "augmented assignment can only have one LHS expression",
    "unterminated string literal": "expected a valid token",
    "cannot assign to literal": "Cannot pack a tuple into a non-variable",
    "cannot assign to expression": "unexpected expression on left-hand side of assignment",
}  # what PyTorch's parser says of what Python's refuses


def functions_in(text: str, around: Any = None, further: dict[str, Any] | None = None) -> dict[str, Any]:
    """The functions that a text defines, whose source can be read as that of any other; names are those of the frame that gives it, too."""
    text = textwrap.dedent(text)
    file = f"<string {next(_numbers)}>"
    names: dict[str, Any] = {**TYPE_NAMES, "torch": sys.modules[PACKAGE], "math": math, "__name__": file, **(further or {})}
    try:
        code = compile(text, file, "exec", __future__.annotations.compiler_flag, dont_inherit=True)
    except SyntaxError as error:
        words = next((words for part, words in _SYNTAX_ERRORS.items() if part in str(error)), "SyntaxError")
        raise ScriptError(f"the text can't be read: {words}: {error}") from None
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    if around is not None:
        names = {**around.f_globals, **names, **around.f_locals}
    defined: dict[str, Any] = {}
    exec(code, names, defined)
    names.update(defined)
    return {name: value for name, value in defined.items() if isinstance(value, FunctionType)}


_LITERALS = (int, float, bool, str, type(None))
_IN_ANNOTATIONS = frozenset(("Tensor", "int", "float", "bool", "str", "None", "Any"))


@functools.cache
def calling(function: Any) -> Any:
    """A function of the user's language that calls one of the package with all of its parameters, so that it can be scripted."""
    parts, given = [], []
    for each in inspect.signature(function).parameters.values():
        default = "" if each.default is each.empty else f" = {each.default!r}"
        if each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD) or (default and not isinstance(each.default, _LITERALS)):
            raise NotSupportedError(
                f"'{function.__name__}' takes a variable number of arguments, or has a default that is no number and no text: write a function that "
                "calls it, and script that"
            )
        if each.kind is each.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        hint = "Tensor" if each.annotation is each.empty else str(each.annotation)
        known = set(hint.replace("|", " ").split()) <= _IN_ANNOTATIONS
        parts.append(f"{each.name}: {hint if known else 'Any'}{default}")
        given.append(f"{each.name}={each.name}" if each.kind is each.KEYWORD_ONLY else each.name)
    name = function.__name__
    text = f"def {name}({', '.join(parts)}):\n    return _function({', '.join(given)})\n"
    return functions_in(text, None, {"_function": function})[name]


class CompilationUnit:
    """Functions that are scripted from a text, as attributes."""

    def __init__(self, lang: str | None = None, _frames_up: int = 0) -> None:
        self._functions: dict[str, Any] = {}
        if lang is not None:
            self.define(lang, _frames_up=_frames_up + 1)

    def define(self, lang: str, rcb: Any = None, _frames_up: int = 0) -> None:
        """Script further functions; they may call those that are there."""
        found = functions_in(lang, sys._getframe(1 + _frames_up))
        for function in found.values():
            function.__globals__.update({name: each for name, each in self._functions.items() if name not in found})
        self._functions.update({name: script_function(function) for name, function in found.items()})

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["_functions"][name]
        except KeyError:
            raise AttributeError(f"'CompilationUnit' has no attribute '{name}'") from None

    def find_function(self, name: str) -> Any:
        """A function by its name, or None."""
        return self._functions.get(name)

    def get_functions(self) -> list[Any]:
        """All functions."""
        return list(self._functions.values())

"""The number and the names of the arguments of calls, checked when a program is scripted and not only when it runs."""

from __future__ import annotations

import functools
import inspect
from types import BuiltinFunctionType, FunctionType
from typing import Any

from ....core.declare import MISSING, Op
from ....core.entry import SPELLINGS

_ONE = frozenset((len, abs, ord, chr, any, all, hex, oct, bin))


class Form:
    """What a function takes: names by position, those that must be given, and whether there may be more."""

    __slots__ = ("keywords", "names", "needed", "open_keywords", "open_positions")

    def __init__(self, names: list[str], needed: set[str], keywords: set[str], open_positions: bool, open_keywords: bool) -> None:
        self.names = names
        self.needed = needed
        self.keywords = keywords
        self.open_positions = open_positions
        self.open_keywords = open_keywords

    def mistake(self, name: str, count: int, keywords: Any) -> str | None:
        """What is wrong with a call, in Python's words; None where nothing is."""
        if count > len(self.names) and not self.open_positions:
            plural = "" if len(self.names) == 1 else "s"
            says = f"Expected at most {len(self.names)} arguments but found {count} positional arguments"
            return f"{name}() takes {len(self.names)} positional argument{plural} but {count} were given. {says}"
        given = set(self.names[:count])
        for each in keywords:
            if each in given:
                return f"{name}() got multiple values for argument '{each}'"
            if each not in self.names and each not in self.keywords and not self.open_keywords:
                return f"{name}() got an unexpected keyword argument '{each}'. Unknown keyword argument '{each}'"
        spelled = {SPELLINGS.get(each, each) for each in keywords}
        missing = [
            each for each in self.names if each in self.needed and each not in given and each not in spelled and each not in keywords
        ]
        if missing and not self.open_positions:
            plural = "s" if len(missing) > 1 else ""
            shown = "self" if missing[0] == self.names[0] == "input" else missing[0]  # as schemas have it
            return f"{name}() missing {len(missing)} required positional argument{plural}: '{missing[0]}'. Argument {shown} not provided"
        return None


@functools.lru_cache(maxsize=4096)
def form_of(function: Any) -> Form | None:
    """What a function of the package, of Python or a method takes; None where that can't be told."""
    op = getattr(function, "op", None)
    if isinstance(op, Op):
        return of_op(op)
    if function in _ONE:
        return Form(["value"], {"value"}, set(), False, False)
    if not isinstance(function, (FunctionType, BuiltinFunctionType, type(str.join))):
        return None
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (ValueError, TypeError):  # written in C, without a signature
        return None
    positional = [each for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    return Form(
        [each.name for each in positional],
        {each.name for each in positional if each.default is each.empty},
        {each.name for each in parameters if each.kind is each.KEYWORD_ONLY},
        any(each.kind is each.VAR_POSITIONAL for each in parameters),
        any(each.kind is each.VAR_KEYWORD for each in parameters),
    )


def of_op(op: Op) -> Form:
    """What an op takes: its parameters, and other spellings of them."""
    names = [each.name for each in op.parameters if not each.keyword_only and not each.variadic]
    needed = {each.name for each in op.parameters if each.default is MISSING and not each.keyword_only and not each.variadic}
    more = {each.name for each in op.parameters} | {
        spelling for spelling, name in SPELLINGS.items() if name in {each.name for each in op.parameters}
    }
    if op.has_out:
        more.add("out")
    return Form(names, needed, more, op.more_dims or any(each.variadic for each in op.parameters), False)


def mistake(function: Any, count: int, keywords: Any) -> str | None:
    """What is wrong with the number or the names of the arguments of a call; None where nothing is, or that can't be told."""
    form = form_of(function)
    return None if form is None else form.mistake(getattr(function, "__name__", "the function"), count, keywords)

"""Texts under a capture: one that says a number which depends on the inputs may be printed or raised, and nothing can be decided by it."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from ...core.base import TensorBase
from ...core.errors import CaptureError
from ...core.state import state
from ...core.symbolic import is_symbolic, plain
from ...graph.control import CONTROL

OPERATORS = (operator.mul, operator.imul, operator.mod, operator.getitem)  # that take a text and a number
SAYING = ("print", "raise_error", "check")  # what a program may do with such a text


class UnknownText(str):
    """A text that is another one for other inputs."""

    __slots__ = ()


def plain_argument(value: Any) -> Any:
    """An argument by what it is in this run."""
    return slice(*map(plain, (value.start, value.stop, value.step))) if isinstance(value, slice) else plain(value)


def is_unknown(value: Any) -> bool:
    """Whether an argument is a number that depends on the inputs."""
    if isinstance(value, slice):
        return any(map(is_symbolic, (value.start, value.stop, value.step)))
    return is_symbolic(value) or (isinstance(value, TensorBase) and state.capture.is_traced(value))


def text_call(target: Any, args: tuple[Any, ...], kwargs: dict[str, Any], call: Callable[..., Any]) -> Any:
    """A call that makes such a text, or gets one; NotImplemented for any other call."""
    name = target if isinstance(target, str) else getattr(target, "__name__", "")
    if name in SAYING or target in CONTROL or hasattr(target, "_program"):
        return NotImplemented
    if not any(each.__class__ is UnknownText for each in args):
        texts = (
            target in (str, repr)
            or name == "formatted"
            or (any(each.__class__ is str for each in args) and (target in OPERATORS or isinstance(target, str)))
        )
        if not texts or not any(map(is_unknown, args)):
            return NotImplemented
    made = call(*map(plain_argument, args), **kwargs)
    if not isinstance(made, str):
        raise CaptureError(f"{name}() of a text that depends on the inputs can't be captured: decide by the number that it says")
    return UnknownText(made)

"""Annotations of functions and values: how a script treats them."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

from .type_checks import is_exactly
from .types import UnknownAnnotation, from_annotation

IGNORED, UNUSED, EXPORTED, METHOD = "ignored", "unused", "exported", "method"


def mark_of(function: Any) -> str | None:
    """How a function is marked, or None."""
    if isinstance(function, (staticmethod, classmethod)):
        function = function.__func__
    return getattr(function, "_script_mark", None)


def _marked(function: Any, mark: str) -> Any:
    if isinstance(function, property):
        setattr(function.fget, "_script_mark", mark)  # noqa: B010
        return function
    if not callable(function):
        raise TypeError(f"this marks functions and methods, not {type(function).__name__}")
    function._script_mark = mark
    return function


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """Leave a function or method to Python: a script calls it, and can't be exported or saved then.

    With ``drop=True`` a call raises, as with :func:`unused`.
    """
    if callable(drop):
        return _marked(drop, IGNORED)
    if kwargs.pop("drop_on_export", None) is not None:
        warnings.warn(
            "ignore(drop_on_export=True) has been deprecated. TorchScript will now drop the function call on compilation. Use torch.jit.unused now.",
            FutureWarning,
            stacklevel=2,
        )
        drop = True
    return lambda function: _marked(function, UNUSED if drop else IGNORED)


def unused(function: Any) -> Any:
    """Say that a function is never called by scripts: a call of it raises an error when the program runs."""
    return _marked(function, UNUSED)


def export(function: Any) -> Any:
    """Script a method although ``forward`` does not call it."""
    return _marked(function, EXPORTED)


def script_method(function: Any) -> Any:
    """Script a method of a :class:`ScriptModule`."""
    return _marked(function, METHOD)


def annotate(the_type: Any, the_value: Any) -> Any:
    """A value of a type, which a script can't see by itself: ``annotate(List[int], [])``."""
    return the_value


class Attribute(NamedTuple):
    """An attribute of a Module with its type, where its value does not say it: ``self.names = jit.Attribute([], List[str])``."""

    value: Any
    type: Any


def is_scripting() -> bool:
    """Whether this runs as a script: False in Python, and True in what is made of the same line by ``jit.script``."""
    return False


def _unwrap_optional(x: Any) -> Any:
    """A value that is not None."""
    if x is None:
        raise AssertionError("Unwrapping null optional")
    return x


def check_empty_containers(obj: Any) -> None:
    """Warn that an empty container is of every type."""
    if isinstance(obj, (list, dict, tuple)) and not obj:
        warnings.warn(
            "The inner type of a container is lost when calling torch.jit.isinstance in eager mode. For example, List[int] would become list and "
            "therefore falsely return True for List[float] or List[str].",
            stacklevel=3,
        )


def is_instance(obj: Any, target_type: Any) -> bool:
    """Whether a value is of a type with brackets: ``jit.isinstance(x, List[int])``; scripts know the value's type after it."""
    if isinstance(target_type, (list, set, dict)):
        raise RuntimeError("The second argument to `torch.jit.isinstance` must be a type or a tuple of types")
    check_empty_containers(obj)
    kinds = target_type if isinstance(target_type, tuple) else (target_type,)
    try:
        return any(is_exactly(obj, from_annotation(each)) for each in kinds)
    except UnknownAnnotation as error:
        raise RuntimeError(str(error)) from None

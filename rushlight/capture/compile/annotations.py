"""Annotations: how captures treat functions and sizes, as users mark them."""

from __future__ import annotations

import contextlib
import threading
import weakref
from types import MethodType
from typing import Any

marks: dict[
    int, str
] = {}  # of functions, by id: "disable", "allow", "break", "constant", "compiling", "compiled", "nothing", "control", "recorded"
substitutes: dict[int, tuple[Any, Any]] = {}  # of functions marked "substitute", by id: the function, and what is captured in its place
_references: dict[int, Any] = {}  # weak, so that a mark goes when its function does


class _BreakErrors(threading.local):
    """Whether a graph break is an error, in each thread."""

    on = False


break_errors = _BreakErrors()


def set_break_errors(on: bool) -> None:
    """Say whether graph breaks are errors from now on."""
    break_errors.on = on


class error_on_graph_break(contextlib.ContextDecorator):
    """A context in which a graph break is an error, or, with False, is none; ``fullgraph=True`` makes an error of all.  Also a decorator."""

    def __init__(self, error: bool) -> None:
        if not isinstance(error, bool):
            raise TypeError(f"error_on_graph_break takes True or False, and not a {type(error).__name__}")
        self.error = error
        self.before = False

    def __enter__(self) -> None:
        self.before = break_errors.on
        set_break_errors(self.error)

    def __exit__(self, *exception: object) -> None:
        set_break_errors(self.before)


def mark(function: Any, kind: str) -> None:
    """Say how captures treat calls of a function: ``disable``, ``allow`` (an opaque node of the graph), ``break``, ..."""
    if isinstance(function, MethodType):
        function = function.__func__
    key = id(function)

    def forget(_: Any) -> None:
        marks.pop(key, None)
        _references.pop(key, None)

    marks[key] = kind
    try:
        _references[key] = weakref.ref(function, forget)
    except TypeError:  # a builtin: it stays
        _references[key] = function


def _dimensions(tensor: Any, index: Any) -> list[int]:
    found = list(range(tensor.ndim)) if index is None else list(index) if isinstance(index, (list, tuple)) else [index]
    for each in found:
        if not -tensor.ndim <= each < tensor.ndim:
            raise IndexError(f"dimension {each} of a tensor with {tensor.ndim} dimensions")
    return [each % tensor.ndim for each in found]


def _put(tensor: Any, name: str, index: Any) -> None:
    known = tensor.__dict__.setdefault(name, set())
    known.update(_dimensions(tensor, index))


def mark_dynamic(
    t: Any, index: Any, *, hint_override: int | None = None, min: int | None = None, max: int | None = None, specialize_on: Any = None
) -> None:
    """A size of a tensor may differ from call to call: it is symbolic from the first capture on.  A program that fixes it is an error."""
    _put(t, "_dynamo_dynamic_indices", index)


def maybe_mark_dynamic(t: Any, index: Any) -> None:
    """The same, but the program may fix the size."""
    _put(t, "_dynamo_weak_dynamic_indices", index)


def mark_static(t: Any, index: Any = None) -> None:
    """A size of a tensor (or all of them) is never symbolic: each gets a capture of its own."""
    _put(t, "_dynamo_static_indices", index)


def mark_static_address(t: Any, guard: bool = False) -> None:
    """A tensor stays where it is: nothing follows from that here."""

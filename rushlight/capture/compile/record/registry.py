"""Capture handlers: how a capture treats calls of particular functions, registered by the functions themselves.

The recorder asks this table before it inlines or calls a function; the handlers (``../handlers/``) fill it when they are imported.  A handler is
given the recorder and the arguments of the call, and returns its result; NotImplemented where the call is treated like any other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Handler = TypeVar("Handler", bound=Callable[..., Any])

_handlers: dict[
    int, tuple[Any, Callable[..., Any]]
] = {}  # by id, since not everything that is called can be hashed: the function, its handler
# Handlers of functions that carry an attribute (wrappers, which are closures made at run time), or whose class does, and of functions with a mark of
# ``annotations.py``.  They are given the recorder, the function, and its arguments as a sequence and a mapping.
flagged: dict[str, Callable[..., Any]] = {}
marked: dict[str, Callable[..., Any]] = {}
_deferrable: set[int] = set()
deferrable_methods: dict[type, tuple[str, ...]] = {}  # methods that may be called while ops are deferred, by the exact class of their owner


def handles(*functions: Any, deferrable: bool = False) -> Callable[[Handler], Handler]:
    """Register the handler of functions; ``deferrable`` says that it copes with tensors whose data is computed later."""

    def register(handler: Handler) -> Handler:
        for function in functions:
            if id(function) in _handlers:
                raise ValueError(f"{function} has two capture handlers")
            _handlers[id(function)] = function, handler
        if deferrable:
            _deferrable.update(map(id, functions))
        return handler

    return register


def handler_of(function: Any) -> Callable[..., Any] | None:
    """The handler of a function, if it has one."""
    found = _handlers.get(id(function))
    return None if found is None else found[1]


def is_deferrable(function: Any) -> bool:
    """Whether the handler of a function copes with deferred values."""
    return id(function) in _deferrable

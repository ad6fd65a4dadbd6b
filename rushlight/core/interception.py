"""Interception of calls: by function modes and ``__torch_function__``, by captures and transforms, by the profiler, and by dispatch modes.

The dispatcher asks (:func:`intercept`) while ``flags.special`` is not 0, and (:func:`offer`) where an argument turns out to be no tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import Any

from .declare import MISSING, Op
from .overrides import DISABLED, ENABLED, ask, keywords_of_call, modes_are_on, overloaded
from .state import flags, state

SPELLINGS = {"axis": "dim", "keepdims": "keepdim"}  # NumPy's names of parameters
OTHER_SPELLING = {name: spelling for spelling, name in SPELLINGS.items()}


def intercept(op: Op, args: tuple[Any, ...], out: Any) -> Any:
    """Offer a call to function modes and subclasses with ``__torch_function__``, then to captures and the like, innermost first.

    One that returns NotImplemented leaves the call to the next; while one handles the call, it and those inside it are off.
    """
    profiler = state.profiler
    if profiler is not None and profiler.passing:  # the call that it is recording
        profiler.passing = False
        return offer_below(op, args, out)
    if (flags.overrides or state.function_modes) and state.overrides != DISABLED:
        handled = offer(op, args, out)
        if handled is not NotImplemented:
            return handled
    stack = state.interceptors
    if stack:
        asked: list[Any] = []
        try:
            while stack:
                asked.append(stack.pop())
                handled = asked[-1](op, args, out)
                if handled is not NotImplemented:
                    return handled
        finally:
            stack.extend(reversed(asked))
    return offer_below(op, args, out) if profiler is None else profiler.record(op, args, out)


_below: Callable[[Op, tuple[Any, ...], Any], Any] | None = None


def set_below(function: Callable[[Op, tuple[Any, ...], Any], Any]) -> None:
    """Called by :mod:`rushlight.ops.python_dispatch`, which asks dispatch modes and subclasses with ``__torch_dispatch__``."""
    global _below
    _below = function


def offer_below(op: Op, args: tuple[Any, ...], out: Any) -> Any:
    """Offer a call to dispatch modes and to subclasses with ``__torch_dispatch__``, below everything else."""
    if _below is None or not (state.dispatch_modes or flags.overrides):
        return NotImplemented
    return _below(op, args, out)


def offer(op: Op, args: tuple[Any, ...], out: Any) -> Any:
    """Offer a call to function modes and to arguments with ``__torch_function__``; NotImplemented where there are none."""
    found = []
    if state.overrides == ENABLED:
        found = overloaded((*args, out))
        for position, wanted in op.tensor_positions if op.parameters and op.parameters[-1].variadic else ():
            if wanted == "tensor" and op.parameters[position].variadic and len(args[position]) == 1:
                found = found or overloaded(args[position])
    if not found and not modes_are_on():
        return NotImplemented
    positional, keywords = spread(op, args, keywords_of_call())
    if out is not None:
        keywords["out"] = out
    return ask(op.call, f"torch.{op.qualified_name}", found, positional, keywords)


def spread(op: Op, args: tuple[Any, ...], named: Set[str] = frozenset()) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Complete arguments in the form a user writes: without defaults, keyword-only ones and those in ``named`` by name."""
    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    for position, (parameter, value) in enumerate(zip(op.parameters, args)):
        name = parameter.name
        if name in named or OTHER_SPELLING.get(name) in named:
            keywords[name] = value
        elif parameter.variadic:
            positional.extend(value)
        elif parameter.keyword_only or len(positional) < position:
            if value is not parameter.default:
                keywords[name] = value
        elif value is not parameter.default or parameter.default is MISSING:
            positional.append(value)
    return tuple(positional), keywords

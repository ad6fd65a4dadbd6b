"""Access to compiled kernels for large arrays, provided by a room that comes after ``ops``.

A kernel that may have a compiled form calls ``faster``.  The provider is imported by name when the first large array asks, and only where
the packages that it needs are installed.
"""

from __future__ import annotations

import importlib
import importlib.util
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

_NEEDED = "llvmlite"
_PROVIDER = "rushlight.backends.native.eager.ops"
_LOOPS = "rushlight.backends.native.eager.pointwise"
_ROWS = "rushlight.backends.native.eager.rows"
_CHANCE = "rushlight.backends.native.eager.bernoulli"
_ORDER = "rushlight.backends.native.eager.permutation"
_MANY = 1 << 14  # elements from which on loading the provider pays
_once = threading.local()
_found: dict[str, Callable[..., Any] | None] = {}


def faster(name: str, *args: Any) -> Any:
    """An op's result by a compiled kernel, or None: then the caller's own kernel computes it."""
    provider = None if runs_once() or not _on_host(args) else _provider(_PROVIDER)
    return None if provider is None else provider(name, args)


def _on_host(args: tuple[Any, ...]) -> bool:
    """Whether all arrays among the arguments are NumPy's: compiled kernels of the CPU can read no others."""
    return all(each.__class__ is np.ndarray or not hasattr(each, "strides") for each in args)


def runs_once() -> bool:
    """Whether the current code runs only once, so that compiling kernels for it would not pay."""
    return bool(getattr(_once, "depth", 0))


@contextmanager
def once() -> Iterator[None]:
    """A context for code that runs only once, during a capture: nothing is compiled for it."""
    _once.depth = getattr(_once, "depth", 0) + 1
    try:
        yield
    finally:
        _once.depth -= 1


def backward_once(nodes: Iterable[Any], since: int) -> None:
    """Mark the ancestors of autograd nodes recorded since a sequence number: their backwards run ``once``, too."""
    waiting, seen = [each for each in nodes if each is not None], set()
    while waiting:
        node = waiting.pop()
        if getattr(node, "sequence", since) >= since or node in seen:  # a leaf has no such number
            continue
        seen.add(node)
        node.__dict__["backward"] = _backward_once(weakref.ref(node))  # a node that holds itself would not be freed at once
        waiting += [each[0] if isinstance(each, tuple) else each for each in node.inputs if each is not None]


def _backward_once(reference: Any) -> Callable[[Any], Any]:
    def backward(gradient: Any) -> Any:
        node = reference()
        with once():
            return type(node).backward(node, gradient)

    return backward


def faster_loop(op: Any, arguments: list[Any], positions: list[int], compute: Any, dtype: Any) -> Any:
    """The result of a pointwise op on large arrays by a compiled loop, or None."""
    provider = _provider(_LOOPS)
    return None if provider is None else provider(op, arguments, positions, compute, dtype)


def faster_rows(name: str, rows: Any) -> Any:
    """A function of the rows of a large matrix, by its name (``sum``, ``maximum``, ``softmax``, …), or None."""
    provider = _provider(_ROWS) if _on_host((rows,)) else None
    return None if provider is None else provider(name, rows)


def faster_choices(twister: Any, count: int, dtype: Any, p: float) -> Any:
    """Bernoulli samples from the next words of NumPy's Mersenne Twister, or None: then no word has been drawn."""
    provider = _provider(_CHANCE) if count >= _MANY or _CHANCE in _found else None
    return None if provider is None else provider(twister, count, dtype, p)


def exchanged(order: Any, others: Any) -> bool:
    """Exchange ``order[i]`` with ``order[others[i]]``, one after the other, in place; False: then nothing was done."""
    provider = _provider(_ORDER) if len(others) >= _MANY or _ORDER in _found else None
    return provider is not None and bool(provider(order, others))


def _provider(module: str) -> Callable[..., Any] | None:
    """The entry point of a provider, or None where the packages it needs are not installed."""
    if module not in _found:
        _found[module] = importlib.import_module(module).run if importlib.util.find_spec(_NEEDED) is not None else None
    return _found[module]


def switch_off() -> None:
    """Use the plain kernels from now on (for comparisons)."""
    _found.update(dict.fromkeys((_PROVIDER, _LOOPS, _ROWS, _CHANCE, _ORDER)))


def switch_on() -> None:
    """Use compiled kernels again."""
    _found.clear()

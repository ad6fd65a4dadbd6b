"""Faster kernels for large arrays, from a part of the package that ``ops`` does not know.

A kernel that may have one asks ``faster``.  What has such kernels is loaded when the first large array asks for one, and only where the
packages that it needs are installed.
"""

from __future__ import annotations

import importlib
import importlib.util
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_NEEDED = "llvmlite"
_PROVIDER = "rushlight.backends.native.eager"
_LOOPS = "rushlight.backends.native.elementwise"
_ROWS = "rushlight.backends.native.rows"
_once = threading.local()
_found: dict[str, Callable[..., Any] | None] = {}


def faster(name: str, *args: Any) -> Any:
    """The result of an op's arguments by a faster kernel, or None: then the caller's own kernel does it."""
    provider = None if getattr(_once, "depth", 0) else _provider(_PROVIDER)
    return None if provider is None else provider(name, args)


@contextmanager
def once() -> Iterator[None]:
    """What runs here runs once, for a capture: nothing is compiled for its shapes."""
    _once.depth = getattr(_once, "depth", 0) + 1
    try:
        yield
    finally:
        _once.depth -= 1


def faster_loop(op: Any, arguments: list[Any], positions: list[int], compute: Any, dtype: Any) -> Any:
    """The result of a pointwise op on large arrays by a loop of its own, or None."""
    provider = _provider(_LOOPS)
    return None if provider is None else provider(op, arguments, positions, compute, dtype)


def faster_rows(name: str, rows: Any) -> Any:
    """What is known by a name (``sum``, ``maximum``, ``softmax``, …) of the rows of a large matrix, or None."""
    provider = _provider(_ROWS)
    return None if provider is None else provider(name, rows)


def _provider(module: str) -> Callable[..., Any] | None:
    """What a part of the package has for this, if it can be loaded."""
    if module not in _found:
        _found[module] = importlib.import_module(module).run if importlib.util.find_spec(_NEEDED) is not None else None
    return _found[module]


def switch_off() -> None:
    """Use the plain kernels from now on (for comparisons)."""
    _found.update(dict.fromkeys((_PROVIDER, _LOOPS, _ROWS)))


def switch_on() -> None:
    """Look for faster kernels anew."""
    _found.clear()

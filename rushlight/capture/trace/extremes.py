"""``max`` and ``min`` of Python, of sizes, while a program is captured by running it: a formula, and not the one that is larger in this run."""

from __future__ import annotations

import builtins
import functools
import sys
import threading
from collections.abc import Callable
from typing import Any

from ...core.process_safety import free_after_fork
from ...core.state import state
from ...core.symbolic import SymbolicInt, larger, smaller
from ..tracer.tracer import BUILTINS, PACKAGE_FOLDER


class _OfSizes:
    """A builtin that gives a formula where the program's own code asks it for one of several sizes; in tables of functions it is the builtin."""

    def __init__(self, original: Callable[..., Any], chosen: Callable[[int, int], int]) -> None:
        self.original, self.chosen = original, chosen
        functools.update_wrapper(self, original)

    def __call__(self, *values: Any, **options: Any) -> Any:
        if state.capture is None or options or not values or sys._getframe(1).f_code.co_filename.startswith(PACKAGE_FOLDER):
            return self.original(*values, **options)
        items: Any = values
        if len(values) == 1:
            if not isinstance(values[0], (tuple, list)) and not hasattr(values[0], "__next__"):
                return self.original(values[0])
            items = tuple(values[0])
        if any(isinstance(each, SymbolicInt) for each in items) and all(isinstance(each, int) for each in items):
            return functools.reduce(self.chosen, items)
        return self.original(items if len(values) == 1 else values)

    def __eq__(self, other: object) -> bool:
        return other is self or other is self.original

    def __hash__(self) -> int:
        return hash(self.original)

    def __reduce__(self) -> Any:
        return getattr, (builtins, self.original.__name__)


BUILTINS.add(_OfSizes.__call__.__code__)


class Extremes:
    """Puts them in the places of the builtins, for all threads (in those that capture nothing they are the builtins), until the last capture is over."""

    lock = free_after_fork(threading.Lock())
    depth = 0
    originals = builtins.max, builtins.min
    replaced: Any = (_OfSizes(builtins.max, larger), _OfSizes(builtins.min, smaller))

    def __enter__(self) -> None:
        with self.lock:
            Extremes.depth += 1
            if Extremes.depth == 1:
                builtins.max, builtins.min = self.replaced

    def __exit__(self, *exception: Any) -> None:
        with self.lock:
            Extremes.depth -= 1
            if not Extremes.depth:
                builtins.max, builtins.min = self.originals

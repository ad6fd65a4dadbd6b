"""Numbers that may be symbolic while a program is captured, and functions that work on them and on plain numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .core.missing import absent
from .core.symbolic.integers import SymbolicFloat as SymFloat
from .core.symbolic.integers import SymbolicInt as SymInt
from .core.symbolic.integers import larger, smaller, sqrt

__all__ = ["SymBool", "SymFloat", "SymInt", "sym_constrain_range", "sym_constrain_range_for_size", "sym_float", "sym_fresh_size", "sym_int", "sym_ite",
           "sym_max", "sym_min", "sym_not", "sym_sqrt", "sym_sum"]  # fmt: skip

SymBool = absent("SymBool", "rushlight", "a comparison of symbolic sizes is a plain bool here, which the captured graph is guarded by")


def sym_int(a: Any) -> Any:
    """A number as an integer, rounded towards zero."""
    return a if isinstance(a, int) else math.trunc(a)


def sym_float(a: Any) -> Any:
    """A number as a floating-point number; of a symbolic size one that follows it."""
    return a if isinstance(a, float) else a / 1 if isinstance(a, SymInt) else float(a)


def sym_max(a: Any, b: Any) -> Any:
    """The larger number; a float if one of them is."""
    if isinstance(a, float) or isinstance(b, float):
        return sym_float(a if a >= b else b)
    return larger(a, b)


def sym_min(a: Any, b: Any) -> Any:
    """The smaller number; a float if one of them is."""
    if isinstance(a, float) or isinstance(b, float):
        return sym_float(a if a <= b else b)
    return smaller(a, b)


def sym_not(a: Any) -> bool:
    """Whether something does not hold."""
    return not a


def sym_ite(b: Any, t: Any, f: Any) -> Any:
    """One of two values."""
    return t if b else f


def sym_sqrt(a: Any) -> Any:
    """The square root."""
    return sqrt(a)


def sym_sum(args: Sequence[Any]) -> Any:
    """The sum of several numbers."""
    return sum(args[1:], args[0]) if args else 0


def sym_constrain_range(size: Any, *, min: int | None = None, max: int | None = None) -> None:
    """Check that a number is within bounds."""
    if (min is not None and size < min) or (max is not None and size > max):
        raise RuntimeError(f"Invalid value range for {size} between [{min}, {max}].")


def sym_constrain_range_for_size(size: Any, *, min: int | None = None, max: int | None = None) -> None:
    """Check that a size is within bounds."""
    sym_constrain_range(size, min=0 if min is None else min, max=max)


def sym_fresh_size(expr: Any) -> Any:
    """A number as a size of its own: numbers are their own here."""
    return expr

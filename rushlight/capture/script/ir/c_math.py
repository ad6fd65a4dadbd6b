"""Functions of ``math`` and operators on numbers as scripts have them, those of C: nan and inf where Python's raise, and integers of 64 bits."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from ...control.python_functions import power
from ..frontend.types import FLOAT, INT, Type

LEAST, MOST = -(2**63), 2**63 - 1


def _gamma(value: Any) -> float:
    """Where ``math.gamma`` raises: inf at zero, and for what is too large; nan at the other poles."""
    return math.copysign(math.inf, value) if not value else math.inf if value > 0 else math.nan


_ELSE: dict[Callable[..., Any], Callable[..., Any]] = {  # what gives the value where a function of math has none
    math.sqrt: np.sqrt, math.log: np.log, math.log2: np.log2, math.log10: np.log10, math.log1p: np.log1p, math.exp: np.exp, math.expm1: np.expm1,
    math.sin: np.sin, math.cos: np.cos, math.tan: np.tan, math.asin: np.arcsin, math.acos: np.arccos, math.sinh: np.sinh, math.cosh: np.cosh,
    math.acosh: np.arccosh, math.atanh: np.arctanh, math.fmod: np.fmod, math.ldexp: np.ldexp,
    math.gamma: _gamma, math.lgamma: lambda value: math.inf, math.remainder: lambda value, other: math.nan,
}  # fmt: skip


def _total(function: Callable[..., Any], otherwise: Callable[..., Any]) -> Callable[..., Any]:
    def run(*values: Any) -> Any:
        try:
            return function(*values)
        except (ValueError, OverflowError):
            if function is math.log and len(values) > 1:
                return run(values[0]) / run(values[1])
            with np.errstate(all="ignore"):
                return float(otherwise(*values))

    return run


FUNCTIONS = {math.pow: power, **{function: _total(function, otherwise) for function, otherwise in _ELSE.items()}}
MODULE = SimpleNamespace(**vars(math))
vars(MODULE).update({function.__name__: run for function, run in FUNCTIONS.items()})


def wrapped(value: int) -> int:
    """What of an integer 64 bits hold."""
    return (value - LEAST) % 2**64 + LEAST


def _whole(*values: Any) -> int:
    """``int(...)``: of a float that is too large, or nan, the least integer."""
    (value,) = values if len(values) == 1 else (None,)
    return LEAST if value.__class__ is float and not LEAST <= value <= MOST else int(*values)


def _of_c(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], float]:
    """A division of floats, whose divisor may be 0."""

    def run(a: Any, b: Any) -> Any:
        try:
            return function(a, b)
        except ZeroDivisionError:
            with np.errstate(all="ignore"):
                return float(np.fmod(a, 0.0) if function is operator.mod else np.float64(a) / np.float64(b))

    return run


def _of_64_bits(function: Callable[..., int]) -> Callable[..., int]:
    return lambda *values: wrapped(function(*values))


_DIVISIONS: dict[Any, Any] = {function: _of_c(function) for function in (operator.truediv, operator.floordiv, operator.mod)}
_OF_INTS: dict[Any, Any] = {
    function: _of_64_bits(function) for function in (operator.add, operator.sub, operator.mul, operator.lshift, operator.neg, abs)
}
_OF_INTS[int] = _whole


def of_numbers(function: Any, kind: Type | None) -> Any:
    """A function as C has it, where it is one on numbers that gives a type; else itself."""
    if kind is INT:
        return _OF_INTS.get(function, function)
    return (_DIVISIONS.get(function) if kind is FLOAT else None) or FUNCTIONS.get(function, function)


__all__ = ["FUNCTIONS", "LEAST", "MODULE", "MOST", "of_numbers", "wrapped"]

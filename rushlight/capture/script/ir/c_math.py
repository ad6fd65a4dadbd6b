"""The functions of ``math`` as scripts have them, those of C: nan and inf where Python's raise."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from ...control.python_functions import power


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

__all__ = ["FUNCTIONS", "MODULE"]

"""Symbolic integers: sizes that are known by a formula, for graphs that hold for more than one size.

    expression.py   :class:`Expression`, a formula of symbols: arithmetic, evaluation, substitution, printing
    bounds.py       interval bounds of formulas, and comparisons proven by them
    integers.py     :class:`SymbolicInt` and :class:`SymbolicFloat`, the numbers that a captured program computes with

Captures make the symbols, meta rules compute with them, guards and generated code evaluate the formulas.  Read ``expression.py`` first.
"""

from __future__ import annotations

from .bounds import COMPARISONS, Bounds, Intervals, is_never_negative
from .expression import OPERATIONS, Expression
from .integers import (
    SymbolicFloat,
    SymbolicInt,
    as_size,
    escape,
    float_symbol,
    is_symbolic,
    larger,
    plain,
    same_size,
    size_of,
    smaller,
    sqrt,
    unknown_size,
)

__all__ = [
    "COMPARISONS", "OPERATIONS", "Bounds", "Expression", "Intervals", "SymbolicFloat", "SymbolicInt", "as_size", "escape", "float_symbol",
    "is_never_negative", "is_symbolic", "larger", "plain", "same_size", "size_of", "smaller", "sqrt", "unknown_size",
]  # fmt: skip

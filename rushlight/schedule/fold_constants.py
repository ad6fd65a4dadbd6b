"""Numbers in the places where they are read: a tensor of one number, as the gradient of a loss is, needs no kernel to make it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from .fusion import substituted
from .scalar_ir import ScalarExpression, constant
from .tensor_ir import Computed, Pointwise

_FOLDED: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "neg": operator.neg,
}


def fold_constants(values: Iterable[Any]) -> None:
    """Replace operands that are numbers by those numbers, in the order of values."""
    known: dict[Any, ScalarExpression] = {}
    for value in values:
        if not isinstance(value, Computed):
            continue
        if any(each.value in known for each in value.inputs):
            value.define(substituted(value.expression, lambda operand: known.get(operand.data.value, operand)))
        if isinstance(value, Pointwise):
            folded_expression = folded(value.expression)
            if folded_expression.op == "constant" and folded_expression.dtype == value.dtype and value.dtype.kind == "f":
                known[value] = folded_expression
                value.define(folded_expression)


def folded(expression: ScalarExpression) -> ScalarExpression:
    """An expression of numbers alone as a number; others as they are."""
    args = [folded(each) for each in expression.args] if len(expression.args) <= 2 else []
    if not args or any(each.op != "constant" or each.dtype != expression.dtype for each in args) or expression.op not in _FOLDED:
        return expression
    kind = expression.dtype.type
    with np.errstate(all="ignore"):
        result = _FOLDED[expression.op](*[kind(each.data) for each in args])
    return constant(result.item(), expression.dtype) if np.isfinite(result) else expression


__all__ = ["fold_constants"]

"""Algebraic simplification of tensor IR: GELU by one exp, softmax without a common factor, and how sums are split."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .scalar_ir import EXPENSIVE, FLOAT32, ScalarExpression, constant
from .symbolic_shape import SymbolicNumber, may_reach, same
from .target import Target


def simplify(values: Iterable[Any], pointwise: set[Any], outputs: Iterable[Any]) -> None:
    """Rewrite GELU's ``x / 2 * (1 + tanh(y))`` as one quotient where nothing else uses its parts, and the exp of softmax.

    ``pointwise`` are the values whose expressions may be rewritten.
    """
    users: dict[Any, list[Any]] = {}
    for value in values:
        for each in value.inputs:
            users.setdefault(each.value, []).append(value)
    for each in outputs:
        users.setdefault(each.value, []).append(None)

    def sole_use(operand: ScalarExpression) -> ScalarExpression:
        """The expression that computes an operand, if the operand has no other user; else the operand."""
        source = operand.data.value
        whole = source in pointwise and len(users[source]) == 1 and operand.data.aligned() and same(operand.data.shape, source.shape)
        return source.expression if whole else operand  # type: ignore[no-any-return]

    for value in pointwise:
        if value.expression.op == "exp_nonpositive":
            drop_common_factor(value, users)
    for op, rewrite in (("add", tanh_and_one), ("mul", fold_one_plus_tanh)):
        for value in pointwise:
            if value.expression.op == op or value.expression.cost > EXPENSIVE:
                value.define(rewritten(value.expression, op, rewrite, sole_use))


def rewritten(
    expression: ScalarExpression,
    op: str,
    rewrite: Callable[..., ScalarExpression | None],
    sole_use: Callable[[ScalarExpression], ScalarExpression],
) -> ScalarExpression:
    """An expression in which a binary op is rewritten by ``rewrite``, given its arguments (or their expressions, where they have no other user)."""
    parents: Counter[int] = Counter()
    order: list[ScalarExpression] = []  # users before operands
    worklist = [expression]
    while worklist:
        each = worklist.pop()
        parents[id(each)] += 1
        if parents[id(each)] == 1:
            order.append(each)
            worklist.extend(each.args)

    def inside(each: ScalarExpression) -> ScalarExpression:
        return sole_use(each) if each.op == "operand" else each

    replacements: dict[int, ScalarExpression] = {}
    for each in order:
        if each.op == op and all(parents[id(arg)] <= 1 or not arg.args for arg in each.args):
            a, b = map(inside, each.args)
            rewritten_op = rewrite(a, b, inside) or rewrite(b, a, inside)
            if rewritten_op is not None:
                replacements[id(each)] = rewritten_op
    return replaced(expression, replacements) if replacements else expression


def tanh_and_one(
    one: ScalarExpression, other: ScalarExpression, inside: Callable[[ScalarExpression], ScalarExpression]
) -> ScalarExpression | None:
    """``1 + tanh(x)`` as ``2 / (1 + exp(-2 x))``, which keeps its digits where tanh is near -1; a constant factor of x moves into the exponent."""
    if not is_number(one, 1) or other.op != "tanh":
        return None
    x, times = other.args[0], -2.0
    product = inside(x)
    if product.op == "mul" and product.dtype == FLOAT32:
        for number, factor in (product.args, product.args[::-1]):
            if type(number.data) is float and 2.0**-8 < number.data < 2.0**8:  # its sixth power is part of a coefficient
                x, times = factor, -2 * number.data
    return ScalarExpression("div", (constant(2, other.dtype), ScalarExpression("one_plus_exp", (x,), other.dtype, times)), other.dtype)


def fold_one_plus_tanh(half: ScalarExpression, other: ScalarExpression, _: Any) -> ScalarExpression | None:
    """``x / 2 * (1 + tanh(y))`` as one quotient."""
    if half.op != "mul" or other.op != "div" or not is_number(other.args[0], 2) or other.args[1].op != "one_plus_exp":
        return None
    for number, x in (half.args, half.args[::-1]):
        if is_number(number, 0.5):
            return ScalarExpression("div", (x, other.args[1]), other.dtype)
    return None


def is_number(expression: ScalarExpression, value: float) -> bool:
    """Whether an expression is this constant."""
    return type(expression.data) is float and expression.data == value


def replaced(expression: ScalarExpression, replacements: dict[int, ScalarExpression]) -> ScalarExpression:
    """An expression with some subexpressions replaced, by id."""
    if id(expression) not in replacements:
        args = [replaced(each, replacements) for each in expression.args]
        replacements[id(expression)] = expression.with_args(args) if args else expression
    return replacements[id(expression)]


def exp_below_maximum(expression: ScalarExpression) -> ScalarExpression:
    """``exp(x - max(x))``, as in softmax, as ``decay``: the exp of numbers that are not positive, which can't overflow."""
    if expression.op != "exp" or expression.args[0].op != "operand":
        return expression
    difference = getattr(expression.args[0].data.value, "expression", None)
    if difference is None or difference.op != "sub" or any(each.op != "operand" for each in difference.args):
        return expression
    whole, largest = (each.data for each in difference.args)
    maximum = largest.value
    if getattr(maximum, "how", "") == "max" and maximum.expression.op == "operand":
        source = maximum.expression.data
        if source.value is whole.value and source.aligned() and whole.aligned() and largest.aligned():
            return ScalarExpression("exp_nonpositive", expression.args, expression.dtype)
    return expression


def drop_common_factor(value: Any, users: dict[Any, list[Any]]) -> None:
    """In softmax, whose exp is summed and divided by the sum, leave out a power of two that cancels."""
    sums = [each for each in users.get(value, ()) if getattr(each, "how", "") == "add" and each.expression.op == "operand"]
    others = [each for each in users.get(value, ()) if each not in sums]
    inverses = users.get(sums[0], ()) if len(sums) == 1 else ()
    if len(inverses) != 1 or not others or users.get(inverses[0]) != others or not is_inverse(inverses[0]):
        return
    if any(each is None or each.expression.op != "mul" or each.inputs[0].value is each.inputs[-1].value for each in others):
        return
    value.define(ScalarExpression("scaled_exp", value.expression.args, value.dtype))


def is_inverse(value: Any) -> bool:
    """Whether a value is ``1 / x``."""
    expression = getattr(value, "expression", None)
    return expression is not None and expression.op == "div" and is_number(expression.args[0], 1) and expression.args[1].op == "operand"


def is_column_sum(shape: tuple[int, ...], axes: Sequence[int], target: Target) -> bool:
    """Whether a sum is over many rows, so that it can be taken block by block, each block in the cache."""
    count = len(axes)
    rows, row = math.prod(shape[:count]), math.prod(shape[count:])
    return (
        tuple(sorted(axes)) == tuple(range(count))
        and may_reach(rows, target.column_rows)
        and (isinstance(row, SymbolicNumber) or 16 <= row <= target.cached_row)
    )


def axes_summed_first(shape: tuple[int, ...], axes: Sequence[int], target: Target) -> tuple[int, ...]:
    """The axes of the first of two sums that a sum is split into; none where it is not split.

    A sum over a batch and over pixels reads memory in order if it is taken image by image.  A sum of all elements is taken by
    rows, which run in parallel and fuse with other kernels of rows.
    """
    if len(axes) == len(shape):
        last = len(shape) - 1
        while last > 1 and math.prod(shape[last:]) < 16:
            last -= 1
        large = last > 0 and math.prod(shape[last:]) >= 16 and may_reach(math.prod(shape[:last]), 64)
        return tuple(range(last, len(shape))) if large else ()
    if len(shape) < 3 or 0 not in axes or len(axes) < 2 or not may_reach(shape[0], 8) or is_column_sum(shape, axes, target):
        return ()
    rest = tuple([axis for axis in sorted(axes) if axis])
    return rest if may_reach(math.prod([shape[axis] for axis in rest]), 32) else ()

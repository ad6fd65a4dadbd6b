"""What is computed in another way than it is written, and comes to the same."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .scalar_ir import EXPENSIVE, FLOAT32, Expression, constant
from .symbolic_shape import differs, may_reach, same

FEW_ROWS = 128  # that are added up at once
LONG_ROW = 1 << 14  # elements of a row that stays in the cache


def shorten(values: Iterable[Any], pointwise: set[Any], outputs: Iterable[Any]) -> None:
    """Have GELU's ``x / 2 * (1 + tanh(y))`` computed at once where nothing else needs its parts, and softmax.

    ``pointwise`` are those of the values that can be changed.
    """
    users: dict[Any, list[Any]] = {}
    for value in values:
        for each in value.inputs():
            users.setdefault(each.value, []).append(value)
    for each in outputs:
        users.setdefault(each.value, []).append(None)

    def alone(operand: Expression) -> Expression:
        """What an operand is computed by, if it is used nowhere else."""
        source = operand.data.value
        whole = source in pointwise and len(users[source]) == 1 and operand.data.aligned() and same(operand.data.shape, source.shape)
        return source.expression if whole else operand  # type: ignore[no-any-return]

    for value in pointwise:
        if value.expression.op == "decay":
            share(value, users)
    for op, exchange in (("add", tanh_and_one), ("mul", half_of_it)):
        for value in pointwise:
            if value.expression.op == op or value.expression.cost > EXPENSIVE:
                value.expression = exchanged(value.expression, op, exchange, alone)


def exchanged(
    expression: Expression, op: str, exchange: Callable[..., Expression | None], alone: Callable[[Expression], Expression]
) -> Expression:
    """An expression with an op computed otherwise: as ``exchange`` says, given the pairs of its arguments (or what makes them, if nothing else uses them)."""
    parents: Counter[int] = Counter()
    order: list[Expression] = []  # what is needed comes later
    waiting = [expression]
    while waiting:
        each = waiting.pop()
        parents[id(each)] += 1
        if parents[id(each)] == 1:
            order.append(each)
            waiting.extend(each.args)

    def inside(each: Expression) -> Expression:
        return alone(each) if each.op == "operand" else each

    found: dict[int, Expression] = {}
    for each in order:
        if each.op == op and all(parents[id(arg)] <= 1 or not arg.args for arg in each.args):
            a, b = map(inside, each.args)
            made = exchange(a, b, inside) or exchange(b, a, inside)
            if made is not None:
                found[id(each)] = made
    return replaced(expression, found) if found else expression


def tanh_and_one(one: Expression, other: Expression, inside: Callable[[Expression], Expression]) -> Expression | None:
    """``1 + tanh(x)`` by one exp, which is as exact where the tanh is next to -1; a factor of x is one of the exponent's."""
    if not is_number(one, 1) or other.op != "tanh":
        return None
    x, times = other.args[0], -2.0
    product = inside(x)
    if product.op == "mul" and product.dtype == FLOAT32:
        for number, factor in (product.args, product.args[::-1]):
            if type(number.data) is float and 2.0**-8 < number.data < 2.0**8:  # of whose sixth power a coefficient is a multiple
                x, times = factor, -2 * number.data
    return Expression("div", (constant(2, other.dtype), Expression("growth", (x,), other.dtype, times)), other.dtype)


def half_of_it(half: Expression, other: Expression, _: Any) -> Expression | None:
    """``x / 2 * (1 + tanh(y))`` as one quotient."""
    if half.op != "mul" or other.op != "div" or not is_number(other.args[0], 2) or other.args[1].op != "growth":
        return None
    for number, x in (half.args, half.args[::-1]):
        if is_number(number, 0.5):
            return Expression("div", (x, other.args[1]), other.dtype)
    return None


def is_number(expression: Expression, value: float) -> bool:
    """Whether an expression is a certain constant."""
    return type(expression.data) is float and expression.data == value


def replaced(expression: Expression, found: dict[int, Expression]) -> Expression:
    """An expression with some of its parts exchanged."""
    if id(expression) not in found:
        args = tuple([replaced(each, found) for each in expression.args])
        same = all(one is other for one, other in zip(args, expression.args))
        found[id(expression)] = expression if same else Expression(expression.op, args, expression.dtype, expression.data)
    return found[id(expression)]


def falling(expression: Expression) -> Expression:
    """exp of what is taken from its own maximum, as in softmax, by a function of numbers that are not positive."""
    if expression.op != "exp" or expression.args[0].op != "operand":
        return expression
    difference = getattr(expression.args[0].data.value, "expression", None)
    if difference is None or difference.op != "sub" or any(each.op != "operand" for each in difference.args):
        return expression
    whole, largest = (each.data for each in difference.args)
    fold = largest.value
    if getattr(fold, "how", "") == "max" and fold.expression.op == "operand":
        source = fold.expression.data
        if source.value is whole.value and source.aligned() and whole.aligned() and largest.aligned():
            return Expression("decay", expression.args, expression.dtype)
    return expression


def share(value: Any, users: dict[Any, list[Any]]) -> None:
    """In softmax, whose exp is used for the sum and to be divided by it, leave out a factor that both have."""
    sums = [each for each in users.get(value, ()) if getattr(each, "how", "") == "add" and each.expression.op == "operand"]
    others = [each for each in users.get(value, ()) if each not in sums]
    inverses = users.get(sums[0], ()) if len(sums) == 1 else ()
    if len(inverses) != 1 or not others or users.get(inverses[0]) != others or not is_inverse(inverses[0]):
        return
    if any(each is None or each.expression.op != "mul" or each.inputs()[0].value is each.inputs()[-1].value for each in others):
        return
    value.expression = Expression("raised_decay", value.expression.args, value.dtype)


def is_inverse(value: Any) -> bool:
    """Whether a value is one by another."""
    expression = getattr(value, "expression", None)
    return expression is not None and expression.op == "div" and is_number(expression.args[0], 1) and expression.args[1].op == "operand"


def sums_rows(shape: tuple[int, ...], axes: Sequence[int]) -> bool:
    """Whether a sum along some axes is one of many rows, which can be added up block by block, each block in the cache."""
    count = len(axes)
    rows, row = math.prod(shape[:count]), math.prod(shape[count:])
    return tuple(sorted(axes)) == tuple(range(count)) and may_reach(rows, FEW_ROWS) and (differs(row) or 16 <= row <= LONG_ROW)


def first_axes(shape: tuple[int, ...], axes: Sequence[int]) -> tuple[int, ...]:
    """The axes that a sum is taken along before it is taken along the others; none where it is taken at once.

    A sum over images (or sequences) and their places runs through memory in its order if taken image by image.  A sum of everything
    is taken by rows, which can be done side by side, and together with what else is done with a row.
    """
    if len(axes) == len(shape):
        last = len(shape) - 1
        while last > 1 and math.prod(shape[last:]) < 16:
            last -= 1
        large = last > 0 and math.prod(shape[last:]) >= 16 and may_reach(math.prod(shape[:last]), 64)
        return tuple(range(last, len(shape))) if large else ()
    if len(shape) < 3 or 0 not in axes or len(axes) < 2 or not may_reach(shape[0], 8) or sums_rows(shape, axes):
        return ()
    rest = tuple([axis for axis in sorted(axes) if axis])
    return rest if may_reach(math.prod([shape[axis] for axis in rest]), 32) else ()

"""What is computed in another way than it is written, and comes to the same."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .expressions import EXPENSIVE, Expression

FEW_ROWS = 128  # that are added up at once
LONG_ROW = 1 << 14  # elements of a row that stays in the cache


def shorten(values: Iterable[Any], pointwise: set[Any], outputs: Iterable[Any]) -> None:
    """Have ``1 + tanh(x)``, as in GELU, computed at once where nothing else needs the tanh.  ``pointwise`` are those of the values that can be changed."""
    uses = Counter(each.value for value in values for each in value.inputs())
    uses.update(each.value for each in outputs)

    def alone(operand: Expression) -> Expression:
        """An operand that is a tanh, used nowhere else."""
        source = operand.data.value
        whole = source in pointwise and uses[source] == 1 and operand.data.aligned() and operand.data.shape == source.shape
        return source.expression if whole and source.expression.op == "tanh" else operand  # type: ignore[no-any-return]

    for value in pointwise:
        if value.expression.op == "add" or value.expression.cost > EXPENSIVE:
            value.expression = with_tanh(value.expression, alone)


def with_tanh(expression: Expression, alone: Callable[[Expression], Expression]) -> Expression:
    """An expression with ``1 + tanh(x)`` as one function, where nothing else in it uses the tanh."""
    parents: Counter[int] = Counter()
    order: list[Expression] = []  # what is needed comes later
    waiting = [expression]
    while waiting:
        each = waiting.pop()
        parents[id(each)] += 1
        if parents[id(each)] == 1:
            order.append(each)
            waiting.extend(each.args)
    found: dict[int, Expression] = {}
    for each in order:
        if each.op == "add" and any(arg.op == "constant" and arg.data == 1 for arg in each.args):
            other = next((arg for arg in each.args if arg.op != "constant"), each)
            other = alone(other) if other.op == "operand" else other
            if other.op == "tanh" and parents[id(other)] <= 1:
                found[id(each)] = Expression("tanh_and_one", other.args, other.dtype)
    return replaced(expression, found) if found else expression


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


def sums_rows(shape: tuple[int, ...], axes: Sequence[int]) -> bool:
    """Whether a sum along some axes is one of many rows, which can be added up block by block, each block in the cache."""
    count = len(axes)
    return tuple(sorted(axes)) == tuple(range(count)) and math.prod(shape[:count]) >= FEW_ROWS and 16 <= math.prod(shape[count:]) <= LONG_ROW


def first_axes(shape: tuple[int, ...], axes: Sequence[int]) -> tuple[int, ...]:
    """The axes that a sum is taken along before it is taken along the others; none where it is taken at once.

    A sum over images (or sequences) and their places runs through memory in its order if taken image by image.  A sum of everything
    is taken by rows, which can be done side by side, and together with what else is done with a row.
    """
    if len(axes) == len(shape):
        last = len(shape) - 1
        while last > 1 and math.prod(shape[last:]) < 16:
            last -= 1
        large = last > 0 and math.prod(shape[last:]) >= 16 and math.prod(shape[:last]) >= 64
        return tuple(range(last, len(shape))) if large else ()
    if len(shape) < 3 or 0 not in axes or len(axes) < 2 or shape[0] < 8 or sums_rows(shape, axes):
        return ()
    rest = tuple([axis for axis in sorted(axes) if axis])
    return rest if math.prod([shape[axis] for axis in rest]) >= 32 else ()

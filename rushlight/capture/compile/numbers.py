"""Numbers of a program that may differ from call to call: sizes, and numbers that have changed since an earlier capture.

What is computed from them is symbolic too, as far as a formula can say it; where a plain number is needed, the value that was seen is
guarded.  A choice by them is guarded by its outcome.
"""

from __future__ import annotations

import math
import operator
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ...core.base import TensorBase
from ...core.sizes import SymbolicFloat, SymbolicInt, is_symbolic, plain
from .sources import Source

if TYPE_CHECKING:
    from .recorder import Observer

_FUNCTIONS = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "**": operator.pow, "//": operator.floordiv, "%": operator.mod,
    "&": operator.and_, "|": operator.or_, "^": operator.xor, "<<": operator.lshift, ">>": operator.rshift,
}  # fmt: skip
_SIGNS = {function: sign for sign, function in _FUNCTIONS.items()}
_WHOLE = frozenset("+ - * // %".split())  # of whole numbers: what formulas can say
_FRACTIONS = frozenset("+ - * / **".split())  # of fractions
# Parameters of ops on which no choice is made but by the op itself, whenever it runs; and those that say sizes, which shapes follow.
_FREE = frozenset("size shape start end length index alpha beta value fill_value repeats shifts".split())


class Leaf:
    """The function of a fraction that the program read: it gives the value that was seen."""

    def __init__(self, source: Source, value: float) -> None:
        self.source = source
        self.value = value
        self.__name__ = "number"

    def __call__(self) -> float:
        return self.value


def leaf_of(value: Any) -> Leaf | None:
    """Where a fraction was read; None where it was computed."""
    function = getattr(value, "function", None)
    return function if isinstance(function, Leaf) else None


def binary(recorder: Observer, op: str, a: Any, b: Any) -> Any:
    """Arithmetic on two numbers, one of them symbolic."""
    function = _FUNCTIONS[op]
    if isinstance(a, int) and isinstance(b, int):
        if op == "**" and isinstance(a, SymbolicInt) and type(b) is int and 0 <= b <= 8:
            return a**b
        if op in _WHOLE and not (op in ("//", "%") and may_be_negative(b)):
            return function(a, b)
        if op != "/":
            recorder.fix(a, b)
            return function(plain(a), plain(b))
    result = function(plain(a), plain(b)) if op in _FRACTIONS else None
    if isinstance(result, float):
        return SymbolicFloat(result, function, (a, b))
    recorder.fix(a, b)
    return function(plain(a), plain(b))


def may_be_negative(size: Any) -> bool:
    """Whether a divisor may be below zero, for which formulas do not hold."""
    return isinstance(size, SymbolicInt) and any(factor < 0 for factor in size.expression.terms.values())


def unary(recorder: Observer, op: str, a: Any) -> Any:
    """-a, +a, ~a of a symbolic number."""
    if op == "-":
        return -a
    if op == "+":
        return a
    recorder.fix(a)
    return ~plain(a)


def converted(kind: type, value: Any) -> Any:
    """int() and float() of a symbolic number, where that is symbolic again; else NotImplemented."""
    if kind is int and isinstance(value, SymbolicInt) or kind is float and isinstance(value, SymbolicFloat):
        return value
    if kind is float and isinstance(value, SymbolicInt):
        return SymbolicFloat(float(plain(value)), operator.truediv, (value, 1))
    return NotImplemented


def written(recorder: Observer, value: Any) -> tuple[str, set[str]] | None:
    """A number as the text of a guard, and the symbols in it; None where no text can say it."""
    if isinstance(value, SymbolicInt):
        return f"({value.expression})", value.expression.symbols()
    leaf = leaf_of(value)
    if leaf is not None:
        return recorder.guards.variable(leaf.source), set()
    if isinstance(value, SymbolicFloat):
        parts = [written(recorder, each) for each in value.arguments]
        sign = _SIGNS.get(value.function)
        if sign is None or None in parts:
            return None
        (first, some), (second, more) = parts  # type: ignore[misc]
        return f"({first} {sign} {second})", some | more
    if type(value) is float and not math.isfinite(value):
        return recorder.guards.names.of(value), set()
    return (repr(value), set()) if type(value) in (int, float, bool) else None


def symbolic_in(value: Any) -> list[Any]:
    """The symbolic numbers in a container, and in those that it holds."""
    found: list[Any] = []
    waiting, known = [value], {id(value)}
    while waiting:
        holder = waiting.pop()
        for each in (*holder, *holder.values()) if isinstance(holder, dict) else holder:
            if is_symbolic(each):
                found.append(each)
            elif isinstance(each, (list, tuple, dict, set, frozenset, deque)) and id(each) not in known:
                known.add(id(each))
                waiting.append(each)
    return found


def equal_sequences(recorder: Any, a: Any, b: Any) -> bool:
    """Whether two tuples, or two lists, with symbolic numbers in them are equal; only what decides it is guarded."""
    if len(a) != len(b):
        return False
    for first, second in zip(a, b):
        if isinstance(first, (tuple, list)) or isinstance(second, (tuple, list)):
            recorder.fix(first, second)
            if first != second:
                return False
        elif not recorder.compare("==", first, second):
            return False
    return True


def numbers_in(recorder: Observer, value: Any) -> Iterator[Any]:
    """The symbolic numbers in an argument that follow from numbers which the program read, and not from sizes alone."""
    if isinstance(value, SymbolicInt):
        if any(recorder.symbol_sources.get(name, (None, 0))[1] is None for name in value.expression.symbols()):
            yield value
    elif isinstance(value, SymbolicFloat):
        if leaf_of(value) is not None or any(True for each in value.arguments for _ in numbers_in(recorder, each)):
            yield value
    elif isinstance(value, (tuple, list)):
        for each in value:
            yield from numbers_in(recorder, each)
    elif isinstance(value, slice):
        yield from numbers_in(recorder, (value.start, value.stop, value.step))


def check_arguments(recorder: Observer, op: Any, args: tuple[Any, ...]) -> None:
    """Numbers that an op takes must be the same in later calls where the shape of its result, or which op it is, follows from them."""
    for parameter, value in zip(op.parameters, args):
        if parameter.kind.startswith("operand") or isinstance(value, TensorBase):
            continue
        for each in numbers_in(recorder, value):
            if parameter.name not in _FREE or (isinstance(each, SymbolicFloat) and op.factory and parameter.name != "fill_value"):
                recorder.fix(each)


def check_index(recorder: Any, shape: tuple[int, ...], key: Any) -> None:
    """Where a symbolic index or bound of a slice lies: the outcome is guarded, since negative ones and those beyond the end are others."""
    items = key if isinstance(key, tuple) else (key,)
    if not any(is_symbolic(each) or isinstance(each, slice) for each in items):
        return
    taken = sum(1 for each in items if each is not None and each is not Ellipsis and not isinstance(each, bool))
    dim = 0
    for item in items:
        if item is None or isinstance(item, bool):
            continue
        if item is Ellipsis:
            dim += len(shape) - taken
            continue
        if dim >= len(shape) or isinstance(item, TensorBase) and item._array.dtype.kind == "b":
            return  # it is refused, or a mask takes several dimensions
        if isinstance(item, slice):
            recorder.fix(item.step)
        for bound in (item.start, item.stop) if isinstance(item, slice) else (item,):
            if isinstance(bound, SymbolicInt):
                recorder.compare_sizes(">=", bound, 0)
                recorder.compare_sizes("<=" if isinstance(item, slice) else "<", bound, shape[dim])
        if isinstance(item, slice) and isinstance(item.start, SymbolicInt):
            recorder.compare_sizes("==", item.start, 0)
        dim += 1

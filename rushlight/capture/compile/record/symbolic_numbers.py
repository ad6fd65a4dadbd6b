"""Symbolic numbers of a program: sizes, and Python numbers that have changed since an earlier capture.

What is computed from them is symbolic too, as far as a formula can say it; where a plain number is needed, the value that was seen is
guarded.  A choice by them is guarded by its outcome.
"""

from __future__ import annotations

import math
import operator
from collections import deque
from collections.abc import Iterator
from typing import Any

from ....core.base import TensorBase
from ....core.declare import table
from ....core.symbolic import SymbolicFloat, SymbolicInt, is_symbolic, plain
from ..guards.guard import Computed, Kind
from ..guards.sources import Source

_FUNCTIONS = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "**": operator.pow, "//": operator.floordiv, "%": operator.mod,
    "&": operator.and_, "|": operator.or_, "^": operator.xor, "<<": operator.lshift, ">>": operator.rshift,
}  # fmt: skip
_SIGNS = {function: sign for sign, function in _FUNCTIONS.items()}
_WHOLE = frozenset("+ - * // %".split())  # of integers: what formulas can say
_FRACTIONS = frozenset("+ - * / **".split())  # of floats
# Parameters of ops on which no choice is made but by the op itself, whenever it runs; and those that say sizes, which shapes follow.
_SIZES = frozenset("size shape start end length repeats k".split())
_FREE = _SIZES | frozenset("index alpha beta value fill_value shifts diagonal".split())
# Functions of one number that give a float.
MATH = frozenset(
    (
        math.sqrt,
        math.exp,
        math.log,
        math.log2,
        math.log10,
        math.log1p,
        math.expm1,
        math.sin,
        math.cos,
        math.tan,
        math.tanh,
        math.atan,
        math.fabs,
        math.cbrt,
    )
)


class NumberInput:
    """The function of a float that the program read: it gives the value that was seen."""

    def __init__(self, source: Source, value: float) -> None:
        self.source = source
        self.value = value
        self.__name__ = "number"

    def __call__(self) -> float:
        return self.value


def number_input_of(value: Any) -> NumberInput | None:
    """Where a float was read; None where it was computed."""
    function = value.function if isinstance(value, SymbolicFloat) else None
    return function if isinstance(function, NumberInput) else None


def binary(recorder: Any, op: str, a: Any, b: Any) -> Any:
    """Arithmetic on two numbers, one of them symbolic."""
    function = _FUNCTIONS[op]
    a, b = [int(each) if type(each) is bool else each for each in (a, b)]  # a truth value would add without the formula
    if isinstance(a, int) and isinstance(b, int):
        if op == "**" and isinstance(a, SymbolicInt) and type(b) is int and 0 <= b <= 8:
            return a**b
        if op in _WHOLE and (op not in ("//", "%") or is_positive(recorder, b)):
            return function(a, b)
        if op != "/":
            recorder.specialize(a, b)
            return function(plain(a), plain(b))
    result = attempt(recorder, function, a, b) if op in _FRACTIONS else None
    if isinstance(result, float):
        return SymbolicFloat(result, function, (a, b))
    recorder.specialize(a, b)
    return function(plain(a), plain(b))


def is_positive(recorder: Any, size: Any) -> bool:
    """Whether a divisor is above zero, for which alone formulas hold."""
    if not isinstance(size, SymbolicInt) or not size.expression.symbols() <= set(recorder.symbol_sources):
        return bool(size > 0)
    return bool(recorder.compare_sizes(">", size, 0))


def unary(recorder: Any, op: str, a: Any) -> Any:
    """-a, +a, ~a of a symbolic number."""
    if op == "-":
        return -a
    if op == "+":
        return a
    recorder.specialize(a)
    return ~plain(a)


def absolute(recorder: Any, value: Any) -> Any:
    """abs() of a symbolic number; its sign is guarded."""
    return value if recorder.compare_sizes(">=", value, 0) else -value


def attempt(recorder: Any, function: Any, *values: Any) -> Any:
    """A function of the numbers that were seen; where it raises an error, that holds for these alone."""
    try:
        return function(*map(plain, values))
    except (ArithmeticError, ValueError):
        recorder.specialize(*values)
        raise


def computed(recorder: Any, function: Any, value: Any) -> Any:
    """A function of :data:`MATH` of a symbolic number."""
    return SymbolicFloat(attempt(recorder, function, value), function, (value,))


def converted(recorder: Any, kind: type, value: Any) -> Any:
    """int() and float() of a symbolic number, where that is symbolic again; else NotImplemented."""
    leaf = number_input_of(value)
    if kind is int and leaf is not None and math.isfinite(leaf.value):
        source = recorder.new_source.converted(leaf.source, "int")
        if source not in recorder.numbers:
            recorder.guards.add(Kind.FINITE, leaf.source)
            recorder.numbers[source] = recorder.symbol_of(source, int(leaf.value))
        return recorder.numbers[source]
    if kind is int and isinstance(value, SymbolicInt) or kind is float and isinstance(value, SymbolicFloat):
        return value
    if kind is float and isinstance(value, SymbolicInt):
        return SymbolicFloat(float(plain(value)), operator.truediv, (value, 1))
    return NotImplemented


def formula_of(value: Any) -> tuple[Any, set[str]] | None:
    """A number as an operand of a guarded relation (see ``guards/guard.py``), and the symbols in it; None where it has no formula."""
    if isinstance(value, SymbolicInt):
        return value.expression, value.expression.symbols()
    leaf = number_input_of(value)
    if leaf is not None:
        return leaf.source, set()
    if isinstance(value, SymbolicFloat):
        parts = [formula_of(each) for each in value.arguments]
        sign = _SIGNS.get(value.function)
        if sign is None and value.function not in MATH:
            return None
        known = [each for each in parts if each is not None]
        if len(known) < len(parts):
            return None
        return Computed(value.function, tuple(each for each, _ in known), sign), set().union(*(names for _, names in known))
    return (value, set()) if type(value) in (int, float, bool) else None


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
            recorder.specialize(first, second)
            if first != second:
                return False
        elif not recorder.compare("==", first, second):
            return False
    return True


def numbers_in(recorder: Any, value: Any) -> Iterator[Any]:
    """The symbolic numbers in an argument that follow from numbers which the program read, and not from sizes alone."""
    if isinstance(value, SymbolicInt):
        if any(recorder.symbol_sources.get(name, (None, 0))[1] is None for name in value.expression.symbols()):
            yield value
    elif isinstance(value, SymbolicFloat):
        if number_input_of(value) is not None or any(True for each in value.arguments for _ in numbers_in(recorder, each)):
            yield value
    elif isinstance(value, (tuple, list)):
        for each in value:
            yield from numbers_in(recorder, each)
    elif isinstance(value, slice):
        yield from numbers_in(recorder, (value.start, value.stop, value.step))


def checked_arguments(recorder: Any, op: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments of an op.  Numbers must be the same in later calls, and are plain then (NumPy computes with a number that is a subclass of ``float``
    in double precision), where the shape of its result, or which op it is, follows from them."""
    checked = list(args)
    for place, (parameter, value) in enumerate(zip(op.parameters, args)):
        if parameter.kind.startswith("operand") or isinstance(value, TensorBase):
            continue
        for each in numbers_in(recorder, value):
            if (parameter.name, parameter.annotation) == ("s", "Number"):
                continue  # an element, and no size
            if parameter.name not in _FREE or (isinstance(each, SymbolicFloat) and op.factory and parameter.name != "fill_value"):
                recorder.specialize(each)
                checked[place] = plain(checked[place])
            elif parameter.name in _SIZES and isinstance(each, SymbolicInt):
                recorder.compare_sizes(">=", each, 0)  # -1 means something else
    return tuple(checked)


def plain_arguments(recorder: Any, args: Any, kwargs: Any) -> tuple[Any, Any]:
    """Arguments of native code: it knows no formulas, so symbolic numbers must be the same in later calls, and become plain."""
    if not (recorder.tracer.symbols or recorder.numbers):
        return args, kwargs
    recorder.specialize(*args, *kwargs.values())
    return [*map(_without_formulas, args)], {name: _without_formulas(each) for name, each in kwargs.items()}


def _without_formulas(value: Any) -> Any:
    return type(value)(map(plain, value)) if type(value) in (list, tuple) and any(map(is_symbolic, value)) else plain(value)


def tensor_of(recorder: Any, function: Any, data: Any, options: Any) -> Any:
    """``tensor(data)`` of symbolic numbers; NotImplemented where something else is in the data."""
    if options.get("requires_grad") or not is_symbolic(data) and not (isinstance(data, (list, tuple)) and symbolic_in(data)):
        return NotImplemented
    bare = function(without_symbols(data), **options)

    def made(part: Any) -> Any:
        if isinstance(part, (list, tuple)):
            return table["stack"].call([made(each) for each in part])
        return table["scalar_tensor"].call(part, dtype=bare.dtype)

    return made(data) if bare.numel() and not _has_tensors(data) else NotImplemented


def without_symbols(data: Any) -> Any:
    """Nested lists with plain numbers."""
    return [without_symbols(each) for each in data] if isinstance(data, (list, tuple)) else plain(data)


def _has_tensors(data: Any) -> bool:
    return any(map(_has_tensors, data)) if isinstance(data, (list, tuple)) else not isinstance(data, (int, float))


def checked_index(recorder: Any, shape: tuple[int, ...], key: Any) -> Any:
    """An index, of which it is guarded in which range its symbolic numbers are: negative ones and those beyond the end are others."""
    if isinstance(key, SymbolicFloat):  # which is refused
        recorder.specialize(key)
        return plain(key)
    check_index(recorder, shape, key)
    return key


def check_index(recorder: Any, shape: tuple[int, ...], key: Any) -> None:
    """Guard the range of the symbolic numbers in an index."""
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
            recorder.specialize(item.step)
        for bound in (item.start, item.stop) if isinstance(item, slice) else (item,):
            if isinstance(bound, SymbolicInt):
                recorder.compare_sizes(">=", bound, 0)
                recorder.compare_sizes("<=" if isinstance(item, slice) else "<", bound, shape[dim])
        if isinstance(item, slice) and isinstance(item.start, SymbolicInt):
            recorder.compare_sizes("==", item.start, 0)
        dim += 1

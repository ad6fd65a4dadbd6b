"""What Python's own functions do under a capture, where numbers may be known by formulas or be values of tensors.

An integer that follows from sizes or tensors is a :class:`~rushlight.core.symbolic.SymbolicInt`; a bool or a float that
does is a tensor without dimensions.  Replayed graphs use these functions in place of Python's.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from ...core.base import TensorBase
from ...core.declare import lookup
from ...core.dtypes import BY_NAME
from ...core.state import state
from ...core.symbolic import Expression, SymbolicFloat, SymbolicInt, is_symbolic, size_of
from ...tensor.construct import tensor

INT64, FLOAT32, BOOL = BY_NAME["int64"], BY_NAME["float32"], BY_NAME["bool"]


class Maybe:
    """A tensor that is there on some paths through the program, and None on others; ``present`` says which."""

    __slots__ = ("present", "value")

    def __init__(self, present: Any, value: Any) -> None:
        self.present = present
        self.value = value


def unwrapped(values: Any) -> Any:
    """Arguments of a call: what may be None is used where the program has made sure that it is not."""
    return tuple([each.value if each.__class__ is Maybe else each for each in values])


def identity(positive: bool) -> Callable[[Any, Any], Any]:
    """``is`` (or ``is not``), also of what may be None."""

    def run(a: Any, b: Any) -> Any:
        maybe = a if a.__class__ is Maybe else b if b.__class__ is Maybe else None
        if maybe is None or (a is not None and b is not None):
            return (a is b) is positive
        return negation(maybe.present) if positive else maybe.present

    return run


def is_traced(value: Any) -> bool:
    """Whether a value is a tensor that depends on the inputs of the capture."""
    return isinstance(value, TensorBase) and state.capture is not None and state.capture.is_traced(value)


def as_tensor(value: Any) -> Any:
    """A number as a tensor without dimensions, of which the capture knows how it follows from sizes."""
    if isinstance(value, TensorBase):
        return value
    kind = BOOL if isinstance(value, bool) else INT64 if isinstance(value, int) else FLOAT32
    return lookup("scalar_tensor").call(value, dtype=kind)


def scalar(tensor: Any) -> Any:
    """A tensor of one element without its dimensions."""
    return lookup("reshape").call(tensor, ()) if tensor._array.ndim else tensor


def truth(value: Any = False) -> Any:
    """``bool(value)``."""
    if is_traced(value):
        value = scalar(value)
        return value if value._array.dtype.kind == "b" else lookup("ne").call(value, 0)
    if is_symbolic(value):
        return compare(operator.ne)(value, 0)
    return bool(value)


def whole(value: Any = 0, *more: Any) -> Any:
    """``int(value)``."""
    if is_traced(value):
        value = scalar(value)
        if value._array.dtype.kind not in "iu":
            value = lookup("cast").call(lookup("trunc").call(value) if value._array.dtype.kind == "f" else value, INT64)
        return state.capture.size_from(value)
    if isinstance(value, SymbolicInt):
        return value
    if isinstance(value, SymbolicFloat):
        return whole(lookup("trunc").call(as_tensor(value)))
    return int(value, *more)


def fraction(value: Any = 0.0) -> Any:
    """``float(value)``."""
    if is_traced(value):
        value = scalar(value)
        return value if value._array.dtype.kind == "f" else lookup("cast").call(value, FLOAT32)
    if isinstance(value, SymbolicInt):
        return value / 1
    return value if isinstance(value, SymbolicFloat) else float(value)


def item(tensor: Any) -> Any:
    """``tensor.item()``."""
    if not is_traced(tensor):
        return tensor.item()
    kind = tensor._array.dtype.kind
    return whole(tensor) if kind in "iu" else (truth(tensor) if kind == "b" else fraction(tensor))


def length(value: Any) -> Any:
    """``len(value)``."""
    if isinstance(value, TensorBase) and value._array.ndim:
        return value.size(0)
    sequence = state.capture.sequences.get(id(value))
    return len(value) if sequence is None else sequence.length()


def negation(value: Any) -> Any:
    """``not value``."""
    found = truth(value)
    return lookup("logical_not").call(found) if isinstance(found, TensorBase) else not found


def compare(function: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    """A comparison of numbers, a tensor where the answer is not the same for all sizes."""

    def run(a: Any, b: Any) -> Any:
        if not (is_symbolic(a) or is_symbolic(b)) or not all(isinstance(each, (int, float)) for each in (a, b)):
            return function(a, b)
        if isinstance(a, int) and isinstance(b, int):
            difference = (Expression.of(a) - Expression.of(b)).constant
            if difference is not None:
                return function(difference, 0)
            return function(as_tensor(a), as_tensor(b))
        return function(as_tensor(a) + 0.0, as_tensor(b) + 0.0)

    return run


def arithmetic(function: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    """An operator; a float on its left side would take a formula on the right for a plain number."""

    def run(a: Any, b: Any) -> Any:
        if type(a) is float and is_symbolic(b):
            plain = int.__int__(b) if isinstance(b, SymbolicInt) else float.__float__(b)
            return SymbolicFloat(function(a, plain), function, (a, b))
        return function(a, b)

    return run


def power(base: Any, exponent: Any) -> Any:
    """A power of numbers as scripts have it, that of C: a float, nan for a root of a negative number, and inf where Python's is too large."""
    if is_symbolic(base) or is_symbolic(exponent) or is_traced(base) or is_traced(exponent):
        return fraction(arithmetic(operator.pow)(base, exponent))
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return -math.inf if base < 0 and exponent % 2 == 1 else math.inf
    except ValueError:
        if not base:
            raise ZeroDivisionError("0.0 cannot be raised to a negative power") from None
        return math.nan


def extreme(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """``max`` or ``min`` of numbers."""

    def pair(a: Any, b: Any) -> Any:
        if not (is_symbolic(a) or is_symbolic(b)):
            if is_traced(a) or is_traced(b):
                return lookup("maximum" if name == "max" else "minimum").call(as_tensor(a), as_tensor(b))
            return function(a, b)
        if isinstance(a, int) and isinstance(b, int):
            first, second = Expression.of(a), Expression.of(b)
            if (first - second).constant is not None:
                return a if function((first - second).constant, 0) == (first - second).constant else b
            return size_of(function(int.__int__(a), int.__int__(b)), Expression({((name, first, second),): 1}))
        return lookup("maximum" if name == "max" else "minimum").call(as_tensor(a) + 0.0, as_tensor(b) + 0.0)

    def run(*values: Any, **options: Any) -> Any:
        if options:
            return function(*values, **options)
        items = list(values[0]) if len(values) == 1 and not isinstance(values[0], TensorBase) else list(values)
        if len(values) == 1 and isinstance(values[0], TensorBase):
            return function(values[0])
        found = items[0]
        for each in items[1:]:
            found = pair(found, each)
        return found

    return run


def absolute(value: Any) -> Any:
    """``abs(value)``."""
    return SUBSTITUTES[max](value, -value) if isinstance(value, SymbolicInt) else abs(value)


def constructed(data: Any, *, dtype: Any = None, **options: Any) -> Any:
    """``torch.tensor(data)``, also of numbers that are known by formulas."""
    leaves: list[Any] = []

    def build(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return lookup("stack").call([build(each) for each in value], 0)
        found = as_tensor(value)
        return found if whole_numbers or found._array.dtype.kind in "fc" else lookup("cast").call(found, FLOAT32)

    def gather(value: Any) -> None:
        if isinstance(value, (list, tuple)):
            for each in value:
                gather(each)
        else:
            leaves.append(value)

    gather(data)
    if not any(is_symbolic(each) or is_traced(each) for each in leaves) or isinstance(data, TensorBase):
        return tensor(data, dtype=dtype, **options)
    kinds = {("f" if isinstance(each, float) else "i") if not isinstance(each, TensorBase) else each._array.dtype.kind for each in leaves}
    whole_numbers = not kinds & {"f", "c"}
    made = build(data)
    if dtype is not None:
        made = lookup("cast").call(made, dtype)
    return made.requires_grad_() if options.get("requires_grad") else made


def of_tensors(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of ``math`` that takes values of tensors too."""

    def run(*values: Any) -> Any:
        if any(is_traced(each) or is_symbolic(each) for each in values):
            made = lookup(name).call(*map(as_fraction, values))
            return whole(made) if name in ("floor", "ceil", "trunc") else made
        return function(*values)

    return run


def as_fraction(value: Any) -> Any:
    """A number as a tensor of a float."""
    made = as_tensor(value)
    return made if made._array.dtype.kind == "f" else made + 0.0


def logarithm(value: Any, *base: Any) -> Any:
    """``math.log``."""
    if not any(is_traced(each) or is_symbolic(each) for each in (value, *base)):
        return math.log(value, *base)
    found = [lookup("log").call(as_fraction(each)) for each in (value, *base)]
    return found[0] / found[1] if base else found[0]


def rounded(value: Any, digits: Any = None) -> Any:
    """``round(value, digits)``."""
    if isinstance(value, int) and not is_traced(value) and digits is None:
        return value
    if not is_traced(value) and not is_symbolic(value):
        return round(value) if digits is None else round(value, digits)
    made = lookup("round").call(as_fraction(value), decimals=digits or 0)
    return whole(made) if digits is None else made


SUBSTITUTES: dict[Any, Callable[..., Any]] = {
    operator.is_: identity(True), operator.is_not: identity(False), bool: truth, abs: absolute, tensor: constructed, int: whole, float: fraction, len: length, operator.not_: negation, round: rounded, math.log: logarithm, max: extreme("max", max), min: extreme("min", min),
    **{function: compare(function) for function in (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)},
    **{
        function: arithmetic(function)
        for function in (operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.floordiv)
    },
    **{
        function: of_tensors(name, function)
        for name, function in (
            ("floor", math.floor), ("ceil", math.ceil), ("trunc", math.trunc), ("sqrt", math.sqrt), ("exp", math.exp), ("sin", math.sin),
            ("cos", math.cos), ("tan", math.tan), ("asin", math.asin), ("acos", math.acos), ("atan", math.atan), ("sinh", math.sinh), ("cosh", math.cosh),
            ("tanh", math.tanh), ("log2", math.log2), ("log10", math.log10), ("log1p", math.log1p), ("expm1", math.expm1), ("erf", math.erf), ("abs", math.fabs),
            ("isnan", math.isnan), ("isinf", math.isinf), ("isfinite", math.isfinite), ("pow", math.pow), ("atan2", math.atan2), ("hypot", math.hypot),
            ("fmod", math.fmod), ("copysign", math.copysign),
        )
    },
}  # fmt: skip


def unpack(value: Any, count: int) -> tuple[Any, ...]:
    """The items of a sequence of a known length: the right side of ``a, b = value``."""
    items = tuple(value)
    if len(items) < count:
        raise ValueError(f"not enough values to unpack (expected {count}, got {len(items)})")
    if len(items) > count:
        raise ValueError(f"too many values to unpack (expected {count})")
    return items

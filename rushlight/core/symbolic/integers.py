"""Numbers with formulas: :class:`SymbolicInt` and :class:`SymbolicFloat`.

While a program is captured, a dynamic size is a :class:`SymbolicInt`: an ``int`` (so all code that takes sizes takes it) with the formula by
which it follows from the sizes of the inputs.  Arithmetic keeps the formula; ``int(size)`` and comparisons give plain values, and
:data:`escape` tells the capture, since its graph then holds for that outcome alone.
"""

from __future__ import annotations

import math
import operator
import threading
from collections.abc import Callable
from typing import Any

from ..errors import NotSupported
from ..state import flags, state
from .expression import Expression


class Compared:
    """Comparisons that are reported to :data:`escape`, so that a capture can guard their outcome."""

    __slots__ = ()

    def __lt__(self, other: Any) -> Any:
        return _compared("<", operator.lt, self, other)

    def __le__(self, other: Any) -> Any:
        return _compared("<=", operator.le, self, other)

    def __gt__(self, other: Any) -> Any:
        return _compared(">", operator.gt, self, other)

    def __ge__(self, other: Any) -> Any:
        return _compared(">=", operator.ge, self, other)

    def __eq__(self, other: object) -> Any:
        return _compared("==", operator.eq, self, other)

    def __ne__(self, other: object) -> Any:
        return _compared("!=", operator.ne, self, other)


class SymbolicInt(Compared, int):
    """A dynamic size: its value in this run, and its formula (``expression``) in terms of the sizes of the inputs."""

    expression: Expression

    def __new__(cls, value: int, expression: Expression) -> SymbolicInt:
        made = int.__new__(cls, value)
        made.expression = expression
        return made

    def __add__(self, other: Any) -> Any:
        return _combine(self, other, int.__add__, Expression.__add__, operator.add)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return _combine(self, other, int.__sub__, Expression.__sub__, operator.sub)

    def __rsub__(self, other: Any) -> Any:
        if isinstance(other, int):
            return size_of(int(other) - int.__int__(self), Expression.of(other) - self.expression)
        return _other(operator.sub, other, self)

    def __mul__(self, other: Any) -> Any:
        return _combine(self, other, int.__mul__, Expression.__mul__, operator.mul)

    __rmul__ = __mul__

    def __floordiv__(self, other: Any) -> Any:
        return _combine(self, other, int.__floordiv__, Expression.__floordiv__, operator.floordiv)

    def __rfloordiv__(self, other: Any) -> Any:
        if isinstance(other, int):
            return size_of(int(other) // int.__int__(self), Expression.of(other) // self.expression)
        return _other(operator.floordiv, other, self)

    def __mod__(self, other: Any) -> Any:
        return _combine(self, other, int.__mod__, Expression.__mod__, operator.mod)

    def __rmod__(self, other: Any) -> Any:
        if isinstance(other, int):
            return size_of(int(other) % int.__int__(self), Expression.of(other) % self.expression)
        return NotImplemented

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __neg__(self) -> Any:
        return self * -1

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return larger(self, -self)

    def __pow__(self, other: Any, modulo: Any = None) -> Any:
        if type(other) is int and 0 <= other <= 16:
            result: Any = 1
            for _ in range(other):
                result = self * result
            return result if modulo is None else result % modulo
        if modulo is not None:
            return pow(int(self), int(other), modulo)
        if not isinstance(other, (int, float)):
            return NotImplemented
        if isinstance(other, int) and other >= 0:  # no formula says it
            return int(self) ** int(other)
        return SymbolicFloat(int.__int__(self) ** other, operator.pow, (self, other))

    def __rpow__(self, other: Any, modulo: Any = None) -> Any:
        if not isinstance(other, (int, float)):
            return NotImplemented
        return pow(other, int(self), modulo)  # no formula says it

    def __truediv__(self, other: Any) -> Any:
        return _other(operator.truediv, self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _other(operator.truediv, other, self)

    def __lshift__(self, other: Any) -> Any:
        return self * 2**other if type(other) is int and other >= 0 else _given_up(operator.lshift, self, other)

    def __rshift__(self, other: Any) -> Any:
        return self // 2**other if type(other) is int and other >= 0 else _given_up(operator.rshift, self, other)

    def __rlshift__(self, other: Any) -> Any:
        return _given_up(operator.lshift, other, self)

    def __rrshift__(self, other: Any) -> Any:
        return _given_up(operator.rshift, other, self)

    def __invert__(self) -> Any:
        return -1 - self

    def __and__(self, other: Any) -> Any:
        return _given_up(operator.and_, self, other)

    def __or__(self, other: Any) -> Any:
        return _given_up(operator.or_, self, other)

    def __xor__(self, other: Any) -> Any:
        return _given_up(operator.xor, self, other)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def __floor__(self) -> Any:
        return self

    __ceil__ = __trunc__ = __floor__

    def __round__(self, digits: Any = None) -> Any:
        return self if digits is None or digits >= 0 else round(int(self), digits)

    def __index__(self) -> int:
        return self  # as for any int, so that the formula is kept

    def __int__(self) -> int:
        escape.notify("int", self)
        return int.__int__(self)

    def __float__(self) -> float:
        escape.notify("float", self)
        return int.__float__(self)

    def __bool__(self) -> bool:
        return _compared("!=", operator.ne, self, 0)  # type: ignore[no-any-return]

    __hash__ = int.__hash__

    def __deepcopy__(self, memo: Any) -> SymbolicInt:
        return self

    def __reduce__(self) -> Any:
        return (int, (int.__int__(self),))


class SymbolicFloat(Compared, float):
    """A float computed from dynamic sizes by a division, a root or the like: ``function`` of ``arguments``."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]

    def __new__(cls, value: float, function: Callable[..., Any], arguments: tuple[Any, ...]) -> SymbolicFloat:
        made = float.__new__(cls, value)
        made.function = function
        made.arguments = arguments
        return made

    def __add__(self, other: Any) -> Any:
        return _other(operator.add, self, other)

    def __radd__(self, other: Any) -> Any:
        return _other(operator.add, other, self)

    def __sub__(self, other: Any) -> Any:
        return _other(operator.sub, self, other)

    def __rsub__(self, other: Any) -> Any:
        return _other(operator.sub, other, self)

    def __mul__(self, other: Any) -> Any:
        return _other(operator.mul, self, other)

    def __rmul__(self, other: Any) -> Any:
        return _other(operator.mul, other, self)

    def __truediv__(self, other: Any) -> Any:
        return _other(operator.truediv, self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _other(operator.truediv, other, self)

    def __floordiv__(self, other: Any) -> Any:
        return _other(operator.floordiv, self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return _other(operator.floordiv, other, self)

    def __mod__(self, other: Any) -> Any:
        return self - (self // other) * other if isinstance(other, (int, float)) else NotImplemented

    def __rmod__(self, other: Any) -> Any:
        return other - (other // self) * self if isinstance(other, (int, float)) else NotImplemented

    def __pow__(self, other: Any, modulo: Any = None) -> Any:
        return _other(operator.pow, self, other)

    def __neg__(self) -> Any:
        return _other(operator.mul, self, -1)

    def __floor__(self) -> Any:
        return _rounded(self, math.floor, lambda number, divisor: number // divisor)

    def __ceil__(self) -> Any:
        return _rounded(self, math.ceil, lambda number, divisor: Expression.of(0) - (Expression.of(0) - number) // divisor)

    def __trunc__(self) -> Any:
        return math.floor(self) if _is_positive(self) else _given_up(math.trunc, self)

    def __round__(self, digits: Any = None) -> Any:
        if digits is not None:
            return _given_up(round, self, digits)
        return _rounded(self, round, _to_even)

    def __rpow__(self, other: Any, modulo: Any = None) -> Any:
        return _given_up(operator.pow, other, self)

    def __abs__(self) -> Any:
        return self if _is_positive(self) else _given_up(abs, self)

    def is_integer(self) -> bool:
        """Whether it is a whole number."""
        escape.notify("float", self)
        return float.is_integer(self)

    __hash__ = float.__hash__

    def __int__(self) -> int:
        escape.notify("int", self)
        return float.__int__(self)

    def __float__(self) -> float:
        escape.notice("float", self)
        return float.__float__(self)

    def __reduce__(self) -> Any:
        return (float, (float.__float__(self),))


class Escape(threading.local):
    """The observer of this thread: it is called when a symbolic number becomes a plain one, or is compared.

    ``notice(kind, size)`` is called when a size becomes a plain number.  ``compared(how, a, b, outcome)``, where it is set, is called for
    every comparison: a graph is being made for other sizes as well, and sizes stay in it as formulas; else ``decided(how, a, b)`` is.
    ``inferring`` counts the captures that ask meta rules for formulas: only they accept a size that is not known.
    """

    def __init__(self) -> None:
        self.notice: Callable[[str, Any], None] = lambda kind, size: None
        self.compared: Callable[[str, Any, Any, bool], None] | None = None
        self.decided: Callable[[str, Any, Any], None] | None = None
        self.inferring = 0

    def notify(self, kind: str, size: Any) -> None:
        """A size becomes a plain number: what follows holds for that value alone."""
        self.notice(kind, size)
        if self.compared is not None:
            self.compared("==", size, plain(size), True)


escape = Escape()
LONGEST = 24  # symbols in a formula; a longer one gets a name
UNKNOWN = -1  # in a shape that a meta rule returns to a capture: a size that depends on the data


def unknown_size(what: str) -> int:
    """A size in a meta rule that depends on the data: captures read it from the result, for meta tensors it is an error."""
    if not escape.inferring:
        raise NotSupported(f"{what}: the shape of the result depends on the data, and meta tensors have none")
    return UNKNOWN


def as_size(tensor: Any) -> Any:
    """The one element of an integer tensor as a size; under a capture, a symbolic one that follows the tensor."""
    if flags.special and state.capture is not None:
        return state.capture.size_from(tensor)
    return int(tensor)


def size_of(value: int, expression: Expression) -> int:
    """A size with a formula; a plain int where the formula is a constant."""
    constant = expression.constant
    return SymbolicInt(value, expression) if constant is None else constant


def named(size: int) -> int:
    """A size; a long formula is replaced by a new symbol, so that arithmetic in loops does not make formulas grow without bound."""
    capture = state.capture
    if (
        size.__class__ is SymbolicInt
        and size.expression.weight > LONGEST
        and capture is not None
        and not escape.inferring
        and escape.compared is None
    ):
        state.capture = None  # the arithmetic of the node that computes it is not captured again
        try:
            return capture.new_symbol(capture.number_node(size), None, int.__int__(size))  # type: ignore[no-any-return]
        finally:
            state.capture = capture
    return size


def float_symbol(name: str, value: float) -> SymbolicFloat:
    """A float that is itself a symbol: the value of an input."""
    return SymbolicFloat(value, float_symbol, (name, value))


def smaller(a: int, b: int) -> int:
    """The smaller of two sizes, with the formula ``min(a, b)``: which one it is may differ from run to run."""
    return _chosen("min", min, a, b)


def larger(a: int, b: int) -> int:
    """The larger of two sizes, with the formula ``max(a, b)``."""
    return _chosen("max", max, a, b)


def _chosen(name: str, choose: Callable[[int, int], int], a: int, b: int) -> int:
    if not isinstance(a, SymbolicInt) and not isinstance(b, SymbolicInt):
        return choose(a, b)
    first, second = Expression.of(a), Expression.of(b)
    if (first - second).constant is not None:
        return choose(a, b)
    return size_of(choose(int.__int__(a), int.__int__(b)), Expression.operation(name, first, second))


def same_size(a: Any, b: Any) -> bool:
    """Whether two sizes are equal by their formulas, and so in every run."""
    return Expression.of(a) == Expression.of(b)


def _combine(a: SymbolicInt, b: Any, numbers: Any, formulas: Any, general: Any) -> Any:
    if isinstance(b, int):
        return named(size_of(numbers(int.__int__(a), int.__int__(b)), formulas(a.expression, Expression.of(b))))
    return _other(general, a, b)


def _compared(how: str, function: Any, a: Any, b: Any) -> Any:
    if not isinstance(b, (int, float)):
        return NotImplemented
    found = function(plain(a), plain(b))
    if escape.compared is not None:
        escape.compared(how, a, b, found)
    elif escape.decided is not None:
        escape.decided(how, a, b)
    return found


def plain(value: Any) -> Any:
    """A number without its formula."""
    return int.__int__(value) if isinstance(value, SymbolicInt) else float.__float__(value) if isinstance(value, SymbolicFloat) else value


def _other(function: Any, a: Any, b: Any) -> Any:
    if not isinstance(a, (int, float)) or not isinstance(b, (int, float)):
        return NotImplemented
    return SymbolicFloat(function(plain(a), plain(b)), function, (a, b))


def _given_up(function: Any, *values: Any) -> Any:
    """An operation that has no formula, on plain numbers."""
    if not all(isinstance(each, (int, float)) for each in values):
        return NotImplemented
    for each in values:
        if is_symbolic(each):
            escape.notify("float" if isinstance(each, float) else "int", each)
    return function(*map(plain, values))


def _exact(value: Any) -> tuple[Expression, int] | None:
    """A number that floating point holds without rounding (of sizes that tensors have), as a formula over a power of two; else None."""
    if isinstance(value, int):
        return Expression.of(value), 1
    if not isinstance(value, SymbolicFloat):
        number, divisor = value.as_integer_ratio() if math.isfinite(value) else (0, 0)
        return (Expression.of(number), divisor) if 0 < divisor <= 1024 and abs(number) < 2**20 else None
    if value.function not in (operator.add, operator.sub, operator.mul, operator.truediv):
        return None
    parts = [_exact(each) for each in value.arguments]
    if parts[0] is None or parts[1] is None:
        return None
    (a, over), (b, under) = parts[0], parts[1]
    if value.function is operator.mul:
        return a * b, over * under
    if value.function is operator.truediv:
        divisor = b.constant
        fits = divisor is not None and divisor > 0 and not divisor & (divisor - 1)
        return (a * Expression.of(under), over * divisor) if fits else None  # type: ignore[operator]
    first, second = a * Expression.of(under), b * Expression.of(over)
    return first + second if value.function is operator.add else first - second, over * under


def _ratio(value: SymbolicFloat) -> tuple[Expression, Expression] | None:
    """A float as a quotient of formulas, the second of them positive, if it was rounded once at most."""
    found = _exact(value)
    if found is not None:
        return found[0], Expression.of(found[1])
    if value.function is not operator.truediv or plain(value.arguments[1]) <= 0:
        return None
    a, b = map(_exact, value.arguments)
    return None if a is None or b is None else (a[0] * Expression.of(b[1]), b[0] * Expression.of(a[1]))


def _is_positive(value: SymbolicFloat) -> bool:
    """Whether the formula of a float shows that it is not negative, given that sizes are not."""
    ratio = _ratio(value)
    return ratio is not None and all(factor > 0 for factor in ratio[0].terms.values())


def _rounded(value: SymbolicFloat, function: Callable[[float], int], formula: Callable[[Expression, Expression], Expression]) -> Any:
    """A float as a whole number, with its formula."""
    ratio = _ratio(value)
    if ratio is None:
        return _given_up(function, value)
    return named(size_of(function(plain(value)), formula(*ratio)))


def _to_even(number: Expression, divisor: Expression) -> Expression:
    """The nearest whole number, of two the even one."""
    two, one = Expression.of(2), Expression.of(1)
    doubled, whole = two * number + divisor, two * divisor
    up = doubled // whole
    if divisor.constant is not None and divisor.constant % 2:
        return up
    tie = one - Expression.operation("min", one, doubled % whole)  # 1 in the middle between two, else 0
    return up - tie * (up % two)


def is_symbolic(value: Any) -> bool:
    """Whether a number carries a formula."""
    return isinstance(value, (SymbolicInt, SymbolicFloat))


def sqrt(value: Any) -> Any:
    """The square root of a size, with its formula."""
    if is_symbolic(value):
        return SymbolicFloat(math.sqrt(plain(value)), operator.pow, (value, 0.5))
    return math.sqrt(value)

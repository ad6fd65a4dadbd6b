"""Sizes that are known by a formula as well as by a value.

While a program is captured, a size that may differ from run to run is a :class:`SymbolicInt`: an ``int`` (so all code that
takes sizes takes it) that remembers how it follows from the sizes of the inputs.  Arithmetic keeps the formula; ``int(size)``
and comparisons give plain values, and so fix what the capture saw.
"""

from __future__ import annotations

import math
import operator
import threading
from collections.abc import Callable, Mapping
from typing import Any

from .errors import NotSupported
from .state import flags, state

# An atom is a symbol (a string) or an irreducible operation: (name, Expression, Expression).
Atom = Any
Monomial = tuple[Atom, ...]


class Expression:
    """A polynomial with integer coefficients; quotients that do not come out even are atoms of their own."""

    __slots__ = ("_hash", "_text", "_weight", "terms")

    def __init__(self, terms: Mapping[Monomial, int]) -> None:
        self.terms = {monomial: factor for monomial, factor in terms.items() if factor}
        self._hash: int | None = None
        self._text: str | None = None
        self._weight: int | None = None

    @property
    def weight(self) -> int:
        """How many symbols stand in it, written out."""
        if self._weight is None:
            atoms = [atom for monomial in self.terms for atom in monomial]
            self._weight = sum([1 if isinstance(atom, str) else atom[1].weight + atom[2].weight for atom in atoms])
        return self._weight

    @staticmethod
    def of(value: Any) -> Expression:
        """The formula of a size: of a plain int, a constant."""
        return value.expression if isinstance(value, SymbolicInt) else Expression({(): int(value)})

    @staticmethod
    def symbol(name: str) -> Expression:
        return Expression({(name,): 1})

    @property
    def constant(self) -> int | None:
        """The value, where no symbol is left."""
        if not self.terms:
            return 0
        return self.terms[()] if len(self.terms) == 1 and () in self.terms else None

    @property
    def as_symbol(self) -> str | None:
        """The name, of a formula that is one symbol alone."""
        if len(self.terms) == 1:
            ((monomial, factor),) = self.terms.items()
            if factor == 1 and len(monomial) == 1 and isinstance(monomial[0], str):
                return monomial[0]
        return None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expression) and self.terms == other.terms

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self.terms.items()))
        return self._hash

    def __add__(self, other: Expression) -> Expression:
        terms = dict(self.terms)
        for monomial, factor in other.terms.items():
            terms[monomial] = terms.get(monomial, 0) + factor
        return Expression(terms)

    def __sub__(self, other: Expression) -> Expression:
        return self + other * Expression({(): -1})

    def __mul__(self, other: Expression) -> Expression:
        terms: dict[Monomial, int] = {}
        for first, a in self.terms.items():
            for second, b in other.terms.items():
                monomial = tuple(sorted((*first, *second), key=str))
                terms[monomial] = terms.get(monomial, 0) + a * b
        return Expression(terms)

    def __floordiv__(self, other: Expression) -> Expression:
        if other.constant == 1:
            return self
        exact = self._divide(other)
        if exact is not None:
            return exact
        if self._negative() and not other._negative():  # rounded up, as a quotient of positive numbers
            less = Expression({(): -1})
            return (self * less + other + less) // other * less
        return Expression({(("//", self, other),): 1})

    def _negative(self) -> bool:
        """Whether no term can be positive: sizes never are negative."""
        return all(factor < 0 for factor in self.terms.values())

    def __mod__(self, other: Expression) -> Expression:
        if self._divide(other) is not None:
            return Expression({})
        if self._negative() and not other._negative():
            return self - self // other * other
        return Expression({(("%", self, other),): 1})

    def _divide(self, other: Expression) -> Expression | None:
        """The quotient, where a division by one term comes out even in every term, or both are equal."""
        if self == other:
            return Expression({(): 1})
        if len(other.terms) != 1:
            return None
        ((divisor, factor),) = other.terms.items()
        terms: dict[Monomial, int] = {}
        for monomial, number in self.terms.items():
            left = list(monomial)
            for atom in divisor:
                if atom not in left:
                    return None
                left.remove(atom)
            if number % factor:
                return None
            terms[tuple(left)] = number // factor
        return Expression(terms)

    def symbols(self) -> set[str]:
        """The symbols it depends on."""
        found: set[str] = set()
        for monomial in self.terms:
            for atom in monomial:
                found |= {atom} if isinstance(atom, str) else atom[1].symbols() | atom[2].symbols()
        return found

    def evaluate(self, values: Mapping[str, Any], functions: Mapping[str, Callable[..., Any]] | None = None) -> Any:
        """The value for given values of the symbols; with ``functions``, any other interpretation of the operations."""
        use = functions or OPERATIONS
        total: Any = None
        for monomial, factor in self.terms.items():
            product: Any = None
            for atom in monomial:
                if isinstance(atom, str):
                    value = values[atom]
                else:
                    value = use[atom[0]](atom[1].evaluate(values, functions), atom[2].evaluate(values, functions))
                product = value if product is None else use["*"](product, value)
            if product is None:
                product = factor
            elif factor != 1:
                product = use["*"](product, factor)
            total = product if total is None else use["+"](total, product)
        return 0 if total is None else total

    def __str__(self) -> str:
        if self._text is None:
            self._text = self._written()
        return self._text

    def _written(self) -> str:
        parts = []
        for monomial, factor in sorted(self.terms.items(), key=lambda item: (-len(item[0]), str(item[0]))):
            names = [each if isinstance(each, str) else _show(each) for each in monomial]
            if factor != 1 or not names:
                names = [str(factor), *names]
            parts.append("*".join(names))
        return " + ".join(parts).replace("+ -", "- ") or "0"

    __repr__ = __str__


def _show(atom: Any) -> str:
    name, first, second = atom
    if name in ("max", "min"):
        return f"{name}({first}, {second})"
    wrap = [f"({each})" if len(each.terms) > 1 or "/" in str(each) else str(each) for each in (first, second)]
    return f"({wrap[0]}{name}{wrap[1]})"


OPERATIONS: dict[str, Callable[..., Any]] = {
    "+": operator.add, "*": operator.mul, "//": operator.floordiv, "%": operator.mod, "max": max, "min": min,
}  # fmt: skip


class Compared:
    """Comparisons, which whoever makes a graph for other sizes as well is told of."""

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
    """A size with its formula.  ``expression`` says how it follows from the sizes of the inputs."""

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
        return self if int.__int__(self) >= 0 else -self

    def __pow__(self, other: Any, modulo: Any = None) -> Any:
        if modulo is None and type(other) is int and 0 <= other <= 8:
            result: Any = 1
            for _ in range(other):
                result = self * result
            return result
        return SymbolicFloat(int.__int__(self) ** other, operator.pow, (self, other))

    def __rpow__(self, other: Any, modulo: Any = None) -> Any:
        return other ** int.__int__(self)

    def __truediv__(self, other: Any) -> Any:
        return _other(operator.truediv, self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _other(operator.truediv, other, self)

    def __index__(self) -> int:
        return self  # an index of an int is the int itself: the formula stays

    def __int__(self) -> int:
        escape.told("int", self)
        return int.__int__(self)

    def __float__(self) -> float:
        escape.told("float", self)
        return int.__float__(self)

    def __bool__(self) -> bool:
        return self != 0

    __hash__ = int.__hash__

    def __deepcopy__(self, memo: Any) -> SymbolicInt:
        return self

    def __reduce__(self) -> Any:
        return (int, (int.__int__(self),))


class SymbolicFloat(Compared, float):
    """A number computed from sizes by a division, a root or the like: ``function`` of ``arguments``."""

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

    def __pow__(self, other: Any, modulo: Any = None) -> Any:
        return _other(operator.pow, self, other)

    def __neg__(self) -> Any:
        return _other(operator.mul, self, -1)

    __hash__ = float.__hash__

    def __int__(self) -> int:
        escape.told("int", self)
        return float.__int__(self)

    def __reduce__(self) -> Any:
        return (float, (float.__float__(self),))


class Escape(threading.local):
    """Told when a size becomes a plain number; a capture that cares puts its own function in ``notice``.

    ``inferring`` counts the captures that ask meta rules for formulas: only they can do with a size that is not known.
    Where ``compared`` is set, a graph is being made that is to hold for other sizes as well: it is told of every comparison of sizes and of
    its outcome, and sizes stay in the graph as they are, with their formulas.
    """

    def __init__(self) -> None:
        self.notice: Callable[[str, Any], None] = lambda kind, size: None
        self.compared: Callable[[str, Any, Any, bool], None] | None = None
        self.inferring = 0

    def told(self, kind: str, size: Any) -> None:
        """A size becomes a plain number: what follows holds for that alone."""
        self.notice(kind, size)
        if self.compared is not None:
            self.compared("==", size, plain(size), True)


escape = Escape()
LONGEST = 24  # symbols in a formula
UNKNOWN = -1  # in the shape that a meta rule gives to a capture: a size that depends on the data


def unknown_size(what: str) -> int:
    """A size in a meta rule that depends on the data: a capture reads it off the result, meta tensors can't have it."""
    if not escape.inferring:
        raise NotSupported(f"{what}: the shape of the result depends on the data, and meta tensors have none")
    return UNKNOWN


def as_size(tensor: Any) -> Any:
    """The one element of an integer tensor as a size; where a capture watches, a symbolic one that follows the tensor."""
    if flags.special and state.capture is not None:
        return state.capture.size_from(tensor)
    return int(tensor)


def size_of(value: int, expression: Expression) -> int:
    """A size with its formula; a plain int where no symbol is left."""
    constant = expression.constant
    return SymbolicInt(value, expression) if constant is None else constant


def named(size: int) -> int:
    """A size; where its formula has become long, under a name of its own, so that arithmetic in loops does not let formulas grow without end."""
    capture = state.capture
    if (
        size.__class__ is SymbolicInt
        and size.expression.weight > LONGEST
        and capture is not None
        and not escape.inferring
        and escape.compared is None
    ):
        state.capture = None  # the arithmetic of the node that computes it is not looked at again
        try:
            return capture.new_symbol(capture.number_node(size), None, int.__int__(size))  # type: ignore[no-any-return]
        finally:
            state.capture = capture
    return size


def smaller(a: int, b: int) -> int:
    """The smaller of two sizes; of symbolic ones the formula says that either may be it."""
    if not isinstance(a, SymbolicInt) and not isinstance(b, SymbolicInt):
        return min(a, b)
    first, second = Expression.of(a), Expression.of(b)
    if (first - second).constant is not None:
        return min(a, b)
    return size_of(min(int.__int__(a), int.__int__(b)), Expression({(("min", first, second),): 1}))


def larger(a: int, b: int) -> int:
    """The larger of two sizes, like ``smaller``."""
    if not isinstance(a, SymbolicInt) and not isinstance(b, SymbolicInt):
        return max(a, b)
    first, second = Expression.of(a), Expression.of(b)
    if (first - second).constant is not None:
        return max(a, b)
    return size_of(max(int.__int__(a), int.__int__(b)), Expression({(("max", first, second),): 1}))


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
    return found


def plain(value: Any) -> Any:
    """A number without its formula."""
    return int.__int__(value) if isinstance(value, SymbolicInt) else float.__float__(value) if isinstance(value, SymbolicFloat) else value


def _other(function: Any, a: Any, b: Any) -> Any:
    if not isinstance(a, (int, float)) or not isinstance(b, (int, float)):
        return NotImplemented
    return SymbolicFloat(function(plain(a), plain(b)), function, (a, b))


def is_symbolic(value: Any) -> bool:
    """Whether a number carries a formula."""
    return isinstance(value, (SymbolicInt, SymbolicFloat))


def sqrt(value: Any) -> Any:
    """The square root of a size, with its formula."""
    if is_symbolic(value):
        return SymbolicFloat(math.sqrt(plain(value)), operator.pow, (value, 0.5))
    return math.sqrt(value)

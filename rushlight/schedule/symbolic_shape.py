"""Symbolic sizes of a schedule: numbers that generated code loads from a table.

A :class:`SymbolicSize` takes part in arithmetic and comparisons like an int, and is none: Python's and NumPy's functions refuse it, so that its
value can't get into a schedule unnoticed.  A comparison is decided by the hint (the present value) and recorded as a guard; in LLVM text a size is the
name of a register, which every function loads from the table.
"""

from __future__ import annotations

import operator
import struct
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..core.base import Spec
from ..core.symbolic import COMPARISONS, Bounds, Expression, Intervals, SymbolicFloat, SymbolicInt
from ..graph import Graph, map_aggregate

LEAST = 2  # the smallest symbolic size: 0 and 1 are specialized
MOST = 1 << 40
_SIGNS = {operator.add: "+", operator.sub: "-", operator.mul: "*", operator.truediv: "/", operator.pow: "**"}


class Fixed(Exception):
    """A schedule that holds for one size only (specialization); says why."""


class Sizes:
    """The symbols of a schedule with their hints, the guards under which it holds, and the table of numbers that its code reads."""

    def __init__(self, values: Mapping[str, int], equal: Mapping[str, Expression] | None = None) -> None:
        """``equal`` are symbols that are known to be equal to others."""
        self.values = dict(values)
        self.guards: dict[str, None] = {}
        self.equal = dict(equal or {})  # by this, and by guards
        self.numbers: dict[str, int] = {}  # by what each is computed by: its place in the table
        self.present = dict(values)  # of symbols, and of what was chosen
        self.bounds = Intervals(dict.fromkeys(values, (LEAST, MOST)))  # of the same
        self.functions: dict[str, Callable[..., Any]] = {"bits": bits}  # that what is written calls
        self.names: dict[str, str] = {}  # for what is written in terms of the symbols, and of names before it

    def size(self, expression: Expression) -> Any:
        """A size by its formula; a plain number where no symbol is left."""
        constant = expression.constant
        return SymbolicSize(self, expression) if constant is None else constant

    def compare(self, how: str, a: Any, b: Any) -> bool:
        """The outcome of a comparison, with a guard where it may be another for other sizes."""
        found = bool(COMPARISONS[how](hint(a), hint(b)))
        whole = isinstance(a, (int, SymbolicSize)) and isinstance(b, (int, SymbolicSize))
        if whole and (self.is_outside(a, b) or self.bounds.is_certain(how, Expression.of(a) - Expression.of(b))):
            return found
        text = f"{written(a)} {how} {written(b)}"
        self.guards[text if found else f"not ({text})"] = None
        if whole and (how == "==" and found or how == "!=" and not found):
            names = [each for each in self.values if each in (Expression.of(a).as_symbol, Expression.of(b).as_symbol)]
            if len(names) == 2:
                self.equal[names[1]] = self.first(Expression.symbol(names[0]))
        return found

    def first(self, expression: Expression) -> Expression:
        """A formula in which equal symbols are replaced by one of them."""
        if not self.equal or self.equal.keys().isdisjoint(expression.symbols()):
            return expression
        return expression.substitute({name: self.equal.get(name) or Expression.symbol(name) for name in self.values})

    def compared(self, how: str, a: Any, b: Any, found: bool) -> None:
        """A comparison of symbolic integers during decomposition."""
        if self.compare(how, self.of(a), self.of(b)) is not found:
            raise Fixed("sizes are not what they were")

    def escaped(self, kind: str, size: Any) -> None:
        """A symbolic integer has become a plain number."""
        raise Fixed(f"{kind}() of {getattr(size, 'expression', 'a number')}")

    def of(self, value: Any) -> Any:
        """A symbolic number of a graph as one of this schedule."""
        if isinstance(value, SymbolicInt):
            return self.size(self.first(value.expression))
        if isinstance(value, SymbolicFloat):
            if value.function not in _SIGNS:
                raise Fixed(f"{value.function} of a size")
            a, b = (self.of(each) for each in value.arguments)
            return Ratio(self, f"({written(a)} {_SIGNS[value.function]} {written(b)})", float.__float__(value))
        return value

    def everywhere(self, value: Any) -> Any:
        """The same for all numbers in an argument."""
        return map_aggregate(value, self.of)

    def shape(self, spec: Any) -> Any:
        """The same for a tensor without data."""
        return spec.sized([self.known(self.of(each)) for each in spec.shape])

    def known(self, size: Any) -> Any:
        """A size as a plain number, where it is 1 by its bounds or by a guard: decomposition has broadcast it then."""
        if size.__class__ is SymbolicSize and size.value == 1:
            text = written(size)
            guarded = not self.guards.keys().isdisjoint((f"{text} == 1", f"1 == {text}", f"not ({text} != 1)", f"not (1 != {text})"))
            if guarded or self.bounds.limits(size.expression) == (1, 1):
                return 1
        return size

    def take(self, graph: Graph) -> None:
        """Replace the symbolic numbers of a graph by those of this schedule."""
        for node in graph.nodes:
            if node.op == "output":
                continue
            node.args, node.kwargs = self.everywhere(node.args), self.everywhere(node.kwargs)
            node.meta["val"] = map_aggregate(node.meta.get("val"), lambda each: self.shape(each) if isinstance(each, Spec) else each)

    def is_outside(self, a: Any, b: Any) -> bool:
        """Whether one of two numbers is plain and outside of the bounds of the other: the most frequent case."""
        size, number = (a, b) if b.__class__ is int else (b, a)
        if number.__class__ is not int or size.__class__ is not SymbolicSize:
            return False
        low, high = self.bounds.limits(size.expression)
        return bool(number < low or number > high)

    def name(self, text: str) -> str:
        """A short name for what is written so."""
        return self.names.setdefault(text, f"made{len(self.names)}")

    def chosen(self, text: str, value: int, bounds: Bounds) -> SymbolicSize:
        """A size by its Python expression, its hint and its bounds."""
        name = self.name(text)
        self.present[name] = value
        self.bounds[name] = bounds
        return SymbolicSize(self, Expression.symbol(name))

    def found_by(self, function: Callable[..., int], *arguments: Any, bounds: Bounds) -> SymbolicSize:
        """The result of a function of sizes and plain values, as a size."""
        self.functions[function.__name__] = function
        text = f"{function.__name__}({', '.join(map(written, arguments))})"
        return self.chosen(text, function(*map(hint, arguments)), bounds)

    def slot(self, text: str) -> int:
        """The position of a number in the table."""
        return self.numbers.setdefault(text, len(self.numbers))

    def function(self, results: str) -> Callable[..., Any]:
        """A Python expression of the symbols as a function of their values."""
        lines = [
            f"def function({', '.join(self.values)}):",
            *[f"    {name} = {text}" for text, name in self.names.items()],
            f"    return {results}",
        ]
        found: dict[str, Any] = dict(self.functions)
        exec("\n".join(lines), found)
        return found["function"]  # type: ignore[no-any-return]


class SymbolicNumber:
    """A number of a schedule that follows from symbolic sizes; ``value`` is its hint: what it is for the sizes of the first call."""

    __slots__ = ()
    sizes: Sizes
    value: Any

    if TYPE_CHECKING:  # arithmetic, which is set on both classes below

        def __rsub__(self, other: Any) -> Any: ...
        def __rmul__(self, other: Any) -> Any: ...


class SymbolicSize(SymbolicNumber):
    """A symbolic integer of a schedule."""

    __slots__ = ("expression", "sizes", "value")

    def __init__(self, sizes: Sizes, expression: Expression) -> None:
        self.sizes = sizes
        self.expression = expression
        self.value: int = expression.evaluate(sizes.present)

    def __index__(self) -> int:
        raise Fixed(f"{self.expression} is needed as a plain number")

    __int__ = __float__ = __round__ = __trunc__ = __ceil__ = __floor__ = __index__

    def __neg__(self) -> Any:
        return self.sizes.size(self.expression * Expression({(): -1}))

    def __pos__(self) -> SymbolicSize:
        return self

    def __abs__(self) -> Any:
        return self if self.sizes.compare(">=", self, 0) else -self

    def __bool__(self) -> bool:
        return self.sizes.compare("!=", self, 0)

    def __hash__(self) -> int:
        return 0  # so that lookups in a dict compare, which records a guard

    def __str__(self) -> str:
        return f"%size.{self.sizes.slot(str(self.expression))}"

    def __format__(self, how: str) -> str:
        return str(self)

    def __repr__(self) -> str:
        return str(self.expression)


class Ratio(SymbolicNumber):
    """A symbolic float: a cost, one over a count."""

    __slots__ = ("sizes", "text", "value")

    def __init__(self, sizes: Sizes, text: str, value: float) -> None:
        self.sizes = sizes
        self.text = text
        self.value = value

    def __bool__(self) -> bool:
        return self.sizes.compare("!=", self, 0)

    __hash__ = None  # type: ignore[assignment]

    def __float__(self) -> float:
        raise Fixed(f"{self.text} is needed as a plain number")

    __int__ = __index__ = __round__ = __trunc__ = __ceil__ = __floor__ = __float__

    def __neg__(self) -> Any:
        return Ratio(self.sizes, f"(-{self.text})", -self.value)

    def __str__(self) -> str:
        raise Fixed(f"{self.text} is written into code")

    def __format__(self, how: str) -> str:
        return str(self)

    def __repr__(self) -> str:
        return self.text


def _arithmetic(sign: str, whole: Callable[[Any, Any], Any] | None, number: Callable[[Any, Any], Any], reflected: bool) -> Any:
    def run(self: Any, other: Any) -> Any:
        if not isinstance(other, (int, float, SymbolicSize, Ratio)):
            return NotImplemented
        a, b = (other, self) if reflected else (self, other)
        if whole is not None and isinstance(a, (int, SymbolicSize)) and isinstance(b, (int, SymbolicSize)):
            if sign in ("//", "%") and not self.sizes.compare(">", b, 0):
                raise Fixed("a division by what is not positive")
            return self.sizes.size(whole(Expression.of(a), Expression.of(b)))
        return Ratio(self.sizes, f"({written(a)} {sign} {written(b)})", number(hint(a), hint(b)))

    return run


def _comparison(how: str) -> Any:
    def run(self: Any, other: Any) -> Any:
        return self.sizes.compare(how, self, other) if isinstance(other, (int, float, SymbolicSize, Ratio)) else NotImplemented

    return run


for _name, _sign, _whole, _number in (
    ("add", "+", Expression.__add__, operator.add), ("sub", "-", Expression.__sub__, operator.sub), ("mul", "*", Expression.__mul__, operator.mul),
    ("floordiv", "//", Expression.__floordiv__, operator.floordiv), ("mod", "%", Expression.__mod__, operator.mod), ("truediv", "/", None, operator.truediv),
):  # fmt: skip
    for _class in (SymbolicSize, Ratio):
        setattr(_class, f"__{_name}__", _arithmetic(_sign, _whole, _number, False))
        setattr(_class, f"__r{_name}__", _arithmetic(_sign, _whole, _number, True))
for _name, _sign in {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}.items():
    for _class in (SymbolicSize, Ratio):
        setattr(_class, f"__{_name}__", _comparison(_sign))


def hint(value: Any) -> Any:
    """The hint of a symbolic number; another number as it is."""
    return value.value if isinstance(value, SymbolicNumber) else value


def present(value: Any) -> Any:
    """An argument with numbers as they are at present."""
    return map_aggregate(value, hint)


def same(a: Any, b: Any) -> bool:
    """Whether two sizes or shapes are equal for all sizes.  Unlike ``==`` it records no guard: what is equal by chance counts as different."""
    if a is b:
        return True
    if a.__class__ is SymbolicSize:
        return b.__class__ is SymbolicSize and a.expression == b.expression
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(same, a, b))
    return b.__class__ is not SymbolicSize and bool(a == b)


def never_more(a: Any, b: Any) -> bool:
    """Whether a number is at most another for all sizes; records no guard."""
    known = next((each.sizes for each in (a, b) if isinstance(each, SymbolicSize)), None)
    return bool(a <= b) if known is None else known.bounds.limits(Expression.of(a) - Expression.of(b))[1] <= 0


def written(value: Any) -> str:
    """A number as a Python expression of the symbols."""
    if isinstance(value, SymbolicSize):
        return f"({value.expression})"
    if isinstance(value, (tuple, list)):
        return f"({''.join(f'{written(each)}, ' for each in value)})"
    return value.text if isinstance(value, Ratio) else repr(value)


def real(value: Any, type: str) -> str:
    """The register of a function that holds a fraction, or a size as one."""
    assert isinstance(value, (SymbolicSize, Ratio))
    return f"%{type}.{value.sizes.slot(f'bits({written(value)})')}"


def bits(value: float) -> int:
    """The bits of a float64 as an integer, for a table of integers."""
    return int.from_bytes(struct.pack("<d", value), "little", signed=True)


# -- choices that need no guard ------------------------------------------------------------------------------------------


def least(a: Any, b: Any) -> Any:
    """The smaller of two sizes, whichever it is."""
    return _chosen("min", a, b)


def most(a: Any, b: Any) -> Any:
    """The larger of two sizes, whichever it is."""
    return _chosen("max", a, b)


def _chosen(name: str, a: Any, b: Any) -> Any:
    choose: Any = min if name == "min" else max
    found = choose(hint(a), hint(b))
    known = next((each.sizes for each in (a, b) if isinstance(each, SymbolicSize)), None)
    if known is None:
        return found
    return known.chosen(f"{name}({written(a)}, {written(b)})", found, known.bounds.limits_of((name, Expression.of(a), Expression.of(b))))


def if_many(size: Any, limit: int, many: int, few: int) -> Any:
    """One of two numbers, as a size is at least the limit or less."""
    found = many if hint(size) >= limit else few
    if not isinstance(size, SymbolicSize):
        return found
    return size.sizes.chosen(f"({many} if {written(size)} >= {limit} else {few})", found, (min(many, few), max(many, few)))


def at_most(size: Any, limit: int) -> int:
    """The smaller of a size and a limit; the limit where the size is symbolic."""
    return limit if isinstance(size, SymbolicSize) else min(size, limit)


def may_reach(size: Any, limit: int) -> bool:
    """Whether a size is at least the limit, or may be, where both ways of doing something are right for all sizes."""
    return isinstance(size, SymbolicSize) or size >= limit

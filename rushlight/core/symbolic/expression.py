"""Formulas of sizes: arithmetic, evaluation, substitution and printing.

>>> n = Expression.symbol("n")
>>> (n * n + n) // n
n + 1
>>> (n + Expression.of(1)) // Expression.of(2)
((n + 1)//2)
>>> n.substitute({"n": n * Expression.of(4)}).evaluate({"n": 3})
12
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

Atom = Any  # a symbol (a string), or an operation that can't be simplified: (name, Expression, Expression)
Monomial = tuple[Atom, ...]


class Expression:
    """A polynomial with integer coefficients over atoms: symbols, and quotients, remainders, ``max`` and ``min`` of formulas."""

    __slots__ = ("_hash", "_text", "_weight", "terms")

    def __init__(self, terms: Mapping[Monomial, int]) -> None:
        self.terms = {monomial: factor for monomial, factor in terms.items() if factor}
        self._hash: int | None = None
        self._text: str | None = None
        self._weight: int | None = None

    @property
    def weight(self) -> int:
        """The number of symbols in the formula as it is printed."""
        if self._weight is None:
            atoms = [atom for monomial in self.terms for atom in monomial]
            self._weight = sum([1 if isinstance(atom, str) else atom[1].weight + atom[2].weight for atom in atoms])
        return self._weight

    @staticmethod
    def of(value: Any) -> Expression:
        """The formula of a size; that of a plain int is a constant."""
        found = getattr(value, "expression", None)
        return Expression({(): int(value)}) if found is None else found

    @staticmethod
    def symbol(name: str) -> Expression:
        """The formula that is one symbol."""
        return Expression({(name,): 1})

    @staticmethod
    def operation(name: str, first: Expression, second: Expression) -> Expression:
        """An operation on two formulas, as an atom."""
        return Expression({((name, first, second),): 1})

    @property
    def constant(self) -> int | None:
        """The value of a formula without symbols; None for others."""
        if not self.terms:
            return 0
        return self.terms[()] if len(self.terms) == 1 and () in self.terms else None

    @property
    def as_symbol(self) -> str | None:
        """The name of a formula that is one symbol; None for others."""
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
        if self._negative() and not other._negative():  # as a quotient of positive formulas, rounded up
            less = Expression({(): -1})
            return (self * less + other + less) // other * less
        return Expression.operation("//", self, other)

    def _negative(self) -> bool:
        """Whether no term can be positive, given that sizes are never negative."""
        return all(factor < 0 for factor in self.terms.values())

    def __mod__(self, other: Expression) -> Expression:
        if self._divide(other) is not None:
            return Expression({})
        if self._negative() and not other._negative():
            return self - self // other * other
        return Expression.operation("%", self, other)

    def _divide(self, other: Expression) -> Expression | None:
        """The exact quotient: where both are equal, or one term divides every term; else None."""
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
        """The value for given values of the symbols; ``functions`` replace the operations on numbers by others, such as on text or nodes."""
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

    def substitute(self, formulas: Mapping[str, Expression | int]) -> Expression:
        """The formula with every symbol replaced by a formula or a number."""
        made = self.evaluate(formulas, _ON_FORMULAS)
        return made if isinstance(made, Expression) else Expression({(): made})

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
    """An operation as Python writes it."""
    name, first, second = atom
    if name in ("max", "min"):
        return f"{name}({first}, {second})"
    wrap = [f"({each})" if len(each.terms) > 1 or "/" in str(each) else str(each) for each in (first, second)]
    return f"({wrap[0]}{name}{wrap[1]})"


OPERATIONS: dict[str, Callable[..., Any]] = {
    "+": operator.add, "*": operator.mul, "//": operator.floordiv, "%": operator.mod, "max": max, "min": min,
}  # fmt: skip


def _on_formulas(name: str) -> Callable[[Any, Any], Expression]:
    """An operation on formulas and numbers, for substitution."""

    def run(a: Any, b: Any) -> Expression:
        first, second = (each if isinstance(each, Expression) else Expression({(): each}) for each in (a, b))
        return Expression.operation(name, first, second) if name in ("max", "min") else OPERATIONS[name](first, second)

    return run


_ON_FORMULAS = {name: _on_formulas(name) for name in OPERATIONS}

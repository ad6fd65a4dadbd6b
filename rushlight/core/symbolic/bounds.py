"""Bounds of formulas: interval arithmetic, and comparisons that are proven for all values of the symbols."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from .expression import Atom, Expression

Bounds = tuple[int, int]  # the smallest and the largest value that a number can have
UNBOUNDED: Bounds = (-(1 << 500), 1 << 500)
COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne
}  # fmt: skip


class Intervals(dict[str, Bounds]):
    """The bounds of symbols, by name, and what follows from them for formulas.

    >>> bounds = Intervals(n=(2, 100))
    >>> n = Expression.symbol("n")
    >>> bounds.limits(n * n - n)
    (-96, 9998)
    >>> bounds.is_certain(">=", n * n - n)
    True
    """

    def limits(self, formula: Expression) -> Bounds:
        """Bounds of a formula, by interval arithmetic: its values lie within them, and need not reach them."""
        low = high = 0
        for monomial, factor in formula.terms.items():
            first = last = 1
            for atom in monomial:
                least, most = self.limits_of(atom)
                if least < 0:
                    return UNBOUNDED
                first, last = first * least, last * most
            low += factor * (first if factor > 0 else last)
            high += factor * (last if factor > 0 else first)
        return low, high

    def limits_of(self, atom: Atom) -> Bounds:
        """Bounds of a symbol, or of an operation on formulas."""
        if isinstance(atom, str):
            return self.get(atom, UNBOUNDED)
        name, first, second = atom
        (low, high), (least, most) = self.limits(first), self.limits(second)
        if name == "max" or name == "min":
            choose: Callable[[int, int], int] = max if name == "max" else min
            return choose(low, least), choose(high, most)
        if low < 0 or least <= 0:
            return UNBOUNDED
        if name == "%":
            return 0, most - 1
        at_least_once = self.limits(first - second)[0] >= 0
        return max(low // most, int(at_least_once)), high // least

    def is_certain(self, how: str, difference: Expression) -> bool:
        """Whether a comparison has one outcome for all values, given the difference of its two sides."""
        if difference.constant is not None:
            return True
        low, high = self.limits(self.reduced(difference))
        return low > 0 or high < 0 or (low == 0 and how in (">=", "<")) or (high == 0 and how in ("<=", ">"))

    def reduced(self, formula: Expression) -> Expression:
        """A formula divided by the positive factors that all its terms share: its sign is the same, its bounds are closer."""
        monomials = list(formula.terms)
        for atom in dict.fromkeys(monomials[0]):
            if self.limits_of(atom)[0] > 0 and all(atom in each for each in monomials):
                return self.reduced(formula // Expression({(atom,): 1}))
        return formula


def is_never_negative(formula: Expression, largest: Mapping[str, Expression | None]) -> bool:
    """Whether a formula is proven to be 0 or more.

    ``largest`` has the symbols that are never negative, each with a formula of its largest value where one is known (of the index of an
    iteration: the number of iterations less 1).
    """
    for _ in range(8):  # a bound may depend on other bounded symbols, as in nested loops
        worst = next((each for each, factor in formula.terms.items() if each and factor < 0), None)
        if worst is None:
            break
        most = largest.get(worst[0]) if len(worst) == 1 and isinstance(worst[0], str) else None
        if most is None:
            return False
        formula = formula + (most - Expression.symbol(worst[0])) * Expression({(): formula.terms[worst]})
    atoms = [atom for each in formula.terms for atom in each]
    return all(atom in largest for atom in atoms) and all(factor >= 0 for factor in formula.terms.values())

"""Guards on sizes: the comparisons that a program made while it was exported, and how they and other formulas of sizes are written as Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core import symbolic
from ..core.symbolic import Expression


class Guard:
    """A comparison of sizes that held when the program was captured."""

    def __init__(self, left: Expression, how: str, right: Expression, source: Any) -> None:
        self.left, self.how, self.right, self.source = left, how, right, source

    @property
    def symbols(self) -> set[str]:
        """The sizes that it is about."""
        return set(self.left.symbols()) | set(self.right.symbols())

    def holds(self, values: dict[str, int]) -> bool:
        """Whether it holds of other sizes."""
        return bool(symbolic.COMPARISONS[self.how](self.left.evaluate(values), self.right.evaluate(values)))

    def text(self, names: dict[str, str]) -> str:
        """The comparison in words of Python, with names for the symbols."""
        return f"{show(self.left, names)} {self.how} {show(self.right, names)}"


class Condition(str):
    """A comparison of sizes as a node's value, by its text."""

    __slots__ = ()


def show(formula: Expression, names: dict[str, str]) -> str:
    """A formula as Python, with names for the symbols."""
    values = {name: _Text(names.get(name, name)) for name in formula.symbols()}
    functions = {name: _combined(name) for name in symbolic.OPERATIONS}
    found = formula.evaluate(values, functions)
    return str(found)


class _Text(str):
    """An operand of a formula that is being written."""


def _combined(name: str) -> Callable[[Any, Any], Any]:
    def run(a: Any, b: Any) -> Any:
        if not isinstance(a, _Text) and not isinstance(b, _Text):
            return symbolic.OPERATIONS[name](a, b)
        if name in ("max", "min"):
            return _Text(f"{name}({a}, {b})")
        if name == "+" and not isinstance(b, _Text) and b < 0:
            return _Text(f"{a} - {-b}")
        texts = [
            f"({each})" if name in ("*", "//", "%") and any(sign in str(each).strip("()") for sign in (" + ", " - ")) else str(each)
            for each in (a, b)
        ]
        return _Text(f"{texts[0]} {name} {texts[1]}")

    return run

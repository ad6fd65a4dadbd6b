"""Symbolic sizes, and which slices are known to be inside a dimension."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...core.symbolic import Expression, SymbolicInt, is_never_negative
from ...graph import Node


class Symbol:
    """A symbolic size: the node and dimension that give it, its value in this run, and a generic value.

    It is a dimension of the source's value or, with ``dim`` None, that value itself: a number that may be negative.  Of the number of
    an iteration, which is 0 or more, ``most`` says how large it gets.  ``number`` says that it is an argument of the program.
    """

    __slots__ = ("concrete", "dim", "generic", "most", "number", "source")

    def __init__(self, source: Node, dim: int | None, concrete: int, generic: int) -> None:
        self.source = source
        self.dim = dim
        self.concrete = concrete
        self.generic = generic
        self.most: Expression | None = None
        self.number = False

    @property
    def of_input(self) -> bool:
        """Whether it is the size of an input: not a number, and no size that follows from elements."""
        return self.dim is not None and self.source.op == "placeholder"


def known_slice(args: tuple[Any, ...], length: Any, symbols: Mapping[str, Symbol]) -> bool:
    """Whether the size of a slice by numbers is known: its bounds are proven to be in range and in order."""
    _, _, start, end, *_ = (*args, None, None)
    numbers = [each for each in (start, end, length) if isinstance(each, SymbolicInt)]
    if all(symbols[name].of_input for each in numbers for name in each.expression.symbols() if name in symbols):
        return True  # sizes of inputs, which are taken for any
    first, last, size = (Expression.of(each) for each in (start or 0, length if end is None else end, length))
    largest = {name: each.most for name, each in symbols.items() if each.dim is not None or each.most is not None}
    return all(is_never_negative(each, largest) for each in (first, last - first, size - last))


def assumed_length(args: tuple[Any, ...], length: Any) -> Any:
    """How long a slice by symbolic bounds is if they are in range: None where they are not in this run."""
    _, _, start, end, step, *_ = (*args, None, None, 1)
    first, last = 0 if start is None else start, length if end is None else end
    if not isinstance(step, int) or step != 1 or not any(isinstance(each, SymbolicInt) for each in (start, end)):
        return None
    concrete = [int.__int__(each) for each in (first, last, length)]
    return last - first if 0 <= concrete[0] <= concrete[1] <= concrete[2] else None

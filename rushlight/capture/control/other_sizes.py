"""Other sizes for a branch that the example's rule out: ``if n.size(0) > 0`` of an example where it is 0.

A branch that this run does not take is captured on the values of the run, and may not accept them.  Where its condition follows from dynamic
sizes, it is captured at sizes for which it is taken: the tensors of the capture are exchanged for ones of those sizes, and put back afterwards.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ...core.base import TensorBase
from ...core.errors import CaptureError
from ...core.symbolic import SymbolicFloat, SymbolicInt
from ...graph import Node
from ..tracer.slice_bounds import Symbol
from .region_tracer import paused

Sizes = dict[str, int]

_ORDER = (2, 3, 5, 4, 6, 8, 7, 9, 12, 16, 1, 0)  # 1 and 0 last: what holds for them alone is captured only where the condition demands it
_MOST_ASSIGNMENTS, _MOST_SYMBOLS, ATTEMPTS = 4000, 4, 12


def captures_around(capture: Any) -> Iterator[Any]:
    """A capture and those around it."""
    while capture is not None:
        yield capture
        capture = getattr(capture, "parent", None)


class OtherSizes:
    """A context in which all that a capture knows has the sizes that follow from other values of its symbols."""

    def __init__(self, capture: Any, sizes: Sizes) -> None:
        self.capture, self.sizes = capture, {**concrete(capture), **sizes}
        self.exchanged: list[tuple[Any, str, Any]] = []

    def __enter__(self) -> OtherSizes:
        try:
            for capture in captures_around(self.capture):
                for name, symbol in capture.symbols.items():
                    if name in self.sizes:
                        self.exchange(symbol, "concrete", self.sizes[name])
                for entry in list(capture.entries.values()):
                    if any(isinstance(each, SymbolicInt) for each in entry.shape):
                        shape = self.value(entry.shape)
                        self.exchange(entry, "shape", shape)
                        self.exchange(entry.tensor, "_array", resized(entry.tensor._array, tuple(int.__int__(each) for each in shape)))
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exception: Any) -> None:
        for holder, name, before in reversed(self.exchanged):
            setattr(holder, name, before)
        self.exchanged = []

    def exchange(self, holder: Any, name: str, value: Any) -> None:
        """Set an attribute, until the end of the context."""
        self.exchanged.append((holder, name, getattr(holder, name)))
        setattr(holder, name, value)

    def value(self, value: Any) -> Any:
        """Numbers, and tuples of them, at these sizes."""
        if isinstance(value, SymbolicInt):
            return SymbolicInt(value.expression.evaluate(self.sizes), value.expression)
        if isinstance(value, SymbolicFloat):
            return value.function(*map(self.value, value.arguments))
        if type(value) is tuple:
            return tuple(map(self.value, value))
        return value


def resized(array: Any, shape: tuple[int, ...]) -> Any:
    """An array of another shape with the elements of one, repeated."""
    if not isinstance(array, np.ndarray) or any(size < 0 for size in shape):
        raise CaptureError(f"there is no array of the sizes {shape}")
    return np.resize(array, shape) if array.size else np.zeros(shape, array.dtype)


def concrete(capture: Any) -> Sizes:
    """The values of all symbols in this run."""
    found: Sizes = {}
    for each in captures_around(capture):
        found = {**{name: symbol.concrete for name, symbol in each.symbols.items()}, **found}
    return found


class Unknown(Exception):
    """A condition follows from more than sizes."""


def evaluate(node: Any, sizes: Mapping[str, int]) -> Any:
    """The value of a node that follows from sizes alone, for other sizes."""
    if isinstance(node, (tuple, list)):
        return type(node)(evaluate(each, sizes) for each in node)
    if not isinstance(node, Node):
        return node
    found = node.meta.get("val")
    if isinstance(found, SymbolicInt):
        return found.expression.evaluate(sizes)
    if node.op != "call_function" or not node.args:
        raise Unknown
    return node.target(*(evaluate(each, sizes) for each in node.args), **{key: evaluate(each, sizes) for key, each in node.kwargs.items()})


def parts(node: Any, symbols: set[str], literals: set[int]) -> None:
    """The symbols and the whole numbers that a condition follows from."""
    if isinstance(node, int) and not isinstance(node, bool):
        literals.add(node)
    elif isinstance(node, (tuple, list)):
        for each in node:
            parts(each, symbols, literals)
    elif isinstance(node, Node):
        found = node.meta.get("val")
        if isinstance(found, SymbolicInt):
            symbols |= found.expression.symbols()
        else:
            parts(node.args, symbols, literals)


def assignments(capture: Any, condition: Any, wanted: bool) -> Iterator[Sizes]:
    """Values of the symbols for which a condition holds (or does not), and the conditions of the branches around it.

    Where it is not known what a condition follows from, any values.
    """
    conditions = [(condition, wanted), *(each.condition for each in captures_around(capture) if getattr(each, "condition", None))]
    now = concrete(capture)
    symbols: set[str] = set()
    literals: set[int] = set()
    for each, _ in conditions:
        parts(each, symbols, literals)
    sizes = {name: symbol for around in captures_around(capture) for name, symbol in around.symbols.items()}
    free = [name for name in sizes if name in symbols][:_MOST_SYMBOLS]
    others = [name for name in sizes if name not in symbols and is_size(sizes[name])]
    near = sorted({number + step for number in literals for step in (-1, 0, 1)} - {0, 1})
    tried = itertools.product(
        *([now[name], *near, *_ORDER] if not is_size(sizes[name]) else legal([now[name], *near, *_ORDER]) for name in free)
    )
    for values in itertools.islice(tried, _MOST_ASSIGNMENTS):
        given = {**now, **dict(zip(free, values))}
        if all(is_met(each, truth, given) for each, truth in conditions):
            for size in (None, *dict.fromkeys(values), *_ORDER[:2], 1):
                yield dict(zip(free, values)) | (dict.fromkeys(others, size) if size is not None else {})


def legal(sizes: list[int]) -> list[int]:
    """The numbers that may be sizes."""
    return [each for each in dict.fromkeys(sizes) if each >= 0]


def is_size(symbol: Symbol) -> bool:
    """Whether a symbol is the size of a dimension: no number that may be negative."""
    return symbol.dim is not None


def is_met(condition: Any, wanted: bool, sizes: Sizes) -> bool:
    """Whether a condition is what it should be at these sizes; one that follows from more than sizes may be."""
    try:
        found = evaluate(condition, sizes)
    except Unknown:
        return True
    return bool(found._array if isinstance(found, TensorBase) else found) is wanted


def other_sizes(capture: Any, condition: Any, wanted: bool) -> Iterator[OtherSizes]:
    """Contexts of sizes at which a branch is taken, a few."""
    with paused(capture):
        found = list(itertools.islice(assignments(capture, condition, wanted), ATTEMPTS))
    for sizes in found:
        yield OtherSizes(capture, sizes)

"""Nested containers (pytrees): flattening into leaves and a structure, and unflattening.

Tuples, lists, dictionaries, named tuples and what users register are containers; everything else, None too, is a leaf.

>>> leaves, structure = flatten({"a": 1, "b": (2, 3)})
>>> leaves
[1, 2, 3]
>>> structure.unflatten([10, 20, 30])
{'a': 10, 'b': (20, 30)}
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any

# type -> (value -> (children, context), (children, context) -> value)
_registered: dict[type, tuple[Callable[..., Any], Callable[..., Any]]] = {}


def register(kind: type, take_apart: Callable[[Any], tuple[Any, Any]], put_together: Callable[[Any, Any], Any]) -> None:
    """Make a class a container: ``take_apart(value)`` gives children and a context, ``put_together`` undoes it."""
    _registered[kind] = (take_apart, put_together)


def registered(beside: tuple[type, ...]) -> bool:
    """Whether users have registered classes that derive from none of these."""
    return any(not issubclass(kind, (deque, *beside)) for kind in _registered)


def _keyed(build: Callable[[Any, Any], Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    return lambda value: (list(value.values()), tuple(value)), build


register(tuple, lambda value: (list(value), None), lambda children, _: tuple(children))
register(list, lambda value: (list(value), None), lambda children, _: list(children))
register(deque, lambda value: (list(value), value.maxlen), lambda children, length: deque(children, length))
register(dict, *_keyed(lambda children, keys: dict(zip(keys, children))))
register(OrderedDict, *_keyed(lambda children, keys: OrderedDict(zip(keys, children))))
register(
    defaultdict,
    lambda value: (list(value.values()), (value.default_factory, tuple(value))),
    lambda children, context: defaultdict(context[0], zip(context[1], children)),
)


def _kind(value: Any) -> type | None:
    """The class under which a value is a container, or None for a leaf."""
    kind = type(value)
    if kind in _registered:
        return kind
    if isinstance(value, tuple) and hasattr(kind, "_fields"):  # named tuples, and results with names
        register(kind, lambda each: (list(each), None), lambda children, _: kind(*children))
        return kind
    return None


class Structure:
    """How leaves were nested."""

    __slots__ = ("children", "context", "kind")

    def __init__(self, kind: type | None, context: Any, children: tuple[Structure, ...]) -> None:
        self.kind = kind  # None for a leaf
        self.context = context
        self.children = children

    @property
    def leaf_count(self) -> int:
        """How many leaves there are."""
        return 1 if self.kind is None else sum(child.leaf_count for child in self.children)

    def unflatten(self, leaves: Any) -> Any:
        """The container again, with these leaves."""
        return self._build(iter(leaves))

    def _build(self, leaves: Any) -> Any:
        if self.kind is None:
            return next(leaves)
        return _registered[self.kind][1]([child._build(leaves) for child in self.children], self.context)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Structure) and self.kind is other.kind and self.context == other.context
            and self.children == other.children
        )  # fmt: skip

    def __hash__(self) -> int:
        return hash((self.kind, len(self.children)))

    def __repr__(self) -> str:
        if self.kind is None:
            return "*"
        inside = ", ".join(map(repr, self.children))
        if self.kind is tuple:
            return f"({inside}{',' if len(self.children) == 1 else ''})"
        if self.kind is list:
            return f"[{inside}]"
        if self.kind is dict:
            return "{" + ", ".join(f"{key!r}: {child!r}" for key, child in zip(self.context, self.children)) + "}"
        return f"{self.kind.__name__}({inside})"


LEAF = Structure(None, None, ())


def flatten(value: Any) -> tuple[list[Any], Structure]:
    """The leaves of nested containers, in order, and how they were nested."""
    leaves: list[Any] = []
    return leaves, _take_apart(value, leaves)


def _take_apart(value: Any, leaves: list[Any]) -> Structure:
    kind = _kind(value)
    if kind is None:
        leaves.append(value)
        return LEAF
    children, context = _registered[kind][0](value)
    return Structure(kind, context, tuple(_take_apart(child, leaves) for child in children))


def spread(value: Any, structure: Structure) -> list[Any] | None:
    """A tree that may stop above the leaves of a structure, as one value for each of these; None where it does not fit.

    >>> spread((0, None), flatten(((1, 2), 3))[1])
    [0, 0, None]
    """
    kind = _kind(value)
    if kind is None:
        return [value] * structure.leaf_count
    if kind is not structure.kind:
        return None
    children, context = _registered[kind][0](value)
    if kind in (dict, OrderedDict) and set(context) == set(structure.context):
        children = [value[key] for key in structure.context]
    elif context != structure.context or len(children) != len(structure.children):
        return None
    found: list[Any] = []
    for child, inner in zip(children, structure.children):
        part = spread(child, inner)
        if part is None:
            return None
        found += part
    return found


def transform(function: Callable[..., Any], value: Any) -> Any:
    """The same containers with a function applied to every leaf."""
    leaves, structure = flatten(value)
    return structure.unflatten([function(leaf) for leaf in leaves])


__all__ = ["LEAF", "Structure", "flatten", "register", "registered", "spread", "transform"]

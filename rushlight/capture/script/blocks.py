"""Where a program stands while it is compiled: values, the names they have, and the graph that is being written."""

from __future__ import annotations

from typing import Any

from ...graph import Graph, Node, map_arg
from .types import Type


class Value:
    """Something that exists when the program runs: its type, and what stands for it in the graph (a node, a constant, a tuple of both)."""

    __slots__ = ("arg", "type")

    def __init__(self, type: Type, arg: Any) -> None:
        self.type = type
        self.arg = arg

    @property
    def constant(self) -> bool:
        """Whether it is known already."""
        kind = self.arg.__class__
        return not (kind is Node or kind is list or (isinstance(self.arg, tuple) and holds_node(self.arg)))

    def __repr__(self) -> str:
        return f"<{self.arg}: {self.type}>"


class Static:
    """Something that exists only while the program is compiled: a function, a class, a Python module."""

    __slots__ = ("object",)

    def __init__(self, object: Any) -> None:
        self.object = object


class ModuleValue:
    """``self``, or a Module below it, by its path from there; or (``children``) the dict of the Modules in it."""

    __slots__ = ("children", "module", "path")

    def __init__(self, module: Any, path: str, children: bool = False) -> None:
        self.module = module
        self.path = path
        self.children = children

    def below(self, name: str) -> str:
        """The path of an attribute."""
        return f"{self.path}.{name}" if self.path else name


class Bound:
    """A method of a value or a Module, before it is called."""

    __slots__ = ("name", "receiver")

    def __init__(self, receiver: Any, name: str) -> None:
        self.receiver = receiver
        self.name = name


class Unrolled:
    """A sequence whose items are known one by one: Modules of a ModuleList, pairs of enumerate."""

    __slots__ = ("items",)

    def __init__(self, items: list[Any]) -> None:
        self.items = items


class Undefined:
    """A name that has no value on every way that leads here, and why."""

    __slots__ = ("reason",)

    def __init__(self, reason: str) -> None:
        self.reason = reason


def holds_node(value: Any) -> bool:
    """Whether there is something in nested tuples that is known only when the program runs."""
    if isinstance(value, tuple):
        return any(map(holds_node, value))
    return isinstance(value, (Node, list))


class Block:
    """A stretch of the program that becomes one graph: a function, a branch, the body of a loop."""

    def __init__(self, parent: Block | None = None) -> None:
        self.parent = parent
        self.graph = Graph()
        self.env: dict[str, Any] = {}
        self.assigned: set[str] = set()
        self.captured: dict[Node, Node] = {}  # of the outer block -> the placeholder here
        self.dead = False  # its end is never reached

    def parameter(self, name: str, type: Type, default: Any = ...) -> Node:
        """A further input; of an inner block they are put before everything else when it is finished."""
        return self.graph.create_node("placeholder", name, () if default is ... else (default,), None, None, type)

    def capture(self, node: Node) -> Node:
        """A node of this block for one of this or an outer block."""
        if node.graph is self.graph or self.parent is None:
            return node
        outer = self.parent.capture(node)
        found = self.captured.get(outer)
        if found is None:
            found = self.captured[outer] = self.parameter(outer.name, outer.type)
        return found

    def bring(self, found: Any) -> Any:
        """A value of an outer block as one of this."""
        if found.__class__ is Value:
            if found.arg.__class__ is Node:
                return Value(found.type, self.capture(found.arg))
            if isinstance(found.arg, (tuple, list)):
                return Value(found.type, map_arg(found.arg, self.capture))
            return found
        if isinstance(found, Unrolled):
            return Unrolled([self.bring(each) for each in found.items])
        if isinstance(found, Bound):
            return Bound(self.bring(found.receiver), found.name)
        return found

    def find(self, name: str) -> Any:
        """What a name stands for here; None where it stands for nothing."""
        found = self.env.get(name)
        if found is None and self.parent is not None:
            found = self.parent.find(name)
            if found is not None:
                found = self.env[name] = self.bring(found)  # the outer block waits while this one is written
        return found

    def has(self, name: str) -> bool:
        """Whether a name stands for something here."""
        return name in self.env or (self.parent is not None and self.parent.has(name))

    def set(self, name: str, value: Any) -> None:
        """Give a name a value."""
        self.env[name] = value
        self.assigned.add(name)

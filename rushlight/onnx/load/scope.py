"""The values of a graph while it is built: each as a tensor, as Python's numbers, or as both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...graph import Graph, Node
from ..errors import ModelFileError
from .numbers import as_tensor

MISSING: Any = object()  # of a value that has no form as numbers


class NamedValue:
    """A value by its name in the file: the node of it as a tensor, or what makes one when it is asked for."""

    __slots__ = ("attribute", "frame", "numbers", "origin", "short", "tensor", "type")

    def __init__(self, tensor: Any = None, numbers: Any = MISSING, attribute: str = "", type: Any = 0) -> None:
        self.tensor: Node | None = tensor
        self.numbers = numbers  # a number, a list, or a node that gives one
        self.attribute = attribute  # the path of a parameter, buffer or constant of the module
        self.type = type  # ONNX's number for the element type; 0 where it is not known
        self.origin: NamedValue | None = None  # of a value from outside of a body: the value there
        self.frame: GraphScope | None = None  # and the frame of that
        self.short = False  # whether it is the length of a list of numbers

    @property
    def is_constant(self) -> bool:
        """Whether its numbers are known now."""
        return self.numbers is not MISSING and self.numbers is not None and not isinstance(self.numbers, Node)


class GraphScope:
    """A graph that is being built: the main one, or that of a body, which takes what it needs from the graph around it."""

    def __init__(self, outer: GraphScope | None = None) -> None:
        self.graph = Graph()
        self.outer = outer
        self.captured: list[Callable[[], Node]] = []  # what a body takes from outside, as nodes there
        self.attributes: dict[str, Node] = {}
        self.last_input: Node | None = None

    def input(self, name: str) -> Node:
        """A new input of this graph, after those that it has."""
        with self.graph.inserting_before(None) if self.last_input is None else self.graph.inserting_after(self.last_input):
            self.last_input = self.graph.placeholder(name)
        return self.last_input

    def capture(self, name: str, source: Callable[[], Node]) -> Node:
        """A new input that is taken from outside."""
        self.captured.append(source)
        return self.input(name)

    def attribute(self, path: str) -> Node:
        """A parameter, buffer or constant of the module; bodies are given it, so that captures see it."""
        node = self.attributes.get(path)
        if node is None:
            outer = self.outer
            node = self.graph.get_attr(path) if outer is None else self.capture(path, lambda: outer.attribute(path))
            self.attributes[path] = node
        return node

    def arguments(self) -> tuple[Node, ...]:
        """What a body takes from outside, as nodes of the graph around it."""
        return tuple([source() for source in self.captured])

    def tensor(self, value: NamedValue, name: str = "value") -> Node:
        """A value of this frame as a tensor."""
        if value.tensor is None:
            if value.attribute:
                return self.attribute(value.attribute)
            if value.origin is not None:
                outside, frame = value.origin, value.frame
                assert frame is not None
                value.tensor = self.capture(name, lambda: frame.tensor(outside, name))
            else:
                value.tensor = self.graph.call_function(as_tensor, (self.numbers(value), value.type or 7))
        return value.tensor

    def numbers(self, value: NamedValue, name: str = "sizes") -> Any:
        """A value of this frame as numbers: known now, or a node."""
        if value.numbers is None and value.origin is not None:
            outside, frame = value.origin, value.frame
            assert frame is not None
            value.numbers = self.capture(name, lambda: frame.numbers(outside, name))
        return value.numbers


class Scope:
    """The names of a graph, of a body (which sees those around it) or of a function (which sees its own alone)."""

    def __init__(self, frame: GraphScope, opsets: dict[str, int], outer: Scope | None = None) -> None:
        self.frame = frame
        self.graph = frame.graph
        self.opsets = opsets
        self.outer = outer
        self.values: dict[str, NamedValue] = {}
        self.types: dict[str, Any] = {}  # what the file says of values

    def define(self, name: str, value: NamedValue) -> None:
        """Give a value its name."""
        if name in self.values:
            raise ModelFileError(f"the value '{name}' is made twice")
        self.values[name] = value

    def find(self, name: str, user: str) -> NamedValue:
        """The value of a name."""
        found = self.values.get(name)
        if found is not None:
            return found
        if self.outer is None:
            raise ModelFileError(
                f"{user} uses the value '{name}', which no node before it makes: the graph has a cycle, or is not complete"
            )
        outside = self.outer.find(name, user)
        if self.outer.frame is self.frame or outside.attribute or (outside.is_constant and outside.tensor is None):
            made = outside
        else:
            made = NamedValue(type=outside.type)
            made.origin, made.frame = outside, self.outer.frame
            made.numbers = None if isinstance(outside.numbers, Node) or outside.numbers is None else outside.numbers
        self.values[name] = made
        return made

    def tensor(self, value: NamedValue, name: str = "value") -> Node:
        """A value as a tensor."""
        return self.frame.tensor(value, name)

    def has_numbers(self, value: NamedValue) -> bool:
        """Whether a value has a form as numbers."""
        return value.numbers is not MISSING

    def numbers(self, value: NamedValue) -> Any:
        """A value as numbers: known now, or a node."""
        return self.frame.numbers(value)

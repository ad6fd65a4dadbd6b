"""The values of a graph while it is built: each as a tensor, as Python's numbers, or as both."""

from __future__ import annotations

from typing import Any

from ...graph import Graph, Node
from ..errors import ModelFileError
from .numbers import as_tensor

MISSING: Any = object()  # of a value that has no form as numbers


class Value:
    """A value by its name in the file: the node of it as a tensor, or what makes one when it is asked for."""

    __slots__ = ("attribute", "numbers", "origin", "tensor", "type")

    def __init__(self, tensor: Any = None, numbers: Any = MISSING, attribute: str = "", type: int = 0, origin: Any = None) -> None:
        self.tensor: Node | None = tensor
        self.numbers = numbers  # a number, a list, or a node that gives one
        self.attribute = attribute  # the path of a parameter, buffer or constant of the module
        self.type = type  # ONNX's number for the element type; 0 where it is not known
        self.origin: Any = origin  # of a value from outside of a body: the scope there, and the value in it

    @property
    def is_constant(self) -> bool:
        """Whether its numbers are known now."""
        return self.numbers is not MISSING and not isinstance(self.numbers, Node)


class Scope:
    """The names of a graph, of a body (which sees those around it) or of a function (which sees its own alone)."""

    def __init__(self, graph: Graph, opsets: dict[str, int], outer: Scope | None = None) -> None:
        self.graph = graph
        self.opsets = opsets
        self.outer = outer
        self.values: dict[str, Value] = {}
        self.types: dict[str, int] = {}  # what the file says of values
        self.captured: list[tuple[Scope, Value, bool]] = []  # what a body takes from outside: in which scope, the value, whether as numbers
        self.last_input: Node | None = None

    def define(self, name: str, value: Value) -> None:
        """Give a value its name."""
        if name in self.values:
            raise ModelFileError(f"the value '{name}' is made twice")
        self.values[name] = value

    def find(self, name: str, user: str) -> Value:
        """The value of a name."""
        found = self.values.get(name)
        if found is not None:
            return found
        if self.outer is None:
            raise ModelFileError(
                f"{user} uses the value '{name}', which no node before it makes: the graph has a cycle, or is not complete"
            )
        outside = self.outer.find(name, user)
        if outside.attribute or outside.is_constant and outside.tensor is None:
            made = Value(None, outside.numbers if outside.is_constant else MISSING, outside.attribute, outside.type)
        else:
            made = Value(type=outside.type, origin=(self.outer, outside))
            made.numbers = MISSING if outside.numbers is MISSING else outside.numbers if outside.is_constant else None
        self.values[name] = made
        return made

    def input(self, name: str) -> Node:
        """A new input of this graph, after those that it has."""
        with self.graph.inserting_before(None) if self.last_input is None else self.graph.inserting_after(self.last_input):
            self.last_input = self.graph.placeholder(name)
        return self.last_input

    def tensor(self, value: Value, name: str = "value") -> Node:
        """A value as a tensor."""
        if value.tensor is None:
            if value.attribute:
                value.tensor = self.graph.get_attr(value.attribute)
            elif value.origin is not None:
                scope, outside = value.origin
                self.captured.append((scope, outside, False))
                value.tensor = self.input(name)
            else:
                value.tensor = self.graph.call_function(as_tensor, (self.numbers(value), value.type or 7))
        return value.tensor

    def has_numbers(self, value: Value) -> bool:
        """Whether a value has a form as numbers."""
        return value.numbers is not MISSING

    def numbers(self, value: Value, name: str = "sizes") -> Any:
        """A value as numbers: known now, or a node."""
        if value.numbers is None and value.origin is not None:
            scope, outside = value.origin
            self.captured.append((scope, outside, True))
            value.numbers = self.input(name)
        return value.numbers

    def captured_arguments(self) -> tuple[Node, ...]:
        """What a body takes from outside, as nodes of the graph around it."""
        return tuple([scope.numbers(value) if numbers else scope.tensor(value) for scope, value, numbers in self.captured])

"""What a tracer knows about a tensor, and the part of a tracer that its helpers use."""

from __future__ import annotations

from typing import Any, Protocol

from ...graph import Node


class TracedTensor:
    """What a tracer knows about a tensor: the node that makes it, and its shape by formulas."""

    __slots__ = ("node", "shape", "tensor", "version")

    def __init__(self, tensor: Any, node: Node, shape: tuple[int, ...]) -> None:
        self.tensor = tensor  # held, so that its id is not given to another
        self.node = node
        self.shape = shape
        self.version = 0


class ValueTable(Protocol):
    """The part of a tracer that ties tensors to nodes: what alias tracking and fake tensors need of it."""

    functional: bool
    entries: dict[int, TracedTensor]
    attributes: dict[int, tuple[str, Any]]
    depends: set[Node]
    known: dict[Node, Any]

    def node_of(self, tensor: Any) -> Node:
        """The node whose value a tensor is."""

    def shape_of(self, tensor: Any) -> tuple[int, ...]:
        """The sizes of a tensor, symbolic ones by their formulas."""

    def bind(self, tensor: Any, node: Node, shape: tuple[int, ...] | None = None) -> None:
        """From here on a tensor is the value of a node."""

    def argument(self, value: Any) -> Any:
        """An argument with nodes in place of tensors and sizes."""

    def derive(self, name: str, *recorded: Any) -> Node:
        """A node for an op on nodes that the program did not call."""

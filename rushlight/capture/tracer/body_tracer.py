"""Captures of bodies: sub-graphs of one node (a branch, a loop, a custom Function), in which values from around are placeholders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...graph import Node
from .tracer import Tracer


class BodyTracer(Tracer):
    """Captures a body.  A subclass says in ``take`` which values of the graphs around it become placeholders."""

    def __init__(self, **options: Any) -> None:
        super().__init__((), **options)
        self._last: Node | None = None  # of the placeholders

    def parameter(self, name: str) -> Node:
        """A further placeholder, after those that are there."""
        with self.graph.inserting_before() if self._last is None else self.graph.inserting_after(self._last):
            node = self.graph.placeholder(name)
        self._last = node
        self.depends.add(node)
        return node

    def input(self, tensor: Any, name: str, dynamic: Callable[[int], str | None] = lambda dim: None) -> Node:
        node = self.parameter(name)
        self.add_input(tensor, node, dynamic)
        return node

    def take(self, tensor: Any) -> None:
        """Make a tensor from around a placeholder of this body, unless it is one."""
        raise NotImplementedError

    def node_of(self, tensor: Any) -> Node:
        self.take(tensor)
        return super().node_of(tensor)

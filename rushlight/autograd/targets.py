"""The part of a gradient graph that a backward pass runs: the nodes that its roots lead to, and those on the way to the tensors it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.base import TensorBase
from ..core.node import AccumulateGrad, Node


def reachable(roots: list[Any]) -> tuple[set[Any], set[int]]:
    """The nodes that the roots lead to, and the identities of the leaves that these have as inputs."""
    seen: set[Any] = set()
    leaves = {id(root) for root in roots if root._grad_fn is None}
    stack = [root._grad_fn for root in roots if root._grad_fn is not None]
    while stack:
        current = stack.pop()
        if current in seen:
            continue
        seen.add(current)
        for edge in current.inputs:
            if edge.__class__ is tuple:
                edge = edge[0]
            if isinstance(edge, TensorBase):
                leaves.add(id(edge))
            elif edge is not None and edge not in seen:
                stack.append(edge)
    return seen, leaves


class Targets:
    """For ``grad(inputs=...)``: the nodes on paths to the inputs, and the gradients that arrived there."""

    def __init__(self, roots: list[Any], targets: list[Any]) -> None:
        self.leaves = {id(each) for each in targets if each._grad_fn is None}
        self.captures: dict[Any, set[int]] = {}
        self.found: dict[Any, Any] = {}
        for each in targets:
            if each._grad_fn is not None:
                self.captures.setdefault(each._grad_fn, set()).add(each._output_index)
        self.useful = self._reaching(roots)

    def _reaching(self, roots: list[Any]) -> set[Any]:
        useful: set[Any] = set()
        for current in sorted(reachable(roots)[0], key=lambda each: -each.sequence):  # oldest first: inputs before users
            if any(edge is not None and self._leads(edge, useful) for edge in current.inputs):
                useful.add(current)
        return useful

    def _leads(self, edge: Any, useful: set[Any]) -> bool:
        if edge.__class__ is tuple:
            edge = edge[0]
        return id(edge) in self.leaves if isinstance(edge, TensorBase) else edge in useful or edge in self.captures

    def reaches(self, edge: Any) -> bool:
        """Whether a gradient along an edge comes to one of the inputs."""
        return self._leads(edge, self.useful)

    def capture(self, current: Node, gradient: Any) -> None:
        """Keep the gradients of a node's outputs that are among the inputs."""
        for index in self.captures.get(current, ()):
            self.found[current, index] = current.gradient_of_output(index, gradient)

    def results(self, targets: list[Any], accumulate: Callable[[Any, Any], None] | None) -> list[Any]:
        """The gradients of the inputs; or none, where they are accumulated into the inputs."""
        keys = [id(each) if each._grad_fn is None else (each._grad_fn, each._output_index) for each in targets]
        if accumulate is None:
            return [self.found.get(key) for key in keys]
        for each, key in zip(targets, keys):
            if each._grad_fn is not None and self.found.get(key) is not None:
                accumulate(each, self.found[key])
        return []


class BackwardPass:
    """A backward pass that runs: what it starts from, what it computes the gradients of, and what is called at its end."""

    __slots__ = ("__weakref__", "callbacks", "depth", "roots", "targets")

    def __init__(self, roots: list[Any], targets: Targets | None, depth: int) -> None:
        self.roots = roots
        self.targets = targets  # None: all leaves
        self.depth = depth  # how many passes it runs inside of
        self.callbacks: list[Callable[[], Any]] | None = None


def is_reached(tensor: Any, running: BackwardPass) -> bool:
    """Whether a backward pass computes the gradient of a tensor."""
    wanted = running.targets
    nodes, leaves = reachable(running.roots)
    node = tensor._grad_fn
    if node is None:
        return id(tensor) in leaves and (wanted is None or id(tensor) in wanted.leaves)
    return node in nodes and (wanted is None or wanted.reaches(node))


def variable_of(node: Any) -> Any:
    """The leaf that a node accumulates into, or None of other nodes."""
    return node.variable if isinstance(node, AccumulateGrad) else None

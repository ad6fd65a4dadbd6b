"""Partition of a joint graph into a forward and a backward graph: the values saved for the backward are a minimum cut between them.

A saved value costs its memory; inputs that eager mode saves as well are alive anyway and cost next to nothing.  A program may overwrite other inputs before
the backward runs: where one of those is saved, it is copied.  Cheap ops (:mod:`.costs`) may be computed again instead of being saved.
The minimum cut is found by a maximum flow.
"""

from __future__ import annotations

import math
import operator
from collections import deque
from collections.abc import Container, Iterable
from typing import Any

from ..core.base import Spec
from ..core.declare import table
from ..core.symbolic import plain
from ..graph import Graph, Node
from . import costs
from .differentiate import JointGraph

_FREE = 1.0  # the cost of saving an input: just enough that none is saved without need


class Partition:
    """A forward and a backward graph.

    The forward maps the inputs to the program's values followed by the values kept for the backward; the backward maps those and the tangents to the
    gradients.  ``kept`` names their nodes in the joint graph.
    """

    def __init__(self, forward: Graph, backward: Graph, kept: list[str]) -> None:
        self.forward = forward
        self.backward = backward
        self.kept = kept


def partition(joint: JointGraph, kept: list[str] | None = None) -> Partition:
    """Split a joint graph; ``kept`` names the values that an earlier forward graph already keeps, so that nothing is chosen anew."""
    graph = joint.graph
    after = descendants(joint.tangents)
    after |= {node for node in list(graph.nodes) if node not in joint.forward and node.is_impure() and node.op != "output"}
    after |= descendants(node for node in after if node.is_impure())
    after -= set(joint.tangents)
    gradients = [each for each in joint.gradients if each is not None]
    needed = ancestors([*gradients, *(node for node in after if node.is_impure() and node.op not in ("placeholder", "output"))])
    forward = ancestors([*joint.values, *(node for node in joint.forward if node.is_impure() and node.op not in ("placeholder", "output"))])
    tangents = set(joint.tangents)
    between = [node for node in graph.nodes if node in needed and node not in after and node not in tangents]  # depend on inputs alone
    backward_uses = {node for node in between if node in gradients or any(user in after and user in needed for user in node.users)}
    saved_by_eager = {memory_of(node) for node in backward_uses}
    if kept is None:
        kept = [node.name for node in minimum_cut(between, backward_uses, forward, joint.forward, saved_by_eager)]
    by_name = {node.name: node for node in joint.forward}  # the same names whichever gradients are wanted
    saved = [by_name[name] for name in kept]
    copied = {len(joint.values) + at for at, each in enumerate(saved) if aliases_input(each, saved_by_eager)}
    return Partition(
        _extract(graph, joint.inputs, [*joint.values, *saved], forward | ancestors(saved), copied),
        _extract(graph, [*saved, *joint.tangents], joint.gradients, None, first=after),
        kept,
    )


def ancestors(nodes: Iterable[Node], until: frozenset[Node] | set[Node] = frozenset()) -> set[Node]:
    """Nodes and everything that they depend on."""
    reached: set[Node] = set()
    worklist = list(nodes)
    while worklist:
        node = worklist.pop()
        if node not in reached:
            reached.add(node)
            if node not in until:
                worklist += node.all_input_nodes
    return reached


def descendants(nodes: Iterable[Node]) -> set[Node]:
    """Nodes and everything that depends on them, except the output."""
    reached: set[Node] = set()
    worklist = list(nodes)
    while worklist:
        node = worklist.pop()
        if node not in reached and node.op != "output":
            reached.add(node)
            worklist += node.users
    return reached


def memory_of(node: Node) -> Node:
    """The value that owns a node's memory: the base of a view."""
    while node.table_op is not None and node.table_op.view or node.target is operator.getitem:
        node = node.all_input_nodes[0]
    return node


def aliases_input(node: Node, saved_by_eager: set[Node]) -> bool:
    """Whether a value shares the memory of an input that eager mode does not save: the program may overwrite it before the backward runs."""
    memory = memory_of(node)
    return memory.op == "placeholder" and memory not in saved_by_eager


def _extract(
    graph: Graph,
    inputs: list[Node],
    outputs: list[Node | None],
    nodes: set[Node] | None,
    copied: Iterable[int] = (),
    first: Container[Node] = (),
) -> Graph:
    """The subgraph between these inputs and outputs, those at ``copied`` cloned; the impure ones of ``nodes`` stay as well.

    With ``first`` what a checkpointed region computes again comes right before the first of these nodes that needs it: it is alive from then on.
    """
    subgraph = Graph()
    copies: dict[Node, Node] = {}
    for each in inputs:
        copies[each] = node = subgraph.placeholder(each.name)
        node.meta = {key: each.meta[key] for key in ("val", "source", "module") if key in each.meta}
    live = ancestors([each for each in outputs if each is not None], set(copies))
    if nodes is not None:
        live |= ancestors([node for node in nodes if node.is_impure() and node.op not in ("placeholder", "output")], set(copies))
    ordered = [node for node in graph.nodes if node in live and node not in copies]
    if first and any("recompute" in node.meta for node in ordered):
        ordered = demand_order(ordered, first)
    for node in ordered:
        copies[node] = subgraph.node_copy(node, copies.__getitem__)
    results: list[Node | None] = [None if each is None else copies[each] for each in outputs]
    for at in copied:
        original: Any = results[at]
        results[at] = copy = subgraph.call_function(table["clone"].call, (original,))
        copy.meta.update(val=original.meta["val"], source=original.meta.get("source"), module="")
    subgraph.output(tuple(results))
    return subgraph


def demand_order(nodes: list[Node], first: Container[Node]) -> list[Node]:
    """The nodes in an order in which each of ``first``, in their order, comes as soon as what it needs is there; the others at the end."""
    unplaced, order = set(nodes), []
    for node in (*(each for each in nodes if each in first), *nodes):
        stack = [node]
        while stack:
            if stack[-1] not in unplaced:
                stack.pop()
                continue
            needed = [each for each in stack[-1].all_input_nodes if each in unplaced]
            if needed:
                stack += reversed(needed)
            else:
                unplaced.discard(stack[-1])
                order.append(stack.pop())
    return order


# -- choosing what to keep ----------------------------------------------------------------------------------------------------


def size_of(node: Node) -> float:
    """The memory that a value takes; infinite for what is no single tensor and so can't be kept."""
    spec = node.meta.get("val")
    return plain(math.prod(spec.shape)) * spec.dtype.itemsize + 16.0 if isinstance(spec, Spec) else math.inf


def is_cheap(node: Node) -> bool:
    """Whether a value may be computed again: the result of a cheap op, or an item of a tuple."""
    op = node.table_op
    if op is None:
        return node.target is operator.getitem
    return not node.is_impure() and costs.is_cheap(op)


def is_recomputed(node: Node, forward: set[Node]) -> bool:
    """Whether a value is to be computed again: it belongs to a checkpointed region, has no effects, and is used by the forward inside of the region alone."""
    region = node.meta.get("recompute")
    return (
        region is not None and not node.is_impure() and all(user.meta.get("recompute") == region for user in node.users if user in forward)
    )


def minimum_cut(between: list[Node], used: set[Node], forward: set[Node], may_keep: set[Node], saved_by_eager: set[Node]) -> list[Node]:
    """The nodes to keep so that the backward can compute the others from them; ``forward`` are those that are computed in any case.

    In the network every node is an edge whose capacity is the cost of keeping it.  Inputs and values that are never recomputed are connected to
    the source, values that the backward uses to the sink.
    """
    flow = Flow(2 * len(between) + 2)
    source, sink = 2 * len(between), 2 * len(between) + 1
    vertex = {node: number for number, node in enumerate(between)}
    for node, number in vertex.items():
        constant = node.op == "get_attr"  # both graphs have it
        cost = _FREE if node.op == "placeholder" and node in saved_by_eager else size_of(node)
        recomputed = is_recomputed(node, may_keep)
        flow.edge(2 * number, 2 * number + 1, cost if node in may_keep and not constant and not recomputed else math.inf)
        if node.op == "placeholder" or (not constant and node in forward and not recomputed and not is_cheap(node)):
            flow.edge(source, 2 * number, math.inf)
        if node in used:
            flow.edge(2 * number + 1, sink, math.inf)
        for user in node.users:
            if user in vertex:
                flow.edge(2 * number + 1, 2 * vertex[user], math.inf)
    reached = flow.reachable(source, sink)
    return [node for node, number in vertex.items() if 2 * number in reached and 2 * number + 1 not in reached]


class Flow:
    """A flow network, and its maximum flow by Dinic's algorithm: breadth-first levels, then augmenting paths along them until none is left."""

    def __init__(self, count: int) -> None:
        self.edges: list[list[int]] = [[] for _ in range(count)]
        self.heads: list[int] = []
        self.residual: list[float] = []

    def edge(self, start: int, end: int, capacity: float) -> None:
        """Add an edge and, under the next number, its reverse, by which flow is taken back."""
        self.edges[start].append(len(self.heads))
        self.heads.append(end)
        self.residual.append(capacity)
        self.edges[end].append(len(self.heads))
        self.heads.append(start)
        self.residual.append(0.0)

    def levels(self, source: int) -> dict[int, int]:
        """The distance from the source of every vertex that can still be reached."""
        levels = {source: 0}
        worklist = deque([source])
        while worklist:
            vertex = worklist.popleft()
            for edge in self.edges[vertex]:
                if self.residual[edge] > 0 and self.heads[edge] not in levels:
                    levels[self.heads[edge]] = levels[vertex] + 1
                    worklist.append(self.heads[edge])
        return levels

    def reachable(self, source: int, sink: int) -> dict[int, int]:
        """The source's side of a minimum cut."""
        while True:
            levels = self.levels(source)
            if sink not in levels:
                return levels
            following = [0] * len(self.edges)
            while self.push(source, sink, levels, following):
                pass

    def push(self, source: int, sink: int, levels: dict[int, int], following: list[int]) -> bool:
        """Augment the flow along one more path; False where there is none."""
        path: list[int] = []
        vertex = source
        while vertex != sink:
            edges = self.edges[vertex]
            while following[vertex] < len(edges):
                edge = edges[following[vertex]]
                if self.residual[edge] > 0 and levels.get(self.heads[edge]) == levels[vertex] + 1:
                    break
                following[vertex] += 1
            if following[vertex] < len(edges):
                path.append(edges[following[vertex]])
                vertex = self.heads[path[-1]]
            elif not path:
                return False
            else:  # a dead end: a step back
                vertex = self.heads[path.pop() ^ 1]
                following[vertex] += 1
        amount = min(self.residual[edge] for edge in path)
        if amount == math.inf:
            raise AssertionError("a value that the backward graph needs can neither be kept nor computed again")
        for edge in path:
            self.residual[edge] -= amount
            self.residual[edge ^ 1] += amount
        return True

"""Regions of a graph that are marked while it is recorded."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from .graph import Graph
from .node import Node

_numbers = itertools.count()


class Recomputed:
    """A checkpointed region: the nodes that a graph gets after this was made, whose values a partition does not keep for the backward.

    Nodes that a pass makes of a node of a region belong to that region (``number``).
    """

    def __init__(self, graph: Graph, number: int | None = None) -> None:
        self.graph = graph
        self.last = next(iter(reversed(graph.nodes)), None)
        self.number = next(_numbers) if number is None else number

    def nodes(self) -> Iterator[Node]:
        """The nodes of the region, the last one first."""
        return itertools.takewhile(lambda node: node is not self.last, reversed(self.graph.nodes))

    def mark(self) -> None:
        """Mark the nodes; those of a region inside become the outer one's."""
        for node in self.nodes():
            node.meta["recompute"] = self.number

    def writes(self) -> bool:
        """Whether a node of the region writes to a tensor."""
        return any(node.table_op is not None and node.table_op.functional is not None for node in self.nodes())

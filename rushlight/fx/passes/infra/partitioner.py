"""``CapabilityBasedPartitioner``: the largest groups of nodes that a back-end takes."""

from __future__ import annotations

from collections.abc import Iterable
from operator import getitem as _getitem
from typing import Any

from ....graph.node import Node
from ...graph import Graph
from ...graph_module import GraphModule
from ..operator_support import OperatorSupportBase
from ..tools_common import in_topological_order


class Partition:
    """A group of nodes."""

    def __init__(self, id: int | None = None, nodes: Iterable[Node] | None = None) -> None:
        self.id = id
        self.nodes: dict[Node, None] = dict.fromkeys(nodes or ())

    def add_node(self, node: Node) -> None:
        """Add a node."""
        self.nodes[node] = None

    def remove_node(self, node: Node) -> None:
        """Take a node out."""
        del self.nodes[node]

    def size(self) -> int:
        """How many nodes it has."""
        return len(self.nodes)

    def __repr__(self) -> str:
        return str(list(self.nodes))


class CapabilityBasedPartitioner:
    """Finds groups of supported nodes between which no cycle goes through others, and makes each a submodule."""

    def __init__(
        self, graph_module: GraphModule, operator_support: OperatorSupportBase, allows_single_node_partition: bool = False,
        non_compute_ops: Any = None, allowed_single_node_partition_ops: Any = None,
    ) -> None:  # fmt: skip
        self.graph_module = graph_module
        self.operator_support = operator_support
        self.allows_single_node_partition = allows_single_node_partition

    def propose_partitions(self) -> list[Partition]:
        """The groups, in the order of the graph."""
        submodules = dict(self.graph_module.named_modules())
        depends: dict[Node, set[int]] = {}  # the groups that a node's value comes from
        groups: list[Partition] = []
        of: dict[Node, int] = {}
        through: list[set[int]] = []  # groups that each group depends on
        for node in self.graph_module.graph.nodes:
            before: set[int] = set()
            for each in node.all_input_nodes:
                before |= depends[each]
            if node.op not in ("call_module", "call_function", "call_method") or not self.operator_support.is_node_supported(
                submodules, node
            ):
                depends[node] = before
                continue
            direct = {of[each] for each in node.all_input_nodes if each in of}
            # A group can take the node where what the node needs from elsewhere does not come from the group.
            chosen = None
            for number in [*sorted(direct, reverse=True), *reversed(range(len(groups)))]:
                outside: set[int] = set()
                for each in node.all_input_nodes:
                    if of.get(each) != number:
                        outside |= depends[each]
                reach = set(outside)
                for other in outside:
                    reach |= through[other]
                if number not in reach:
                    chosen = number
                    break
            if chosen is None:
                groups.append(Partition(len(groups)))
                through.append(set())
                chosen = len(groups) - 1
            groups[chosen].add_node(node)
            of[node] = chosen
            for other in before - {chosen}:
                through[chosen] |= {other} | through[other]
            depends[node] = {chosen} | through[chosen]
        return [each for each in groups if each.size() > 1 or self.allows_single_node_partition]

    def fuse_partitions(self, partitions: list[Partition], prefix: str = "fused_") -> GraphModule:
        """Make each group a submodule of the module."""
        for number, part in enumerate(partitions):
            fuse_as_graphmodule(self.graph_module, list(part.nodes), f"{prefix}{number}")
        self.graph_module.recompile()
        return self.graph_module

    def partition_and_fuse(self, prefix: str = "fused_") -> GraphModule:
        """Find the groups, and make each a submodule."""
        return self.fuse_partitions(self.propose_partitions(), prefix)

    def remove_bookend_non_compute_ops(self, partitions: list[Partition]) -> None:
        """Take out nodes at the ends of groups that compute nothing: none are known here."""


def fuse_as_graphmodule(gm: GraphModule, nodes: list[Node], name: str) -> None:
    """Put a submodule in the place of nodes."""
    order = {node: at for at, node in enumerate(gm.graph.nodes)}
    nodes = sorted(nodes, key=order.__getitem__)
    inside = set(nodes)
    graph = Graph()
    here: dict[Node, Node] = {}
    inputs: list[Node] = []
    for node in nodes:
        for each in node.all_input_nodes:
            if each not in inside and each not in here:
                inputs.append(each)
                here[each] = graph.placeholder(each.name)
    for node in nodes:
        here[node] = graph.node_copy(node, here.__getitem__)
    outputs = [node for node in nodes if any(user not in inside for user in node.users)]
    graph.output(here[outputs[0]] if len(outputs) == 1 else tuple(here[each] for each in outputs))
    gm.add_submodule(name, GraphModule(gm, graph, name))

    users = [user for node in outputs for user in node.users if user not in inside]
    at = min(users, key=order.__getitem__)

    with gm.graph.inserting_before(at):
        called = gm.graph.call_module(name, tuple(inputs))
        if len(outputs) == 1:
            outputs[0].replace_all_uses_with(called, lambda user: user not in inside)
        else:
            for index, node in enumerate(outputs):
                node.replace_all_uses_with(gm.graph.call_function(_getitem, (called, index)), lambda user: user not in inside)
    for node in reversed(nodes):
        gm.graph.erase_node(node)
    gm.graph.lead_with(in_topological_order(list(gm.graph.nodes)))

"""Groups of nodes as submodules."""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Iterable
from operator import getitem as _getitem

from ....graph.node import Node
from ...graph import Graph
from ...graph_module import GraphModule
from ..tools_common import legalize_graph
from .common import lift_subgraph_as_module


def topo_sort(nodes: list[Node]) -> list[Node]:
    """The nodes in an order in which each comes after those of them that it uses."""
    waiting = dict.fromkeys(nodes)
    missing = {node: sum(each in waiting for each in node.all_input_nodes) for node in nodes}
    ready = deque(node for node in nodes if not missing[node])
    order: list[Node] = []
    while ready:
        node = ready.popleft()
        order.append(node)
        for user in node.users:
            if user in waiting:
                missing[user] -= 1
                if not missing[user]:
                    ready.append(user)
    if len(order) != len(nodes):
        raise AssertionError("topological sorted nodes doesn't have same length as input nodes")
    return order


def validate_partition(partition: Iterable[Node]) -> bool:
    """Whether nodes can become one call: what they give does not come back to them through others."""
    inside = set(partition)
    waiting = [user for node in inside for user in node.users if user not in inside]
    seen: set[Node] = set()
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        if any(user in inside for user in node.users):
            return False
        waiting.extend(node.users)
    return True


def fuse_as_graphmodule(
    gm: GraphModule, nodes: list[Node], module_name: str, partition_lookup_table: dict[Node, int | None] | None = None, *,
    always_return_tuple: bool = False,
) -> tuple[GraphModule, tuple[Node, ...], tuple[Node, ...]]:  # fmt: skip
    """Nodes as a module of their own; with the nodes of ``gm`` that are its inputs and its outputs."""
    for node in nodes:
        if node.graph.owning_module is not gm:
            raise AssertionError(f"{node} doesn't belong to passed in graph module {gm._get_name()}")
        if node._erased:
            raise AssertionError(f"{node} has been removed from owning graph")
    inside = set(nodes) if partition_lookup_table is None else set(partition_lookup_table)
    if not validate_partition(inside):
        raise AssertionError("Invalid partition, found dependency cycles")
    graph = Graph()
    here: dict[Node, Node] = {}
    inputs: list[Node] = []

    members = set(nodes)
    for node in nodes:  # placeholders come first
        for each in node.all_input_nodes:
            if each not in members and each not in here:
                inputs.append(each)
                here[each] = graph.placeholder(each.name, type_expr=each.type)
                here[each].meta = copy.copy(each.meta)
    for node in nodes:
        here[node] = graph.node_copy(node, here.__getitem__)
    outputs = tuple(node for node in nodes if any(user not in inside for user in node.users))
    results = tuple(here[node] for node in outputs)
    graph.output(results[0] if len(results) == 1 and not always_return_tuple else results)
    graph.lint()
    fused, _ = lift_subgraph_as_module(gm, graph, comp_name="", class_name=module_name)
    return fused, tuple(inputs), outputs


def insert_subgm(
    gm: GraphModule, sub_gm: GraphModule, orig_inputs: tuple[Node, ...], orig_outputs: tuple[Node, ...], insertion_point: Node | None = None
) -> GraphModule:
    """Call a module where the last of the nodes that it stands for is, and use its results in their place."""
    name = type(sub_gm).__name__
    gm.add_submodule(name, sub_gm)
    after = insertion_point
    if after is None:
        after = next((node for node in reversed(gm.graph.nodes) if node in orig_outputs), None)
    with gm.graph.inserting_after(after):
        called = gm.graph.call_module(name, args=orig_inputs)
    result = sub_gm.graph.output_node().args[0]
    if isinstance(result, Node):
        orig_outputs[0].replace_all_uses_with(called, propagate_meta=True)
        return gm
    with gm.graph.inserting_after(called):
        for index, node in enumerate(orig_outputs):
            node.replace_all_uses_with(gm.graph.call_function(_getitem, (called, index)), propagate_meta=True)
    called.meta["val"] = tuple(node.meta.get("val") for node in orig_outputs)
    return gm


def erase_nodes(gm: GraphModule, nodes: list[Node]) -> None:
    """Take out nodes that nothing uses any more, the last one first."""
    for node in reversed(nodes):
        gm.graph.erase_node(node)


def fuse_by_partitions(
    gm: GraphModule, partitions: list[dict[Node, int | None]], prefix: str = "fused_", always_return_tuple: bool = False
) -> GraphModule:
    """Make each group of nodes a submodule ``fused_0``, ``fused_1``, ..."""
    for number, part in enumerate(partitions):
        nodes = topo_sort(list(part))
        fused, inputs, outputs = fuse_as_graphmodule(gm, nodes, f"{prefix}{number}", part, always_return_tuple=always_return_tuple)
        insert_subgm(gm, fused, inputs, outputs)
        erase_nodes(gm, nodes)
    return legalize_graph(gm)  # type: ignore[no-any-return]


__all__ = ["erase_nodes", "fuse_as_graphmodule", "fuse_by_partitions", "insert_subgm", "topo_sort", "validate_partition"]

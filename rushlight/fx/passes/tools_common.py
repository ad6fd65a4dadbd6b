"""Words that passes share."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappop, heappush
from typing import Any

from ...core.base import TensorBase
from ...graph.node import Node

Tensors = Any
TensorOrTensors = Any
NodeList = list[Node]
NodeSet = set[Node]
Names = list[str]
CALLABLE_NODE_OPS = {"call_module", "call_function", "call_method"}


def get_node_target(submodules: Any, node: Node) -> str:
    """What a node calls: the class of a Module, the name of a function or method."""
    if node.op == "call_module":
        module = submodules[node.target]
        kind = type(getattr(module, "_base_class_origin", module)) if hasattr(module, "_base_class_origin") else type(module)
        return f"{kind.__module__}.{kind.__qualname__}"
    if node.op == "call_function":
        return f"{getattr(node.target, '__module__', '')}.{getattr(node.target, '__name__', node.target)}"
    return str(node.target)


def is_node_output_tensor(node: Node) -> bool:
    """Whether a node's value is known to be a tensor."""
    kind = node.meta.get("type")
    return isinstance(kind, type) and issubclass(kind, TensorBase)


def in_topological_order(nodes: Iterable[Node]) -> list[Node]:
    """Nodes in an order in which each comes after those that it uses, which are added."""
    order: list[Node] = []
    seen: set[Node] = set()

    def visit(node: Node) -> None:
        if node not in seen:
            seen.add(node)
            for each in node.all_input_nodes:
                visit(each)
            order.append(node)

    for node in nodes:
        visit(node)
    return order


def legalize_graph(gm: Any) -> Any:
    """Put nodes in an order in which each comes after those it uses."""
    nodes = list(gm.graph.nodes)
    gm.graph.lead_with(in_topological_order(sorted(nodes, key=lambda node: node.op == "output")))
    gm.recompile()
    return gm


def stable_topological_sort(gm: Any) -> Any:
    """Put nodes in an order in which each comes after those it uses, and otherwise as they are."""
    nodes = list(gm.graph.nodes)
    places = {node: at for at, node in enumerate(nodes)}
    missing = {node: len(node.all_input_nodes) for node in nodes}
    ready = [at for at, node in enumerate(nodes) if not missing[node]]  # sorted, and so a heap
    order: list[Node] = []
    while ready:
        node = nodes[heappop(ready)]
        order.append(node)
        for user in node.users:
            missing[user] -= 1
            if not missing[user]:
                heappush(ready, places[user])
    if len(order) != len(nodes):
        raise AssertionError("the graph has a cycle")
    gm.graph.lead_with(order)
    gm.recompile()
    return gm

"""Other targets for nodes, and how many bytes values and parameters take."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ...graph.node import Node
from ..graph import Graph
from ..graph_module import GraphModule
from .shape_prop import ShapeProp


def replace_target_nodes_with(fx_module: GraphModule, old_op: str, old_target: Any, new_op: str, new_target: Any) -> None:
    """Make every node of one kind and target a node of another kind and target."""
    graph = Graph()
    made: dict[Node, Node] = {}
    for node in fx_module.graph.nodes:
        copied = made[node] = graph.node_copy(node, made.__getitem__)
        if node.op == old_op and node.target == old_target:
            copied.op, copied.target = new_op, new_target
    fx_module.graph = graph


class size_bytes(NamedTuple):
    """Bytes of a node: of its value, and of its value with the parameters and buffers that it reads."""

    output_size: int
    total_size: int


def get_size_of_all_nodes(fx_module: GraphModule, args: list[Any] | None = None) -> None:
    """Note on each node (``size_bytes``) what it takes; with inputs, shapes are found first."""
    if args is not None:
        ShapeProp(fx_module).propagate(*args)
    for node in fx_module.graph.nodes:
        if node.op == "output":
            break
        node.size_bytes = get_size_of_node(fx_module, node)


def get_tensor_meta(node: Node) -> Any:
    """What shape propagation noted of a node's tensor."""
    meta = node.meta.get("tensor_meta")
    if not meta:
        raise RuntimeError(f"Node {node} has no tensor metadata associated with it! Check that shape propagation has run.")
    return meta


def get_size_of_node(fx_module: GraphModule, node: Node) -> size_bytes:
    """What a node takes: its value, and the parameters and buffers of its Module or attribute."""
    held: list[Any] = []
    if node.op == "call_module":
        module = dict(fx_module.named_modules())[node.target]
        held = [*module.parameters(), *module.buffers()]
    total = sum(each.numel() * each.element_size() for each in held)
    meta = get_tensor_meta(node)
    own = math.prod(meta.shape) * meta.dtype.itemsize
    return size_bytes(own, total + own)


__all__ = ["get_size_of_all_nodes", "get_size_of_node", "get_tensor_meta", "replace_target_nodes_with", "size_bytes"]

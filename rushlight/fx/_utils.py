"""Small functions that other parts of ``torch.fx`` share."""

from __future__ import annotations

from typing import Any


def first_call_function_nn_module_stack(graph: Any) -> Any:
    """The path of Modules of the first call of a function."""
    for node in graph.nodes:
        if node.op == "call_function" and "nn_module_stack" in node.meta:
            return node.meta["nn_module_stack"]
    return None


def get_node_context(node: Any, num_nodes: int = 2) -> str:
    """A node and a few before it, as text."""
    lines = []
    current = node
    for _ in range(num_nodes):
        lines.append(current.format_node())
        if current.op == "root":
            break
        current = current.prev
    return "\n".join(reversed(lines))

"""What is tidied before a graph becomes a file: nodes that nobody uses, the order of the stored tensors."""

from __future__ import annotations

from typing import Any

from .ir import OnnxGraph, OnnxNode


def clean(g: Any, order: list[str]) -> None:
    """Drop what does not lead to an output, and put stored tensors in the order of the state dict."""
    graph: OnnxGraph = g.graph
    drop_dead(graph)
    used = uses(graph)
    rank = {name: at for at, name in enumerate(order)}

    def place(name: str) -> tuple[int, int]:
        found = rank.get(name)
        if found is None:  # made from another: next to it
            found = next((rank[base] for base in prefixes(name) if base in rank), None)
        return (len(rank) if found is None else found, 0)

    kept = [name for name, value in graph.initializers.items() if id(value) in used]
    graph.initializers = {name: graph.initializers[name] for name in sorted(kept, key=place)}


def prefixes(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:at]) for at in range(len(parts) - 1, 0, -1)]


def drop_dead(graph: OnnxGraph) -> None:
    """Keep only nodes that an output needs."""
    needed = {id(value) for value in graph._outputs}
    kept: list[OnnxNode] = []
    for node in reversed(graph._nodes):
        if any(id(value) in needed for value in node._outputs):
            kept.append(node)
            needed.update(id(value) for value in node._inputs if value is not None)
            for attribute in node.attributes.values():
                if isinstance(attribute, OnnxGraph):
                    drop_dead(attribute)
                    needed |= uses(attribute)
    graph._nodes = kept[::-1]


def uses(graph: OnnxGraph) -> set[int]:
    """All values that nodes or outputs of a graph refer to."""
    found = {id(value) for value in graph._outputs}
    for node in graph._nodes:
        found.update(id(value) for value in node._inputs if value is not None)
        for attribute in node.attributes.values():
            if isinstance(attribute, OnnxGraph):
                found |= uses(attribute)
    return found

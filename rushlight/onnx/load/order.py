"""The order of the nodes of a graph: the standard asks for one in which values come before their uses, and tools that add nodes forget it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

MOST_NESTED = 64  # bodies in each other whose names are looked at; the builder refuses deeper ones


def in_order(nodes: Sequence[Any]) -> list[Any]:
    """The nodes with each value before its uses, and else in their order; where there is a cycle, as they are."""
    makers = {name: at for at, node in enumerate(nodes) for name in node.output if name}
    needs = [sorted({makers[name] for name in names_used(node) if name in makers}) for node in nodes]
    if all(not each or each[-1] < at for at, each in enumerate(needs)):
        return list(nodes)
    order: list[int] = []
    done: dict[int, bool] = {}  # False while what a node needs is looked at
    for first in range(len(nodes)):
        waiting = [first]
        while waiting:
            at = waiting[-1]
            if at not in done:
                done[at] = False
                if any(done.get(each) is False for each in needs[at]):
                    return list(nodes)
                waiting += [each for each in reversed(needs[at]) if each not in done]
                continue
            waiting.pop()
            if not done[at]:
                done[at] = True
                order.append(at)
    return [nodes[at] for at in order]


def names_used(node: Any, depth: int = 0) -> Iterator[str]:
    """The names that a node takes, in its bodies too (also those that a body makes itself)."""
    yield from node.input
    if depth < MOST_NESTED:
        for attribute in node.attribute:
            for graph in (attribute.g, *attribute.graphs) if attribute.HasField("g") or attribute.graphs else ():
                for inner in graph.node:
                    yield from names_used(inner, depth + 1)
                yield from (each.name for each in graph.output)

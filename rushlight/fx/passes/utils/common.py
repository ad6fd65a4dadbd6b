"""A part of a graph as a module of its own, and whether two graphs are alike."""

from __future__ import annotations

from typing import Any

from ....nn.modules.module import Module
from ...graph import Graph
from ...graph_module import GraphModule
from .matcher_utils import SubgraphMatcher


class HolderModule(Module):
    """A Module that only holds others, by name."""

    def __init__(self, d: dict[str, Module | None]) -> None:
        super().__init__()
        for name, module in d.items():
            self.add_module(name, module)


def lift_subgraph_as_module(
    gm: GraphModule, subgraph: Graph, comp_name: str = "", class_name: str = "GraphModule"
) -> tuple[GraphModule, dict[str, str]]:
    """A module that runs a graph with Modules and attributes of ``gm``; and for each of their paths there, the path under ``comp_name`` here."""
    holder = HolderModule({})
    paths: dict[str, str] = {}
    for node in subgraph.nodes:
        if node.op not in ("call_module", "get_attr"):
            continue
        *parents, last = node.target.split(".")
        here: Any = holder
        there: Any = gm
        for name in parents:
            if not hasattr(here, name):
                here.add_module(name, HolderModule({}))
            here, there = getattr(here, name), getattr(there, name)
        if not hasattr(here, last):
            setattr(here, last, getattr(there, last))
        paths[node.target] = f"{comp_name}.{node.target}"
    return GraphModule(holder, subgraph, class_name), paths


def compare_graphs(left: Graph, right: Graph) -> bool:
    """Whether two graphs have the same calls, wired alike."""
    return len(SubgraphMatcher(left, match_output=True, match_placeholder=True).match(right)) > 0


__all__ = ["HolderModule", "compare_graphs", "lift_subgraph_as_module"]

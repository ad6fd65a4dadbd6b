"""``replace_pattern``: find a small graph in a large one, and put another in its place."""

from __future__ import annotations

import copy
from collections.abc import Callable
from operator import attrgetter
from typing import Any, NamedTuple

from ..graph import Graph as HouseGraph
from ..graph.node import Node, map_arg
from ..nn.modules.module import Module
from ._symbolic_trace import symbolic_trace
from .graph import Graph
from .graph_module import GraphModule
from .passes.utils.matcher_utils import InternalMatch, SubgraphMatcher


class Match(NamedTuple):
    """Where a pattern was found."""

    anchor: Node
    nodes_map: dict[Node, Node]


class ReplacedPatterns:
    """Where a pattern was found, and the nodes that took its place."""

    def __init__(self, anchor: Node, nodes_map: dict[Node, Node], replacements: list[Node]) -> None:
        self.anchor, self.nodes_map, self.replacements = anchor, nodes_map, replacements


def _graph_of(given: Any) -> Any:
    if isinstance(given, GraphModule):
        return given.graph
    return given if isinstance(given, HouseGraph) else symbolic_trace(given).graph


def replace_pattern(gm: GraphModule, pattern: Any, replacement: Any) -> list[Match]:
    """Replace all places that look like the pattern, which do not overlap; both are functions, Modules or graphs."""
    return [Match(anchor=each.anchor, nodes_map=each.nodes_map) for each in _replace(gm, pattern, replacement, None, False)]


def replace_pattern_with_filters(
    gm: GraphModule, pattern: Any, replacement: Any = None, match_filters: list[Callable[..., bool]] | None = None,
    ignore_literals: bool = False, replacement_callback: Callable[..., Any] | None = None, node_name_match: str = "",
) -> list[ReplacedPatterns]:  # fmt: skip
    """The same where all filters, called with (match, graph, pattern graph), say so."""
    return _replace(gm, pattern, replacement, match_filters, ignore_literals, replacement_callback)


def _replace(
    gm: GraphModule, pattern: Any, replacement: Any, filters: list[Callable[..., bool]] | None, ignore_literals: bool,
    callback: Callable[..., Any] | None = None,
) -> list[ReplacedPatterns]:  # fmt: skip
    pattern_graph = _graph_of(pattern)
    matcher = SubgraphMatcher(
        pattern_graph, match_output=False, match_placeholder=False, remove_overlapping_matches=True, ignore_literals=ignore_literals
    )
    graph = gm.graph
    found = [each for each in matcher.match(graph) if all(check(each, graph, pattern_graph) for check in filters or ())]
    common = _graph_of(replacement) if callback is None else None
    replaced: dict[Node, Node] = {}
    results: list[ReplacedPatterns] = []
    for match in found:
        new = common if callback is None else _graph_of(callback(match, graph, pattern_graph))
        results.append(_put_in(graph, match, new, replaced))
    if isinstance(replacement, Module) and not isinstance(replacement, HouseGraph):
        _adopt(gm, replacement)
    gm.recompile()
    return results


def _put_in(graph: Any, match: InternalMatch, new: Any, replaced: dict[Node, Node]) -> ReplacedPatterns:
    """Put a replacement where a match is."""
    placeholders = [node for node in new.nodes if node.op == "placeholder"]
    if len(match.placeholder_nodes) != len(placeholders):
        raise AssertionError(f"the pattern has {len(match.placeholder_nodes)} inputs, and the replacement {len(placeholders)}")
    inputs: dict[Node, Any] = {}
    for here, there in zip(placeholders, match.placeholder_nodes):
        while isinstance(there, Node) and there in replaced:
            there = replaced[there]
        inputs[here] = there
    order = {node: at for at, node in enumerate(graph.nodes)}
    outputs = match.returning_nodes
    members = [node for key, node in match.nodes_map.items() if key.op not in ("placeholder", "output")]
    users = {user for node in outputs for user in node.users if user not in members}
    first = min(users, key=lambda node: order[node]) if users else next(iter(sorted(outputs, key=lambda node: order[node]))).next
    last_input = max((order[each] for each in inputs.values() if isinstance(each, Node)), default=-1)
    if users and order[first] <= last_input:
        first = next(node for node in graph.nodes if order[node] > last_input)
    before = set(graph.nodes)
    with graph.inserting_before(first):
        copied = graph.graph_copy(new, inputs)
    copies = copied if isinstance(copied, (tuple, list)) else (copied,)
    made = [node for node in graph.nodes if node not in before]
    if len(copies) != len(outputs):
        raise AssertionError(f"the pattern has {len(outputs)} outputs, and the replacement {len(copies)}")
    for old, each in zip(outputs, copies):
        old.replace_all_uses_with(each)
        replaced[old] = each
    for node in sorted(members, key=lambda node: -order[node]):
        if not node.users:
            graph.erase_node(node)
    return ReplacedPatterns(match.anchors[0], match.nodes_map, made)


def _adopt(gm: GraphModule, replacement: Any) -> None:
    """Give the module the attributes that the replacement has and its nodes refer to; take those away that no node needs."""
    for node in gm.graph.nodes:
        if node.op not in ("call_module", "get_attr"):
            continue
        owner: Any = gm
        for part in node.target.split("."):
            owner = getattr(owner, part, None)
        if owner is None:
            found = attrgetter(node.target)(replacement)
            if isinstance(found, Module):
                gm.add_submodule(node.target, copy.deepcopy(found))
            else:
                setattr(gm, node.target, copy.deepcopy(found))
    gm.delete_all_unused_submodules()
    gm.graph.lint()


__all__ = ["Graph", "Match", "ReplacedPatterns", "map_arg", "replace_pattern", "replace_pattern_with_filters"]

"""Concatenation of views in place of copies: ``cat`` of copies that merge dimensions becomes ``cat`` of the views they are copies of.

The gradients of query, key and value are such: each is turned round, copied to merge its heads, and joined with the others.  Joined along the heads they
are copied once.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

from ..core.base import Spec
from ..core.declare import table
from ..graph import Graph, Node


def join_views(graph: Graph, kept: Collection[Any]) -> None:
    """Rewrite what can be, in the graph of a decomposed program, but for nodes that are ``kept``."""
    for node in list(graph.nodes):
        if node.op == "call_function" and node.table_op is table["cat"] and node not in kept:
            found = sources(node)
            if found is not None:
                join(graph, node, *found)


def sources(node: Node) -> tuple[list[Node], int] | None:
    """The views that ``cat`` joins copies of along its last dimension, and that dimension."""
    shape = node.meta["val"].shape
    given: Any = node.args[0]
    dim = node.args[1] % len(shape) if len(node.args) > 1 else 0  # type: ignore[operator]
    if dim != len(shape) - 1:
        return None
    views: list[Node] = []
    for each in given:
        if not isinstance(each, Node) or each.table_op is not table["reshape_copy"] or len(each.users) > 1:
            return None
        source: Any = each.args[0]
        whole, merged = source.meta["val"].shape, each.meta["val"].shape
        if len(whole) <= len(merged) or whole[:dim] != merged[:dim] or math.prod(whole[dim:]) != merged[dim]:
            return None
        views.append(source)
    inner = {each.meta["val"].shape[dim + 1 :] for each in views}
    return (views, dim) if len(inner) == 1 else None


def join(graph: Graph, node: Node, views: list[Node], dim: int) -> None:
    """Join the views, and see the result in the shape that it had."""
    spec = node.meta["val"]
    first = views[0].meta["val"].shape
    count = sum(each.meta["val"].shape[dim] for each in views)
    with graph.inserting_before(node):
        joined = graph.call_function(table["cat"].call, (views, dim))
        seen = graph.call_function(table["reshape"].call, (joined, *spec.shape))
    for made, shape in ((joined, (*first[:dim], count, *first[dim + 1 :])), (seen, spec.shape)):
        made.meta.update(node.meta)
        made.meta["val"] = Spec(shape, spec.dtype, device=spec.device)
    copies: list[Any] = list(node.args[0])  # type: ignore[arg-type]
    node.replace_all_uses_with(seen)
    for each in (node, *copies):
        graph.erase_node(each)


__all__ = ["join_views"]

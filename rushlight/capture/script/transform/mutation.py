"""Which attributes of a Module a graph writes to in place: through themselves, their items, views, and containers they were put into."""

from __future__ import annotations

import operator
from typing import Any

from ....graph import Graph, Node
from ..ir import graph_functions

_IN_PLACE = frozenset(
    (
        operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ifloordiv, operator.imod, operator.ipow, operator.iand, operator.ior,
        operator.ixor, operator.setitem, operator.delitem, graph_functions.delete_item, graph_functions.set_attribute,
    )
)  # fmt: skip
_METHODS = frozenset("append extend insert pop remove clear sort reverse update setdefault popitem".split())
_FRESH = frozenset(
    (
        operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow, operator.matmul, operator.neg, operator.eq,
        operator.ne, operator.lt, operator.le, operator.gt, operator.ge, operator.and_, operator.or_, operator.is_, operator.is_not, operator.not_, len, int,
        float, bool, str, print, graph_functions.shown, graph_functions.shown_item, graph_functions.formatted, graph_functions.format_text, graph_functions.joined, graph_functions.power,
    )
)  # fmt: skip


def mutated(graph: Graph) -> set[str]:
    """The paths of attributes that a graph without calls writes to."""
    found: set[str] = set()
    _walk(graph, {}, found)
    return found


def _walk(graph: Graph, origins: dict[Node, set[str]], found: set[str]) -> set[str]:
    """Follow what a graph's values may be part of; gives the origins of its results."""
    results: set[str] = set()
    for node in graph.nodes:
        if node.op == "get_attr":
            origins[node] = {str(node.target)}
            continue
        if node.op == "placeholder":
            origins.setdefault(node, set())
            continue
        inputs = set().union(*(origins.get(each, set()) for each in node.all_input_nodes))
        if node.op == "output":
            results |= inputs
            continue
        if _writes(node):
            first = node.args[0] if node.args else None
            found |= origins.get(first, set()) if isinstance(first, Node) else set()
        for body in node.bodies.values():
            inner: dict[Node, Any] = {each: set(inputs) for each in body.find_nodes(op="placeholder")}
            inputs |= _walk(body, inner, found)
        origins[node] = inputs if _shares(node) else set()
    return results


def _writes(node: Node) -> bool:
    """Whether a node changes its first argument."""
    if node.op == "call_method":
        name = str(node.target)
        return name in _METHODS or (name.endswith("_") and not name.endswith("__"))
    op = node.table_op
    return (op is not None and op.functional is not None) or node.target in _IN_PLACE


def _shares(node: Node) -> bool:
    """Whether what a node gives may be one of its inputs, or a part of one."""
    op = node.table_op
    if op is not None:
        return bool(op.view) or op.functional is not None or op.body is not None  # a composite may give a view (`reshape`)
    return not (node.op == "call_function" and node.target in _FRESH)

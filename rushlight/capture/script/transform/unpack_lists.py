"""Lists that never change, taken apart: their items stand where the list was used."""

from __future__ import annotations

import copy
import operator
from typing import Any

from ....graph import Graph, Node, map_aggregate


def unpacked(graph: Graph) -> Graph:
    """A graph whose lists exist only where something may change or keep them; the graph itself where there is nothing to do."""
    if not any(_fixed(node) for node in graph.nodes):
        return graph
    made = copy.deepcopy(graph)
    for node in list(made.nodes):
        if _fixed(node):
            _unpack(node)
    return made


def _fixed(node: Node) -> bool:
    """Whether a node makes a list of which only items are taken, or which ops take as it is."""
    if node.op != "call_function" or node.target is not list or not node.args or not isinstance(node.args[0], list) or not node.users:
        return False
    return all(_item(user, node) is not None or _takes(user, node) for user in node.users)


def _item(user: Node, node: Node) -> Any:
    """The item that a node takes out of a list, in a box; None where it does something else."""
    if user.target is not operator.getitem or user.args[0] is not node or type(user.args[1]) is not int:
        return None
    items = node.args[0]
    return (items[user.args[1]],) if -len(items) <= user.args[1] < len(items) else None


def _takes(user: Node, node: Node) -> bool:
    """Whether an op takes a list as one of its arguments, and does nothing else with it."""
    return user.table_op is not None and not user.is_impure() and any(each is node for each in user.args)


def _unpack(node: Node) -> None:
    graph, items = node.graph, node.args[0]
    for user in list(node.users):
        found = _item(user, node)
        if found is None:
            user.args = tuple([items if each is node else each for each in user.args])
            continue
        for other in list(user.users):
            swap = lambda each: found[0] if each is user else each  # noqa: B023, E731 - used at once
            other.args, other.kwargs = map_aggregate(other.args, swap), map_aggregate(other.kwargs, swap)
        graph.erase_node(user)
    graph.erase_node(node)

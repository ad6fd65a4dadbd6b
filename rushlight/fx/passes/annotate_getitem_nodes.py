"""Types of elements that are taken out of values of known types."""

from __future__ import annotations

from operator import getitem
from typing import Any, get_args, get_origin

from ..graph import Graph


def annotate_getitem_nodes(graph: Graph) -> None:
    """Give a node that takes an element of a tuple, a list or a dict the element's type, where the type of the whole is noted."""
    for node in graph.nodes:
        if node.target is not getitem:
            continue
        whole, index = node.args
        if not whole.type:
            continue
        kind, parts = get_origin(whole.type), get_args(whole.type)
        found: Any = None
        if kind is tuple and parts:
            found = parts[0] if len(parts) == 2 and parts[1] is Ellipsis else parts[index] if len(parts) > index else None
        elif kind is list and len(parts) == 1:
            found = parts[0]
        elif kind is dict and len(parts) == 2:
            found = parts[1]
        elif hasattr(whole.type, "_field_types") or hasattr(whole.type, "_fields"):
            found = getattr(whole.type, "__annotations__", {}).get(whole.type._fields[index])
        if found is not None:
            node.type = found


__all__ = ["annotate_getitem_nodes"]

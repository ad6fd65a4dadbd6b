"""``split_by_tags``: a module whose parts are modules of their own, by a tag of each node."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from operator import getitem as _getitem
from typing import Any

from ...graph.node import Node, map_arg
from ..graph import Graph
from ..graph_module import GraphModule
from .utils.common import HolderModule, lift_subgraph_as_module


def getattr_recursive(obj: Any, name: str) -> Any:
    """What a dotted path names, or None."""
    for part in name.split("."):
        if not hasattr(obj, part):
            return None
        obj = getattr(obj, part)
    return obj


def setattr_recursive(obj: Any, attr: str, value: Any) -> None:
    """Bind what a dotted path names."""
    *parents, last = attr.split(".")
    for part in parents:
        obj = getattr(obj, part)
    setattr(obj, last, value)


@dataclass
class Component:
    """One part: its graph, where it comes, and what it takes and gives of the whole."""

    graph: Graph
    order: int
    name: str
    input_placeholders: list[Node] = field(default_factory=list)
    orig_inputs: list[Node] = field(default_factory=list)
    orig_outputs: list[Node] = field(default_factory=list)
    getattr_maps: dict[Node, Node] = field(default_factory=dict)
    constructor_args: list[str] = field(default_factory=list)
    gm: GraphModule | None = None


def split_by_tags(
    gm: GraphModule, tags: list[str], return_fqn_mapping: bool = False, return_tuple: bool = False, GraphModuleCls: Any = GraphModule
) -> Any:
    """Split a module by the attribute ``tag`` of its nodes: the module that calls the parts, named by their tags in the order that is given.

    With ``return_fqn_mapping``, also the paths of what the parts hold, by those in the whole.
    """
    parts = [Component(Graph(), number, tag) for number, tag in enumerate(tags)]
    by_name = {part.name: part for part in parts}
    place: dict[Node, Component] = {}
    copied: dict[Node, Node] = {}
    whole = Graph()
    outer: dict[Node, Node] = {}
    for node in gm.graph.nodes:
        if node.op == "output":
            break
        if node.op in ("placeholder", "get_attr"):
            if node.op == "placeholder":
                made = outer[node] = whole.placeholder(node.name, type_expr=node.type)
                made.meta = copy.copy(node.meta)
            continue
        if not hasattr(node, "tag"):
            raise AssertionError(f"Node {node} does not have tag attribute")
        part = place[node] = by_name[node.tag]
        late = [place[each] for each in node.all_input_nodes if each in place and place[each].order > part.order]
        if late:
            raise AssertionError(f"Component {part.name} order ({part.order}) must be >= max of upstream components ({late[0].order})")

        for given in node.all_input_nodes:
            if given.op == "get_attr":
                if given not in part.getattr_maps:
                    part.getattr_maps[given] = part.graph.get_attr(given.target, type_expr=given.type)
            elif place.get(given) is not part and given not in part.orig_inputs:
                first = next(iter(part.graph.nodes), None)  # placeholders come first
                last = part.input_placeholders[-1] if part.input_placeholders else None
                with part.graph.inserting_after(last) if last is not None else part.graph.inserting_before(first):
                    made = part.graph.placeholder(given.name, type_expr=given.type)
                made.meta = copy.copy(given.meta)
                part.orig_inputs.append(given)
                part.input_placeholders.append(made)

        def value(given: Node, part: Component = part) -> Node:
            if given in part.getattr_maps:
                return part.getattr_maps[given]
            return copied[given] if place.get(given) is part else part.input_placeholders[part.orig_inputs.index(given)]

        copied[node] = part.graph.node_copy(node, value)
        copied[node].tag = node.tag  # type: ignore[attr-defined]
    output = gm.graph.output_node()
    for node in gm.graph.nodes:  # what others need, in the order of the graph
        if node in place and any(user is output or place[user] is not place[node] for user in node.users):
            place[node].orig_outputs.append(node)
    root = HolderModule({})
    mapping: dict[str, str] = {}
    for part in parts:
        if not part.orig_outputs and not part.graph.nodes:
            continue
        results = tuple(copied[each] for each in part.orig_outputs)
        part.graph.output(results if return_tuple or len(results) != 1 else results[0])
        part.gm, paths = lift_subgraph_as_module(gm, part.graph, part.name)
        mapping.update(paths)
        setattr(root, part.name, part.gm)
        called = whole.call_module(part.name, tuple(_outside(each, outer, whole, root, gm) for each in part.orig_inputs))
        if return_tuple or len(results) != 1:
            for index, each in enumerate(part.orig_outputs):
                outer[each] = whole.call_function(_getitem, (called, index))
        else:
            outer[part.orig_outputs[0]] = called
    whole.output(map_arg(output.args[0], lambda node: _outside(node, outer, whole, root, gm)), type_expr=output.type)
    made_module = GraphModuleCls(root, whole)
    return (made_module, mapping) if return_fqn_mapping else made_module


def _outside(node: Node, outer: dict[Node, Node], whole: Graph, root: Any, gm: GraphModule) -> Node:
    """A node of the module that calls the parts; an attribute of the whole becomes one of it."""
    if node not in outer:
        if node.op != "get_attr":
            raise RuntimeError(f"'{node.name}' is needed before the part that gives it")
        setattr(root, node.name, getattr_recursive(gm, node.target))
        outer[node] = whole.get_attr(node.name, type_expr=node.type)
    return outer[node]


__all__ = ["Component", "getattr_recursive", "setattr_recursive", "split_by_tags"]

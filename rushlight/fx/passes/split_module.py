"""``split_module``: a module whose parts are modules of their own, by a function that says which part a node belongs to."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from operator import getitem as _getitem
from typing import Any

from ...graph.node import Node, map_arg
from ..graph import Graph
from ..graph_module import GraphModule


class Partition:
    """One part: its nodes, what goes in and what comes out."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.submod_name = f"submod_{name}"
        self.node_names: list[str] = []
        self.inputs: dict[str, None] = {}
        self.outputs: dict[str, None] = {}
        self.dependencies: dict[str, None] = {}
        self.graph = Graph()
        self.environment: dict[Node, Any] = {}
        self.targets: dict[str, Any] = {}

    def __repr__(self) -> str:
        return f"name: {self.name},\n nodes: {self.node_names},\n inputs: {self.inputs},\n outputs: {self.outputs}"


def split_module(
    m: GraphModule, root_m: Any, split_callback: Callable[[Node], Any], qualname_map: dict[str, str] | None = None,
    keep_original_order: bool | None = False, keep_original_node_name: bool | None = False, keep_original_input_name: bool = True, *,
    partition_affix: str | None = None,
) -> GraphModule:  # fmt: skip
    """Split a module into submodules ``submod_0``, ``submod_1``, ...; ``split_callback(node)`` names a node's part."""
    nodes = {node.name: node for node in m.graph.nodes}
    partitions: dict[str, Partition] = {}
    place: dict[Node, str] = {}
    for node in m.graph.nodes:
        if node.op in ("placeholder", "get_attr", "output"):
            continue
        name = str(split_callback(node))
        part = partitions.setdefault(name, Partition(name))
        if partition_affix is not None:
            part.submod_name = f"submod_{partition_affix}_{name}"
        part.node_names.append(node.name)
        place[node] = name
    for node in m.graph.nodes:
        for given in node.all_input_nodes:
            _note_use(given, node, place, partitions)
    order = list(partitions) if keep_original_order else _sorted(partitions)
    for name in order:
        part = partitions[name]
        for each in part.inputs:
            made = part.graph.placeholder(each, type_expr=nodes[each].type)
            made.meta = dict(nodes[each].meta)
            part.environment[nodes[each]] = made
    for node in m.graph.nodes:
        if node not in place:
            continue
        part = partitions[place[node]]
        target = node.target
        if node.op == "call_module":
            target = node.target.replace(".", "_")
            part.targets[target] = attrgetter(node.target)(root_m)
            if qualname_map is not None:
                qualname_map[f"{part.submod_name}.{target}"] = node.target
        args = map_arg(node.args, part.environment.__getitem__)
        kwargs = map_arg(dict(node.kwargs), part.environment.__getitem__)
        made = part.graph.create_node(
            node.op, target, args, kwargs, name=node.name if keep_original_node_name else None, type_expr=node.type
        )
        made.meta = dict(node.meta)
        part.environment[node] = made
    return _assembled(m, order, partitions, nodes)


def _note_use(given: Node, user: Node, place: dict[Node, str], partitions: dict[str, Partition]) -> None:
    here, there = place.get(given), place.get(user)
    if here == there:
        return
    if here is not None:
        partitions[here].outputs.setdefault(given.name)
    if there is not None:
        partitions[there].inputs.setdefault(given.name)
        if here is not None:
            partitions[there].dependencies.setdefault(here)


def _sorted(partitions: dict[str, Partition]) -> list[str]:
    """The parts, each after those that it depends on."""
    done: list[str] = []
    worklist = list(partitions)
    while worklist:
        ready = [name for name in worklist if all(each in done for each in partitions[name].dependencies)]
        if not ready:
            raise RuntimeError("cycle exists between partitions!")
        done.append(ready[0])
        worklist.remove(ready[0])
    return done


def _assembled(m: GraphModule, order: list[str], partitions: dict[str, Partition], nodes: dict[str, Node]) -> GraphModule:
    """The module that calls the parts."""
    graph = Graph()
    environment: dict[Node, Any] = {}
    attributes: dict[str, Any] = {}
    for node in m.graph.nodes:
        if node.op == "placeholder":
            made = graph.placeholder(node.target, type_expr=node.type, **({"default_value": node.args[0]} if node.args else {}))
            made.meta = dict(node.meta)
            environment[node] = made

    def value(node: Node) -> Any:
        if node not in environment:  # an attribute of the root
            made = graph.get_attr(node.target, type_expr=node.type)
            made.meta = dict(node.meta)
            environment[node] = made
            attributes[node.target] = attrgetter(node.target)(m)
        return environment[node]

    used = {each for name in order for each in partitions[name].inputs}
    for node in m.graph.nodes:
        if node.op == "get_attr" and node.name in used:
            value(node)
    for name in order:
        part = partitions[name]
        results = tuple(part.environment[nodes[each]] for each in part.outputs)
        if results:
            part.graph.output(results[0] if len(results) == 1 else results)
        else:
            part.graph.output(())
        attributes[part.submod_name] = GraphModule(part.targets, part.graph)
        called = graph.call_module(part.submod_name, tuple(value(nodes[each]) for each in part.inputs))
        if len(part.outputs) == 1:
            environment[nodes[next(iter(part.outputs))]] = called
        else:
            for at, each in enumerate(part.outputs):
                environment[nodes[each]] = graph.call_function(_getitem, (called, at))
    for node in m.graph.nodes:
        if node.op == "output":
            graph.output(map_arg(node.args[0], value), type_expr=node.type)
    whole = GraphModule(attributes, graph)
    whole.meta.update(getattr(m, "meta", {}))
    return whole


__all__ = ["Partition", "split_module"]

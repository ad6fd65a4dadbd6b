"""Replaces patterns in graphs of PyTorch's form: a pattern and what stands for it are small graphs themselves."""

from __future__ import annotations

from typing import Any

from ....core.base import TensorBase
from .ir import AtenBlock, AtenGraph, AtenNode, AtenValue

Values = dict[AtenValue, AtenValue]


def rewrite(graph: AtenGraph, pattern: AtenGraph, replacement: AtenGraph) -> None:
    """Put one graph in the place of another wherever that occurs; both have the same inputs and as many results."""
    if len(pattern._param._outputs) != len(replacement._param._outputs):
        raise RuntimeError("a pattern and its replacement must have the same inputs")
    if len(pattern._return._inputs) != len(replacement._return._inputs):
        raise RuntimeError("a pattern and its replacement must have as many results")
    _rewrite_block(graph, pattern, replacement)


def _rewrite_block(block: AtenBlock, pattern: AtenGraph, replacement: AtenGraph) -> None:
    anchor = pattern._return._inputs[0]._node
    for node in list(block._nodes):
        for inner in node._blocks:
            _rewrite_block(inner, pattern, replacement)
        if node._block is None:  # it belonged to an occurrence before
            continue
        found: dict[AtenNode, AtenNode] = {}
        values: Values = {}
        if _matches_node(anchor, node, found, values, block) and len(found) == len(pattern._nodes) and _is_closed(pattern, found, values):
            _replace(block, node, pattern, replacement, found, values)


def _matches_node(wanted: AtenNode, node: AtenNode, found: dict[AtenNode, AtenNode], values: Values, block: AtenBlock) -> bool:
    if wanted in found:
        return found[wanted] is node
    if wanted._kind != node._kind or node._block is not block or wanted._blocks or node._blocks:
        return False
    if len(wanted._inputs) != len(node._inputs) or len(wanted._outputs) != len(node._outputs):
        return False
    if any(not _same(value, node._attributes.get(name)) for name, value in wanted._attributes.items()):
        return False
    found[wanted] = node
    for one, other in zip(wanted._outputs, node._outputs):
        if values.setdefault(one, other) is not other:
            return False
    return all(_matches_value(one, other, found, values, block) for one, other in zip(wanted._inputs, node._inputs))


def _matches_value(wanted: AtenValue, value: AtenValue, found: dict[AtenNode, AtenNode], values: Values, block: AtenBlock) -> bool:
    if wanted in values:
        return values[wanted] is value
    if wanted._node._kind == "prim::Param":
        values[wanted] = value
        return True
    return _matches_node(wanted._node, value._node, found, values, block)


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, TensorBase) or isinstance(other, TensorBase):
        return one is other
    return type(one) is type(other) and bool(one == other)


def _is_closed(pattern: AtenGraph, found: dict[AtenNode, AtenNode], values: Values) -> bool:
    """Whether nobody else uses what is inside of an occurrence."""
    results = {values[each] for each in pattern._return._inputs}
    nodes = set(found.values())
    inside = [each for node in nodes if node._kind != "prim::Constant" for each in node._outputs if each not in results]
    return all(use.user in nodes for each in inside for use in each.uses())


def _replace(
    block: AtenBlock, place: AtenNode, pattern: AtenGraph, replacement: AtenGraph, found: dict[AtenNode, AtenNode], values: Values
) -> None:
    graph = block._graph
    known = {inner: values[outer] for inner, outer in zip(replacement._param._outputs, pattern._param._outputs)}
    for node in replacement._nodes:
        made = AtenNode(graph, node._kind, [known[each] for each in node._inputs], place._source, place._scope)
        made._attributes = dict(node._attributes)
        for each in node._outputs:
            known[each] = made.addOutput(each._type)
        made.insertBefore(place)
    for wanted, given in zip(pattern._return._inputs, replacement._return._inputs):
        known[given]._type = values[wanted]._type
        values[wanted].replaceAllUsesWith(known[given])
    for node in sorted(found.values(), key=block._nodes.index, reverse=True):
        if not node.hasUses():
            node.destroy()

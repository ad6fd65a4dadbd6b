"""Passes over graphs in PyTorch's form: dead code, common expressions, constants."""

from __future__ import annotations

from typing import Any

from ....core.base import TensorBase
from ....core.declare import table
from ..archive.schema_calls import overloads_of
from ..frontend.types import ListType, Type
from .ir import AtenBlock, AtenGraph, AtenNode, AtenValue
from .run import run_node

_EFFECTS = frozenset(
    "prim::Print prim::RaiseException prim::SetAttr prim::CallFunction prim::CallMethod prim::Enter prim::Exit prim::fork prim::forkClosure prim::Loop "
    "aten::warn aten::_set_item aten::append aten::extend aten::insert aten::pop aten::remove aten::clear aten::Delete aten::sort aten::reverse "
    "aten::manual_seed aten::update aten::setdefault".split()
)
_WRITES = frozenset(
    "aten::_set_item aten::append aten::extend aten::insert aten::clear aten::Delete aten::sort aten::reverse aten::update".split()
)
_FRESH = frozenset(("prim::ListConstruct", "prim::DictConstruct"))
_MUTABLE = frozenset(("prim::ListConstruct", "prim::DictConstruct", "prim::CreateObject", "prim::GetAttr", "prim::Uninitialized"))


def _is_random(name: str) -> bool:
    """Whether an operator draws numbers: two of them give different results."""
    op = table.get(name)
    return (op is not None and op.random) or "dropout" in name


def has_effect(node: AtenNode) -> bool:
    """Whether a node does more than compute its results."""
    name = node._kind.partition("::")[2]
    if node._kind in _EFFECTS and node._kind != "prim::Loop":
        return True
    if node._kind.startswith("aten::") and name.endswith("_") and not name.endswith("__"):
        return True
    return any(has_effect(each) for block in node._blocks for each in block._nodes)


def dce(graph: AtenGraph) -> None:
    """Remove nodes whose results nobody uses, and which do nothing else but write to what nobody reads."""
    while _sweep(graph) or _drop_writes(graph):
        pass


def _drop_writes(graph: AtenGraph) -> bool:
    """Remove writes to values that are made here and used for nothing else."""
    for node in list(graph.all_nodes()):
        if len(node._outputs) == 1 and (node._kind in _FRESH or node._kind.startswith("aten::")) and not has_effect(node):
            users = _writers(node.output())
            if users and not is_view(node):
                for each in reversed(users):
                    assert each._block is not None
                    each._block._nodes.remove(each)
                    each._block = None
                return True
    return False


def _writers(value: AtenValue) -> list[AtenNode] | None:
    """The nodes that use a value, where all of them only write to it; None where one reads it."""
    found: list[AtenNode] = []
    for user, at in value.uses():
        if at or user._kind == "prim::Return" or not _is_write(user):
            return None
        found.append(user)
        for output in user._outputs:
            more = _writers(output)
            if more is None:
                return None
            found += more
    return found


def _is_write(node: AtenNode) -> bool:
    name = node._kind.partition("::")[2]
    return node._kind in _WRITES or (node._kind.startswith("aten::") and name.endswith("_") and not name.endswith("__"))


def is_view(node: AtenNode) -> bool:
    """Whether an op gives a view of an argument."""
    known = overloads_of("aten", node._kind.partition("::")[2]) if node._kind.startswith("aten::") else None
    return known is not None and any(each.alias_info is not None for each in known[1][0]._schema.returns)


def _sweep(block: AtenBlock) -> bool:
    used = {value for node in block._graph.all_nodes() for value in node._inputs}
    changed = False
    for node in list(reversed(block._nodes)):
        if not any(each in used for each in node._outputs) and not has_effect(node):
            block._nodes.remove(node)
            node._block = None
            changed = True
            continue
        for inner in node._blocks:
            changed = _sweep(inner) or changed
    return changed


def _after_writes(node: AtenNode) -> bool:
    """Whether something writes to what a node reads: two of the same may then give different results."""
    return any(use.user is not node and has_effect(use.user) for each in node._inputs for use in each.uses() if not _constant(each))


def cse(graph: AtenGraph) -> bool:
    """Use one of several nodes that compute the same; gives whether there were any."""
    return _common(graph, {})


def _common(block: AtenBlock, known: dict[Any, AtenNode]) -> bool:
    known, changed = dict(known), False
    for node in list(block._nodes):
        for inner in node._blocks:
            changed = _common(inner, known) or changed
        name = node._kind.partition("::")[2]
        if node._blocks or has_effect(node) or _is_random(name) or node._kind in _MUTABLE or _after_writes(node):
            continue
        fields = tuple((key, id(value) if isinstance(value, TensorBase) else repr(value)) for key, value in node._attributes.items())
        key = (node._kind, tuple(node._inputs), fields, tuple(str(each._type) for each in node._outputs))
        found = known.get(key)
        if found is None:
            known[key] = node
            continue
        node.replaceAllUsesWith(found)
        node.destroy()
        changed = True
    return changed


def constant_pooling(graph: AtenGraph) -> None:
    """Have each constant once, before everything."""
    known: dict[Any, AtenNode] = {}
    for node in [each for each in graph.all_nodes() if each._kind == "prim::Constant"]:
        value = node._attributes.get("value", node._attributes.get("name"))
        key = (str(node.output()._type), id(value) if isinstance(value, TensorBase) else repr(value))
        if key in known:
            node.replaceAllUsesWith(known[key])
            node.destroy()
        else:
            known[key] = node
            assert node._block is not None
            node._block._nodes.remove(node)
            graph.prependNode(node)


def constant_propagation(graph: AtenGraph) -> None:
    """Compute what follows from constants, and decide branches on them."""
    _propagate(graph)
    dce(graph)


def _constant(value: AtenValue) -> bool:
    return value._node._kind == "prim::Constant" and "name" not in value._node._attributes


def _propagate(block: AtenBlock) -> None:
    for node in list(block._nodes):
        if node._kind == "prim::If" and _constant(node._inputs[0]):
            _decide(node)
            continue
        for inner in node._blocks:
            _propagate(inner)
        name = node._kind.partition("::")[2]
        if node._blocks or node._kind == "prim::Constant" or has_effect(node) or _is_random(name) or node._kind in _MUTABLE:
            continue
        if not node._inputs or not all(map(_constant_in, node._inputs)) or node._kind.startswith("prim::Uninit"):
            continue
        if any(isinstance(each._type, ListType) or not isinstance(each._type, Type) for each in node._outputs):
            continue
        try:
            results = run_node(node, [_value_of(each) for each in node._inputs], {})
        except Exception:  # the program raises it when it runs
            continue
        for output, value in zip(node._outputs, results):
            made = block._graph.constant(value, output._type)
            made.insertBefore(node)
            output.replaceAllUsesWith(made.output())


def _constant_in(value: AtenValue) -> bool:
    """Whether a value is a constant, or a list or tuple of constants that nothing else uses."""
    node = value._node
    if node._kind in ("prim::ListConstruct", "prim::TupleConstruct"):
        return all(map(_constant_in, node._inputs)) and len(value.uses()) == 1
    return _constant(value)


def _value_of(value: AtenValue) -> Any:
    node = value._node
    if node._kind == "prim::ListConstruct":
        return [_value_of(each) for each in node._inputs]
    if node._kind == "prim::TupleConstruct":
        return tuple(_value_of(each) for each in node._inputs)
    return value.toIValue()


def _decide(node: AtenNode) -> None:
    """The nodes of the block that is taken, in the place of a branch."""
    taken = node._blocks[0 if node._inputs[0].toIValue() else 1]
    _propagate(taken)
    for each in list(taken._nodes):
        each.insertBefore(node)
    for output, value in zip(node._outputs, taken._return._inputs):
        output.replaceAllUsesWith(value)
    node.destroy()


def canonicalize(graph: AtenGraph) -> AtenGraph:
    """A copy whose values are numbered in order."""
    made = graph.copy()
    count = 0

    def number(values: list[AtenValue]) -> None:
        nonlocal count
        for each in values:
            each._name = str(count) if each._name is None or each._name.isdigit() else each._name
            each._number = count
            count += 1

    def walk(block: AtenBlock) -> None:
        number(block._param._outputs)
        for node in block._nodes:
            for inner in node._blocks:
                walk(inner)
            number(node._outputs)

    walk(made)
    return made

"""Small simplifications of graphs in PyTorch's form that follow from types and from the nodes before."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from ..frontend.types import ANY, BOOL, COMPLEX, FLOAT, INT, NONE, STR, ListType, OptionalType, Type, UnionType
from ..ir.type_numbers import number_of
from .ir import AtenBlock, AtenGraph, AtenNode, AtenValue
from .passes import dce, has_effect
from .tensor_type import Sized

_UNCHANGED: Any = object()
_SAME = {"aten::eq": True, "aten::le": True, "aten::ge": True, "aten::ne": False, "aten::lt": False, "aten::gt": False}
_COMPARED: dict[str, Callable[[Any, Any], bool]] = {"aten::__is__": operator.is_, "aten::__isnot__": operator.is_not}


def peephole(graph: AtenGraph, containers: bool = True) -> bool:
    """Simplify nodes until nothing changes; gives whether something did."""
    any_changed = False
    while _simplify_block(graph, containers):
        any_changed = True
    if any_changed:
        dce(graph)
    return any_changed


def _simplify_block(block: AtenBlock, containers: bool) -> bool:
    changed = False
    for node in list(block._nodes):
        for inner in node._blocks:
            changed = _simplify_block(inner, containers) or changed
        for output in node._outputs:
            if not output.uses():
                continue
            found = _simplified(node, output, containers)
            if isinstance(found, AtenValue):
                output.replaceAllUsesWith(found)
                changed = True
            elif found is not _UNCHANGED:
                made = block._graph.constant(found, None if found is None or not isinstance(output._type, Type) else output._type)
                made.insertBefore(node)
                output.replaceAllUsesWith(made.output())
                changed = True
    return changed


def _simplified(node: AtenNode, output: AtenValue, containers: bool) -> Any:
    """The value or constant that may stand for a result."""
    rule = _RULES.get(node._kind)
    found = rule(node) if rule is not None else _UNCHANGED
    if found is _UNCHANGED and containers:
        rule = _CONTAINER_RULES.get(node._kind)
        found = rule(node) if rule is not None else _UNCHANGED
    return found


def _facts(value: AtenValue) -> Sized:
    return value._type if isinstance(value._type, Sized) else Sized()


def _is_constant(value: AtenValue, *wanted: Any) -> bool:
    node = value._node
    if node._kind != "prim::Constant":
        return False
    held = node._attributes.get("value")
    return any(type(held) is type(each) and held == each for each in wanted)


def _neutral(wanted: tuple[Any, ...], sides: tuple[int, ...]) -> Callable[[AtenNode], Any]:
    """A rule for operators that change nothing with some number on one side."""

    def rule(node: AtenNode) -> Any:
        result = node._outputs[0]
        for at in sides:
            kept, number = node._inputs[1 - at], node._inputs[at]
            scaled = len(node._inputs) > 2 and not _is_constant(node._inputs[2], 1)
            if _is_constant(number, *wanted) and not scaled and _stays(kept, number, result):
                return kept
        return _UNCHANGED

    return rule


def _stays(kept: AtenValue, number: AtenValue, result: AtenValue) -> bool:
    """Whether a value has the type that the result has."""
    if isinstance(kept._type, Sized):
        elements = kept._type.dtype()
        return elements is not None and (elements.is_floating_point or elements.is_complex or number._type == INT)
    return kept._type == result._type and kept._type in (INT, FLOAT, COMPLEX)


def _same_value(node: AtenNode) -> Any:
    one, other = node._inputs
    fixed = one._type in (INT, BOOL, STR) or (isinstance(one._type, ListType) and one._type.element in (INT, BOOL, STR))
    return _SAME[node._kind] if one is other and fixed else _UNCHANGED


def _compared_with_none(node: AtenNode) -> Any:
    kinds = [each._type for each in node._inputs]
    if NONE not in kinds:
        return _UNCHANGED
    if kinds == [NONE, NONE]:
        return node._kind == "aten::__is__"
    other = kinds[0] if kinds[1] == NONE else kinds[1]
    if other in (ANY, NONE) or isinstance(other, (OptionalType, UnionType)):
        return _UNCHANGED
    return node._kind == "aten::__isnot__"


def _unwrapped(node: AtenNode) -> Any:
    kind = node._inputs[0]._type
    return _UNCHANGED if isinstance(kind, (OptionalType, UnionType)) or kind in (ANY, NONE) else node._inputs[0]


def _inverse(*kinds: str) -> Callable[[AtenNode], Any]:
    """A rule for a node that undoes the one before it."""

    def rule(node: AtenNode) -> Any:
        before = node._inputs[0]._node
        if node._inputs[0]._type == node._outputs[0]._type and node._outputs[0]._type in (INT, FLOAT):
            return node._inputs[0]
        return before._inputs[0] if before._kind in kinds and before._inputs[0]._type == node._outputs[0]._type else _UNCHANGED

    return rule


def _transposed_twice(node: AtenNode) -> Any:
    before = node._inputs[0]._node
    return before._inputs[0] if before._kind == "aten::t" else _UNCHANGED


def _alike(node: AtenNode) -> Any:
    one, other = map(_facts, node._inputs)
    known = one.dtype() is not None and one.device() is not None
    return node._inputs[0] if known and one.dtype() == other.dtype() and one.device() == other.device() else _UNCHANGED


def _expanded(node: AtenNode) -> Any:
    sizes, wanted = _facts(node._inputs[0]).sizes(), _list_of(node._inputs[1])
    if sizes is None or wanted is None or not all(each._node._kind == "prim::Constant" for each in wanted):
        return _UNCHANGED
    return node._inputs[0] if [each.toIValue() for each in wanted] == sizes else _UNCHANGED


def _size(node: AtenNode) -> Any:
    sizes = _facts(node._inputs[0]).sizes()
    if sizes is None:
        return _UNCHANGED
    if len(node._inputs) == 1:
        return sizes
    at = node._inputs[1].toIValue()
    return sizes[at] if isinstance(at, int) and -len(sizes) <= at < len(sizes) else _UNCHANGED


def _fact(read: Callable[[Sized], Any]) -> Callable[[AtenNode], Any]:
    """A rule for what is known of a tensor without it."""

    def rule(node: AtenNode) -> Any:
        found = read(_facts(node._inputs[0]))
        return _UNCHANGED if found is None else found

    return rule


def _of_elements(name: str) -> Callable[[Sized], Any]:
    return lambda kind: None if kind.dtype() is None else getattr(kind.dtype(), name)


def _chosen(node: AtenNode) -> Any:
    """A branch that gives its condition."""
    for at, output in enumerate(node._outputs):
        kinds = [block._return._inputs[at]._type for block in node._blocks]
        if isinstance(output._type, OptionalType) and all(each == output._type.inner for each in kinds):
            output._type = output._type.inner
    if len(node._outputs) != 1 or any(has_effect(each) for block in node._blocks for each in block._nodes):
        return _UNCHANGED
    first, second = (block._return._inputs[0] for block in node._blocks)
    if _is_constant(first, True) and _is_constant(second, False):
        return node._inputs[0]
    return first if first is second else _UNCHANGED


def _list_of(value: AtenValue) -> list[AtenValue] | None:
    """The elements of a list that is made of them and never changed."""
    node = value._node
    if node._kind not in ("prim::ListConstruct", "prim::TupleConstruct") or (node._kind == "prim::ListConstruct" and _escapes(value)):
        return None
    return list(node._inputs)


def _escapes(value: AtenValue) -> bool:
    """Whether a list or dict may be changed: something writes to it, keeps it, or gives it away."""
    return any(not use.user._kind.startswith("aten::") or has_effect(use.user) for use in value.uses() if use.user._kind != "prim::Return")


def _count(node: AtenNode) -> Any:
    found = _list_of(node._inputs[0])
    if found is not None:
        return len(found)
    entries = _entries(node._inputs[0])
    if entries is not None:
        return len(entries)
    return _UNCHANGED


def _entries(value: AtenValue) -> dict[Any, AtenValue] | None:
    """The entries of a dict that is made of constants as keys, each once, and never changed."""
    node = value._node
    if node._kind != "prim::DictConstruct" or _escapes(value):
        return None
    keys = [each.toIValue() for each in node._inputs[::2]]
    if any(each._node._kind != "prim::Constant" or not isinstance(key, (int, float, str)) for each, key in zip(node._inputs[::2], keys)):
        return None
    found = dict(zip(keys, node._inputs[1::2]))
    return found if len(found) == len(keys) and len({type(each) for each in keys}) <= 1 else None


def _element(node: AtenNode) -> Any:
    base, index = node._inputs
    if index._node._kind != "prim::Constant":
        return _UNCHANGED
    key = index.toIValue()
    entries = _entries(base)
    if entries is not None:
        return entries.get(key, _UNCHANGED)
    found = _list_of(base)
    if found is None or not isinstance(key, int) or not -len(found) <= key < len(found):
        return _UNCHANGED
    return found[key]


def _unpacked(graph: AtenGraph) -> bool:
    """Use the parts of tuples and lists where they are taken apart again."""
    changed = False
    for node in list(graph.all_nodes()):
        if node._kind in ("prim::TupleUnpack", "prim::ListUnpack"):
            found = _list_of(node._inputs[0])
            if found is not None and len(found) == len(node._outputs):
                for output, value in zip(node._outputs, found):
                    changed = changed or bool(output.uses())
                    output.replaceAllUsesWith(value)
    return changed


def list_idioms(graph: AtenGraph, refine_list_len: bool = False) -> bool:
    """Take apart lists whose elements are known: their length, items, slices and sums."""
    changed = _unpacked(graph)
    for node in list(graph.all_nodes()):
        parts: list[AtenValue] | None = None
        if node._kind == "aten::slice" and len(node._inputs) == 4:
            found, bounds = _list_of(node._inputs[0]), node._inputs[1:]
            if found is not None and all(each._node._kind == "prim::Constant" for each in bounds):
                parts = found[slice(*(each.toIValue() for each in bounds))]
        elif node._kind == "aten::add" and len(node._inputs) == 2:
            both = [_list_of(each) for each in node._inputs]
            parts = None if None in both else [each for part in both for each in part or ()]
        if parts is not None:
            made = AtenNode(graph, "prim::ListConstruct", parts, node._source)
            made.addOutput(node._outputs[0]._type)
            made.insertBefore(node)
            node.replaceAllUsesWith(made)
            changed = True
    return peephole(graph) or changed


_RULES: dict[str, Callable[[AtenNode], Any]] = {
    **dict.fromkeys(_SAME, _same_value), **dict.fromkeys(_COMPARED, _compared_with_none),
    "aten::add": _neutral((0, 0.0), (0, 1)), "aten::sub": _neutral((0, 0.0), (1,)), "aten::mul": _neutral((1, 1.0), (0, 1)),
    "aten::div": _neutral((1, 1.0), (1,)), "aten::floordiv": _neutral((1,), (1,)), "aten::pow": _neutral((1, 1.0), (1,)),
    "prim::unchecked_unwrap_optional": _unwrapped, "aten::_unwrap_optional": _unwrapped, "aten::t": _transposed_twice, "aten::type_as": _alike,
    "aten::expand": _expanded, "aten::Int": _inverse("prim::NumToTensor", "aten::Float"), "aten::Float": _inverse("prim::NumToTensor"),
    "aten::IntImplicit": _inverse("prim::NumToTensor"), "aten::FloatImplicit": _inverse("prim::NumToTensor"), "aten::size": _size,
    "aten::dim": _fact(Sized.dim), "prim::dtype": _fact(lambda kind: None if kind.dtype() is None else number_of(kind.dtype())),
    "prim::device": _fact(Sized.device), "aten::is_floating_point": _fact(_of_elements("is_floating_point")),
    "aten::is_complex": _fact(_of_elements("is_complex")), "prim::is_cuda": _fact(lambda kind: None if kind.device() is None else kind.device().type == "cuda"),
    "prim::If": _chosen,
}  # fmt: skip
_CONTAINER_RULES = {"aten::len": _count, "aten::__getitem__": _element, "prim::TupleIndex": _element}

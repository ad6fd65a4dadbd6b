"""Runs graphs in PyTorch's form: node by node, on Python values."""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable
from typing import Any

from ....core.base import TensorBase
from ....core.errors import CaptureError, OperationError
from ....ops.overloads import find_packet
from ..ir.graph_functions import format_text
from .ir import AtenBlock, AtenGraph, AtenNode, AtenValue

_NUMBERS: dict[str, Callable[..., Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv, "floordiv": operator.floordiv, "remainder": operator.mod,
    "pow": operator.pow, "neg": operator.neg, "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt,
    "ge": operator.ge, "__is__": operator.is_, "__isnot__": operator.is_not, "__not__": operator.not_, "__and__": operator.and_, "__or__": operator.or_,
    "__xor__": operator.xor, "len": len, "str": str, "Int": int, "Float": float, "Bool": bool, "__getitem__": operator.getitem, "ord": ord, "chr": chr,
    "floor": math.floor, "ceil": math.ceil, "sqrt": math.sqrt, "__contains__": operator.contains, "__range_length": lambda a, b, c: len(range(a, b, c)),
    "__derive_index": lambda index, start, step: start + index * step, "format": format_text, "hash": hash,
}  # fmt: skip


def run(graph: AtenGraph, *args: Any) -> Any:
    """What a graph gives for arguments: of several results a tuple."""
    found = run_block(graph, dict(zip(graph._param._outputs, args)))
    return found[0] if len(found) == 1 else tuple(found)


def run_block(block: AtenBlock, values: dict[AtenValue, Any]) -> list[Any]:
    """The results of a block."""
    for node in block._nodes:
        results = run_node(node, [values[each] for each in node._inputs], values)
        values.update(zip(node._outputs, results))
    return [values[each] for each in block._return._inputs]


def run_node(node: AtenNode, given: list[Any], values: dict[AtenValue, Any]) -> list[Any]:
    """The results of a node."""
    place, _, name = node._kind.partition("::")
    if place == "prim":
        return _primitive(node, name, given, values)
    if place == "aten" and name in _NUMBERS and not any(map(_of_tensors, given[:2])):
        return [_NUMBERS[name](*given)]
    if place == "aten" and name == "warn":
        return []
    result = _called(place, name, given)
    return list(result) if len(node._outputs) > 1 else [result]


def _called(place: str, name: str, given: list[Any]) -> Any:
    """What an operator gives for all arguments of a schema, in order."""
    packet = find_packet(place, name)
    for each in [getattr(packet, overload) for overload in packet.overloads()]:
        arguments = each._schema.arguments
        if len(arguments) != len(given):
            continue
        named = {argument.name: value for argument, value in zip(arguments, given) if argument.kwarg_only}
        try:
            return each(*(value for argument, value in zip(arguments, given) if not argument.kwarg_only), **named)
        except OperationError:  # the arguments are those of another overload
            continue
    return packet(*given)


def _of_tensors(value: Any) -> bool:
    return isinstance(value, TensorBase)


def _primitive(node: AtenNode, name: str, given: list[Any], values: dict[AtenValue, Any]) -> list[Any]:
    if name == "Constant":
        return [node._attributes.get("value")]
    if name == "ListConstruct":
        return [list(given)]
    if name == "TupleConstruct":
        return [tuple(given)]
    if name == "DictConstruct":
        return [dict(zip(given[::2], given[1::2]))]
    if name in ("TupleUnpack", "ListUnpack"):
        return list(given[0])
    if name == "TupleIndex":
        return [given[0][given[1]]]
    if name in ("EnumName", "EnumValue"):
        return [getattr(given[0], name.removeprefix("Enum").lower())]
    if name == "GetAttr":
        return [getattr(given[0], node._attributes["name"])]
    if name in ("unchecked_cast", "unchecked_unwrap_optional"):
        return [given[0]]
    if name == "NumToTensor":
        return [find_packet("aten", "scalar_tensor")(given[0])]
    if name in ("min", "max", "abs"):
        return [getattr(builtins, name)(*given)]
    if name == "device":
        return [given[0].device]
    if name == "Print":
        print(*given)
        return []
    if name == "RaiseException":
        raise RuntimeError(given[0])
    if name == "If":
        return run_block(node._blocks[0 if given[0] else 1], values)
    if name == "Loop":
        count, going, *carried = given
        body, at = node._blocks[0], 0
        while at < count and going:
            values.update(zip(body._param._outputs, (at, *carried)))
            going, *carried = run_block(body, values)
            at += 1
        return carried
    raise CaptureError(f"a graph with prim::{name} does not run by itself")

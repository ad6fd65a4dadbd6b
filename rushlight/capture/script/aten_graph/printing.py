"""Graphs in PyTorch's form as text."""

from __future__ import annotations

import enum
import math
from typing import Any

from ....core.base import TensorBase
from ....core.devices import device
from ....core.dtypes import dtype
from ..frontend.types import (
    NONE,
    ClassType,
    DictType,
    ElementTypes,
    EnumType,
    InterfaceType,
    ListType,
    OptionalType,
    TupleType,
    Type,
    UnionType,
    _union_order,
)  # fmt: skip
from .tensor_type import Sized

Text = str  # types have a method of the name ``str``


class Words(str):
    """A text that is shown without quotes."""

    __slots__ = ()


class TupleOf:
    """A tuple of values some of which are tensors of known sizes."""

    def __init__(self, elements: list[Any]) -> None:
        self.elements = ElementTypes(elements)

    def kind(self) -> Text:
        """What kind of type it is."""
        return "TupleType"

    def str(self) -> Text:
        """The type as graphs show it."""
        return f"({', '.join(map(type_text, self.elements))})"


def type_text(kind: Any) -> str:
    """A type as graphs show it: ``int[]``, ``Tensor?``, ``Dict(str, int)``."""
    if isinstance(kind, OptionalType):
        if isinstance(kind.inner, UnionType):
            return _union((*kind.inner.options, NONE))
        return f"{type_text(kind.inner)}?"
    if isinstance(kind, UnionType):
        return _union(kind.options)
    if isinstance(kind, ListType):
        return f"{type_text(kind.element)}[]"
    if isinstance(kind, DictType):
        return f"Dict({type_text(kind.key)}, {type_text(kind.value)})"
    if isinstance(kind, TupleType):
        if kind.kind is not None:
            defaults = getattr(kind.kind, "_field_defaults", {})
            fields = [
                f"{name} : {type_text(each)}" + (f" = {constant_text(defaults[name])}" if name in defaults else "")
                for name, each in zip(kind.kind._fields, kind.elements)
            ]
            return f"NamedTuple({', '.join(fields)})"
        return f"({', '.join(map(type_text, kind.elements))})"
    if isinstance(kind, (ClassType, InterfaceType)):
        owner = kind.described.kind if isinstance(kind, ClassType) else kind.kind
        return qualified(owner)
    if isinstance(kind, EnumType):
        return f"Enum<{qualified(kind.kind)}>"
    if isinstance(kind, Type):
        return {"number": "Scalar", "dtype": "int", "Never": "NoneType", "object": "Any"}.get(kind.name, kind.name)
    return kind.str() if isinstance(kind, (Sized, TupleOf)) else str(kind)


def _union(options: tuple[Type, ...]) -> str:
    return f"Union({', '.join(type_text(each) for each in sorted(options, key=_union_order))})"


def qualified(kind: Any) -> str:
    """The name of a class as archives have it."""
    parts = [each for each in (getattr(kind, "__module__", "") or "").split(".") if each not in ("", "__main__", "__torch__")]
    return ".".join(("__torch__", *parts, kind.__name__))


def constant_text(value: Any) -> str:
    """A constant as graphs show it."""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, Words):
        return str(value)
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
    if isinstance(value, TensorBase):
        return "{" + constant_text(value.item()) + "}" if not value.shape else "<Tensor>"  # type: ignore[attr-defined]
    if isinstance(value, enum.Enum):
        return f"{qualified(type(value))}.{value.name}"
    if isinstance(value, (device, dtype)):
        return f'"{value}"' if isinstance(value, device) else str(value)
    if isinstance(value, (list, tuple)):
        left, right = "[]" if isinstance(value, list) else "()"
        return left + ", ".join(map(constant_text, value)) + right
    if isinstance(value, dict):
        return "{" + ", ".join(f"{constant_text(key)}: {constant_text(each)}" for key, each in value.items()) + "}"
    return str(value)


def _float(value: float) -> str:
    if math.isinf(value) or math.isnan(value):
        return str(value)
    text = f"{value:.17g}"
    short = repr(value)
    text = short if float(short) == value else text
    return f"{int(value)}." if value == int(value) and abs(value) < 1e16 else text


def node_text(node: Any, depth: int = 1) -> str:
    """A node, with its blocks."""
    indent = "  " * depth
    made = ", ".join(f"%{each.debugName()} : {type_text(each._type)}" for each in node._outputs)
    fields = ", ".join(f"{name}={constant_text(value)}" for name, value in node._attributes.items())
    given = ", ".join(f"%{each.debugName()}" for each in node._inputs)
    where = f" # {node._source}" if node._source else ""
    text = f"{indent}{made} = {node._kind}{f'[{fields}]' if fields else ''}({given}){where}\n"
    for at, block in enumerate(node._blocks):
        inputs = ", ".join(f"%{each.debugName()} : {type_text(each._type)}" for each in block._param._outputs)
        text += f"{indent}  block{at}({inputs}):\n"
        text += "".join(node_text(each, depth + 2) for each in block._nodes)
        text += f"{indent}    -> ({', '.join('%' + each.debugName() for each in block._return._inputs)})\n"
    return text


def graph_text(graph: Any, head: str = "graph") -> str:
    """A whole graph; groups of nodes that are graphs of their own follow it."""
    joint = ",\n" + " " * (len(head) + 1)
    inputs = joint.join(f"%{each.debugName()} : {type_text(each._type)}" for each in graph._param._outputs)
    lines = "".join(node_text(each) for each in graph._nodes)
    return f"{head}({inputs}):\n{lines}  return ({', '.join('%' + each.debugName() for each in graph._return._inputs)})\n"

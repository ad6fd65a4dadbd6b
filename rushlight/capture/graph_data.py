"""Graphs as plain data (lists, dicts, strings, numbers): what is written to a file.

Reading one runs no code: a target is an op of the table, a function of ``operator``, or one of those that are listed in ``SPACES``,
and nothing else.
"""

from __future__ import annotations

import enum
import functools
import operator
import re
from collections import namedtuple
from collections.abc import Callable
from typing import Any

from ..core.base import Spec
from ..core.declare import lookup
from ..core.devices import CPU, device
from ..core.dtypes import BY_NAME, BY_NUMPY, dtype
from ..core.errors import CaptureError
from ..core.symbolic import Expression, SymbolicInt, is_symbolic
from ..graph import Graph, Node, control
from ..tensor import layout as layouts
from .tracer.tracer import as_size

_NUMBERS: dict[str, Any] = {
    each.__name__: each
    for each in (
        operator.getitem, operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow,
        operator.neg, max, min, as_size,
    )
}  # fmt: skip
# Further functions that graphs in files may call, by a space and a name.
SPACES: dict[str, dict[str, Any]] = {
    "number": _NUMBERS,
    "control": {"branch": control.branch, "loop": control.loop, "within": control.within},
}
# Further spaces whose functions have names of their own making: what names a function (None where it is not of the space), and what finds it.
NAMERS: dict[str, tuple[Callable[[Any], str | None], Callable[[str], Any]]] = {}
METHODS: set[str] = {"size"}  # that graphs in files may call
ATTRIBUTES = re.compile(r"(?!__)[^.]+|__setattr__|__len__|__contains__|__getitem__")  # the parts of paths
TENSORS = re.compile(r"(?!__)[^.]+")  # the parts of paths of parameters and buffers, which other programs may have named
_FORMATS = {each.name: each for each in vars(layouts).values() if isinstance(each, (layouts.memory_format, layouts.layout))}


def to_data(graph: Graph, functions: dict[Any, str] | None = None) -> list[dict[str, Any]]:
    """The nodes of a graph as plain data; ``functions`` names the scripted functions that it calls."""
    rows = []
    for node in graph.nodes:
        row: dict[str, Any] = {"name": node.name, "op": node.op, "target": _target(node, functions or {})}
        if node.type is not None:
            row["type"] = str(node.type)
        if node.meta.get("impure"):
            row["impure"] = True
        if node.bodies:
            row["bodies"] = {name: to_data(body, functions) for name, body in node.bodies.items()}
        row["args"] = encode(tuple(node.args))
        if node.kwargs:
            row["kwargs"] = encode(dict(node.kwargs))
        for key in ("source", "module"):
            if node.meta.get(key):
                row[key] = list(node.meta[key]) if key == "source" else node.meta[key]
        if "val" in node.meta:
            row["val"] = _describe(node.meta["val"])
        rows.append(row)
    return rows


def from_data(rows: list[dict[str, Any]], functions: dict[str, Any] | None = None, read_type: Callable[[str], Any] = str) -> Graph:
    """The graph that :func:`to_data` wrote down."""
    graph = Graph()
    nodes: dict[str, Node] = {}
    for row in rows:
        kind, target = row["op"], row["target"]
        if kind == "call_function":
            target = _function(target, {} if functions is None else functions)
        elif kind not in ("placeholder", "get_attr", "call_method", "call_module", "output"):
            raise CaptureError(f"the file has a node of the unknown kind '{kind}'")
        elif kind == "call_method" and target not in METHODS:
            raise CaptureError(f"the file names the method '{target}', which a graph can't call")
        elif kind in ("call_module", "get_attr") and not all(
            map((TENSORS if kind == "get_attr" else ATTRIBUTES).fullmatch, target.split("."))
        ):
            raise CaptureError(f"the file names the attribute '{target}', which a graph can't use")
        args, kwargs = decode(row["args"], nodes), decode(row.get("kwargs", {"dict": []}), nodes)
        if target is getattr and not (len(args) == 2 and isinstance(args[1], str) and ATTRIBUTES.fullmatch(args[1])):
            raise CaptureError("the file reads an attribute that a graph can't read")
        if (
            kind == "call_module"
            and target.endswith("__setattr__")
            and not (args and isinstance(args[0], str) and ATTRIBUTES.fullmatch(args[0]))
        ):
            raise CaptureError("the file sets an attribute that a graph can't set")
        node = graph.create_node(kind, target, args, kwargs, name=row["name"], type_expr=read_type(row["type"]) if "type" in row else None)
        nodes[row["name"]] = node
        if row.get("impure"):
            node.meta["impure"] = True
        if "bodies" in row:
            node.meta["bodies"] = {name: from_data(body, functions, read_type) for name, body in row["bodies"].items()}
        if "source" in row:
            node.meta["source"] = tuple(row["source"])
        node.meta["module"] = row.get("module", "")
        if "val" in row:
            node.meta["val"] = _restore(row["val"])
    if not graph.find_nodes(op="output"):
        raise CaptureError("the file is damaged: a graph in it has no output")
    return graph


def _function(target: str, functions: dict[str, Any]) -> Any:
    """The function of a name in a file."""
    space, _, name = target.partition(":")
    if space == "op":
        return lookup(name).call
    if space in NAMERS:
        found = NAMERS[space][1](name)
    else:
        found = functions.get(name) if space == "script" else SPACES.get(space, {}).get(name)
    if found is None:
        raise CaptureError(f"the file names the function '{target}', which a graph can't call")
    return found


def _target(node: Node, functions: dict[Any, str]) -> str:
    if node.op != "call_function" and not node.meta.get("python"):
        return str(node.target)
    if node.table_op is not None:
        return f"op:{node.table_op.name}"
    for space, known in SPACES.items():
        name = getattr(node.target, "__name__", "")
        if known.get(name) is node.target:
            return f"{space}:{name}"
    for space, (name_of, _) in NAMERS.items():
        found = name_of(node.target)
        if found is not None:
            return f"{space}:{found}"
    if node.target in functions:
        return f"script:{functions[node.target]}"
    name = getattr(node.meta.get("function"), "__name__", None) or getattr(node.target, "__name__", str(node.target))
    raise python_call(str(name))


def python_call(name: str) -> CaptureError:
    """The error of a program that can't be saved because it calls Python."""
    return CaptureError(
        f"Could not export Python function call '{name}'. A file holds ops, and no Python code: remove calls to Python functions "
        "(custom Functions too) before saving, or save the state_dict"
    )


def encode(value: Any) -> Any:
    """An argument as plain data."""
    if value is None or type(value) in (bool, str):
        return value
    if isinstance(value, Node):
        return {"node": value.name}
    if isinstance(value, enum.Enum):
        kind = type(value)
        base = "int" if isinstance(value, int) else "str" if isinstance(value, str) else ""
        return {"enum": [kind.__name__, base, value.name, [[each.name, encode(each.value)] for each in kind]]}
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        return {"float": float.hex(value)}
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, complex):
        return {"complex": [float.hex(value.real), float.hex(value.imag)]}
    if isinstance(value, list):
        return {"list": [encode(each) for each in value]}
    if isinstance(value, tuple):
        values = [encode(each) for each in value]
        return {"named": [type(value).__name__, list(value._fields), values]} if hasattr(value, "_fields") else {"tuple": values}
    if isinstance(value, dict):
        return {"dict": [[encode(key), encode(each)] for key, each in value.items()]}
    if isinstance(value, slice):
        return {"slice": [encode(value.start), encode(value.stop), encode(value.step)]}
    if value is Ellipsis:
        return {"ellipsis": True}
    if isinstance(value, dtype):
        return {"dtype": value.name}
    if isinstance(value, device):
        return {"device": str(value)}
    if isinstance(value, (layouts.memory_format, layouts.layout)):
        return {"format": value.name}
    if value is control.UNSET:
        return {"unset": True}
    raise CaptureError(f"a value of type {type(value).__name__} in the graph can't be written to a file")


def decode(data: Any, nodes: dict[str, Node]) -> Any:
    """The argument that :func:`encode` wrote down."""
    if not isinstance(data, dict):
        return data
    ((kind, value),) = data.items()
    if kind == "node":
        if value not in nodes:
            raise CaptureError(f"the file uses the value '{value}' before it is made")
        return nodes[value]
    if kind == "float":
        return float.fromhex(value)
    if kind == "complex":
        return complex(float.fromhex(value[0]), float.fromhex(value[1]))
    if kind == "list":
        return [decode(each, nodes) for each in value]
    if kind == "tuple":
        return tuple(decode(each, nodes) for each in value)
    if kind == "named":
        name, fields, values = value
        return namedtuple(name, fields)(*[decode(each, nodes) for each in values])  # type: ignore[misc]
    if kind == "dict":
        return {decode(key, nodes): decode(each, nodes) for key, each in value}
    if kind == "enum":
        name, base, member, members = value
        return _enumeration(name, base, tuple((each, decode(number, {})) for each, number in members))[member]
    if kind == "slice":
        return slice(*[decode(each, nodes) for each in value])
    if kind == "unset":
        return control.UNSET
    if kind == "ellipsis":
        return Ellipsis
    if kind == "dtype":
        return BY_NAME[value]
    if kind == "device":
        return device(value)
    if kind == "format":
        return _FORMATS[value]
    raise CaptureError(f"the file has an argument of the unknown kind '{kind}'")


class ReadEnum(enum.Enum):
    """An enumeration that was read from a file: a member is equal to that of the same name of the class that was written."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, enum.Enum) and type(other).__name__ == type(self).__name__ and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)


@functools.lru_cache(maxsize=256)
def _enumeration(name: str, base: str, members: tuple[tuple[str, Any], ...]) -> Any:
    """The enumeration of these members, one for all that a file says of it."""
    if not all(
        isinstance(each, str) and each.isidentifier() and not each.startswith("_") for each in (name, *(each for each, _ in members))
    ):
        raise CaptureError(f"the file has an enumeration '{name}' with names that members can't have")
    kind: Any = {"int": enum.IntEnum, "str": enum.StrEnum}.get(base, ReadEnum)
    return kind(name, list(members))


def _describe(value: Any) -> Any:
    """What is known about a value: for people, and for the printer."""
    if isinstance(value, Spec):
        return {
            "spec": [
                BY_NUMPY[value.dtype].name,
                [str(each.expression) if isinstance(each, SymbolicInt) else int(each) for each in value.shape],
                *([] if value.device in (None, CPU) else [str(value.device)]),
            ]
        }
    if isinstance(value, tuple):
        return {"tuple": [_describe(each) for each in value]}
    if is_symbolic(value):
        return {"size": str(getattr(value, "expression", "number"))}
    return None


def _restore(data: Any) -> Any:
    if not isinstance(data, dict):
        return data
    ((kind, value),) = data.items()
    if kind == "spec":
        place = device(value[2]) if len(value) > 2 else CPU
        return Spec(tuple(_symbol(each) for each in value[1]), BY_NAME[value[0]].numpy, device=place)
    return tuple(_restore(each) for each in value) if kind == "tuple" else _symbol(value)


def _symbol(size: Any) -> Any:
    return SymbolicInt(0, Expression.symbol(size)) if isinstance(size, str) else size

"""Small parts of the text of archives: literals, types that are not known whole, and uses of values."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ....core.schema import SchemaType
from ....graph import Node
from ....graph.control import loop
from ..frontend.types import ANY, DictType, ListType, OptionalType, TupleType, Type
from ..lower.compiler import ScriptParameter, Signature


def given_always(signature: Signature) -> list[ScriptParameter]:
    """The parameters up to the last that has no default: archives can't hold defaults among them, and each call gives them."""
    last = max((at for at, each in enumerate(signature.parameters) if each.default is ...), default=-1)
    return signature.parameters[: last + 1]


def is_open(kind: Type) -> bool:
    """Whether there is something of no known type in a type."""
    if isinstance(kind, (ListType, DictType, TupleType, OptionalType)):
        parts = {ListType: ("element",), DictType: ("key", "value"), OptionalType: ("inner",)}.get(type(kind), ())
        return any(map(is_open, kind.elements if isinstance(kind, TupleType) else [getattr(kind, part) for part in parts]))
    return kind == ANY


def is_open_list(kind: SchemaType) -> bool:
    """Whether an argument is a list of any length, which one number does not stand for."""
    return kind.listed and (kind.element if kind.optional and kind.element is not None else kind).size is None


def names_type(names: tuple[str, ...], kind: Type) -> bool:
    """Whether one of the names that ``isinstance`` asks for is that of a type: in full, or of its container alone."""
    bare = (
        "list" if isinstance(kind, ListType) else "dict" if isinstance(kind, DictType) else "tuple" if isinstance(kind, TupleType) else ""
    )
    return repr(kind) in names or bare in names


def quoted(text: str) -> str:
    """A text as code has it: what is not printable ASCII byte by byte."""
    made = ""
    for byte in text.encode():
        letter = chr(byte)
        made += f"\\{letter}" if letter in '"\\' else letter if 32 <= byte < 127 else f"\\{byte:03o}"
    return f'"{made}"'


def number(value: float) -> str:
    """A float as code has it."""
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    text = repr(value)
    return text if "." in text or "e" in text else f"{text}."


def uses(node: Node) -> Iterator[tuple[Node, Node]]:
    """What uses a value, also inside of branches and loops, and what it is called there."""
    for user in node.users:
        if not user.bodies:
            yield user, node
            continue
        given = (None, *user.args[2], *(user.args[3] if len(user.args) > 3 else ())) if user.target is loop else user.args[1:]
        for body in user.bodies.values():
            for inner, outer in zip([each for each in body.nodes if each.op == "placeholder"], given):
                if outer is node:
                    yield from uses(inner)

"""``torch.ops.prim``: the questions about a tensor that PyTorch has as operators, which dispatch handlers of wrapper subclasses answer."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from ..core.schema import parse_schema
from .overloads import OpOverload, OpOverloadPacket

_QUESTIONS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "device": ("(Tensor a) -> Device", lambda tensor: tensor.device),
    "layout": ("(Tensor a) -> Layout", lambda tensor: tensor.layout),
}


@cache
def packet(namespace: str, name: str) -> OpOverloadPacket | None:
    """The packet of an operator, or None where there is none of its name."""
    if name not in _QUESTIONS:
        return None
    schema, answer = _QUESTIONS[name]
    made = OpOverloadPacket(namespace, name)
    made._overloads["default"] = OpOverload(made, parse_schema(f"prim::{name}{schema}"), lambda values: answer(values[0]))
    return made


def names(namespace: str) -> set[str]:
    """The operators of the namespace."""
    return set(_QUESTIONS)

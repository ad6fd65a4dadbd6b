"""Operators whose meaning has changed: what a call in the code of an older archive is today."""

from __future__ import annotations

import ast
from typing import Any

from ..frontend.types import ANY, NONE, TENSOR
from ..lower.scope import ScriptValue
from .schema_calls import NUMBERS

_OPTIONS = "dtype=None, layout=None, device=None, pin_memory=None"
_PASSED = "dtype=dtype, layout=layout, device=device, pin_memory=pin_memory"
_WITH_FLOATS = "torch.is_floating_point(self) or torch.is_floating_point(other)"
_TEXTS = {  # by the last version of the format that had them: the operator as it was, by those of today
    3: f"""
def div(self: Tensor, other: Tensor):
    return torch.true_divide(self, other) if {_WITH_FLOATS} else torch.divide(self, other, rounding_mode="trunc")
def div(self: Tensor, other: Tensor, *, out: Tensor):
    return torch.true_divide(self, other, out=out) if {_WITH_FLOATS} or torch.is_floating_point(out) else torch.divide(self, other, rounding_mode="trunc", out=out)
def div(self: Tensor, other: number):
    return torch.true_divide(self, other) if torch.is_floating_point(self) or isinstance(other, float) else torch.divide(self, other, rounding_mode="trunc")
def div_(self: Tensor, other: Tensor):
    return torch.true_divide_(self, other) if {_WITH_FLOATS} else torch.divide_(self, other, rounding_mode="trunc")
def div_(self: Tensor, other: number):
    return torch.true_divide_(self, other) if torch.is_floating_point(self) or isinstance(other, float) else torch.divide_(self, other, rounding_mode="trunc")
""",
    4: f"""
def full(size, fill_value: number, *, {_OPTIONS}):
    return torch.full(size, float(fill_value), {_PASSED}) if dtype is None else torch.full(size, fill_value, {_PASSED})
""",
    7: f"""
def linspace(start, end, steps=None, *, {_OPTIONS}):
    return torch.linspace(start, end, 100 if steps is None else steps, {_PASSED})
def linspace(start, end, steps=None, *, out):
    return torch.linspace(start, end, 100 if steps is None else steps, out=out)
""",
    8: f"""
def logspace(start, end, steps=None, base=10.0, *, {_OPTIONS}):
    return torch.logspace(start, end, 100 if steps is None else steps, base, {_PASSED})
def logspace(start, end, steps=None, base=10.0, *, out):
    return torch.logspace(start, end, 100 if steps is None else steps, base, out=out)
""",
}


class Upgrader:
    """One signature that an operator had, and the expression by which it is computed now."""

    def __init__(self, definition: ast.FunctionDef) -> None:
        self.parameters: list[tuple[str, str, ast.expr | None]] = []
        arguments = definition.args
        defaults = [None] * (len(arguments.args) - len(arguments.defaults)) + [*arguments.defaults]
        for each, default in zip((*arguments.args, *arguments.kwonlyargs), (*defaults, *arguments.kw_defaults)):
            self.parameters.append((each.arg, each.annotation.id if isinstance(each.annotation, ast.Name) else "", default))
        self.positional = len(arguments.args)
        (result,) = definition.body
        assert isinstance(result, ast.Return) and result.value is not None
        self.expression = result.value
        for part in ast.walk(self.expression):  # names that no program has
            if isinstance(part, ast.Name) and any(part.id == name for name, *_ in self.parameters):
                part.id = f"{part.id}@"

    def bound(self, given: list[ScriptValue], keywords: dict[str, ScriptValue]) -> dict[str, ScriptValue] | None:
        """The values of a call by the parameters' names in the expression; None where the call is of another signature."""
        names = [name for name, *_ in self.parameters]
        if len(given) > self.positional or not set(keywords) <= set(names[len(given) :]):
            return None
        found = {**dict(zip(names, given)), **keywords}
        for name, kind, default in self.parameters:
            if name not in found:
                if not isinstance(default, ast.Constant):
                    return None
                found[name] = ScriptValue(NONE if default.value is None else ANY, default.value)
            if (kind == "Tensor" and found[name].type != TENSOR) or (kind == "number" and found[name].type not in NUMBERS):
                return None
        return {f"{name}@": value for name, value in found.items()}


_UPGRADERS: dict[str, tuple[int, list[Upgrader]]] = {}
for _version, _text in _TEXTS.items():
    for _each in ast.parse(_text).body:
        assert isinstance(_each, ast.FunctionDef)
        _UPGRADERS.setdefault(_each.name, (_version, []))[1].append(Upgrader(_each))


def upgraded(
    name: str, version: int, given: list[ScriptValue], keywords: dict[str, ScriptValue]
) -> tuple[Any, dict[str, ScriptValue]] | None:
    """The expression that a call of an operator of ``aten`` in an archive of a version stands for, and the values of its names; None where nothing has changed."""
    last, found = _UPGRADERS.get(name, (0, ()))
    if version > last:
        return None
    for each in found:
        values = each.bound(given, keywords)
        if values is not None:
            return each.expression, values
    return None

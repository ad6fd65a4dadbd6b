"""Scopes of the lowering: blocks with their names and steps, and the kinds of values that names stand for."""

from __future__ import annotations

import operator
from typing import Any

from ..frontend.types import ListType, Type
from ..ir.steps import PLAIN, ScriptStep


class ScriptValue:
    """Something that exists when the program runs: its type, and what stands for it in the program (a step, a constant, a tuple of both)."""

    __slots__ = ("arg", "type")

    def __init__(self, type: Type, arg: Any) -> None:
        self.type = type
        self.arg = arg

    @property
    def constant(self) -> bool:
        """Whether it is known already."""
        arg = self.arg
        kind = arg.__class__
        return kind is not ScriptStep and (kind in PLAIN or not holds_step(arg))

    def __repr__(self) -> str:
        return f"<{self.arg}: {self.type}>"


def is_size(value: ScriptValue) -> bool:
    """Whether a list of ints is a tensor's sizes or strides, or a part of them: a tuple when the program runs."""
    step = value.arg
    if step.__class__ is not ScriptStep or not isinstance(value.type, ListType):
        return False
    while step.target is operator.getitem and isinstance(step.args[0], ScriptStep):
        step = step.args[0]
    return (step.target is getattr and step.args[1] == "shape") or (step.op == "call_method" and step.target in ("size", "stride"))


class Static:
    """Something that exists only while the program is compiled: a function, a class, a Python module."""

    __slots__ = ("object",)

    def __init__(self, object: Any) -> None:
        self.object = object


class ModuleValue:
    """``self``, or a Module below it, by its path from there; or (``children``) the dict of the Modules in it."""

    __slots__ = ("children", "interface", "module", "path")

    def __init__(self, module: Any, path: str, children: bool = False) -> None:
        self.module = module
        self.path = path
        self.children = children
        self.interface: Any = None  # the one that the attribute is annotated with

    def below(self, name: str) -> str:
        """The path of an attribute."""
        return f"{self.path}.{name}" if self.path else name


class Bound:
    """A method of a value or a Module, before it is called."""

    __slots__ = ("name", "receiver")

    def __init__(self, receiver: Any, name: str) -> None:
        self.receiver = receiver
        self.name = name


class Unrolled:
    """A sequence whose items are known one by one: Modules of a ModuleList, pairs of enumerate."""

    __slots__ = ("items",)

    def __init__(self, items: list[Any]) -> None:
        self.items = items


class Undefined:
    """A name that has no value on every path that leads here, and why."""

    __slots__ = ("reason",)

    def __init__(self, reason: str) -> None:
        self.reason = reason


def holds_step(value: Any) -> bool:
    """Whether there is something in nested tuples that is known only when the program runs."""
    if isinstance(value, tuple):
        return any(map(holds_step, value))
    return isinstance(value, (ScriptStep, list))


class ScriptBlock:
    """A block that is being lowered, and becomes one graph: a function, a branch, the body of a loop."""

    __slots__ = ("assigned", "dead", "env", "parameters", "parent", "steps")

    def __init__(self, parent: ScriptBlock | None = None) -> None:
        self.parent = parent
        self.parameters: list[ScriptStep] = []
        self.steps: list[ScriptStep] = []
        self.env: dict[str, Any] = {}
        self.assigned: set[str] = set()
        self.dead = False  # its end is never reached

    def parameter(self, name: str, type: Type, default: Any = ..., line: int = 0) -> ScriptValue:
        """A further input."""
        made = ScriptStep("placeholder", name, () if default is ... else (default,), None, type, None, line, 0)
        self.parameters.append(made)
        return ScriptValue(type, made)

    def find(self, name: str) -> Any:
        """What a name stands for here; None where it stands for nothing."""
        block: ScriptBlock | None = self
        while block is not None:
            found = block.env.get(name)
            if found is not None:
                return found
            block = block.parent
        return None

    def has(self, name: str) -> bool:
        """Whether a name stands for something here."""
        return self.find(name) is not None

    def set(self, name: str, value: Any) -> None:
        """Give a name a value."""
        self.env[name] = value
        self.assigned.add(name)

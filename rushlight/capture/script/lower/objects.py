"""Lowering of objects of scripted classes: their attributes, methods and operators; what is put into containers."""

from __future__ import annotations

import ast
import inspect
from typing import Any

from ..frontend.annotations import UNUSED, mark_of
from ..frontend.errors import ScriptError
from ..frontend.types import ANY, NONE, ClassType, DictType, ListType, Type, assignable
from ..ir import graph_functions
from .iteration import Iterating
from .scope import Bound, ScriptValue, Static


class ObjectLowering(Iterating):
    """Compiles what is done with objects."""

    def call_scripted(
        self, target: Any, scripted: Any, arguments: list[Any], keywords: dict[str, Any], node: ast.AST, op: str = "call_function"
    ) -> ScriptValue:
        raise NotImplementedError  # in Calls

    def python_type(self, found: Any) -> Type:
        raise NotImplementedError  # in Calls

    def object_attribute(self, base: ScriptValue, name: str, node: ast.AST) -> Any:
        """An attribute, a property or a method of an object."""
        described = base.type.described  # type: ignore[attr-defined]
        if name in described.attributes:
            return self.emit(getattr, (base.arg, name), described.attributes[name])
        member = described.member(name)
        if isinstance(member, property):
            return self.call_object_method(base, name, [], {}, node)
        if isinstance(member, staticmethod):
            return Static(member.__func__)
        if isinstance(member, classmethod):
            return Static(member.__get__(None, described.kind))
        if described.is_method(member):
            return Bound(base, name)
        if inspect.isfunction(member) and mark_of(member) == UNUSED:
            return Bound(base, name)
        if member is not None and not callable(member):
            return self.wrap(member, node)
        reason = f"'{described.name}' object has no attribute or method '{name}'. Did you forget to initialize an attribute in __init__()?"
        raise ScriptError(reason, self.source, node)

    def set_object_attribute(self, owner: ScriptValue, target: ast.Attribute, value: ScriptValue) -> None:
        """``object.name = value``; in ``__init__`` it says that there is such an attribute."""
        described, name = owner.type.described, target.attr  # type: ignore[attr-defined]
        if described.growing and self.source.name == "__init__":
            if name not in described.attributes and self.in_control_flow():
                raise ScriptError(
                    "First assignment cannot be in a control-flow block. Initialize the field at the top level first",
                    self.source,
                    self.here,
                )
            described.attributes.setdefault(name, value.type)
        wanted = described.attributes.get(name)
        member = described.member(name)
        if wanted is None and isinstance(member, property) and member.fset is not None:
            self.call_object_method(owner, f"_set_{name}", [value], {}, target)
            return
        if wanted is None:
            raise ScriptError(
                f"Tried to set nonexistent attribute: {name}. Did you forget to initialize it in __init__()?", self.source, self.here
            )
        if not assignable(value.type, wanted):
            raise ScriptError(
                f"Wrong type for attribute assignment. Expected {wanted} but got {value.type} for the attribute '{name}'",
                self.source,
                self.here,
            )
        self.emit(graph_functions.set_attribute, (owner.arg, name, value.arg), NONE, impure=True)

    def in_control_flow(self) -> bool:
        """Whether the statement that is compiled stands in a branch or a loop, also one that is always taken."""
        line = self.here.lineno  # type: ignore[attr-defined]
        around = [each for each in self.source.definition.body if each.lineno <= line <= (each.end_lineno or each.lineno)]
        return any(isinstance(each, (ast.If, ast.For, ast.While)) for each in around)

    def call_object_method(
        self, base: ScriptValue, name: str, arguments: list[Any], keywords: dict[str, Any], node: ast.AST
    ) -> ScriptValue:
        """A call of a method of an object."""
        member = base.type.described.member(name)  # type: ignore[attr-defined]
        if mark_of(member) == UNUSED:
            return self.emit(graph_functions.unused_call, (name,), self.python_type(member), impure=True)
        scripted = base.type.described.method(name)  # type: ignore[attr-defined]
        return self.call_scripted(scripted, scripted, [base, *arguments], keywords, node)

    def operated(self, name: str, base: Any, arguments: list[Any], node: ast.AST) -> ScriptValue | None:
        """What Python does by a method such as ``__add__``, of objects that have it; None of everything else."""
        if not isinstance(base, ScriptValue) or not isinstance(base.type, ClassType):
            return None
        described = base.type.described
        if not described.is_method(described.member(name)):
            raise ScriptError(f"'{base.type}' object has no attribute or method '{name}', which is needed here", self.source, node)
        return self.call_object_method(base, name, arguments, {}, node)

    def check_key(self, kind: DictType, key: ScriptValue, node: ast.AST) -> None:
        """The type of a key that is put into a dict; the first one settles that of an empty one."""
        if kind.key == ANY:
            kind.key = key.type
        elif not assignable(key.type, kind.key):
            raise ScriptError(
                f"Arguments for call are not valid: Expected a value of type '{kind.key}' for argument 'idx' but instead found type '{key.type}'",
                self.source,
                node,
            )

    def check_item(self, base: ScriptValue, value: Any, node: ast.AST) -> None:
        """The type of what is put into a list or dict; the first one settles that of an empty one."""
        if not isinstance(value, ScriptValue):
            return
        kind = base.type
        if isinstance(kind, DictType) and kind.value == ANY:
            kind.value = value.type
        elif isinstance(kind, DictType) and not assignable(value.type, kind.value):
            raise ScriptError(
                f"a value of type {value.type} can't be put into a {kind}: Dict type annotation `{kind}` did not match the type of an actual "
                f"value type `{value.type}`",
                self.source,
                node,
            )
        elif isinstance(kind, ListType) and isinstance(getattr(node, "slice", None), ast.expr) and not isinstance(node.slice, ast.Slice):  # type: ignore[attr-defined]
            if not assignable(value.type, kind.element):
                raise ScriptError(f"a value of type {value.type} can't be put into a {kind}", self.source, node)

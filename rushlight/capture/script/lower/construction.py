"""Lowering of calls that make objects: named tuples, members of enumerations, slices, tensors by old names, objects of scripted classes."""

from __future__ import annotations

import ast
import enum
from typing import Any

from ....nn.modules.module import Module
from ..frontend.errors import NotSupportedError, ScriptError
from ..frontend.types import ANY, CLASS_MAKERS, INT, NONE, SLICE, TENSOR, OptionalType, TupleType, assignable, from_annotation
from ..ir import graph_functions
from .attributes import AttributeLowering
from .scope import ScriptValue


class Construction(AttributeLowering):
    """Compiles calls of classes."""

    def legacy(self, found: Any, arguments: list[Any], keywords: dict[str, Any], node: ast.AST) -> ScriptValue:
        """``LongTensor([1, 2])`` and ``LongTensor(2, 3)``."""
        if keywords:
            raise ScriptError(f"Legacy tensor constructors have no keyword argument '{next(iter(keywords))}'", self.source, node)
        values = [self.plain(each, node) for each in arguments]
        if len(values) > 1 and not all(each.type == INT for each in values):
            raise ScriptError("Legacy tensor constructors got multiple positional arguments that were not all integers", self.source, node)
        return self.emit(found, tuple(each.arg for each in values), TENSOR)

    def sliced(self, arguments: list[Any], node: ast.Call) -> ScriptValue:
        """``slice(...)``: a value that stands in brackets later."""
        if not 1 <= len(arguments) <= 3 or node.keywords:
            raise ScriptError(
                "Slice does not accept any keyword arguments"
                if node.keywords
                else f"slice() takes one to three arguments, and {len(arguments)} are given",
                self.source,
                node,
            )
        bounds = [self.plain(each, node) for each in arguments]
        for each in bounds:
            if each.type not in (INT, NONE, ANY) and each.type != OptionalType(INT):
                raise ScriptError(f"slice() takes ints, and this is a {each.type}", self.source, node)
        if all(each.constant for each in bounds):
            return ScriptValue(SLICE, slice(*[each.arg for each in bounds]))
        start, stop, step = (None, bounds[0].arg, None) if len(bounds) == 1 else (*[each.arg for each in bounds], None)[:3]
        return self.emit(graph_functions.slice_of, (start, stop, step), SLICE)

    def construct(self, found: type, arguments: list[Any], keywords: dict[str, Any], node: ast.AST) -> Any:
        """A call of a class: named tuples and members of enumerations."""
        if issubclass(found, tuple) and hasattr(found, "_fields"):
            values = {name: self.plain(each, node) for name, each in zip(found._fields, arguments)}
            values.update({name: self.plain(each, node) for name, each in keywords.items()})
            for name, default in getattr(found, "_field_defaults", {}).items():
                if name not in values:
                    values[name] = self.plain(self.wrap(default, node), node)
            missing = [name for name in found._fields if name not in values]
            if missing or len(values) != len(found._fields) or len(arguments) > len(found._fields):
                raise ScriptError(f"{found.__name__} takes {', '.join(found._fields)}", self.source, node)
            ordered = [values[name] for name in found._fields]
            kind = from_annotation(found, self.source.evaluate)
            assert isinstance(kind, TupleType)
            for name, wanted, value in zip(found._fields, kind.elements, ordered):
                if not assignable(value.type, wanted):
                    raise ScriptError(
                        f"{found.__name__}() Expected a value of type '{wanted}' for argument '{name}' but instead found type '{value.type}'",
                        self.source,
                        node,
                    )
            return ScriptValue(kind, tuple.__new__(found, [each.arg for each in ordered]))
        if issubclass(found, enum.Enum) and len(arguments) == 1 and isinstance(arguments[0], ScriptValue) and arguments[0].constant:
            return self.wrap(found(arguments[0].arg), node)
        if issubclass(found, BaseException):
            raise NotSupportedError("an exception cannot be used as a value: it can only be raised", self.source, node)
        if issubclass(found, Module) or found.__module__ == "builtins":
            raise ScriptError(
                f"objects of the class '{found.__name__}' can't be made in a script: use a NamedTuple, or a Module that is an attribute",
                self.source,
                node,
            )
        described = CLASS_MAKERS[0](found, self.frames).described  # type: ignore[attr-defined]
        return self.call_scripted(described, described, arguments, keywords, node)

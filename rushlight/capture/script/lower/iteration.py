"""Lowering of iteration: what a ``for`` can run over."""

from __future__ import annotations

import ast
import enum
import operator
from collections.abc import Callable
from typing import Any

from ....nn.modules.container import ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential
from ..frontend.errors import ScriptError
from ..frontend.types import ANY, BOOL, INT, STR, TENSOR, DictType, EnumType, ListType, TupleType
from ..ir import graph_functions
from .core import Core
from .scope import ModuleValue, ScriptValue, Static, Unrolled

PARAMETERS = (ParameterList, ParameterDict)
Items = tuple[ScriptValue, Callable[[ScriptValue], Any]]


def parts_of(module: Any) -> Any:
    """The Modules of a container, or its parameters, by name."""
    return module._parameters if issubclass(getattr(module, "_script_class", type(module)), PARAMETERS) else module._modules


class Iterating(Core):
    """Compiles what loops run over."""

    def expression(self, node: ast.expr) -> Any:
        raise NotImplementedError  # in Expressions

    def value(self, node: ast.expr) -> ScriptValue:
        raise NotImplementedError  # in Expressions

    def child(self, base: ModuleValue, key: Any, node: ast.AST) -> Any:
        raise NotImplementedError  # in Calls

    def iterable(self, node: ast.expr) -> Unrolled | Items:
        """What a ``for`` runs over: items that are known, or a count and a way to get an item by its number."""
        if isinstance(node, ast.Name) and node.id.startswith("$_items"):
            return self.block.find(node.id)  # type: ignore[no-any-return]
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not self.block.has(node.func.id) and not node.keywords:
            try:
                function = self.source.lookup(node.func.id)
            except KeyError:
                function = None
            if function is range:
                return self.range_items(node)
            if function in (enumerate, zip, reversed):
                return self.combined(function, node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "enumerate" and len(node.keywords) == 1:
            inner = self.iterable(node.args[0])
            return self.enumerated(inner, self.value(node.keywords[0].value))
        found = self.expression(node)
        if isinstance(found, Unrolled):
            return found
        if isinstance(found, ModuleValue):
            kind = getattr(found.module, "_script_class", type(found.module))
            if issubclass(kind, (ModuleDict, ParameterDict)):
                return Unrolled([ScriptValue(STR, key) for key in parts_of(found.module)])
            if not issubclass(kind, (ModuleList, Sequential, ParameterList)):
                raise ScriptError(f"'{type(found.module).__name__}' object is not iterable", self.source, node)
            return Unrolled([self.child(found, key, node) for key in parts_of(found.module)])
        if isinstance(found, Static) and isinstance(found.object, enum.EnumMeta):
            members: list[Any] = list(found.object)
            return Unrolled([ScriptValue(EnumType(found.object), each) for each in members])
        value = self.plain(found, node)
        if isinstance(value.type, TupleType):
            return Unrolled([self.item(value, at) for at in range(len(value.type.elements))])
        return self.items_of(value, node)

    def items_of(self, value: ScriptValue, node: ast.AST) -> Items:
        """The items of a value whose length is known when the program runs."""
        kind = value.type
        if isinstance(kind, DictType):
            value = self.emit(list, (value.arg,), ListType(kind.key))
        elif not isinstance(kind, ListType) and kind not in (TENSOR, STR, ANY):
            raise ScriptError(f"'{kind}' object is not iterable", self.source, node)
        elif kind == ANY:
            value = self.emit(list, (value.arg,), ListType(ANY))
        element = self.element_type(value.type)
        count = self.emit(len, (value.arg,), INT)
        return count, lambda index: self.emit(operator.getitem, (value.arg, index.arg), element)

    def range_items(self, node: ast.Call) -> Items:
        """``range(...)``."""
        values = [self.plain(self.expression(each), each) for each in node.args]
        if not 1 <= len(values) <= 3:
            raise ScriptError(f"range expected at {'least 1' if not values else 'most 3'} arguments, got {len(values)}", self.source, node)
        for each, place in zip(values, node.args):
            if each.type not in (INT, BOOL, ANY):
                raise ScriptError(f"range() takes ints, and this is a {each.type}: write int(...) around it", self.source, place)
        start, stop, step = ScriptValue(INT, 0), values[0], ScriptValue(INT, 1)
        if len(values) > 1:
            start, stop = values[0], values[1]
        if len(values) > 2:
            step = values[2]
        simple = start.constant and start.arg == 0 and step.constant and step.arg == 1
        if simple:
            count = stop
        elif start.constant and stop.constant and step.constant and step.arg:
            count = ScriptValue(INT, len(range(start.arg, stop.arg, step.arg)))
        else:
            count = self.emit(graph_functions.range_length, (start.arg, stop.arg, step.arg), INT)

        def item(index: ScriptValue) -> ScriptValue:
            if simple:
                return index
            scaled = index if step.constant and step.arg == 1 else self.emit(operator.mul, (index.arg, step.arg), INT)
            return scaled if start.constant and start.arg == 0 else self.emit(operator.add, (scaled.arg, start.arg), INT)

        return count, item

    def combined(self, function: Any, node: ast.Call) -> Unrolled | Items:
        """``enumerate``, ``zip`` and ``reversed``."""
        if function is enumerate and not 1 <= len(node.args) + len(node.keywords) <= 2:
            raise ScriptError(
                f"enumerate expected at {'most 2' if node.args else 'least 1'} arguments, got {len(node.args)}", self.source, node
            )
        if function is enumerate:
            inner = self.iterable(node.args[0])
            return self.enumerated(inner, self.value(node.args[1]) if len(node.args) > 1 else ScriptValue(INT, 0))
        parts = [self.iterable(each) for each in node.args]
        if not parts:
            raise ScriptError(f"{function.__name__} expected at least 1 arguments, got 0", self.source, node)
        if function is reversed:
            only = parts[0]
            if isinstance(only, Unrolled):
                return Unrolled(only.items[::-1])
            count, item = only
            last = self.emit(operator.sub, (count.arg, 1), INT)
            return count, lambda index: item(self.emit(operator.sub, (last.arg, index.arg), INT))
        known = [each for each in parts if isinstance(each, Unrolled)]
        if known:
            length = min(len(each.items) for each in known)
            rows = [
                Unrolled([each.items[at] if isinstance(each, Unrolled) else each[1](ScriptValue(INT, at)) for each in parts])
                for at in range(length)
            ]
            return Unrolled(rows)
        counts = [each[0] for each in parts]  # type: ignore[index]
        count = counts[0] if len(counts) == 1 else self.emit(min, tuple(each.arg for each in counts), INT)
        return count, lambda index: Unrolled([each[1](index) for each in parts])  # type: ignore[index]

    def enumerated(self, inner: Unrolled | Items, start: ScriptValue) -> Unrolled | Items:
        """Items with their numbers."""
        if isinstance(inner, Unrolled):
            pairs: list[Any] = []
            for at, each in enumerate(inner.items):
                number = ScriptValue(INT, start.arg + at) if start.constant else self.emit(operator.add, (start.arg, at), INT)
                pairs.append(Unrolled([number, each]))
            return Unrolled(pairs)
        count, item = inner

        def pair(index: ScriptValue) -> Unrolled:
            number = index if start.constant and start.arg == 0 else self.emit(operator.add, (index.arg, start.arg), INT)
            return Unrolled([number, item(index)])

        return count, pair

    def listed(self, node: ast.Call) -> Any:
        """``enumerate(x)`` and its like outside of a ``for``."""
        function = self.expression(node.func)
        if function.object is range:
            made = self.emit(range, tuple(self.plain(self.expression(each), each).arg for each in node.args), ANY)
            return self.emit(list, (made.arg,), ListType(INT))
        found = self.iterable(node)
        if isinstance(found, Unrolled):
            return found
        name = f"$_items{id(node)}"  # evaluated once: what it is made of may have effects
        self.block.env[name] = found
        each, source = ast.Name("each", ast.Load()), ast.Name(name, ast.Load())
        comprehension = ast.ListComp(each, [ast.comprehension(ast.Name("each", ast.Store()), source, [], 0)])
        return self.expression(ast.fix_missing_locations(ast.copy_location(comprehension, node)))

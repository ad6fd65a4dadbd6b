"""Lowering of ``del``, ``assert`` and ``raise``."""

from __future__ import annotations

import ast
from typing import Any

from ..frontend.errors import NotSupportedError, ScriptError
from ..frontend.types import ANY, FLOAT, INT, STR, TENSOR, ClassType
from ..ir import graph_functions
from .contexts import Contexts
from .scope import Static, Undefined


class SimpleStatements(Contexts):
    """Compiles statements that hold no others."""

    def do_Delete(self, node: ast.Delete) -> None:
        """``del d[key]``, ``del name``."""
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.read(target)
                self.block.set(target.id, Undefined(f"undefined value {target.id}: it was deleted"))
            elif isinstance(target, ast.Subscript):
                base = self.value(target.value)
                if isinstance(base.type, ClassType):
                    described = base.type.described
                    if not described.is_method(described.member("__delitem__")):
                        raise ScriptError("Class does not define __delitem__", self.source, target)
                    self.call_object_method(base, "__delitem__", [self.value(target.slice)], {}, target)
                    continue
                if self.value(target.value).type in (TENSOR, STR, INT, FLOAT):
                    raise ScriptError(
                        f"a value of type {self.value(target.value).type} does not support item deletion", self.source, target
                    )
                if isinstance(target.slice, ast.Slice):
                    raise NotSupportedError(
                        "del statements only support deletion at a single index, slicing is not supported", self.source, target
                    )
                self.emit(graph_functions.delete_item, (self.value(target.value).arg, self.index(target.slice)), ANY, impure=True)
            else:
                raise NotSupportedError("del takes a name or an item", self.source, target)

    def do_Assert(self, node: ast.Assert) -> None:
        """``assert``: what it says holds from here on."""
        condition, holds, _ = self.condition(node.test)
        condition = self.truth(condition, node.test)
        if condition.constant and condition.arg:
            self.refine(holds)
            return
        message = self.value(node.msg) if node.msg is not None else None
        self.emit(graph_functions.check, (condition.arg, *(() if message is None else (message.arg,))), ANY, impure=True)
        if condition.constant:
            self.block.dead = True
        self.refine(holds)

    def do_Raise(self, node: ast.Raise) -> None:
        """``raise``: what follows is never reached."""
        kind: Any = "Exception"
        arguments: tuple[Any, ...] = ()
        if node.exc is None:
            raise NotSupportedError("a raise needs an exception: raise ValueError(...)", self.source, node)
        called = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        found = self.expression(called)
        if not isinstance(found, Static) or not isinstance(found.object, type) or not issubclass(found.object, BaseException):
            raise ScriptError("exceptions must derive from BaseException: raise ValueError(...)", self.source, node.exc)
        kind = found.object.__name__ if graph_functions.EXCEPTIONS.get(found.object.__name__) is found.object else found.object
        if isinstance(node.exc, ast.Call):
            arguments = tuple(self.value(each).arg for each in node.exc.args)
        self.emit(graph_functions.raise_error, (kind, *arguments), ANY, impure=True)
        self.block.dead = True

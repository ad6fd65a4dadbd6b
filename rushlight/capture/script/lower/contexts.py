"""Lowering of ``with``: contexts of the package, and objects of scripted classes."""

from __future__ import annotations

import ast
from typing import Any

from ....graph.control import within
from ..frontend.errors import NotSupportedError, ScriptError
from ..frontend.types import ANY, INT, NONE, STR, TENSOR, ClassType, assignable
from ..ir import graph_functions
from ..ir.steps import StepBlock
from .expressions import Expressions
from .scope import ScriptBlock, ScriptValue


class Contexts(Expressions):
    """Compiles ``with``."""

    def assign(self, target: ast.expr, value: Any) -> None:
        raise NotImplementedError  # in Statements

    def do_With(self, node: ast.With) -> None:
        """``with``: a node whose body runs inside the context."""
        first = node.items[0]
        context = self.expression(first.context_expr)
        if not isinstance(context, ScriptValue) or context.constant or context.type in (TENSOR, INT, STR):
            raise ScriptError(
                "With item expression must return an object, one that has __enter__ and __exit__", self.source, first.context_expr
            )
        if isinstance(context.type, ClassType):
            context = self.entered(context, first)
        elif first.optional_vars is not None:
            raise NotSupportedError(
                "'with ... as' of what is no object of a scripted class is not supported in scripts", self.source, first.optional_vars
            )
        body = node.body
        if len(node.items) > 1:
            body = [ast.copy_location(ast.With(node.items[1:], node.body), node)]
        outer, here, live = self.block, self.here, self.live
        inner = self.block = ScriptBlock(outer)
        self.statements(body, live)
        self.block, self.here = outer, here
        names = [] if inner.dead else sorted(inner.assigned & live)
        found = {name: inner.env[name] for name in names}
        outputs = [name for name in names if isinstance(found[name], ScriptValue) and not found[name].constant]
        code = StepBlock([], inner.steps, tuple(found[name].arg for name in outputs))
        made = self.control(within, (context.arg,), {"body": code})
        made.meta = {"impure": True}
        for name in names:
            outer.set(name, self.result(made, found[name].type, name) if name in outputs else found[name])
        outer.dead = inner.dead

    def entered(self, owner: ScriptValue, item: ast.withitem) -> ScriptValue:
        """An object of a scripted class as a context: it is entered here, and the node runs its ``__exit__``."""
        described = owner.type.described  # type: ignore[attr-defined]
        if not all(described.is_method(described.member(name)) for name in ("__enter__", "__exit__")):
            raise ScriptError(f"Object {described.name} does not define __enter__ and __exit__ methods", self.source, item.context_expr)
        leave = described.method("__exit__")._script_signature.parameters
        for at, each in enumerate(leave[1:4], 1):
            if len(leave) == 4 and not assignable(NONE, each.type):
                raise ScriptError(
                    f"argument {at} of __exit__ must have Any type; TorchScript does not support exceptions", self.source, item.context_expr
                )
        if len(leave) != 4:
            raise ScriptError("__exit__ must have four arguments: self, and three that can be None", self.source, item.context_expr)
        if len(described.method("__enter__")._script_signature.parameters) != 1:
            raise ScriptError("__enter__ must have only one argument and one return value", self.source, item.context_expr)
        value = self.call_object_method(owner, "__enter__", [], {}, item.context_expr)
        if item.optional_vars is not None:
            self.assign(item.optional_vars, value)
        return self.emit(graph_functions.exiting, (owner.arg,), ANY)

"""Lowering of calls of programs: Modules and their methods, scripted functions, and functions that stay Python."""

from __future__ import annotations

import ast
import inspect
from typing import Any

from ....core.base import TensorBase
from ....core.declare import PACKAGE
from ....nn.modules.container import ModuleDict, ModuleList, Sequential
from ....nn.modules.module import Module
from ..frontend.annotations import IGNORED, UNUSED, mark_of
from ..frontend.call_signature import mistake
from ..frontend.errors import ScriptError
from ..frontend.source import FunctionSource
from ..frontend.types import ANY, NONE, STR, TENSOR, Type, UnknownAnnotation, from_annotation, parse_type
from ..ir import graph_functions
from .attributes import module_type
from .construction import Construction
from .iteration import PARAMETERS, parts_of
from .scope import ModuleValue, ScriptValue, Unrolled

_TENSORS_OF = frozenset("named_buffers buffers named_parameters parameters".split())


class ProgramCalls(Construction):
    """Compiles calls of what is a program itself."""

    def values_of(self, arguments: list[Any], node: ast.AST, inline: bool = True) -> list[Any]:
        """Arguments as they stand in a node; a list literal needs no node of its own."""
        made = []
        for each in arguments:
            made.append(each.arg if isinstance(each, ScriptValue) and inline else self.plain(each, node).arg)
        return made

    def check_arguments(self, found: Any, count: int, keywords: Any, node: ast.AST) -> None:
        """Refuse a call with too many or too few arguments, or ones of unknown names."""
        wrong = mistake(found, count, keywords)
        if wrong is not None:
            raise ScriptError(f"Arguments for call are not valid: {wrong}", self.source, node)

    def fitting(self, function: Any, arguments: list[Any], keywords: dict[str, Any], node: Any, is_method: bool = False) -> Any:
        """The signature that fits, of several."""
        raise NotImplementedError  # in RecursiveCompiler

    def python_type(self, found: Any) -> Type:
        """The type that a Python function says it returns; a tensor where it says nothing."""
        if not inspect.isfunction(found) and not inspect.isclass(found) and not hasattr(found, "__annotations__"):
            found = inspect.getattr_static(type(found), "__call__", found)
        hint = getattr(found, "__annotations__", {}).get("return", TensorBase)
        try:
            if hint is TensorBase and inspect.isfunction(inspect.unwrap(found)) and (comment := self.comment_result(inspect.unwrap(found))):
                hint = self.source.evaluate(comment)
            return from_annotation(hint, self.source.evaluate)
        except (UnknownAnnotation, NameError, TypeError):
            return ANY

    def comment_result(self, function: Any) -> str | None:
        """What a comment such as ``# type: (int) -> str`` says that a Python function returns."""
        try:
            comment = FunctionSource(function, self.frames).definition.type_comment  # type: ignore[attr-defined]
        except ScriptError:  # its source is not there, and needs not be
            return None
        return comment.rpartition("->")[2].strip() if comment and "->" in comment else None

    def call_python(self, found: Any, arguments: list[Any], keywords: dict[str, Any], node: ast.AST) -> ScriptValue:
        """A call of a function that stays Python."""
        self.check_arguments(found, len(arguments), keywords, node)
        kwargs = dict(zip(keywords, self.values_of(list(keywords.values()), node, False)))
        made = self.emit(found, tuple(self.values_of(arguments, node, False)), self.python_type(found), kwargs, impure=True)
        return self.python_result(made, getattr(found, "__name__", type(found).__name__))

    def python_result(self, made: ScriptValue, name: str) -> ScriptValue:
        """What a call that stays Python gave, as a value of the type that its function says it returns."""
        made.arg.meta["python"] = name
        wanted = made.type
        if wanted == ANY or parse_type(repr(wanted)) != wanted:  # anything, or a class of the user's
            return made
        return self.emit(graph_functions.python_result, (made.arg, repr(wanted), name), wanted)

    def call_scripted(
        self, target: Any, scripted: Any, arguments: list[Any], keywords: dict[str, Any], node: ast.AST, op: str = "call_function"
    ) -> ScriptValue:
        """A call of a scripted function or method: its arguments must fit its types."""
        bound = scripted._script_signature.bind(self, arguments, keywords, node)
        return self.emit(target, tuple(bound), scripted._script_signature.result, op=op, impure=True)

    def call_method(self, base: ModuleValue, name: str, arguments: list[Any], keywords: dict[str, Any], node: ast.AST) -> Any:
        """A call of a method of ``self`` or of a Module below it."""
        module = base.module
        containers = (ModuleList, Sequential, ModuleDict, *PARAMETERS)
        is_container = base.children or isinstance(module, containers) or issubclass(getattr(module, "_script_class", Module), containers)
        if is_container and name in ("keys", "values", "items"):
            parts = {key: self.child(base, key, node) for key in parts_of(module)}
            if name == "values":
                return Unrolled(list(parts.values()))
            return Unrolled(
                [ScriptValue(STR, key) if name == "keys" else Unrolled([ScriptValue(STR, key), part]) for key, part in parts.items()]
            )
        owner = getattr(module, "_script_class", type(module))
        function = inspect.getattr_static(owner, name, None) or module.__dict__.get(name)
        if name in ("named_children", "children", "named_modules", "modules") and not arguments:
            pairs = [(path, part) for path, part in (module.named_children() if "children" in name else module.named_modules())]
            values = [ModuleValue(part, base.below(path) if path else base.path) for path, part in pairs]
            return Unrolled(
                [Unrolled([ScriptValue(STR, path), part]) if name.startswith("named") else part for (path, _), part in zip(pairs, values)]
            )
        if name in _TENSORS_OF and not arguments and getattr(function, "__module__", "").startswith(PACKAGE):
            pairs = list(getattr(module, name if name.startswith("named") else f"named_{name}")())
            tensors = [self.emit(base.below(path), (), TENSOR, op="get_attr") for path, _ in pairs]
            return Unrolled(
                [Unrolled([ScriptValue(STR, path), each]) if name.startswith("named") else each for (path, _), each in zip(pairs, tensors)]
            )
        if mark_of(function) == UNUSED:
            return self.emit(graph_functions.unused_call, (name,), self.python_type(function), impure=True)
        overload = self.fitting(function, arguments, keywords, node, True) if inspect.isfunction(function) else None
        scripted = module._script_method(name, self, node, overload) if hasattr(module, "_script_method") else None
        if scripted is None and name == "forward" and base.path and mark_of(function) is None:  # of the package: a call of the Module
            return self.call_module(base, arguments, keywords, node)
        if scripted is None:
            if mark_of(function) == IGNORED:
                self.check_arguments(function, len(arguments) + 1, keywords, node)
            args = tuple(self.values_of(arguments, node, False))
            kwargs = dict(zip(keywords, self.values_of(list(keywords.values()), node, False)))
            kind = self.python_type(function) if mark_of(function) == IGNORED else ANY
            made = self.emit(base.below(name), args, kind, kwargs, op="call_module", impure=True)
            return self.python_result(made, name) if mark_of(function) == IGNORED else made
        return self.call_scripted(base.below(scripted.name), scripted, arguments, keywords, node, "call_module")

    def call_module(self, base: ModuleValue, arguments: list[Any], keywords: dict[str, Any], node: ast.AST) -> Any:
        """A call of a Module: its forward, with hooks."""
        module = base.module
        if not base.path:
            return self.call_method(base, "forward", arguments, keywords, node)
        forward = inspect.getattr_static(getattr(module, "_script_class", type(module)), "forward", None)
        if mark_of(forward) == UNUSED:
            return self.emit(graph_functions.unused_call, (f"{type(module).__name__}.forward",), self.python_type(forward), impure=True)
        overload = self.fitting(forward, arguments, keywords, node, True) if inspect.isfunction(forward) else None
        scripted = module._script_method("forward", self, node, overload) if hasattr(module, "_script_method") else None
        if scripted is not None and overload is not None:
            return self.call_scripted(base.below(scripted.name), scripted, arguments, keywords, node, "call_module")
        if scripted is not None:
            result = self.call_scripted(base.path, scripted, arguments, keywords, node, "call_module")
            hooks = [
                each._program.signature.result for each in module.__dict__.get("_forward_hooks", {}).values() if hasattr(each, "_program")
            ]
            changed = [each for each in hooks if each != NONE]
            if changed:  # the last hook that returns something says what the call gives
                result.type = result.arg.type = changed[-1]
            return result
        args = tuple(self.values_of(arguments, node))
        kwargs = dict(zip(keywords, self.values_of(list(keywords.values()), node)))
        made = self.emit(base.path, args, module_type(module), kwargs, op="call_module", impure=True)
        if mark_of(forward) == IGNORED:
            made.type = made.arg.type = self.python_type(forward)
            return self.python_result(made, f"{type(module).__name__}.forward")
        return made

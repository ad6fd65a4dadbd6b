"""The compiler of scripts: a Python function to steps and a signature."""

from __future__ import annotations

import ast
import re
from typing import Any

from ..frontend.errors import NotSupportedError, ScriptError
from ..frontend.source import FunctionSource
from ..frontend.types import ANY, NONE, TENSOR, Type, UnknownAnnotation, assignable, from_annotation, type_of
from ..ir.graph_builder import Draft
from ..ir.steps import StepBlock
from .scope import ModuleValue, ScriptBlock
from .statements import Statements

_DEFAULTS = (int, float, str, bool, type(None), complex, tuple, list, dict)
_compiling: list[Any] = []  # the functions that are being compiled, to find recursion


class ScriptParameter:
    """One parameter of a scripted function."""

    __slots__ = ("default", "name", "type")

    def __init__(self, name: str, type: Type, default: Any = ...) -> None:
        self.name = name
        self.type = type
        self.default = default


class Signature:
    """Parameters and result of a scripted function."""

    def __init__(self, name: str, parameters: list[ScriptParameter], result: Type = ANY) -> None:
        self.name = name
        self.parameters = parameters
        self.result = result

    def bind(self, compiler: Any, arguments: list[Any], keywords: dict[str, Any], node: ast.AST) -> list[Any]:
        """The arguments of a call in a script, one for each parameter, checked against their types."""
        left = dict(keywords)
        bound: list[Any] = []
        if len(arguments) > len(self.parameters):
            raise ScriptError(
                f"{self.name}() takes {len(self.parameters)} arguments, and {len(arguments)} are given", compiler.source, node
            )
        for at, parameter in enumerate(self.parameters):
            if at < len(arguments):
                given = arguments[at]
                if parameter.name in left:
                    raise ScriptError(f"{self.name}() gets the argument '{parameter.name}' twice", compiler.source, node)
            elif parameter.name in left:
                given = left.pop(parameter.name)
            elif parameter.default is not ...:
                bound.append(parameter.default)
                continue
            else:
                raise ScriptError(f"{self.name}() is missing a value for argument '{parameter.name}'", compiler.source, node)
            value = compiler.plain(given, node)
            if not assignable(value.type, parameter.type):
                raise ScriptError(
                    f"{self.name}() expected a value of type '{parameter.type}' for argument '{parameter.name}' but instead found type "
                    f"'{value.type}'", compiler.source, node,
                )  # fmt: skip
            bound.append(value.arg)
        if left:
            raise ScriptError(f"{self.name}() has no parameter '{next(iter(left))}'", compiler.source, node)
        return bound

    def __str__(self) -> str:
        parts = [f"{each.name}: {each.type}" + ("" if each.default is ... else f"={each.default!r}") for each in self.parameters]
        return f"{self.name}({', '.join(parts)}) -> {self.result}"


class FunctionCompiler(Statements):
    """Compiles one function."""

    def __init__(
        self, function: Any, owner: Any = None, frames: tuple[Any, ...] = (), example_types: dict[str, Type] | None = None
    ) -> None:
        self.source = FunctionSource(function, frames)
        self.frames = frames
        self.owner = owner
        self.block = ScriptBlock()
        self.return_type: Type | None = None
        self.result_type = NONE
        self.output: Any = None
        self.examples = example_types or {}

    def compile(self) -> tuple[Draft, Signature]:
        """The steps of the function, and its signature."""
        function = self.source.function
        code = getattr(function, "__code__", function)
        key = (code, id(self.owner))
        if key in _compiling:
            raise NotSupportedError(
                f"function '{self.source.name}' is called recursively: recursion is not supported in scripts", self.source, None
            )
        _compiling.append(key)
        try:
            definition = self.here = self.source.definition
            signature = self.signature(definition)
            for parameter in signature.parameters:
                line = definition.lineno
                self.block.env[parameter.name] = self.block.parameter(parameter.name, parameter.type, parameter.default, line)
            self.statements(self.source.statements, set())
            signature.result = self.return_type or self.result_type
            code = StepBlock(self.block.parameters, self.block.steps, self.output, signature.result)
            return Draft(code, self.source.file, self.source.first, self.source.name), signature
        finally:
            _compiling.pop()

    def signature(self, definition: ast.FunctionDef) -> Signature:
        """The parameters with their types, and the type that is returned where an annotation says it."""
        arguments = definition.args
        if arguments.vararg is not None or arguments.kwarg is not None:
            raise NotSupportedError(
                f"'{self.source.name}' takes a variable number of arguments, which scripts can't: name each of them",
                self.source, arguments.vararg or arguments.kwarg,
            )  # fmt: skip
        named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        if self.owner is not None:
            first = named.pop(0)
            self.block.env[first.arg] = ModuleValue(self.owner, "")
        function = self.source.function
        defaults: dict[str, Any] = dict(function.__kwdefaults__ or {})
        if function.__defaults__:
            positional = [*arguments.posonlyargs, *arguments.args]
            defaults.update(zip([each.arg for each in positional[-len(function.__defaults__) :]], function.__defaults__))
        comment = self.type_comment(definition)
        hints = function.__annotations__
        parameters = []
        for at, each in enumerate(named):
            if each.annotation is not None:
                kind = self.hint(hints.get(each.arg, each.annotation), each.annotation)
            elif each.type_comment:
                kind = self.type_from(each.type_comment)
            elif comment is not None and at < len(comment[0]):
                kind = comment[0][at]
            else:
                kind = self.examples.get(each.arg, TENSOR)
                if each.arg in defaults and kind == TENSOR and defaults[each.arg] is not None:
                    kind = type_of(defaults[each.arg])  # what it is by default says what it is
                elif each.arg in defaults and each.arg not in self.examples:
                    kind = ANY
            default = defaults.get(each.arg, ...)
            if default is not ... and not isinstance(default, _DEFAULTS) and not hasattr(default, "name"):
                default = ...
            parameters.append(ScriptParameter(each.arg, kind, default))
        if definition.returns is not None:
            self.return_type = self.hint(hints.get("return", definition.returns), definition.returns)
        elif comment is not None:
            self.return_type = comment[1]
        return Signature(self.source.name, parameters)

    def hint(self, annotation: Any, node: ast.AST) -> Type:
        """The type of a parameter's annotation."""
        if isinstance(annotation, (ast.expr, str)):
            return self.type_from(annotation, node)
        try:
            return from_annotation(annotation, self.source.evaluate)
        except (UnknownAnnotation, NameError, TypeError, SyntaxError) as error:
            raise ScriptError(f"this annotation is no type that scripts have ({error})", self.source, node) from None

    def type_comment(self, definition: ast.FunctionDef) -> tuple[list[Type], Type] | None:
        """``# type: (Tensor, int) -> Tensor`` in the line after ``def``."""
        found = definition.type_comment
        if not found:
            return None
        match = re.fullmatch(r"\s*\((.*)\)\s*->\s*(.*)", found, re.S)
        if match is None:
            raise ScriptError(f"the type comment '{found}' can't be read: write it as (Tensor, int) -> Tensor", self.source, definition)
        inside = match[1].strip()
        kinds: list[Type] = []
        if inside and inside != "...":
            parsed = ast.parse(f"({inside},)", mode="eval").body
            assert isinstance(parsed, ast.Tuple)
            kinds = [self.type_from(each) for each in parsed.elts]
        return kinds, self.type_from(match[2])

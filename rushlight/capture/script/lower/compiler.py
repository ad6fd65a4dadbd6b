"""The compiler of scripts: a Python function to steps and a signature."""

from __future__ import annotations

import ast
import re
from typing import Any

from ....core.base import TensorBase
from ....core.declare import PACKAGE
from ....core.schema import Argument, FunctionSchema, SchemaType
from ..frontend.errors import NotSupportedError, ScriptError
from ..frontend.source import FunctionSource
from ..frontend.types import (
    ANY,
    FLOAT,
    NONE,
    TENSOR,
    BroadcastingListType,
    DictType,
    InterfaceType,
    KnownKind,
    ListType,
    OptionalType,
    TupleType,
    Type,
    UnionType,
    UnknownAnnotation,
    assignable,
    from_annotation,
    type_of,
)
from ..ir import graph_functions
from ..ir.graph_builder import Draft
from ..ir.steps import StepBlock
from .scope import ModuleValue, ScriptBlock, Static
from .statements import Statements

_DEFAULTS = (int, float, str, bool, type(None), complex, tuple, list, dict)
_compiling: list[tuple[Any, FunctionCompiler]] = []  # the functions that are being compiled, each called by the one before it


class ScriptParameter:
    """One parameter of a scripted function."""

    __slots__ = ("default", "keyword_only", "name", "type")

    def __init__(self, name: str, type: Type, default: Any = ..., keyword_only: bool = False) -> None:
        self.name = name
        self.type = type
        self.default = default
        self.keyword_only = keyword_only


class Signature:
    """Parameters and result of a scripted function."""

    def __init__(self, name: str, parameters: list[ScriptParameter], result: Type = ANY, owner: str | None = None) -> None:
        self.owner = owner  # the name of the class that it is a method of
        self.name = name
        self.parameters = parameters
        self.result = result

    def bind(self, compiler: Any, arguments: list[Any], keywords: dict[str, Any], node: ast.AST, implicit: bool = True) -> list[Any]:
        """The arguments of a call in a script, one for each parameter, checked against their types; tensors may become numbers."""
        left = dict(keywords)
        bound: list[Any] = []
        if len(arguments) > len(self.parameters):
            raise ScriptError(
                f"{self.name}() takes {len(self.parameters)} arguments, and {len(arguments)} are given", compiler.source, node
            )
        for at, parameter in enumerate(self.parameters):
            if at < len(arguments):
                given = arguments[at]
                if parameter.keyword_only:
                    raise ScriptError(f"{self.name}() takes '{parameter.name}' by keyword alone", compiler.source, node)
                if parameter.name in left:
                    raise ScriptError(f"{self.name}() gets the argument '{parameter.name}' twice", compiler.source, node)
            elif parameter.name in left:
                given = left.pop(parameter.name)
            elif isinstance(parameter.default, TensorBase):
                bound.append(compiler.emit(graph_functions.DefaultTensor(parameter.default), (), TENSOR).arg)
                continue
            elif parameter.default is not ...:
                bound.append(parameter.default)
                continue
            else:
                raise ScriptError(
                    f"{self.name}() is missing a value for argument '{parameter.name}': Argument {parameter.name} not provided",
                    compiler.source,
                    node,
                )
            value = compiler.plain(compiler.with_modules(given) if isinstance(parameter.type, InterfaceType) else given, node)
            if implicit:
                value = compiler.converted(value, parameter.type)
            if isinstance(parameter.type, BroadcastingListType) and value.type == parameter.type.element:
                value = compiler.materialized(type(value)(ListType(value.type), [value.arg] * parameter.type.count))
            if not assignable(value.type, parameter.type):
                raise ScriptError(
                    f"{self.name}() Expected a value of type '{parameter.type}' for argument '{parameter.name}' but instead found type "
                    f"'{value.type}'", compiler.source, node,
                )  # fmt: skip
            bound.append(value.arg)
        if left:
            raise ScriptError(f"{self.name}() has no parameter '{next(iter(left))}'", compiler.source, node)
        return bound

    @property
    def schema(self) -> FunctionSchema:
        """Parameters and result as those of an operator: ``f(Tensor x, int[] sizes=[2]) -> Tensor``."""
        arguments = [] if self.owner is None else [Argument("self", SchemaType(f"__torch__.{self.owner}"))]
        for each in self.parameters:
            default = {} if each.default is ... else {"default": each.default}
            arguments.append(Argument(each.name, ParameterType(each.type), kwarg_only=each.keyword_only, **default))
        return FunctionSchema(self.name, "", arguments, [Argument("", ParameterType(self.result))])

    def __str__(self) -> str:
        return str(self.schema)


class ParameterType(SchemaType):
    """A type of scripts as part of a schema."""

    __slots__ = ("script",)

    def __init__(self, kind: Type) -> None:
        self.script = kind
        if isinstance(kind, ListType):
            super().__init__("List", ParameterType(kind.element), kind.count if isinstance(kind, BroadcastingListType) else None)
        elif isinstance(kind, OptionalType) and not isinstance(kind.inner, UnionType):
            super().__init__("Optional", ParameterType(kind.inner))
        else:
            super().__init__(in_schema(kind))

    def kind(self) -> str:
        return self.script.kind() if isinstance(self.script, KnownKind) else super().kind()

    def __str__(self) -> str:
        return repr(self.script)

    __repr__ = __str__


def in_schema(kind: Type) -> str:
    """A type as schemas write it: ``int[]``, ``Tensor?``, ``Dict(str, int)``, ``(Tensor, int)``."""
    if isinstance(kind, ListType):
        return f"{in_schema(kind.element)}[{kind.count if isinstance(kind, BroadcastingListType) else ''}]"
    if isinstance(kind, OptionalType) and not isinstance(kind.inner, UnionType):
        return f"{in_schema(kind.inner)}?"
    if isinstance(kind, DictType):
        return f"Dict({in_schema(kind.key)}, {in_schema(kind.value)})"
    if isinstance(kind, TupleType) and kind.kind is None:
        return f"({', '.join(map(in_schema, kind.elements))})"
    text = repr(kind)
    return f"Union({text[len('Union[') : -1]})" if text.startswith("Union[") else text


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
        self.declared: Type | None = None  # what an overload says that it returns
        self.kind: Any = None  # of a class method, the class that its first parameter is

    def compile(self) -> tuple[Draft, Signature]:
        """The steps of the function, and its signature."""
        function = self.source.function
        code = getattr(function, "__code__", function)
        key = (code, id(self.owner))
        if any(key == known for known, _ in _compiling):
            raise ScriptError(
                f"function '{self.source.name}' is called recursively: recursion is not supported in scripts", self.source, None
            )
        caller = _compiling[-1][1] if _compiling else None
        _compiling.append((key, self))
        try:
            definition = self.here = self.source.definition
            signature = self.signature(definition)
            first = next((at for at in range(len(signature.parameters), 0, -1) if signature.parameters[at - 1].default is ...), 0)
            for at, parameter in enumerate(signature.parameters):  # a parameter without a default may follow one that has
                default = ... if isinstance(parameter.default, TensorBase) or at < first else parameter.default
                self.block.env[parameter.name] = self.block.parameter(parameter.name, parameter.type, default, definition.lineno)
            self.statements(self.source.statements, set())
            signature.result = self.return_type or self.result_type
            code = StepBlock(self.block.parameters, self.block.steps, self.output, signature.result)
            return Draft(code, self.source.file, self.source.first, self.source.name), signature
        except ScriptError as error:
            if caller is not None:
                error.called_from(self.full_name, caller.full_name, caller.source, caller.here)
            raise
        finally:
            _compiling.pop()

    @property
    def full_name(self) -> str:
        """The function's name, of a method with that of its class."""
        if self.owner is None:
            return self.source.name
        return f"{getattr(self.owner, '_script_class', type(self.owner)).__name__}.{self.source.name}"

    def signature(self, definition: ast.FunctionDef) -> Signature:
        """The parameters with their types, and the type that is returned where an annotation says it."""
        arguments = definition.args
        if arguments.vararg is not None or arguments.kwarg is not None:
            raise NotSupportedError(
                "Compiled functions can't take variable number of arguments or use keyword-only arguments with defaults:\n"
                f"'{self.source.name}' takes a variable number of arguments: name each of them",
                self.source, arguments.vararg or arguments.kwarg,
            )  # fmt: skip
        named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        if self.owner is not None:
            if not named:
                raise ScriptError(
                    f"the method '{self.source.name}' does not have a self argument: methods must have a self argument",
                    self.source,
                    definition,
                )
            first = named.pop(0)
            self.block.env[first.arg] = ModuleValue(self.owner, "")
        elif self.kind is not None:
            self.block.env[named.pop(0).arg] = Static(self.kind)
        function = self.source.function
        defaults: dict[str, Any] = dict(function.__kwdefaults__ or {})
        if function.__defaults__:
            positional = [*arguments.posonlyargs, *arguments.args]
            defaults.update(zip([each.arg for each in positional[-len(function.__defaults__) :]], function.__defaults__))
        comment = self.type_comment(definition)
        hints = function.__annotations__
        unsaid: set[str] = set()  # of sequences, Any is for those who read it: what is not said is a tensor
        if function.__module__ == f"{PACKAGE}.nn.modules.container":
            unsaid = {name for name, each in hints.items() if each in (Any, "Any")}
        parameters = []
        for at, each in enumerate(named):
            if self.declared is not None and each.arg in self.examples:  # of an overload, whatever its implementation says
                kind = self.examples[each.arg]
                if each.arg in defaults and not assignable(type_of(defaults[each.arg]), kind):
                    del defaults[each.arg]  # of another overload
            elif each.annotation is not None and each.arg not in unsaid:
                kind = self.hint(hints.get(each.arg, each.annotation), each.annotation)
            elif each.type_comment:
                kind = self.type_from(each.type_comment)
            elif comment is not None and at - (skipped := max(len(named) - len(comment[0]), 0) if comment[0] else len(named)) >= 0:
                kind = comment[0][at - skipped]
            else:
                kind = self.examples.get(each.arg, TENSOR)
                if each.arg in defaults and kind == TENSOR and defaults[each.arg] is not None:
                    kind = type_of(defaults[each.arg])  # what it is by default says what it is
                elif each.arg in defaults and each.arg not in self.examples:
                    kind = ANY
            default = self.default_value(defaults.get(each.arg, ...), each, kind)
            parameters.append(ScriptParameter(each.arg, kind, default, each in arguments.kwonlyargs))
        if self.declared is not None:
            self.return_type = self.declared
        elif definition.returns is not None and "return" not in unsaid:
            self.return_type = self.hint(hints.get("return", definition.returns), definition.returns)
        elif comment is not None:
            self.return_type = comment[1]
        owner = None if self.owner is None else getattr(self.owner, "_script_class", type(self.owner)).__name__
        return Signature(self.source.name, parameters, owner=owner)

    def default_value(self, default: Any, parameter: ast.arg, kind: Type) -> Any:
        """A parameter's default, which must be of its type; ``...`` of those that have none."""
        if default is ... or (not isinstance(default, (*_DEFAULTS, TensorBase)) and not hasattr(default, "name")):
            return ...
        if isinstance(kind, BroadcastingListType) and default is not None:
            return tuple(kind.of(default))
        if isinstance(default, (list, dict)):
            raise ScriptError(
                "Mutable default parameters are not supported because Python binds them to the function and they persist across function calls.\n"
                " As a workaround, make the default None and instantiate the default parameter within the body of the function. "
                f"Found {type(default)} on parameter {parameter.arg}",
                self.source,
                parameter,
            )
        if isinstance(kind, ListType) and isinstance(default, tuple) and all(assignable(type_of(each), kind.element) for each in default):
            return default  # which is converted like an argument
        if not assignable(type_of(default), kind) and not (kind == FLOAT and isinstance(default, int)):
            raise ScriptError(
                f"Expected a default value of type {kind} on parameter '{parameter.arg}', and found {type_of(default)}",
                self.source,
                parameter,
            )
        return float(default) if kind == FLOAT and default.__class__ is int else default

    def hint(self, annotation: Any, node: ast.AST) -> Type:
        """The type of a parameter's annotation."""
        if isinstance(annotation, (ast.expr, str)):
            return self.type_from(annotation, node)
        try:
            return from_annotation(annotation, self.source.evaluate)
        except (UnknownAnnotation, NameError, TypeError, SyntaxError) as error:
            raise ScriptError(f"this annotation is no type that scripts have ({error})", self.source, node) from None

    def type_comment(self, definition: ast.FunctionDef) -> tuple[list[Type], Type | None] | None:
        """``# type: (Tensor, int) -> Tensor`` in the line after ``def``."""
        found = definition.type_comment
        if not found:
            return None
        match = re.fullmatch(r"\s*\((.*)\)\s*->\s*(.*)", found, re.S) or re.fullmatch(r"\s*\((.*)\)()\s*", found, re.S)
        if match is None:
            raise ScriptError(f"the type comment '{found}' can't be read: write it as (Tensor, int) -> Tensor", self.source, definition)
        inside = match[1].strip()
        kinds: list[Type] = []
        if inside and inside != "...":
            parsed = ast.parse(f"({inside},)", mode="eval").body
            assert isinstance(parsed, ast.Tuple)
            kinds = [self.type_from(each) for each in parsed.elts]
            count = len(definition.args.args) + len(definition.args.posonlyargs) + len(definition.args.kwonlyargs)
            first = definition.args.args[0].arg if definition.args.args else ""
            if len(kinds) not in (count, count - 1 if first == "self" else count):  # that of `self` may be left out
                raise ScriptError(
                    f"Number of type annotations ({len(kinds)}) did not match the number of function parameters ({count})",
                    self.source,
                    definition,
                )
        return kinds, self.type_from(match[2]) if match[2] else None

"""Calls of operators by their schemas: the overload that fits, its arguments as functions here take them, and the type of the result."""

from __future__ import annotations

import ast
from functools import cache
from typing import Any

from ....core.declare import Op
from ....core.devices import device
from ....core.schema import Argument, SchemaType
from ....ops.aten_calls import call_form
from ....ops.overloads import OpOverload, find_packet
from ..frontend.errors import ScriptError
from ..frontend.types import (
    ANY,
    BOOL,
    COMPLEX,
    DEVICE,
    DTYPE,
    FLOAT,
    GENERATOR,
    INT,
    NEVER,
    NONE,
    NUMBER,
    STR,
    TENSOR,
    ListType,
    OptionalType,
    TupleType,
    Type,
    UnionType,
)  # fmt: skip
from ..ir import graph_functions, type_numbers
from ..lower.scope import ScriptValue
from ..script_function import RecursiveCompiler

NUMBERS = frozenset((INT, FLOAT, BOOL, COMPLEX, NUMBER))
_NUMBERED = {"ScalarType": type_numbers.dtype_of, "Layout": type_numbers.layout_of, "MemoryFormat": type_numbers.memory_format_of, "QScheme": type_numbers.scheme_of}  # fmt: skip
_EXACT: dict[str, frozenset[Type]] = {
    "Tensor": frozenset((TENSOR,)), "int": frozenset((INT,)), "SymInt": frozenset((INT,)), "float": frozenset((FLOAT,)), "bool": frozenset((BOOL,)),
    "SymBool": frozenset((BOOL,)), "SymFloat": frozenset((FLOAT,)), "str": frozenset((STR,)), "complex": frozenset((COMPLEX,)), "Scalar": NUMBERS, "number": NUMBERS, "Device": frozenset((DEVICE,)),
    "Generator": frozenset((GENERATOR,)), "ScalarType": frozenset((INT, DTYPE)), "Layout": frozenset((INT,)), "MemoryFormat": frozenset((INT,)),
    "QScheme": frozenset((INT,)),
}  # fmt: skip
_CONVERTED: dict[str, frozenset[Type]] = {
    "int": frozenset((TENSOR, NUMBER)), "SymInt": frozenset((TENSOR, NUMBER)), "float": frozenset((TENSOR, INT, NUMBER)),
    "bool": frozenset((TENSOR, NUMBER)), "Scalar": frozenset((TENSOR,)), "Tensor": NUMBERS, "complex": frozenset((INT, FLOAT, NUMBER)), "Device": frozenset((STR,)),
}  # fmt: skip
_RESULTS: dict[str, Type] = {
    "Tensor": TENSOR, "int": INT, "SymInt": INT, "float": FLOAT, "bool": BOOL, "str": STR, "Scalar": NUMBER, "number": NUMBER, "ScalarType": INT,
    "Device": DEVICE, "complex": COMPLEX, "QScheme": INT, "Layout": INT,
}  # fmt: skip


def fits(wanted: SchemaType, given: Type, value: Any, convert: bool) -> bool:
    """Whether a value may be passed for an argument; with ``convert`` also where it is converted."""
    if given in (ANY, NEVER):
        return True
    if wanted.optional:
        assert wanted.element is not None
        inner = given.inner if isinstance(given, OptionalType) else given
        return given == NONE or fits(wanted.element, inner, value, convert)
    if isinstance(given, UnionType):
        return any(fits(wanted, each, value, convert) for each in given.options)
    if wanted.kind_name == "List":
        assert wanted.element is not None
        if isinstance(given, ListType):
            return fits(wanted.element, given.element, None, convert)
        if isinstance(given, TupleType):
            return all(fits(wanted.element, each, None, convert) for each in given.elements)
        return wanted.size is not None and fits(wanted.element, given, value, convert)
    exact = _EXACT.get(wanted.kind_name)
    if exact is None:
        return wanted.kind_name in ("t", "Any", "Storage", "Stream", "Dimname")
    if given in exact:
        return True
    return convert and (given in _CONVERTED.get(wanted.kind_name, ()) or (isinstance(given, OptionalType) and wanted.kind_name == "Tensor"))


def bound(
    arguments: list[Argument], given: list[ScriptValue], keywords: dict[str, ScriptValue], convert: bool
) -> dict[str, ScriptValue] | None:
    """The values of a call by the names of a schema's arguments; None where they do not fit."""
    positional = [each for each in arguments if not each.kwarg_only]
    if len(given) > len(positional):
        return None
    found: dict[str, ScriptValue] = {}
    for at, argument in enumerate(arguments):
        if at < len(given) and not argument.kwarg_only:
            value = given[at]
        elif argument.name in keywords:
            value = keywords[argument.name]
        elif argument.has_default:
            continue
        else:
            return None
        if not fits(argument.type, value.type, value.arg, convert):
            return None
        found[argument.name] = value
    return found if all(name in found for name in keywords) else None


@cache
def overloads_of(place: str, name: str) -> tuple[Any, tuple[OpOverload, ...]] | None:
    """The packet of an operator with its overloads, those that write to a given tensor last; None where there is none."""
    try:
        packet = find_packet(place, name)
    except AttributeError:
        return None
    made = [getattr(packet, each) for each in packet.overloads()]
    return packet, tuple(
        sorted(made, key=lambda each: any(argument.kwarg_only and argument.is_write for argument in each._schema.arguments))
    )


@cache
def result_type(overload: OpOverload) -> Type:
    """The type of what an overload returns."""
    kinds = [_type_from(each.type) for each in overload._schema.returns]
    return NONE if not kinds else kinds[0] if len(kinds) == 1 else TupleType(tuple(kinds))


def _type_from(kind: SchemaType) -> Type:
    if kind.kind_name == "List" and kind.element is not None:
        return ListType(_type_from(kind.element))
    if kind.optional and kind.element is not None:
        inner = _type_from(kind.element)
        return ANY if inner == ANY else OptionalType(inner)
    return _RESULTS.get(kind.kind_name, ANY)


class SchemaCalls(RecursiveCompiler):
    """Compiles calls of operators that have schemas."""

    def schema_call(self, place: str, name: str, given: list[ScriptValue], keywords: dict[str, ScriptValue], node: ast.AST) -> ScriptValue:
        """A call of an operator of a namespace."""
        known = overloads_of(place, name)
        if known is None:
            return self.missing(f"{place}::{name}", "which is not known here", node, [*given, *keywords.values()])
        for convert in (False, True):
            for each in known[1]:
                values = bound(each._schema.arguments, given, keywords, convert)
                if values is not None:
                    return self.overload_call(each, values, node)
        shown = ", ".join([repr(each.type) for each in given] + [f"{key}={each.type!r}" for key, each in keywords.items()])
        raise ScriptError(
            f"the archive calls {place}::{name}({shown}), which fits none of its {len(known[1])} overloads", self.source, node
        )

    def missing(self, name: str, why: str, node: ast.AST, given: list[ScriptValue]) -> ScriptValue:
        """An operator that is not there: refused at once where the program surely comes to it, and else when it does."""
        if self.block.parent is None:
            raise ScriptError(f"the archive calls the operator {name}, {why}", self.source, node)
        return self.emit(graph_functions.missing_operator, (name, *[self.plain(each, node).arg for each in given]), ANY, impure=True)

    def overload_call(self, overload: OpOverload, values: dict[str, ScriptValue], node: ast.AST) -> ScriptValue:
        """A call of one overload: of the function that computes it, where it has the form of the schema."""
        schema = overload._schema
        run: Any = overload._run
        if getattr(run, "function", ...) is None:
            made = self.missing(schema.qualified_name, "which rushlight does not compute yet", node, list(values.values()))
            return ScriptValue(result_type(overload), made.arg)
        arguments = {each.name: self.argument(each, values[each.name]) for each in schema.arguments if each.name in values}
        kind = result_type(overload)
        impure = schema.is_mutable
        function = getattr(run, "function", None)
        if function is not None and not run.copies and not run.outs and isinstance(getattr(function, "op", None), Op):
            whole = {each.name: arguments.get(each.name, each.default_value) for each in schema.arguments}
            if values.get("reduction") is not None and not values["reduction"].constant:  # functions take its name
                whole["reduction"] = self.emit(type_numbers.reduction_of, (arguments["reduction"],), ANY).arg
            positional, named = call_form(function, schema.arguments, whole)
            return self.emit(function, tuple(positional), kind, named, impure=impure)
        leading = []
        for each in schema.arguments:  # by position, as far as nothing was left out
            if each.kwarg_only or each.name not in arguments:
                break
            leading.append(arguments.pop(each.name))
        return self.emit(overload, tuple(leading), kind, arguments, impure=impure)

    def argument(self, wanted: Argument, value: ScriptValue) -> Any:
        """A value as functions here take it: numbers of dtypes and the like as what they mean."""
        convert = _NUMBERED.get(wanted.type.base)
        if convert is not None and not wanted.type.listed and value.type != DTYPE:
            if value.constant:
                return convert(value.arg)
            return self.emit(convert, (value.arg,), ANY).arg
        if wanted.type.base == "Device" and isinstance(value.arg, str):
            return device(value.arg)
        if value.type == NONE:
            return None
        if value.type == BOOL and wanted.type.base == "Scalar":
            value = self.counted_truth(value)
        return value.arg if isinstance(value.arg, (list, tuple)) else self.plain(value, self.here).arg

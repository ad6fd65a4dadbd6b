"""Function schemas in PyTorch's notation: ``mylib::scale(Tensor x, float factor=2., *, int[]? dims=None) -> Tensor``.

Read from text by :func:`parse_schema`; a schema prints as PyTorch prints it, and binds the arguments of a call with PyTorch's errors.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .base import TensorBase
from .devices import device
from .dtypes import BY_NAME, dtype
from .errors import OperationError

_TOKENS = re.compile(
    r'\s*(->|\.\.\.|"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|[A-Za-z_][\w.]*(?:::[\w.]+)?|-?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+|inf|nan)|[()\[\],=?*!|:])'
)
# What PyTorch's own type of a value is called, by the word in a schema.
_REAL = {"Scalar": "number", "ScalarType": "int", "Layout": "int", "MemoryFormat": "int", "SymInt": "int", "SymFloat": "float", "SymBool": "bool", "QScheme": "QScheme"}  # fmt: skip
BASES = frozenset(
    ("Tensor", "int", "SymInt", "float", "SymFloat", "bool", "SymBool", "str", "Scalar", "ScalarType", "Device", "Layout", "MemoryFormat", "Generator",
     "Dimname", "Storage", "Stream", "QScheme", "Any", "t", "DeviceIndex", "complex", "number", "AnyEnumType", "None", "NoneType", "Dict", "Future", "t1", "t2", "tVal", "tKey",
     "__torch__", "DispatchKeySet", "Class", "Blob", "AnyListType", "AnyTupleType")
)  # fmt: skip
_MISSING: Any = object()


class SchemaType:
    """The type of an argument or result: a base (``Tensor``, ``int``), a list of a type, or a type that may be None."""

    __slots__ = ("element", "kind_name", "size")

    def __init__(self, kind_name: str, element: SchemaType | None = None, size: int | None = None) -> None:
        self.kind_name = kind_name  # a base, "List", "Optional", or "Tuple" of one result
        self.element = element
        self.size = size  # of a list with a given length, which one number may stand for

    @property
    def base(self) -> str:
        """The word at the bottom: ``Tensor`` of ``Tensor[]?``."""
        return self.kind_name if self.element is None else self.element.base

    @property
    def optional(self) -> bool:
        """Whether None may stand here."""
        return self.kind_name == "Optional"

    @property
    def listed(self) -> bool:
        """Whether this is a list, a tuple of one, or None."""
        return self.kind_name in ("List", "Tuple") or (self.element is not None and self.optional and self.element.listed)

    def text(self, alias: AliasInfo | None = None) -> str:
        """The type as a schema writes it."""
        shown = "" if alias is None else str(alias)
        if self.element is None:
            return self.kind_name + shown
        if self.optional:
            return f"{self.element.text(alias)}?"
        if self.kind_name == "Tuple":
            return f"({self.element.text(alias)})"
        size = "" if self.size is None else self.size
        return f"{self.element.text()}[{size}]{shown}" if alias is not None and alias.of_list else f"{self.element.text(alias)}[{size}]"

    def kind(self) -> str:
        """PyTorch's name of the kind of type: ``TensorType``."""
        return f"{_REAL.get(self.kind_name, self.kind_name).capitalize().replace('Str', 'String')}Type"

    def getElementType(self) -> SchemaType:
        """Of a list or optional: the type inside."""
        if self.element is None:
            raise OperationError(f"{self} has no element type")
        return self.element

    def isSubtypeOf(self, other: SchemaType) -> bool:
        """Whether a value of this type is one of the other."""
        return self == other or (
            other.optional and other.element is not None and (self == other.element or self.isSubtypeOf(other.element))
        )

    @property
    def annotation_str(self) -> str:
        """The type as an annotation of a script."""
        return str(self)

    def __str__(self) -> str:
        return _REAL.get(self.kind_name, self.kind_name) if self.element is None else f"{self.kind_name}[{self.element}]"

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SchemaType) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def accepts(self, value: Any) -> bool:
        """Whether a Python value may be passed for this type."""
        if self.optional:
            assert self.element is not None
            return value is None or self.element.accepts(value)
        if self.kind_name == "List":
            assert self.element is not None
            if isinstance(value, (list, tuple)) or (isinstance(value, Sequence) and not isinstance(value, (str, bytes))):
                return all(map(self.element.accepts, value))
            return self.size is not None and self.element.accepts(value)
        if self.kind_name == "Tuple":
            assert self.element is not None
            return isinstance(value, (tuple, list)) and len(value) == 1 and self.element.accepts(value[0])
        return _ACCEPT.get(self.kind_name, _anything)(value)


def _anything(value: Any) -> bool:
    return True


def _is_scalar_tensor(value: Any) -> bool:
    return isinstance(value, TensorBase) and not value._array.ndim


_ACCEPT: dict[str, Any] = {
    "Tensor": lambda value: isinstance(value, TensorBase),
    "int": lambda value: isinstance(value, (int, np.integer)) or _is_scalar_tensor(value),
    "float": lambda value: isinstance(value, (int, float, np.number)) or _is_scalar_tensor(value),
    "bool": lambda value: isinstance(value, (bool, np.bool_)) or _is_scalar_tensor(value),
    "Scalar": lambda value: isinstance(value, (int, float, complex, np.number, np.bool_)) or _is_scalar_tensor(value),
    "str": lambda value: isinstance(value, str),
    "ScalarType": lambda value: isinstance(value, (dtype, int)),
    "Device": lambda value: isinstance(value, (device, str, int)),
}
_ACCEPT["SymInt"] = _ACCEPT["int"]


class AliasInfo:
    """Which memory an argument or result shares, and whether it is written to."""

    __slots__ = ("after_set", "before_set", "is_write", "of_list")

    def __init__(self, before: tuple[str, ...], after: tuple[str, ...], is_write: bool, of_list: bool = False) -> None:
        self.before_set = set(before)
        self.after_set = set(after)
        self.is_write = is_write
        self.of_list = of_list  # written behind the brackets of a list

    def __str__(self) -> str:
        names, after = ("|".join(sorted(each)) for each in (self.before_set, self.after_set))
        return f"({names}{'!' if self.is_write else ''}{f' -> {after}' if after != names else ''})"

    __repr__ = __str__


class Argument:
    """A parameter of a schema, or one of its results."""

    __slots__ = ("alias_info", "default_value", "has_default", "kwarg_only", "name", "type")

    def __init__(
        self, name: str, type: SchemaType, default: Any = _MISSING, kwarg_only: bool = False, alias: AliasInfo | None = None
    ) -> None:
        self.name = name
        self.type = type
        self.has_default = default is not _MISSING
        self.default_value = default if self.has_default else None
        self.kwarg_only = kwarg_only
        self.alias_info = alias

    @property
    def real_type(self) -> SchemaType:
        """The type, with symbolic numbers called so."""
        return self.type

    @property
    def is_write(self) -> bool:
        """Whether the op writes to it."""
        return self.alias_info is not None and self.alias_info.is_write

    is_out = property(lambda self: self.kwarg_only and self.is_write)
    N = property(lambda self: self.type.size)

    def has_default_value(self) -> bool:
        """Whether a call may leave it out."""
        return self.has_default

    def __str__(self) -> str:
        text = self.type.text(self.alias_info)
        if self.name:
            text += f" {self.name}"
        return f"{text}={_show(self.default_value, self.type)}" if self.has_default else text

    __repr__ = __str__


class FunctionSchema:
    """The name, the arguments and the results of an op."""

    __slots__ = ("arguments", "name", "numbers_as_tensors", "overload_name", "returns")

    def __init__(self, name: str, overload_name: str, arguments: Sequence[Argument], returns: Sequence[Argument]) -> None:
        self.name = name
        self.overload_name = overload_name
        self.arguments = list(arguments)
        self.returns = list(returns)
        self.numbers_as_tensors = False  # of arithmetic: whether a number may stand for a tensor

    @property
    def is_mutable(self) -> bool:
        """Whether the op writes to an argument."""
        return any(each.is_write for each in self.arguments)

    is_vararg = is_varret = False

    @property
    def qualified_name(self) -> str:
        """``aten::add.Tensor``."""
        return f"{self.name}.{self.overload_name}" if self.overload_name else self.name

    def __str__(self) -> str:
        parts: list[str] = []
        for at, each in enumerate(self.arguments):
            if each.kwarg_only and (at == 0 or not self.arguments[at - 1].kwarg_only):
                parts.append("*")
            parts.append(str(each))
        results = [str(each) for each in self.returns]
        shown = results[0] if len(results) == 1 and not results[0].startswith("(") else f"({', '.join(results)})"
        return f"{self.qualified_name}({', '.join(parts)}) -> {shown}"

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FunctionSchema) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def bind(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Any]:
        """One value for each argument, checked against its type; raises PyTorch's errors for calls that do not fit."""
        arguments = self.arguments
        positional = [each for each in arguments if not each.kwarg_only]
        if len(args) > len(positional):
            raise OperationError(
                f"{self.name}() expected at most {len(positional)} argument(s) but received {len(args)} argument(s). Declaration: {self}"
            )
        values: list[Any] = []
        used = 0
        for at, argument in enumerate(arguments):
            if at < len(args):
                value = args[at]
                if argument.name in kwargs:
                    raise OperationError(f"{self.name}() got multiple values for argument '{argument.name}'. Declaration: {self}")
            elif argument.name in kwargs:
                value = kwargs[argument.name]
                used += 1
            elif argument.has_default:
                values.append(argument.default_value)
                continue
            else:
                raise OperationError(f"{self.name}() is missing value for argument '{argument.name}'. Declaration: {self}")
            if not argument.type.accepts(value) and not (self.numbers_as_tensors and isinstance(value, (int, float, complex))):
                raise OperationError(
                    f"{self.name}() Expected a value of type '{argument.type}' for argument '{argument.name}' but instead found type "
                    f"'{type(value).__name__}'.\nPosition: {at}\nValue: {value}\nDeclaration: {self}\nCast error details: Unable to cast "
                    f"{value} to {argument.type}"
                )
            values.append(value)
        if used < len(kwargs):
            names = {each.name for each in arguments}
            unknown = next(name for name in kwargs if name not in names)
            raise OperationError(f"Unknown keyword argument '{unknown}' for operator '{self.name}'. Schema: {self}")
        return values


def _show(value: Any, kind: SchemaType) -> str:
    """A default value as PyTorch prints it."""
    if value is None or isinstance(value, bool):
        return str(value)
    if isinstance(value, dtype):
        return value.name
    if isinstance(value, float):
        text = f"{value:.17g}"
        return text if not text.lstrip("-").isdigit() else f"{text}."
    if isinstance(value, (str, device)):
        return f'"{value}"'
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_show(each, kind) for each in value)}]"
    return str(value)


# -- reading ---------------------------------------------------------------------------------------------------------


_C_TYPES = {  # types of C++ that are taken for those of schemas
    "int64_t": "Use `SymInt` or `int` instead of `int64_t` in an operator's schema string. `SymInt` corresponds to c10::SymInt in C++ while `int` in "
    "schema corresponds to the int64_t type in C++.",
    "double": "Use `float` instead of `double` in an operator's schema string. `float` in schema corresponds to the double type in C++",
}


class _Reader:
    """Reads the tokens of a schema one after the other."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.places: list[int] = []
        self.tokens: list[str] = []
        self.unnamed = 0  # how many sets of memory had no name so far
        at = 0
        while text[at:].strip():
            found = _TOKENS.match(text, at)
            if found is None:
                raise self.error(f"unexpected character in a schema: {text[at:].strip()[0]!r}", at)
            self.tokens.append(found[1])
            self.places.append(found.start(1))
            at = found.end()
        self.at = 0

    def error(self, what: str, at: int | None = None) -> OperationError:
        place = (self.places[self.at] if self.at < len(self.places) else len(self.text)) if at is None else at
        length = len(self.tokens[self.at]) if at is None and self.at < len(self.tokens) else 1
        return OperationError(f"\n{what}:\n{self.text}\n{' ' * place}{'~' * length} <--- HERE\n")

    @property
    def token(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self, wanted: str | None = None) -> str:
        found = self.token
        if wanted is not None and found != wanted:
            name = {"->": "arrow"}.get(wanted, wanted)
            raise (
                OperationError(f"expected {name} but found '{found or 'eof'}' here:\n{self.text}\n")
                if wanted == "->"
                else self.error(f"expected {name} but found '{found or 'eof'}' here")
            )
        self.at += 1
        return found

    def name(self) -> str:
        """An identifier."""
        if not re.fullmatch(r"[A-Za-z_]\w*", self.token):
            raise self.error(f"expected ident but found '{self.token or 'eof'}' here")
        return self.take()

    def type(self) -> tuple[SchemaType, AliasInfo | None]:
        """A type with what it says about memory."""
        base = self.token
        if base.split(".")[0] not in BASES:
            instead = _C_TYPES.get(base)
            if instead is not None:
                raise self.error(instead)
            raise self.error(
                "unknown type specifier. Common valid schema types include Tensor, SymInt, int, float, bool, Scalar; for a full list, "
                "please see https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/README.md#func "
            )
        self.take()
        if base in ("Dict", "Future"):
            base += self.inside()
        alias = self.alias()
        kind = SchemaType(base)
        while self.token in ("[", "?"):
            if self.take() == "?":
                kind = SchemaType("Optional", kind)
                continue
            size = int(self.take()) if self.token.isdigit() else None
            self.take("]")
            kind = SchemaType("List", kind, size)
            alias = self.alias(of_list=True) or alias
        return kind, alias

    def inside(self) -> str:
        """The arguments of a generic type, as text."""
        text = self.take("(")
        depth = 1
        while depth:
            found = self.take()
            depth += {"(": 1, ")": -1, "": -depth}.get(found, 0)
            text += found + " " * (found == ",")
        return text

    def alias(self, of_list: bool = False) -> AliasInfo | None:
        """What may stand behind a type: ``(a!)``, or ``!`` for memory that nothing else shares."""
        if self.token == "!":
            self.take()
            self.unnamed += 1
            return AliasInfo((f"${self.unnamed - 1}",), (), True, of_list)
        if self.token != "(":
            return None
        self.take()
        write = False
        sets: list[list[str]] = [[]]
        while self.token != ")":
            found = self.take()
            if found == "!":
                write = True
            elif found == "->":
                sets.append([])
            elif found != "|":
                sets[-1].append(found)
            if not found:
                raise self.error("expected ) but found 'eof' here")
        self.take(")")
        return AliasInfo(tuple(sets[0]), tuple(sets[-1]), write, of_list)

    def default(self, kind: SchemaType) -> Any:
        """A default value."""
        if self.token == "[":
            self.take()
            values: list[Any] = []
            while self.token != "]":
                values.append(self.default(SchemaType(kind.base)))
                if self.token == ",":
                    self.take()
            self.take("]")
            return values
        found = self.take()
        if found in ("None", "True", "False"):
            return {"None": None, "True": True, "False": False}[found]
        if found[:1] in "\"'":
            text = found[1:-1].replace('\\"', '"').replace("\\\\", "\\")
            return device(text) if kind.base == "Device" else text
        if kind.base == "ScalarType" and found in BY_NAME:
            return BY_NAME[found]
        try:
            number: Any = int(found)
        except ValueError:
            try:
                number = float(found)
            except ValueError:
                return found
        return float(number) if kind.base == "float" else number

    def arguments(self) -> list[Argument]:
        """The parameters, between the parentheses."""
        self.take("(")
        made: list[Argument] = []
        only = False
        while self.token != ")":
            if self.token == "*":
                self.take()
                only = True
            elif self.token == "...":
                self.take()
            else:
                kind, alias = self.type()
                name = self.name()
                default = _MISSING
                if self.token == "=":
                    self.take()
                    default = self.default(kind)
                made.append(Argument(name, kind, default, only, alias))
            if self.token != ")":
                self.take(",")
        self.take(")")
        return made

    def returns(self) -> list[Argument]:
        """What stands after the arrow."""
        self.take("->")
        if self.token != "(":
            kind, alias = self.type()
            return [Argument(self.take() if self.token else "", kind, alias=alias)]
        self.take("(")
        made: list[Argument] = []
        while self.token != ")":
            if self.token == "...":
                self.take()
            elif self.token == "(":  # a tuple of one
                self.take()
                kind, alias = self.type()
                self.take(")")
                made.append(Argument("", SchemaType("Tuple", kind), alias=alias))
            else:
                kind, alias = self.type()
                named = re.fullmatch(r"[A-Za-z_]\w*", self.token)
                made.append(Argument(self.take() if named else "", kind, alias=alias))
            if self.token != ")":
                self.take(",")
        self.take(")")
        return made


def parse_schema(text: str, name: str = "") -> FunctionSchema:
    """The schema that a text says; ``name`` stands before a text that begins with the arguments."""
    reader = _Reader(text)
    if reader.token != "(":
        name = reader.take()
    whole, _, overload = name.partition(".")
    arguments = reader.arguments()
    returns = reader.returns()
    if reader.token:
        raise reader.error(f"expected eof but found '{reader.token}' here")
    return FunctionSchema(whole, overload, arguments, returns)


__all__ = ["AliasInfo", "Argument", "FunctionSchema", "SchemaType", "parse_schema"]

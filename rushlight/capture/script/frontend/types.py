"""The types of values in scripts.

Types are for the compiler: they decide which branches can be taken, and find mistakes before anything runs.  A value of type
:data:`ANY` can be everything, and is looked at when the program runs.
"""

from __future__ import annotations

import enum
import sys
import types as python_types
import typing
import warnings
from collections.abc import Callable
from typing import Any

from ....core.base import TensorBase
from ....core.devices import device
from ....core.dtypes import dtype
from ....core.random import Generator
from ....core.size import Size
from ....nn import common_types
from ....nn.modules.module import Module
from ....tensor.legacy import tensortype


class Type:
    """A type by its name, as messages and graphs show it; there is one of each simple one."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name

    def __call__(self) -> Type:
        """Itself: ``node.type`` is a type, and so is ``node.type()``, which is how TorchScript's graphs are asked."""
        return self

    @property
    def annotation_str(self) -> str:
        """The type as an annotation."""
        return self.name

    def isSubtypeOf(self, other: Type) -> bool:
        """Whether values of this type may stand where the other is asked for."""
        return assignable(self, other)

    def __reduce__(self) -> Any:
        return (parse_type, (repr(self),))

    def __copy__(self) -> Type:
        return self

    def __deepcopy__(self, memo: Any) -> Type:
        return self


class KnownKind(Type):
    """A type that says what kind it is, as TorchScript's graphs are asked: ``ListType``, ``IntType``."""

    __slots__ = ()

    def kind(self) -> str:
        """The name of PyTorch's class of such types."""
        return _KINDS_OF_SIMPLE.get(self.name, "AnyType") if type(self) is KnownKind else type(self).__name__.removeprefix("Broadcasting")


class CompoundType(Type):
    """A type that has others in it, or a user's class: two are the same if they have the same name."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, CompoundType) and repr(self) == repr(other))

    def __hash__(self) -> int:
        return hash(repr(self))


_SIMPLE = [
    KnownKind(name) for name in "Tensor int float bool str complex NoneType Device dtype number Generator Any Never object slice".split()
]
TENSOR, INT, FLOAT, BOOL, STR, COMPLEX, NONE, DEVICE, DTYPE, NUMBER, GENERATOR, ANY, NEVER, OBJECT, SLICE = _SIMPLE
SIMPLE = {each.name: each for each in _SIMPLE}


_KINDS_OF_SIMPLE = {
    "Tensor": "TensorType", "int": "IntType", "float": "FloatType", "bool": "BoolType", "str": "StringType", "complex": "ComplexType",
    "NoneType": "NoneType", "Device": "DeviceObjType", "dtype": "IntType", "number": "NumberType", "Generator": "GeneratorType",
    "object": "PyObjectType",
}  # fmt: skip


class OptionalType(CompoundType, KnownKind):
    """A value or None."""

    __slots__ = ("inner",)

    def __init__(self, inner: Type) -> None:
        self.inner = inner

    def getElementType(self) -> Type:
        """The type of what is in it."""
        return self.inner

    @property
    def name(self) -> str:  # type: ignore[override]
        return UnionType((*self.inner.options, NONE)).name if isinstance(self.inner, UnionType) else f"Optional[{self.inner}]"


_KINDS = tuple("Any Enum< Tensor Tuple[ List[ Dict[ number float complex int NoneType str Generator bool Device".split())


def _union_order(kind: Type) -> int:
    """The place of a type among those that a union names, which is not the one that the program gives."""
    name = repr(kind)
    return next((at for at, each in enumerate(_KINDS) if name.startswith(each)), len(_KINDS))


class UnionType(CompoundType, KnownKind):
    """A value of one of several types."""

    __slots__ = ("options",)

    def __init__(self, options: tuple[Type, ...]) -> None:
        self.options = options

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"Union[{', '.join(map(repr, sorted(self.options, key=_union_order)))}]"


class ListType(CompoundType, KnownKind):
    """A list; the element type of an empty one is open until something is put into it."""

    __slots__ = ("element",)

    def __init__(self, element: Type) -> None:
        if element is None:
            raise RuntimeError("Can not create ListType with None type")
        self.element = element

    def getElementType(self) -> Type:
        """The type of what is in it."""
        return self.element

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"List[{self.element}]"


class BroadcastingListType(ListType):
    """A list of a known length, for which one element may stand: ``BroadcastingList2[int]``."""

    __slots__ = ("count",)

    def __init__(self, element: Type, count: int) -> None:
        self.element = element
        self.count = count

    def of(self, value: Any) -> Any:
        """An argument as a list."""
        return value if isinstance(value, (list, tuple)) else [value] * self.count


class Broadcasting:
    """What annotations name as ``BroadcastingList1`` to ``BroadcastingList6``."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __getitem__(self, element: Any) -> Any:
        return typing.Annotated[typing.List[element], self]  # noqa: UP006


class DictType(CompoundType, KnownKind):
    """A dict."""

    __slots__ = ("key", "value")

    def __init__(self, key: Type, value: Type) -> None:
        self.key = key
        self.value = value

    def getKeyType(self) -> Type:
        """The type of the keys."""
        return self.key

    def getValueType(self) -> Type:
        """The type of the values."""
        return self.value

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"Dict[{self.key}, {self.value}]"


class ElementTypes(tuple[Type, ...]):
    """The types of a tuple's places: ``kind.elements``, and ``kind.elements()`` as TorchScript's types are asked."""

    __slots__ = ()

    def __call__(self) -> list[Type]:
        return list(self)


class TupleType(CompoundType):
    """A tuple with a type for each place; of a named tuple, also its class."""

    __slots__ = ("elements", "kind")

    def __init__(self, elements: tuple[Type, ...], kind: Any = None) -> None:
        self.elements = ElementTypes(elements)
        self.kind = kind

    @property
    def name(self) -> str:  # type: ignore[override]
        if self.kind is not None:
            return str(self.kind.__name__)
        return f"Tuple[{', '.join(map(repr, self.elements)) or '()'}]"


class EnumType(CompoundType):
    """A member of an enumeration."""

    __slots__ = ("kind",)

    def __init__(self, kind: Any) -> None:
        self.kind = kind

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"Enum<{self.kind.__name__}>"


class ClassType(CompoundType, KnownKind):
    """An object of a scripted class."""

    __slots__ = ("described",)

    def __init__(self, described: Any) -> None:
        self.described = described

    @property
    def name(self) -> str:  # type: ignore[override]
        return str(self.described.name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ClassType) and other.described is self.described

    def __hash__(self) -> int:
        return hash(id(self.described))


class InterfaceType(CompoundType):
    """An object that has some methods, of whatever class: their names with the types of their parameters and of their results."""

    __slots__ = ("kind", "methods")

    def __init__(self, kind: Any, methods: dict[str, Any]) -> None:
        self.kind = kind
        self.methods = methods

    @property
    def name(self) -> str:  # type: ignore[override]
        return str(self.kind.__name__)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, InterfaceType) and other.kind is self.kind

    def __hash__(self) -> int:
        return hash(id(self.kind))

    def signature_of(self, name: str) -> Any:
        """What a method takes and returns; None where there is no such method."""
        return self.methods.get(name)

    def lacks(self, described: Any) -> str | None:
        """What a scripted class (or Module) does not have of the methods that are asked for; None where it has all."""
        for name, wanted in self.methods.items():
            found = described.signature_of(name)
            if found is None:
                return f"it does not have method '{name}'"
            given = [each.type for each in found.parameters]
            if len(given) != len(wanted.parameters) or not all(map(assignable, [each.type for each in wanted.parameters], given)):
                return f"it is not compatible with interface __torch__.{self}: its method '{name}' takes other arguments"
            if not assignable(found.result, wanted.result):
                what = f"its method '{name}' returns {found.result}, and {wanted.result} is asked for"
                return f"it is not compatible with interface __torch__.{self}: {what}"
        return None


class ModuleKind(CompoundType):
    """A scripted Module as a value, by its class: ``signature_of`` says what its methods take and return."""

    __slots__ = ("kind", "path", "signature_of")

    def __init__(self, path: str, kind: Any, signature_of: Callable[[str], Any]) -> None:
        self.path = path
        self.kind = kind
        self.signature_of = signature_of

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"__torch__.{self.path.removeprefix('__torch__.')}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ModuleKind) and other.kind is self.kind

    def __hash__(self) -> int:
        return hash(id(self.kind))


CLASS_MAKERS: list[Callable[..., ClassType]] = []  # what scripts a class: see script_class.py


def class_type(kind: type) -> ClassType | None:
    """The type of the objects of a class that was scripted; None of others."""
    found: ClassType | None = vars(kind).get("_script_class_type")
    return found


def parse_type(text: str) -> Type:
    """The type of a name that :func:`repr` gave; what is not known here any more (a named tuple) can be anything."""
    found = SIMPLE.get(text)
    if found is not None:
        return found
    head, _, rest = text.partition("[")
    if not rest or head not in ("Optional", "Union", "List", "Dict", "Tuple"):
        return ANY
    parts: list[Type] = []
    depth, start, inside = 0, 0, rest[:-1]
    for at, letter in enumerate(inside + ","):
        depth += (letter == "[") - (letter == "]")
        if letter == "," and not depth:
            if inside[start:at].strip() not in ("", "()"):
                parts.append(parse_type(inside[start:at].strip()))
            start = at + 1
    if head == "Optional":
        return OptionalType(parts[0])
    if head == "Union":
        return union(parts)
    if head == "List":
        return ListType(parts[0])
    return DictType(*parts) if head == "Dict" else TupleType(tuple(parts))


# -- from Python ---------------------------------------------------------------------------------------------------------


class UnknownAnnotation(Exception):
    """An annotation that is no type of scripts."""


def from_annotation(annotation: Any, resolve: Callable[[str], Any] | None = None) -> Type:
    """The type that an annotation means."""
    if isinstance(annotation, str):
        if resolve is None:
            raise UnknownAnnotation(annotation)
        return from_annotation(resolve(annotation), resolve)
    if isinstance(annotation, Type):
        return annotation
    if annotation is None or annotation is type(None):
        return NONE
    if annotation in _PLAIN:
        return _PLAIN[annotation]
    if annotation in _BARE:
        raise UnknownAnnotation(_BARE[annotation])
    if getattr(annotation, "__qualname__", "") == "Future" and isinstance(annotation, type):
        raise UnknownAnnotation("Attempted to use Future without a contained type. Please add a contained type, e.g. Future[int]")
    if isinstance(annotation, tensortype):
        warnings.warn(
            "TorchScript will treat type annotations of Tensor dtype-specific subtypes as if they are normal Tensors. dtype constraints are not enforced in "
            "compilation either.",
            stacklevel=2,
        )
        return TENSOR
    for count, sizes in enumerate(_SIZES, 1):  # one of them stands for all
        if annotation is sizes:
            return BroadcastingListType(INT, count)
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated and isinstance(args[1], Broadcasting):
        inner = from_annotation(args[0], resolve)
        assert isinstance(inner, ListType)
        return BroadcastingListType(inner.element, args[1].count)
    parts = [each if each in ((), ...) else from_annotation(each, resolve) for each in args] if origin not in (typing.Literal, None) else []
    if origin is typing.Union or origin is python_types.UnionType:
        return union(parts)
    if origin in (list, typing.List):  # noqa: UP006
        return ListType(parts[0])
    if origin in (dict, typing.Dict):  # noqa: UP006
        return DictType(parts[0], parts[1])
    if origin in (tuple, typing.Tuple):  # noqa: UP006
        if parts and parts[-1] is ...:
            return ListType(parts[0])
        return TupleType(tuple(each for each in parts if isinstance(each, Type)))
    if (
        origin in (typing.Final, typing.Annotated, typing.ClassVar) or getattr(origin, "__qualname__", "") == "Future"
    ):  # what is forked runs at once
        return parts[0]
    if origin is typing.Literal:
        return type_of(args[0])
    if isinstance(annotation, typing.ForwardRef):
        return from_annotation(annotation.__forward_arg__, resolve)
    if isinstance(annotation, type):
        if issubclass(annotation, tuple) and hasattr(annotation, "_fields"):
            hints = {name: hint for base in reversed(annotation.__mro__) for name, hint in base.__dict__.get("__annotations__", {}).items()}
            here = field_resolver(annotation, resolve)
            return TupleType(tuple(from_annotation(hints.get(field, TensorBase), here) for field in annotation._fields), annotation)
        if issubclass(annotation, enum.Enum):
            if len({type(each.value) for each in annotation}) > 1:
                raise UnknownAnnotation(
                    f"Could not unify type list: the values of the Enum {annotation.__name__} are of several types, and must be of one"
                )
            odd = next((each.value for each in annotation if not isinstance(each.value, (int, float, str))), None)
            if odd is not None:
                raise UnknownAnnotation(f"Cannot create Enum with value type '{type_of(odd)}' - only int, float and string are supported")
            return EnumType(annotation)
        if issubclass(annotation, TensorBase):
            return TENSOR
        if issubclass(annotation, Generator):
            return GENERATOR
        if issubclass(annotation, Module) and "_script_interface" not in vars(annotation):
            return ANY
        found = class_type(annotation)
        if found is not None:
            return found
        if "_script_interface" in vars(annotation):
            return annotation._script_interface  # type: ignore[attr-defined,no-any-return]
        if annotation.__module__ not in ("builtins", "typing", "collections") and len(annotation.__mro__) == 2:
            return CLASS_MAKERS[0](annotation)
    raise UnknownAnnotation(str(annotation))


def field_resolver(kind: type, outer: Callable[[str], Any] | None) -> Callable[[str], Any]:
    """What names mean in the annotations of a class that is written elsewhere: what they mean in its file, else where it is used."""
    names = vars(sys.modules.get(kind.__module__, typing))

    def resolve(text: str) -> Any:
        try:
            return eval(text, {**TYPE_NAMES, **names})  # as Python does with annotations
        except NameError:
            if outer is None:
                raise
            return outer(text)

    return resolve


TYPE_NAMES: dict[str, Any] = {
    name: getattr(typing, name) for name in "List Dict Tuple Optional Union Any NamedTuple Final Callable Literal".split()
}  # what annotations may name without an import
TYPE_NAMES.update({f"BroadcastingList{_count}": Broadcasting(_count) for _count in range(1, 7)})
TYPE_NAMES.update({"Tensor": TensorBase, "Device": device, "number": NUMBER, "NoneType": type(None)})
_SIZES = [getattr(common_types, f"_size_{count}_t") for count in range(1, 7)]
_BARE: dict[Any, str] = {}
for _name, _kinds in (("List", (list, typing.List)), ("Tuple", (tuple, typing.Tuple)), ("Optional", (typing.Optional,))):  # noqa: UP006
    for _kind in _kinds:
        _BARE[_kind] = f"Attempted to use {_name} without a contained type. Please add a contained type, e.g. {_name}[int]"
for _mapping in (dict, typing.Dict):  # noqa: UP006
    _BARE[_mapping] = "Attempted to use Dict without contained types. Please add contained type, e.g. Dict[int, int]"
_PLAIN: dict[Any, Type] = {
    int: INT, float: FLOAT, bool: BOOL, str: STR, complex: COMPLEX, typing.Any: ANY, object: ANY, device: DEVICE, dtype: DTYPE,
    Size: ListType(INT), TensorBase: TENSOR,
}  # fmt: skip


def union(options: list[Any]) -> Type:
    """The type of a value of one of several."""
    flat: list[Type] = []
    for each in options:
        for part in each.options if isinstance(each, UnionType) else (each.inner, NONE) if isinstance(each, OptionalType) else (each,):
            if part not in flat:
                flat.append(part)
    if len(flat) == 1:
        return flat[0]
    rest = [each for each in flat if each != NONE]
    inner = rest[0] if len(rest) == 1 else UnionType(tuple(rest))
    return OptionalType(inner) if len(rest) < len(flat) else inner


def type_of(value: Any) -> Type:
    """The type of a Python value."""
    kind = type(value)
    if kind in _PLAIN and kind is not object:
        return _PLAIN[kind]
    if value is None:
        return NONE
    if isinstance(value, TensorBase):
        return TENSOR
    if isinstance(value, Generator):
        return GENERATOR
    if isinstance(value, enum.Enum):
        return EnumType(kind)
    if isinstance(value, bool):
        return BOOL
    if isinstance(value, int):
        return INT
    if isinstance(value, float):
        return FLOAT
    if isinstance(value, tuple):
        if hasattr(value, "_fields"):
            return TupleType(tuple(map(type_of, value)), kind)
        return TupleType(tuple(map(type_of, value)))
    if isinstance(value, list):
        return ListType(common([type_of(each) for each in value]) or ANY)
    if isinstance(value, dict):
        return DictType(common([type_of(each) for each in value]) or ANY, common([type_of(each) for each in value.values()]) or ANY)
    described = class_type(kind)
    if described is not None:
        return described
    return OBJECT


def common(types: list[Type]) -> Type | None:
    """One type for all of several, or None; of nothing, :data:`ANY`."""
    found: Type = NEVER
    for each in types:
        joined = unify(found, each)
        if joined is None:
            return None
        found = joined
    return ANY if found == NEVER else found


def unify(a: Type, b: Type) -> Type | None:
    """The type of a value that is of one type on one path and of another on the other; None where there is none."""
    if a == b:
        return a
    if a == NEVER:
        return b
    if b == NEVER:
        return a
    if ANY in (a, b):
        return ANY
    if NONE in (a, b) or isinstance(a, OptionalType) or isinstance(b, OptionalType):
        inner = unify(without_none(a), without_none(b))
        return None if inner is None else (NONE if inner == NEVER else OptionalType(inner))
    if isinstance(a, UnionType) or isinstance(b, UnionType):
        if assignable(a, b):
            return b
        return a if assignable(b, a) else None
    if isinstance(a, ListType) and isinstance(b, ListType):
        element = unify(a.element, b.element)
        return None if element is None else ListType(element)
    if isinstance(a, DictType) and isinstance(b, DictType):
        key, value = unify(a.key, b.key), unify(a.value, b.value)
        return None if key is None or value is None else DictType(key, value)
    if isinstance(a, TupleType) and isinstance(b, TupleType) and len(a.elements) == len(b.elements):
        parts = [unify(first, second) for first, second in zip(a.elements, b.elements)]
        if None in parts:
            return None
        return TupleType(tuple(parts), a.kind if a.kind is b.kind else None)  # type: ignore[arg-type]
    if NUMBER in (a, b) and {a, b} <= {NUMBER, INT, FLOAT, BOOL, COMPLEX}:
        return NUMBER
    return None


def without_none(given: Type) -> Type:
    """The type of a value of which it is known that it is not None."""
    return given.inner if isinstance(given, OptionalType) else (NEVER if given == NONE else given)


def assignable(given: Type, wanted: Type) -> bool:
    """Whether a value of one type may stand where another is asked for."""
    if given in (wanted, NEVER) or ANY in (given, wanted) or wanted == OBJECT:
        return True
    if isinstance(wanted, OptionalType):
        return given == NONE or assignable(without_none(given), wanted.inner)
    if isinstance(wanted, UnionType):
        options = given.options if isinstance(given, UnionType) else (given,)
        return all(any(assignable(each, option) for option in wanted.options) for each in options)
    if isinstance(given, ListType) and isinstance(wanted, ListType):
        return same_element(given.element, wanted.element)
    if isinstance(given, DictType) and isinstance(wanted, DictType):
        return same_element(given.key, wanted.key) and same_element(given.value, wanted.value)
    if isinstance(given, TupleType) and isinstance(wanted, TupleType):
        return len(given.elements) == len(wanted.elements) and all(map(assignable, given.elements, wanted.elements))
    if wanted == NUMBER:
        return given in (INT, FLOAT, BOOL, COMPLEX)
    if isinstance(wanted, InterfaceType):
        return isinstance(given, (ClassType, InterfaceType, ModuleKind)) and wanted.lacks(getattr(given, "described", given)) is None
    return given == NUMBER and wanted in (INT, FLOAT, BOOL, COMPLEX)


def same_element(given: Type, wanted: Type) -> bool:
    """Whether a container of one type may stand for one of another: what is written into it must be of both, unless a type is not known."""
    return given == wanted or (assignable(given, wanted) and (is_open(given) or is_open(wanted)))


def is_open(kind: Type) -> bool:
    """Whether something of a type is known only when the program runs."""
    if isinstance(kind, (ListType, DictType, TupleType)):
        parts = (kind.element,) if isinstance(kind, ListType) else (kind.key, kind.value) if isinstance(kind, DictType) else kind.elements
        return any(map(is_open, parts))
    return kind in (ANY, NEVER, OBJECT, NUMBER) or isinstance(kind, InterfaceType)

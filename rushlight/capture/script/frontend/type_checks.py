"""Tests of values against the types of scripts, when a program is called."""

from __future__ import annotations

import enum
from collections import deque
from collections.abc import Callable
from typing import Any

from ....core.base import TensorBase
from ....core.devices import device
from ....core.dtypes import dtype
from ....core.random import Generator
from .types import (
    BOOL,
    COMPLEX,
    FLOAT,
    INT,
    BroadcastingListType,
    ClassType,
    CompoundType,
    DictType,
    EnumType,
    InterfaceType,
    ListType,
    OptionalType,
    TupleType,
    Type,
    UnionType,
)


def same_member(value: Any, kind: Any) -> Any:
    """The member of an enumeration that a member of another one of the same name is: a file has its own; None where there is none."""
    if not isinstance(value, enum.Enum) or type(value).__name__ != kind.__name__:
        return None
    found = kind.__members__.get(value.name)
    return found if found is not None and found.value == value.value else None


def checker(wanted: Type) -> Callable[[Any], bool] | None:
    """A quick test of whether an argument from outside is of a type; None where everything is."""
    if not isinstance(wanted, CompoundType):
        return _CHECKS.get(wanted.name)
    if isinstance(wanted, OptionalType):
        inner = checker(wanted.inner)
        return None if inner is None else lambda value: value is None or inner(value)
    if isinstance(wanted, UnionType):
        tests = [checker(each) for each in wanted.options]
        return None if None in tests else lambda value: any(test(value) for test in tests)  # type: ignore[misc]
    if isinstance(wanted, ListType):
        element = _CHECKS["int"] if wanted.element == BOOL else checker(wanted.element)
        if isinstance(wanted, BroadcastingListType):
            return lambda value: all(map(element, value)) if isinstance(value, (list, tuple)) else element(value)  # type: ignore[misc,arg-type]
        return lambda value: (
            (isinstance(value, (list, tuple, range, deque)) and (element is None or all(map(element, value))))
            or value.__class__.__name__ == "ScriptList"
        )
    if isinstance(wanted, DictType):
        key, item = checker(wanted.key), checker(wanted.value)
        return lambda value: (
            (isinstance(value, dict) and (key is None or all(map(key, value))) and (item is None or all(map(item, value.values()))))
            or value.__class__.__name__ == "ScriptDict"
        )
    if isinstance(wanted, TupleType):
        elements = [checker(each) for each in wanted.elements]
        return lambda value: (
            isinstance(value, (tuple, list)) and len(value) == len(elements)
            and all(test is None or test(each) for test, each in zip(elements, value))
        )  # fmt: skip
    if isinstance(wanted, EnumType):
        return lambda value: isinstance(value, wanted.kind) or same_member(value, wanted.kind) is not None
    if isinstance(wanted, InterfaceType):
        return lambda value: all(hasattr(value, name) for name in wanted.methods)
    if not isinstance(wanted, ClassType):  # a class of an archive that is none of scripts
        return None
    return lambda value: isinstance(value, wanted.described.kind)


def is_exactly(value: Any, wanted: Type) -> bool:
    """Whether a value is of a type with no conversion, elements of containers included (``jit.isinstance``)."""
    if isinstance(wanted, OptionalType):
        return value is None or is_exactly(value, wanted.inner)
    if isinstance(wanted, UnionType):
        return any(is_exactly(value, each) for each in wanted.options)
    if isinstance(wanted, ListType):
        return isinstance(value, list) and all(is_exactly(each, wanted.element) for each in value)
    if isinstance(wanted, DictType):
        return isinstance(value, dict) and all(is_exactly(k, wanted.key) and is_exactly(v, wanted.value) for k, v in value.items())
    if isinstance(wanted, TupleType):
        of_kind = isinstance(value, tuple if wanted.kind is None else wanted.kind)
        return of_kind and len(value) == len(wanted.elements) and all(map(is_exactly, value, wanted.elements))
    if wanted == FLOAT:
        return isinstance(value, float)
    if wanted == INT:
        return isinstance(value, int) and not isinstance(value, bool)
    if wanted == COMPLEX:
        return isinstance(value, complex)
    check = checker(wanted)
    return check is None or check(value)


_CHECKS: dict[str, Callable[[Any], bool]] = {
    "Tensor": lambda value: isinstance(value, TensorBase),
    "int": lambda value: isinstance(value, int),
    "float": lambda value: isinstance(value, (float, int)) and not isinstance(value, bool),
    "bool": lambda value: isinstance(value, bool),
    "str": lambda value: isinstance(value, str),
    "complex": lambda value: isinstance(value, (complex, float, int)),
    "NoneType": lambda value: value is None,
    "number": lambda value: isinstance(value, (int, float, complex)),
    "dtype": lambda value: isinstance(value, (dtype, int)),
    "Device": lambda value: isinstance(value, (device, str)),
    "Generator": lambda value: isinstance(value, Generator),
}

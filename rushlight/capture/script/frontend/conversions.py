"""Arguments of scripts from Python, and results to Python: numbers are converted, and containers are copied, so that no side sees what the other does to them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ....core.base import TensorBase
from ....core.devices import device
from .script_containers import ScriptDict, ScriptList
from .type_checks import checker, is_exactly, same_member
from .types import (
    ANY,
    BOOL,
    COMPLEX,
    DEVICE,
    FLOAT,
    INT,
    TENSOR,
    BroadcastingListType,
    DictType,
    EnumType,
    ListType,
    OptionalType,
    TupleType,
    Type,
    UnionType,
)

Conversion = Callable[[Any], Any]
_NUMBERS: dict[Type, Any] = {INT: int, FLOAT: float, BOOL: bool, COMPLEX: complex}
_TAKEN: dict[Type, Any] = {
    INT: int,
    FLOAT: (int, float),
    COMPLEX: (int, float, complex),
    BOOL: (int, float, type(None)),
}  # from Python functions


def conversion(wanted: Type) -> Conversion | None:
    """What an argument of a type is converted by; None where it is taken as it is."""
    if wanted == FLOAT:
        return lambda value: float(value) if isinstance(value, int) else value
    if wanted == COMPLEX:
        return complex
    if wanted == DEVICE:
        return lambda value: device(value) if isinstance(value, str) else value
    if isinstance(wanted, OptionalType):
        inner = conversion(wanted.inner)
        return None if inner is None else lambda value: None if value is None else inner(value)
    if isinstance(wanted, ListType):
        element = bool if wanted.element == BOOL else conversion(wanted.element)
        if isinstance(wanted, BroadcastingListType):
            return lambda value: _listed(wanted.of(value), element)
        return lambda value: _listed(value, element)
    if isinstance(wanted, DictType):
        return _mapped(conversion(wanted.key), conversion(wanted.value))
    if isinstance(wanted, TupleType):
        parts = [conversion(each) for each in wanted.elements]
        return lambda value: (
            value if value.__class__ is tuple and wanted.kind is None and not any(parts) else _grouped(value, parts, wanted.kind)
        )
    if isinstance(wanted, EnumType) and wanted.kind.__module__.startswith("__torch__"):  # of a file
        return lambda value: value if isinstance(value, wanted.kind) else same_member(value, wanted.kind)
    if isinstance(wanted, UnionType):
        pairs: list[tuple[Any, Conversion | None]] = [(partial(is_exactly, wanted=each), conversion(each)) for each in wanted.options]
        pairs += [(checker(each), conversion(each)) for each in wanted.options]
        return lambda value: _chosen(value, pairs)
    return None


def _listed(value: Any, element: Conversion | None) -> Any:
    if isinstance(value, ScriptList):  # the one container that both sides share
        return value._items
    return list(value) if element is None else [element(each) for each in value]


def _mapped(key: Conversion | None, item: Conversion | None) -> Conversion:
    def run(value: Any) -> Any:
        if isinstance(value, ScriptDict):
            return value._items
        if key is None and item is None:
            return dict(value)
        return {k if key is None else key(k): v if item is None else item(v) for k, v in value.items()}

    return run


def _grouped(value: Any, parts: list[Conversion | None], kind: Any) -> Any:
    items = [each if part is None else part(each) for part, each in zip(parts, value)]
    if kind is not None:
        return value if type(value) is kind and not any(parts) else tuple.__new__(kind, items)
    return tuple(items)


def _chosen(value: Any, pairs: list[tuple[Any, Conversion | None]]) -> Any:
    for check, convert in pairs:
        if check is None or check(value):
            return value if convert is None else convert(value)
    return value


def from_tensor(value: Any, wanted: Type) -> Any:
    """A tensor of one element where a number is asked for, as that number; NotImplemented of everything else."""
    wanted = wanted.inner if isinstance(wanted, OptionalType) else wanted
    if wanted in _NUMBERS and isinstance(value, TensorBase) and value.numel() == 1 and not value.dim():
        return _NUMBERS[wanted](value.item())
    return NotImplemented


def from_python(wanted: Type) -> Conversion:
    """What turns a result of a Python function into a value of the type that it says it returns: a TypeError where that is not possible.

    More is taken than for arguments: numbers from tensors and of other types that have no fraction, tuples from lists, lists from what can be iterated.
    """
    if wanted in _NUMBERS:
        return partial(_number, wanted)
    if isinstance(wanted, OptionalType):
        inner = from_python(wanted.inner)
        return lambda value: None if value is None else inner(value)
    if isinstance(wanted, ListType):
        element = from_python(wanted.element)
        return lambda value: value._items if isinstance(value, ScriptList) else [element(each) for each in _iterated(value, wanted)]
    if isinstance(wanted, DictType):
        key, item = from_python(wanted.key), from_python(wanted.value)
        return lambda value: value._items if isinstance(value, ScriptDict) else {key(k): item(v) for k, v in dict(value).items()}
    if isinstance(wanted, TupleType) and wanted.kind is None:
        return partial(_tuple, wanted, [from_python(each) for each in wanted.elements])
    if isinstance(wanted, UnionType):
        return lambda value: value if is_exactly(value, wanted) else _refused(value, wanted)
    check, convert = checker(wanted), conversion(wanted)

    def run(value: Any) -> Any:
        if check is not None and not check(value) and not (wanted == TENSOR and value is None):  # None is a tensor that is not defined
            _refused(value, wanted)
        return value if convert is None else convert(value)

    return run


def _number(wanted: Type, value: Any) -> Any:
    if isinstance(value, TensorBase) and value.numel() == 1:
        value = value.item()
        return _NUMBERS[wanted](value.real if isinstance(value, complex) and wanted != COMPLEX else value)
    return _NUMBERS[wanted](value) if isinstance(value, _TAKEN[wanted]) else _refused(value, wanted)


def _iterated(value: Any, wanted: Type) -> Any:
    return _refused(value, wanted) if isinstance(value, TensorBase) or not hasattr(value, "__iter__") else value


def _tuple(wanted: TupleType, parts: list[Conversion], value: Any) -> Any:
    items = list(value) if hasattr(value, "__iter__") else _refused(value, wanted)
    if len(items) != len(parts):
        raise TypeError(f"{value} has {len(items)} elements, and {wanted} has {len(parts)}")
    return tuple([part(each) for part, each in zip(parts, items)])


def _refused(value: Any, wanted: Type) -> Any:
    raise TypeError(f"a value of type {type(value).__name__} is no {wanted}")


def results(given: Type) -> Conversion | None:
    """What a result of a type is converted by on its way to Python: containers are copied, and what a script calls a list is one."""
    if isinstance(given, ListType):
        element = results(given.element)
        return lambda value: list(value) if element is None else [element(each) for each in value]
    if isinstance(given, DictType):
        item = results(given.value)
        return lambda value: dict(value) if item is None else {key: item(each) for key, each in value.items()}
    if isinstance(given, OptionalType):
        inner = results(given.inner)
        return None if inner is None else lambda value: None if value is None else inner(value)
    if isinstance(given, TupleType):
        parts = [results(each) for each in given.elements]
        return (lambda value: _grouped(value, parts, given.kind)) if any(parts) else None
    return _copied_if_container if isinstance(given, UnionType) or given == ANY else None


def _copied_if_container(value: Any) -> Any:
    kind = value.__class__
    if kind is list:
        return [_copied_if_container(each) for each in value]
    if kind is dict:
        return {key: _copied_if_container(each) for key, each in value.items()}
    if kind is tuple:
        return tuple([_copied_if_container(each) for each in value])
    return value

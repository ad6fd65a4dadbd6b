"""Signatures of functions that graphs call, and arguments brought into their order."""

from __future__ import annotations

import inspect
import numbers
import typing
from collections.abc import Callable
from typing import Any, NamedTuple

from ..capture.script.frontend.types import DictType, ListType, OptionalType, TupleType, Type
from ..core.base import TensorBase
from ..core.declare import MISSING, Op
from ..core.devices import device
from ..ops.overloads import OpOverload, OpOverloadPacket, find_packet


class ArgsKwargsPair(NamedTuple):
    """Arguments of a call, by position and by name."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def _signature(target: Any) -> inspect.Signature | None:
    """The parameters of a function; None where they are not known."""
    if isinstance(target, OpOverload):
        made = []
        for each in target._schema.arguments:
            kind = inspect.Parameter.KEYWORD_ONLY if each.kwarg_only else inspect.Parameter.POSITIONAL_OR_KEYWORD
            default = each.default_value if each.has_default else inspect.Parameter.empty
            made.append(inspect.Parameter("input" if each.name == "self" else each.name, kind, default=default))
        return inspect.Signature(made)
    op = getattr(target, "op", None)
    if isinstance(op, Op) and not any(each.variadic for each in op.parameters):
        return inspect.Signature([
            inspect.Parameter(each.name, inspect.Parameter.KEYWORD_ONLY if each.keyword_only else inspect.Parameter.POSITIONAL_OR_KEYWORD,
                              default=inspect.Parameter.empty if each.default is MISSING else each.default)
            for each in op.parameters
        ])  # fmt: skip
    if isinstance(op, Op):
        return None
    try:
        return inspect.signature(inspect.unwrap(target))
    except (TypeError, ValueError):
        return None


def get_signature_for_torch_op(op: Callable[..., Any], return_schemas: bool = False) -> Any:
    """The signatures of an op, or None."""
    found = _signature(op)
    if found is None:
        return (None, None) if return_schemas else None
    return ([found], None) if return_schemas else [found]


def _bound(signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any], only_kwargs: bool) -> ArgsKwargsPair | None:
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:
        return None
    bound.apply_defaults()
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for at, (name, parameter) in enumerate(signature.parameters.items()):
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            return None
        if parameter.kind is parameter.POSITIONAL_ONLY or (not only_kwargs and at < len(args)):
            positional.append(bound.arguments[name])
        else:
            named[name] = bound.arguments[name]
    return ArgsKwargsPair(tuple(positional), named)


def normalize_function(
    target: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any] | None = None, arg_types: Any = None, kwarg_types: Any = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:  # fmt: skip
    """Arguments of a function by the names of its parameters, with defaults; None where they are not known."""
    for each in _overloads(target) or [target]:
        signature = _signature(each)
        found = None if signature is None else _bound(signature, tuple(args), kwargs or {}, normalize_to_only_use_kwargs)
        if found is not None:
            return found
    return None


def _overloads(target: Any) -> list[Any]:
    """The overloads of a packet, or of an op whose sizes may be given one by one; none of all else."""
    op = getattr(target, "op", None)
    if isinstance(op, Op) and any(each.variadic for each in op.parameters):
        try:
            target = find_packet("aten", op.public_name.rpartition(".")[2])
        except AttributeError:
            return []
    return [getattr(target, each) for each in target.overloads()] if isinstance(target, OpOverloadPacket) else []


def normalize_module(
    root: Any, target: str, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None, normalize_to_only_use_kwargs: bool = False
) -> ArgsKwargsPair | None:
    """Arguments of a Module by the names of its forward's parameters."""
    module = root.get_submodule(target)
    return _bound(inspect.signature(module.forward), tuple(args), kwargs or {}, normalize_to_only_use_kwargs)


def create_type_hint(x: Any) -> Any:
    """The annotation of a list or tuple of types: of one class where all are of it, else of anything."""
    if not isinstance(x, (list, tuple)) or not all(isinstance(each, type) for each in x):
        return x
    common: Any = x[0] if x else Any
    for each in x[1:]:
        common = common if issubclass(each, common) else each if issubclass(common, each) else Any
        if common is Any:
            break
    return list[common] if isinstance(x, list) else tuple[common, ...]  # type: ignore[valid-type]


def type_matches(signature_type: Any, argument_type: Any) -> bool:
    """Whether an argument of a type may be given for a parameter: also an int, or a tuple of ints, for a list of ints."""
    if signature_type is argument_type:
        return True
    origin, inner = typing.get_origin(signature_type), typing.get_args(signature_type)
    if origin is typing.Union:
        return any(type_matches(each, argument_type) for each in inner)
    if origin is list and inner:
        if inner[0] is int and argument_type is int:
            return True
        given = [each for each in typing.get_args(argument_type) if each is not ...]
        if typing.get_origin(argument_type) not in (list, tuple) or not given:
            return False
        return all(
            each is inner[0] or (isinstance(each, type) and isinstance(inner[0], type) and issubclass(each, inner[0])) for each in given
        )
    return isinstance(argument_type, type) and isinstance(signature_type, type) and issubclass(argument_type, signature_type)


_PYTHON_TYPES: dict[str, Any] = {
    "Tensor": TensorBase, "int": int, "float": float, "bool": bool, "str": str, "complex": complex, "NoneType": type(None), "number": numbers.Number,
    "Device": device, "Any": Any,
}  # fmt: skip


def _torchscript_type_to_python_type(ts_type: Type) -> Any:
    """A type of scripts as an annotation."""
    if isinstance(ts_type, OptionalType):
        return typing.Optional[_torchscript_type_to_python_type(ts_type.inner)]  # noqa: UP045
    if isinstance(ts_type, ListType):
        return list[_torchscript_type_to_python_type(ts_type.element)]  # type: ignore[misc]
    if isinstance(ts_type, DictType):
        return dict[_torchscript_type_to_python_type(ts_type.key), _torchscript_type_to_python_type(ts_type.value)]  # type: ignore[misc]
    if isinstance(ts_type, TupleType):
        return tuple[tuple(map(_torchscript_type_to_python_type, ts_type.elements))]  # type: ignore[misc]
    return _PYTHON_TYPES.get(repr(ts_type), Any)


def check_for_mutable_operation(target: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raise an error where a call writes to one of its arguments."""
    op = getattr(target, "op", None)
    writes = target._schema.is_mutable if isinstance(target, OpOverload) else isinstance(op, Op) and op.functional is not None
    if writes:
        raise RuntimeError(f"Tried to trace mutable operation {target}. FX only supports functional code")


__all__ = [
    "ArgsKwargsPair",
    "check_for_mutable_operation",
    "create_type_hint",
    "get_signature_for_torch_op",
    "normalize_function",
    "normalize_module",
    "type_matches",
]

"""Signatures of functions that graphs call, and arguments brought into their order."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from ..core.declare import MISSING, Op
from ..ops.overloads import OpOverload


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
    if isinstance(op, Op):
        if any(each.variadic for each in op.parameters):
            return None
        return inspect.Signature([
            inspect.Parameter(each.name, inspect.Parameter.KEYWORD_ONLY if each.keyword_only else inspect.Parameter.POSITIONAL_OR_KEYWORD,
                              default=inspect.Parameter.empty if each.default is MISSING else each.default)
            for each in op.parameters
        ])  # fmt: skip
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
        if not only_kwargs and at < len(args):
            positional.append(bound.arguments[name])
        else:
            named[name] = bound.arguments[name]
    return ArgsKwargsPair(tuple(positional), named)


def normalize_function(
    target: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any] | None = None, arg_types: Any = None, kwarg_types: Any = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:  # fmt: skip
    """Arguments of a function by the names of its parameters, with defaults; None where they are not known."""
    signature = _signature(target)
    return None if signature is None else _bound(signature, tuple(args), kwargs or {}, normalize_to_only_use_kwargs)


def normalize_module(
    root: Any, target: str, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None, normalize_to_only_use_kwargs: bool = False
) -> ArgsKwargsPair | None:
    """Arguments of a Module by the names of its forward's parameters."""
    module = root.get_submodule(target)
    return _bound(inspect.signature(module.forward), tuple(args), kwargs or {}, normalize_to_only_use_kwargs)


def create_type_hint(x: Any) -> Any:
    """The type of the elements of a list or tuple of types."""
    return x


def type_matches(signature_type: Any, argument_type: Any) -> bool:
    """Whether an argument's type fits a parameter's."""
    return signature_type is argument_type or (
        isinstance(argument_type, type) and isinstance(signature_type, type) and issubclass(argument_type, signature_type)
    )


__all__ = ["ArgsKwargsPair", "get_signature_for_torch_op", "normalize_function", "normalize_module", "type_matches"]

"""The two forms of a call of an op: complete values in the order of the schema, and what a user would write."""

from __future__ import annotations

from typing import Any

from ..core.declare import MISSING, Op
from ..core.errors import ArgumentError
from .node import Node

# Other spellings that entry points take.
_SPELLINGS = {"axis": "dim", "keepdims": "keepdim"}


def canonical(op: Op, args: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The call a user would write, of one value for each parameter (a tuple of them for a variadic one).

    Keyword-only arguments go by keyword, variadic ones are spread out, and defaults are left out where nothing follows.
    """
    if len(args) != len(op.parameters):
        raise ArgumentError(f"{op.name} has {len(op.parameters)} parameters, but {len(args)} values are given")
    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    needed = 0  # how many positional arguments can't be left out
    for parameter, value in zip(op.parameters, args):
        if parameter.keyword_only:
            if not same_value(value, parameter.default):
                keywords[parameter.name] = value
        elif parameter.variadic:
            # A single sequence in the place of the sizes would be taken for all of them, and no argument for a forgotten one.
            whole = op.needs_variadic if not value else len(value) == 1 and _is_sequence(value[0])
            positional.extend((tuple(value),) if whole else value)
            needed = len(positional) if value or whole else needed
        else:
            positional.append(value)
            if not same_value(value, parameter.default):
                needed = len(positional)
    return tuple(positional[:needed]), keywords


def in_one_list(op: Op, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Positional arguments, with those behind the last parameter of a list of numbers in that list: ``x.squeeze(0, 1)``."""
    last = len(op.parameters) - 1
    return (*args[:last], tuple(args[last:])) if op.more_dims and len(args) > last + 1 else args


def bind(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> tuple[Any, ...]:
    """Complete values in the order of the schema, with defaults, of a call as a user writes it."""
    args = in_one_list(op, args)
    parameters = op.parameters
    values: list[Any] = []
    position = 0
    for parameter in parameters:
        if parameter.variadic:
            given = tuple(args[position:])
            position = len(args)
            if len(given) == 1 and type(given[0]) is not Node and _is_sequence(given[0]):
                given = tuple(given[0])
            values.append(given)
        elif parameter.keyword_only or position >= len(args):
            values.append(MISSING)
        else:
            values.append(args[position])
            position += 1
    if position < len(args):
        positional = sum(not parameter.keyword_only for parameter in parameters)
        raise ArgumentError(f"{op.public_name}() takes {positional} positional arguments but {len(args)} were given")
    places = {parameter.name: index for index, parameter in enumerate(parameters)}
    for name, value in (kwargs or {}).items():
        index = places.get(name, places.get(_SPELLINGS.get(name, "")))
        if index is None:
            more = ": what it writes to is no part of its schema" if name == "out" and op.has_out else ""
            raise ArgumentError(f"{op.public_name}() got an unexpected keyword argument '{name}'{more}")
        if parameters[index].variadic:
            if values[index]:
                raise ArgumentError(f"{op.public_name}() got multiple values for argument '{name}'")
            values[index] = tuple(value) if isinstance(value, (tuple, list)) else (value,)
        elif values[index] is not MISSING:
            raise ArgumentError(f"{op.public_name}() got multiple values for argument '{name}'")
        else:
            values[index] = value
    for index, parameter in enumerate(parameters):
        if values[index] is MISSING:
            if parameter.default is MISSING:
                raise ArgumentError(f"{op.public_name}() missing 1 required argument: '{parameter.name}'")
            values[index] = parameter.default
    return tuple(values)


def same_value(value: Any, default: Any) -> bool:
    """Whether a value is just the default, and of its type: ``1``, ``1.0`` and ``True`` mean different things."""
    if value is default:
        return value is not MISSING
    if value.__class__ is not default.__class__:
        return False
    if isinstance(value, (int, float, str)):
        return repr(value) == repr(default)  # tells 0.0 from -0.0
    if isinstance(value, tuple):
        return len(value) == len(default) and all(map(same_value, value, default))
    return False


def _is_sequence(value: Any) -> bool:
    if type(value) is Node:
        value = value.meta.get("val")
    return isinstance(value, (tuple, list))

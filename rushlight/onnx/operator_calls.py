"""PyTorch's operators in symbolic functions of users: the arguments that such a function gets, and operators that it calls by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.base import Spec
from ..core.declare import Op
from ..core.dtypes import dtype as Dtype
from ..core.errors import RushlightError
from ..core.schema import Argument
from ..graph import Graph
from ..ops.aten_calls import packet
from ..ops.overloads import OpOverloadPacket
from ..passes.aten_forms import as_traced, call_of, given_to
from .errors import SymbolicValueError, UnsupportedOperatorError
from .functions import aten_name
from .ir import NO_PYTHON, OnnxValue
from .types import JitScalarType

_EXAMPLE = 11  # the size that a dimension of unknown size has while an operator's body is captured

_NUMBERS = frozenset(("int", "SymInt", "float", "bool", "Scalar"))


# -- what symbolic functions get -----------------------------------------------------------------------------------


def operators_of(op: Op, args: tuple[Any, ...], find: Callable[[str], Any]) -> tuple[Any, tuple[Any, ...]]:
    """The function that ``find`` gives for a call of an op, and its arguments: those of PyTorch's operator in the order of its schema.

    The operator is asked for as traces have it, then by its own name; then the op by its name, with its own arguments: a composite that is no
    operator of PyTorch's.
    """
    kept: list[tuple[Spec, OnnxValue]] = []

    def spec(value: Any) -> Any:
        if isinstance(value, OnnxValue):
            made = Spec(value.shape, value.dtype)
            kept.append((made, value))
            return made
        return type(value)([spec(each) for each in value]) if type(value) in (list, tuple) else value

    given = tuple([spec(each) for each in args])
    known = all(each.shape is not None and each.dtype is not None for _, each in kept)
    found = call_of(op, given) if known else None
    if found is not None:
        overload, positional, named = found
        name = overload._schema.name.partition("::")[2]
        name = name[:-1] if name.endswith("_") and not name.endswith("__") else name
        complete = given_to(overload, positional, named)
        values = {id(made): value for made, value in kept}
        for each, call in (as_traced(name, complete), (name, complete)):
            function = find(f"aten::{each}")
            if function is not None:
                return function, tuple([_as_given(value, values) for value in call])
    return find(f"aten::{aten_name(op)}"), args


def _as_given(value: Any, values: dict[int, OnnxValue]) -> Any:
    """An argument of an operator with values for the specs that stood for them, and element types by their numbers."""
    if isinstance(value, Dtype):
        return int(JitScalarType.from_dtype(value))
    return [_as_given(each, values) for each in value] if isinstance(value, (list, tuple)) else values.get(id(value), value)


# -- what symbolic functions call ----------------------------------------------------------------------------------


def lower_operator(lowering: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The nodes of one of PyTorch's operators, called with values by its schema: those of the ops that it runs, not of functions that users registered."""
    operator = packet("aten", name)
    if operator is None:
        raise UnsupportedOperatorError(name, lowering.opset, None, f"PyTorch has no operator aten::{name}")
    if all(len(args) > sum(not each.kwarg_only for each in overload._schema.arguments) for overload in operator._overloads.values()):
        args, kwargs = _by_name(operator, args, kwargs)
    keys = list(kwargs)
    values = [_argument(lowering, operator, at, each) for at, each in enumerate(args)]
    values += [_argument(lowering, operator, key, kwargs[key]) for key in keys]

    def run(*given: Any) -> Any:
        return operator(*given[: len(args)], **dict(zip(keys, given[len(args) :])))

    def refusal(error: RushlightError) -> Exception:
        return UnsupportedOperatorError(
            name, lowering.opset, None, f"aten::{name} can't be called in a symbolic function like this: {error}"
        )

    outer, lowering.unregistered = lowering.unregistered, True
    try:
        return lowering.follow(run, tuple(values), refusal)
    finally:
        lowering.unregistered = outer


def _by_name(operator: OpOverloadPacket, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments that the operator takes by keyword only, given in the order of its schema as symbolic functions are."""
    for overload in operator._overloads.values():
        arguments = overload._schema.arguments
        if len(args) <= len(arguments) and not any(each.is_out for each in arguments):
            count = sum(not each.kwarg_only for each in arguments)
            return args[:count], {**{each.name: value for each, value in zip(arguments[count:], args[count:])}, **kwargs}
    return args, kwargs


def _declared(operator: OpOverloadPacket, key: int | str) -> list[Argument]:
    """What the overloads say of an argument, by its place or its name."""
    found = []
    for overload in operator._overloads.values():
        arguments = overload._schema.arguments
        if isinstance(key, int):
            found += [each for each in arguments if not each.kwarg_only][key : key + 1]
        else:
            found += [each for each in arguments if each.name == key]
    return found


def _argument(lowering: Any, operator: OpOverloadPacket, key: int | str, value: Any) -> Any:
    """An argument as the operator takes it: a value of known shape for a tensor, a Python value for anything else."""
    if isinstance(value, OnnxValue) and value.python is not NO_PYTHON:
        value = value.python
    kinds = {each.type.base for each in _declared(operator, key)}
    if "ScalarType" in kinds and type(value) is int and not kinds & _NUMBERS:
        return JitScalarType(value).dtype()
    if "Tensor" in kinds and "Scalar" in kinds and isinstance(value, OnnxValue) and _is_number(value):
        assert value.constant is not None
        return value.constant.item()  # of an operator that mixes no tensors with numbers
    if "Tensor" in kinds:
        return _tensors(lowering, value)
    if isinstance(value, OnnxValue):
        value = _number(operator, key, value)
    elif isinstance(value, (list, tuple)):
        value = [_number(operator, key, each) if isinstance(each, OnnxValue) else each for each in value]
    if kinds == {"bool"} and value in (0, 1):  # as the constants of a graph are
        return bool(value)
    return value


def _is_number(value: OnnxValue) -> bool:
    """Whether a constant is promoted as a Python number is."""
    return value.constant is not None and not value.constant.ndim and value.constant.dtype.name in ("float32", "int64", "bool")


def _number(operator: OpOverloadPacket, key: int | str, value: OnnxValue) -> Any:
    found = value.constant if value.python is NO_PYTHON else value.python
    if found is None and value.python is NO_PYTHON:
        raise SymbolicValueError(f"the argument {key!r} of aten::{operator.__name__} must be a constant, and it is computed", value)
    return found.tolist() if isinstance(found, np.ndarray) else found


def _tensors(lowering: Any, value: Any) -> Any:
    """Tensors whose sizes are all known: those that ONNX's inference does not know are read at run time."""
    if isinstance(value, (list, tuple)):
        return [_tensors(lowering, each) for each in value]
    if not isinstance(value, OnnxValue):
        return value
    shape = value.known_shape()
    if shape is None or value.dtype is None:
        raise SymbolicValueError(
            f"the shape or element type of {value!r} is not known, and an operator needs both: say them with value.setType(), such as that of an "
            "input, x.type().with_sizes([2, None])",
            value,
        )
    if any(each is None for each in shape):
        source = Graph().placeholder("value")
        lowering.values[source] = value
        new_symbol = lowering.tracer.new_symbol
        value.shape = tuple([new_symbol(source, at, _EXAMPLE) if each is None else each for at, each in enumerate(shape)])
    return value

"""Diagnosis of a call's argument types: it runs after a call has failed, so that a call that succeeds pays nothing for it."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from .base import TensorBase
from .declare import Op
from .dtypes import BY_NUMPY, c_name, can_cast, legacy_name
from .errors import ArgumentError, DtypeError, GradientError, OperationError, RushlightError
from .facets import Facet
from .state import state

NUMBERS = (int, float, complex, bool, np.number, np.bool_)
# Parameters that take an int, several, or None.
_DIMENSIONS = frozenset("dim dims axis axes kernel_size stride padding dilation output_padding output_size normalized_shape".split())


def argument_error(op: Op, position: int, value: Any, wanted: str = "Tensor") -> ArgumentError:
    """The error for an argument of the wrong type, as PyTorch words it."""
    name = op.parameters[position].name
    return ArgumentError(f"{op.public_name}(): argument '{name}' (position {position + 1}) must be {wanted}, not {type(value).__name__}")


def _scalar(value: Any, kinds: str) -> bool:
    """Whether a value is a tensor without dimensions whose dtype is of one of these kinds."""
    return isinstance(value, TensorBase) and not value._array.ndim and value._array.dtype.kind in kinds


def is_int(value: Any) -> bool:
    """Whether a value is taken for an int: True and False are not."""
    return (isinstance(value, (int, np.integer)) and not isinstance(value, bool)) or _scalar(value, "iu") or hasattr(value, "__index__") and (
        not isinstance(value, (bool, np.bool_, TensorBase))
    )  # fmt: skip


_FIT: dict[str, Any] = {
    "int": is_int,
    "float": lambda value: isinstance(value, (int, float, np.number, np.bool_)) or _scalar(value, "fiubV"),
    "bool": lambda value: isinstance(value, (bool, np.bool_)) or _scalar(value, "b"),
    "Number": lambda value: isinstance(value, (*NUMBERS, TensorBase)),
    "str": lambda value: isinstance(value, str),
}


def _check_ints(op: Op, position: int, values: Any) -> None:
    """Refuse what is no int among several."""
    for at, each in enumerate(values if isinstance(values, (tuple, list)) else ()):
        if isinstance(each, (bool, float, str, complex)):
            raise ArgumentError(
                f"{op.public_name}(): argument '{op.parameters[position].name}' (position {position + 1}) must be tuple of ints, but found "
                f"element of type {type(each).__name__} at pos {at}"
            )


def check_arguments(op: Op, args: Any, out: Any = None) -> None:
    """Raise PyTorch's error for the first argument of a type that its parameter does not take.

    One that takes a tensor or a number, as that of ``max``, takes the tensor alone where there is one tensor to write to.
    """
    for position, parameter in enumerate(op.parameters):
        value = args[position]
        kind = parameter.kind
        if value is None:
            if kind == "tensor" and not parameter.variadic and parameter.annotation == "Tensor":
                raise argument_error(op, position, value)
            if kind == "value" and parameter.annotation in _FIT and parameter.default is not None:
                raise argument_error(op, position, value, parameter.annotation)
            continue
        if parameter.variadic:
            if parameter.annotation == "int":
                _check_ints(op, position, value)
            continue
        if kind in ("tensor", "tensor?"):
            others = [_FIT[each] for each in parameter.annotation.split(" | ") if each in _FIT]
            if not isinstance(value, TensorBase) and not hasattr(value, "__array_interface__") and not hasattr(value, "_strides"):
                if isinstance(out, TensorBase) or not any(fits(value) for fits in others):
                    raise argument_error(op, position, value)
            continue
        if kind != "value":
            continue
        wanted, _, rest = parameter.annotation.partition(" ")
        if wanted in _FIT and rest in ("", "| None"):
            if not _FIT[wanted](value):
                raise argument_error(op, position, value, wanted)
        elif wanted == "Any" and parameter.name in _DIMENSIONS:
            _check_ints(op, position, value)
            if isinstance(value, (bool, float)):
                raise argument_error(op, position, value, "int" if parameter.name in ("dim", "axis") else "tuple of ints")


def refuse_gradient(function: str, **tensors: Any) -> None:
    """Refuse tensors that require a gradient in places for which a function has none."""
    if state.grad_enabled:
        for name, each in tensors.items():
            if isinstance(each, TensorBase) and each._requires_grad:
                raise GradientError(
                    f"The function '{function}' is not differentiable with respect to argument '{name}'. This input cannot have "
                    "requires_grad True."
                )


# -- the dtypes of out= ---------------------------------------------------------------------------------------------------


class OutRule(NamedTuple):
    """What an op says to an ``out=`` of another dtype than its result's, and the dtypes that it takes nonetheless."""

    text: str
    also: tuple[str, ...] = ()
    cast: bool = False  # only one that the result can't be cast to is refused
    alone: bool = False  # only where the op has a single tensor, and that is not complex: otherwise types are promoted
    computes: bool = False  # without a ``dtype`` the op computes in that of ``out``
    error: type[RushlightError] = DtypeError


STRUCTURED = "Expected out tensor to have dtype {wanted_c}, but got {found_c} instead"
exact_out: Facet[OutRule] = Facet("out of one type", "writes only to an out= of the dtype of its result", source="rushlight.ops.out_types")


def check_out_type(op: Op, args: tuple[Any, ...], number: int, wanted: Any, found: Any) -> None:
    """Refuse an ``out=`` of another dtype than that of the op's result (the one of this number) where the op writes to no other."""
    rule = exact_out.of(op)
    if rule is None or rule.computes or BY_NUMPY[found].name in rule.also or (rule.cast and can_cast(BY_NUMPY[wanted], BY_NUMPY[found])):
        return
    if rule.alone and (any(isinstance(each, TensorBase) for each in args[1:]) or args[0]._array.dtype.kind == "c"):
        return
    raise rule.error(_worded(op, rule.text, wanted, found, number))


def _worded(op: Op, text: str, wanted: Any, found: Any, number: int = 0) -> str:
    """A text about an ``out=`` of a dtype that an op does not write to, with the names that it asks for."""
    names = {
        "wanted": legacy_name(wanted), "found": legacy_name(found), "name": op.public_name, "narrow": BY_NUMPY[wanted].name == "int32",
        "field": op.returns[number] if op.returns else "result",
    }  # fmt: skip
    kinds = {key: c_name(each) for key, each in (("wanted_c", wanted), ("found_c", found))}
    return text.format(**names, **kinds)


def with_type_of_out(op: Op, args: tuple[Any, ...], out: Any) -> tuple[Any, ...]:
    """The arguments of an op that computes in the dtype of ``out=`` where it is given none."""
    rule = exact_out.of(op)
    if rule is None or not rule.computes or not isinstance(out, TensorBase):
        return args
    found = BY_NUMPY[out._array.dtype]
    if found.name in rule.also or BY_NUMPY[args[0]._array.dtype].name in rule.also:
        return args
    return tuple(found if parameter.name == "dtype" and value is None else value for parameter, value in zip(op.parameters, args))


def check_dtype_argument(op: Op, wanted: Any, out: Any) -> None:
    """Refuse a ``dtype`` that is not that of ``out=``."""
    if BY_NUMPY[out._array.dtype] is not wanted:
        rule = exact_out.of(op)
        text = rule.text if rule is not None and rule.computes else STRUCTURED
        raise DtypeError(_worded(op, text, wanted.numpy, out._array.dtype))


def warn_resized(found: Any, wanted: Any) -> None:
    """Warn of an ``out=`` with elements whose size changes."""
    warnings.warn(
        f"An output with one or more elements was resized since it had shape {list(found)}, which does not match the required output shape "
        f"{list(wanted)}. This behavior is deprecated, and in a future PyTorch release outputs will not be resized unless they have zero elements. "
        "You can explicitly reuse an out tensor t by resizing it, inplace, to zero elements with t.resize_(0).", UserWarning, stacklevel=5,
    )  # fmt: skip


# -- deterministic algorithms ---------------------------------------------------------------------------------------------


class _Demand:
    """What ``use_deterministic_algorithms`` was last called with."""

    made = False
    warn_only = False
    fill = True  # whether memory is filled then that no program has written to


demand = _Demand()


def alert_not_deterministic(caller: str) -> None:
    """Raise, or warn, where deterministic algorithms are demanded of an op that PyTorch has none for.

    Those here are deterministic; but a program that asks for the error counts on it.
    """
    if not demand.made:
        return
    if demand.warn_only:
        warnings.warn(
            f"{caller} does not have a deterministic implementation, but you set 'torch.use_deterministic_algorithms(True, warn_only=True)'.",
            UserWarning,
            stacklevel=3,
        )
        return
    raise OperationError(
        f"{caller} does not have a deterministic implementation, but you set 'torch.use_deterministic_algorithms(True)'. You can turn off "
        "determinism just for this operation, or use the 'warn_only=True' option."
    )

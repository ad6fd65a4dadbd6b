"""What is wrong with the types of a call's arguments: asked after a call has failed, so that a call that succeeds pays nothing for it."""

from __future__ import annotations

from typing import Any

import numpy as np

from .base import TensorBase
from .declare import Op
from .errors import ArgumentError, GradientError
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

"""Arithmetic on elements: the four operations, negation, powers, conjugates, and copying."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.base import TensorBase as Tensor
from ...core.declare import composite, primitive, table
from ...core.errors import ArgumentError, DtypeError, OperationError, ValueRangeError
from ...core.families import Elementwise, elementwise, factor_of
from .arithmetic_onnx import division_form, power_form
from .complex_onnx import conjugate_form

Number = int | float | complex | bool


def conjugate(value: Any) -> Any:
    """The conjugate of a factor in a gradient, tensor or number; real values pass as they are."""
    if isinstance(value, Tensor):
        return conj_physical(value) if value._array.dtype.kind == "c" else value
    return value.conjugate() if isinstance(value, complex) else value


def _scaled(other: Any, alpha: Any) -> Any:
    kind = other.dtype.kind
    if isinstance(alpha, bool) and kind != "b":
        raise DtypeError("Boolean alpha only supported for Boolean results.")
    if isinstance(alpha, float) and kind in "biu":
        raise DtypeError("For integral input tensors, argument alpha must not be a floating point number.")
    if isinstance(alpha, complex) and kind != "c":
        raise DtypeError("For non-complex input tensors, argument alpha must not be a complex number.")
    return other if alpha == 1 else other * factor_of(alpha, other.dtype)


@primitive(
    meta=elementwise(fast=(2, "any"), factor=2),
    kernel=lambda xp, input, other, alpha: xp.add(input, _scaled(other, alpha)),
    ufunc="add",
    vjp={"input": lambda g: g, "other": lambda g, alpha: g if alpha == 1 else g * conjugate(alpha)},
)
def add(input: Tensor | Number, other: Tensor | Number, *, alpha: Number = 1) -> Tensor:
    """``input + alpha * other``, element by element."""


class _Difference(Elementwise):
    """Truth values can be added, but not subtracted."""

    __slots__ = ()

    def dtypes(self, op: Any, operands: list[Any]) -> tuple[Any, Any]:
        truths = [getattr(each, "dtype", None) == np.bool_ or isinstance(each, bool) for each in operands]
        if all(truths):
            raise DtypeError(
                "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator instead."
            )
        if any(truths):
            raise DtypeError(
                "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, use "
                "the `~` or `logical_not()` operator instead."
            )
        return super().dtypes(op, operands)


@primitive(
    meta=_Difference("default", (2, "any"), "", factor=2),
    kernel=lambda xp, input, other, alpha: xp.subtract(input, _scaled(other, alpha)),
    ufunc="subtract",
    vjp={"input": lambda g: g, "other": lambda g, alpha: -g if alpha == 1 else g * -conjugate(alpha)},
    aliases=("subtract",),
)
def sub(input: Tensor | Number, other: Tensor | Number, *, alpha: Number = 1) -> Tensor:
    """``input - alpha * other``, element by element."""


@primitive(
    meta=elementwise(fast=(2, "any"), wide_numbers=True),
    kernel="multiply",
    vjp={"input": lambda g, other: g * conjugate(other), "other": lambda g, input: g * conjugate(input)},
    aliases=("multiply",),
)
def mul(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """``input * other``, element by element."""


class _Division(Elementwise):
    """True division makes floats of integers; with a rounding mode they stay integers."""

    __slots__ = ()

    def chosen(self, values: Any) -> Elementwise:
        """The family that a call belongs to, by its rounding mode."""
        return _ROUNDED[values[2]]

    def execute(self, op: Any, xp: Any, values: Any) -> Any:
        return _ROUNDED[values[2]].execute(op, xp, values)

    def __call__(self, op: Any, values: Any) -> Any:
        if values[2] not in _ROUNDED:
            raise ValueRangeError(f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{values[2]}'")
        return _ROUNDED[values[2]](op, values)


_ROUNDED = {
    None: elementwise("int_to_float", wide_numbers=True),
    "trunc": elementwise(wide_numbers=True),
    "floor": elementwise(wide_numbers=True),
}


def _divide(xp: Any, input: Any, other: Any, rounding_mode: str | None) -> Any:
    if rounding_mode is None:
        return xp.true_divide(input, other)
    if input.dtype.kind in "iub":
        if xp is np and not other.all():
            raise ZeroDivisionError("ZeroDivisionError")
        if rounding_mode == "floor":
            return xp.floor_divide(input, other)
        quotient = xp.floor_divide(input, other)
        return quotient + ((quotient < 0) & (quotient * other != input))
    if rounding_mode == "floor":
        return xp.where(xp.asarray(other) == 0, xp.true_divide(input, other), xp.floor_divide(input, other))
    return xp.trunc(xp.true_divide(input, other))


@primitive(
    meta=_Division("int_to_float", (2, "float"), ""),
    kernel=_divide,
    ufunc="true_divide",
    vjp={
        "input": lambda g, other, rounding_mode: g / conjugate(other) if rounding_mode is None else table["zeros_like"].call(g),
        "other": lambda g, input, other, rounding_mode: (
            -g * conjugate((input / other) / other) if rounding_mode is None else table["zeros_like"].call(g)
        ),
    },
    aliases=("divide",),
    onnx={9: division_form},
)
def div(input: Tensor | Number, other: Tensor | Number, *, rounding_mode: str | None = None) -> Tensor:
    """``input / other``, element by element; ``rounding_mode`` is None, ``"trunc"`` or ``"floor"``."""


@composite(in_place=True, out=True)
def true_divide(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """``input / other``; integers become floats."""
    return div(input, other)


@primitive(
    meta=elementwise(fast=(1, "float")),
    kernel="negative",
    vjp={"input": lambda g: -g},
    aliases=("negative",),
)
def neg(input: Tensor) -> Tensor:
    """``-input``."""


@primitive(
    meta=elementwise(),
    kernel="conjugate",
    vjp={"input": lambda g: conj_physical(g)},
    onnx={9: conjugate_form},
)
def conj_physical(input: Tensor) -> Tensor:
    """The complex conjugate, computed at once."""


def _base_gradient(g: Any, input: Any, exponent: Any) -> Any:
    if not isinstance(exponent, Tensor) and exponent == 0:
        return g * 0
    return (
        g * conjugate(exponent * input ** (exponent - 1))
        if not isinstance(exponent, Tensor)
        else g * conjugate((exponent * input ** (exponent - 1)).masked_fill(exponent == 0, 0))
    )


def _exponent_gradient(g: Any, input: Any, exponent: Any, result: Any) -> Any:
    complex_exponent = exponent._array.dtype.kind == "c"
    positive = (exponent.real >= 0) & (exponent.imag == 0) if complex_exponent else exponent >= 0
    if isinstance(input, Tensor):
        base = input.to(result.dtype) if complex_exponent else input  # the logarithm of a negative number is complex
        return g * conjugate((result * base.log()).masked_fill((input == 0) & positive, 0))
    if input == 0:
        return (g * conjugate(result * -np.inf)).masked_fill(positive, 0)
    logarithm = np.log(complex(input)) if complex_exponent else np.log(input) if input.__class__ is complex or input > 0 else float("nan")
    return g * conjugate(result * logarithm)


def _power(xp: Any, input: Any, exponent: Any) -> Any:
    if isinstance(input, np.generic) and isinstance(exponent, np.generic):
        raise ArgumentError("pow(): at least one of the arguments 'input' and 'exponent' must be Tensor")
    if exponent.ndim == 0 and exponent.dtype.kind == "f":
        if exponent == 2:  # NumPy's power is ten times slower than what these amount to
            return input * input
        if exponent == 3:
            return input * input * input
        if exponent == 1:  # in the gradient of a square
            return xp.positive(input)
        if exponent == 0.5:
            return xp.sqrt(input)
        if exponent == -0.5:  # of -0. it is -inf, and NaN of -inf
            return 1 / xp.sqrt(input)
    if exponent.dtype.kind in "iu" and (exponent < 0).any():
        if isinstance(exponent, np.generic):
            raise OperationError("Integers to negative integer powers are not allowed.")
        power = xp.power(input, xp.maximum(exponent, 0))
        reciprocal = xp.where(input == 1, 1, xp.where(input == -1, 1 - 2 * (exponent & 1), 0)).astype(input.dtype)
        return xp.where(exponent < 0, reciprocal, power)
    return xp.power(input, exponent)


@primitive(
    meta=elementwise(),
    kernel=_power,
    vjp={"input": _base_gradient, "exponent": _exponent_gradient},
    onnx={9: power_form},
)
def pow(input: Tensor | Number, exponent: Tensor | Number) -> Tensor:
    """``input ** exponent``, element by element."""

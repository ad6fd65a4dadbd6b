"""Functions of two or three numbers, element by element: remainders, larger and smaller, sums of exponentials."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.base import TensorBase as Tensor
from ...core.declare import composite, primitive
from ...core.dtypes import BOOL, BY_NUMPY, INTEGRAL, complex128, float64, legacy_name
from ...core.errors import DtypeError, GradientError
from ...core.families import Elementwise, as_scalar, elementwise
from ..create.factories import zeros_like
from .arithmetic import conjugate, div, pow, sub
from .arithmetic_onnx import floored_quotient, floored_rest, of_pair, truncated_rest
from .arithmetic_onnx import gcd as gcd_form
from .arithmetic_onnx import lcm as lcm_form
from .comparison import SameType, isnan
from .copy_cast import cast
from .logic import logical_or
from .unary import exp, exp2, log
from .where_clamp import where

Number = int | float | complex | bool


def underivable(name: str) -> Any:
    """A gradient rule for what has no gradient, in PyTorch either: it says so when it is asked."""

    def rule(g: Any) -> Any:
        raise GradientError(f"derivative for aten::{name} is not implemented")

    return rule


# -- division that leaves a rest ---------------------------------------------------------------------------------


def _check_divisor(input: Any, divisor: Any) -> None:
    if not isinstance(divisor, (np.ndarray, np.generic)) or divisor.dtype.kind not in "iu":  # on other devices: undefined
        return
    if not divisor.all() and (not isinstance(input, np.ndarray) or input.size):
        raise ZeroDivisionError("ZeroDivisionError")


def _divided(xp: Any, input: Any, other: Any, rest: bool) -> Any:
    """The whole part of a quotient, or the rest: NumPy's own is slow, and for single precision double is exact."""
    function = xp.remainder if rest else xp.floor_divide
    if input.dtype != np.float32 or xp is not np or input.size < 1024:
        return function(input, other)
    return _divided_rest(xp, input, other) if rest else _divided_whole(xp, input, other)


def _quotient(input: Any, other: Any) -> tuple[Any, Any, Any, bool]:
    first, second = input.astype(np.float64), other.astype(np.float64)
    whole = np.floor(first / second)
    return first, second, whole, bool(np.all(np.absolute(whole) < 2**24))  # not so for inf and nan, either


def _divided_whole(xp: Any, input: Any, other: Any) -> Any:
    _, _, whole, exact = _quotient(input, other)
    return whole.astype(np.float32) if exact else xp.floor_divide(input, other)


def _divided_rest(xp: Any, input: Any, other: Any) -> Any:
    first, second, whole, exact = _quotient(input, other)
    return (first - whole * second).astype(np.float32) if exact else xp.remainder(input, other)


def _fmod(xp: Any, input: Any, other: Any) -> Any:
    _check_divisor(input, other)
    return xp.fmod(input, other)


@primitive(
    meta=elementwise(fast=(2, "float"), refuse="bool complex"),
    kernel=_fmod,
    ufunc="fmod",
    vjp={"input": lambda g: g, "other": lambda g, input, other: -g * div(input, other, rounding_mode="trunc")},
    onnx=of_pair(truncated_rest),
)
def fmod(input: Tensor, other: Tensor | Number) -> Tensor:
    """The rest of a division, with the sign of ``input``."""


def _remainder(xp: Any, input: Any, other: Any) -> Any:
    _check_divisor(input, other)
    rest = _divided(xp, input, other, rest=True)
    if isinstance(rest, np.ndarray) and rest.dtype.kind == "f" and not rest.all():  # a rest of 0 has the sign of the dividend
        return np.where(rest == 0, np.copysign(rest, input), rest)
    return rest


@primitive(
    meta=elementwise(refuse="bool complex"),
    kernel=_remainder,
    vjp={"input": lambda g: g, "other": lambda g, input, other: -g * div(input, other, rounding_mode="floor")},
    onnx=of_pair(floored_rest),
)
def remainder(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """The rest of a division, with the sign of ``other``: what ``%`` gives."""


def _floor_divide(xp: Any, input: Any, other: Any) -> Any:
    _check_divisor(input, other)
    return _divided(xp, input, other, rest=False)


@primitive(
    meta=elementwise(refuse="bool complex", wide_numbers=True),
    kernel=_floor_divide,
    vjp={"input": underivable("floor_divide"), "other": underivable("floor_divide")},
    onnx=of_pair(floored_quotient),
)
def floor_divide(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """The whole number below ``input / other``: what ``//`` gives."""


@primitive(meta=elementwise(refuse="bool float"), kernel="gcd", vjp={}, onnx=of_pair(gcd_form))
def gcd(input: Tensor, other: Tensor) -> Tensor:
    """The greatest common divisor of two integers."""


@primitive(meta=elementwise(refuse="bool float"), kernel="lcm", vjp={}, onnx=of_pair(lcm_form))
def lcm(input: Tensor, other: Tensor) -> Tensor:
    """The least common multiple of two integers."""


# -- larger and smaller ------------------------------------------------------------------------------------------


@primitive(
    meta=elementwise(fast=(2, "real"), refuse="complex"),
    kernel="maximum",
    vjp={
        "input": lambda g, input, other: where(input < other, 0, where(input == other, g / 2, g)),
        "other": lambda g, input, other: where(input > other, 0, where(input == other, g / 2, g)),
    },
    exact=True,
    in_place=False,
)
def maximum(input: Tensor, other: Tensor) -> Tensor:
    """The larger of two elements; nan if one of them is."""


@primitive(
    meta=elementwise(fast=(2, "real"), refuse="complex"),
    kernel="minimum",
    vjp={
        "input": lambda g, input, other: where(input > other, 0, where(input == other, g / 2, g)),
        "other": lambda g, input, other: where(input < other, 0, where(input == other, g / 2, g)),
    },
    exact=True,
    in_place=False,
)
def minimum(input: Tensor, other: Tensor) -> Tensor:
    """The smaller of two elements; nan if one of them is."""


@primitive(
    meta=elementwise(refuse="complex"),
    kernel="fmax",
    vjp={
        "input": lambda g, input, other: where(logical_or(input >= other, isnan(other)), g, 0),
        "other": lambda g, input, other: where(logical_or(input >= other, isnan(other)), 0, g),
    },
    exact=True,
    in_place=False,
)
def fmax(input: Tensor, other: Tensor) -> Tensor:
    """The larger of two elements; if one of them is nan, the other."""


@primitive(
    meta=elementwise(refuse="complex"),
    kernel="fmin",
    vjp={
        "input": lambda g, input, other: where(logical_or(input <= other, isnan(other)), g, 0),
        "other": lambda g, input, other: where(logical_or(input <= other, isnan(other)), 0, g),
    },
    exact=True,
    in_place=False,
)
def fmin(input: Tensor, other: Tensor) -> Tensor:
    """The smaller of two elements; if one of them is nan, the other."""


# -- sizes and signs ---------------------------------------------------------------------------------------------


@primitive(
    meta=elementwise(refuse="bool int complex"),
    kernel="hypot",
    vjp={
        "input": lambda g, input, result: g * (input / result),
        "other": lambda g, other, result: g * (other / result),
    },
)
def hypot(input: Tensor, other: Tensor) -> Tensor:
    """``sqrt(input ** 2 + other ** 2)``, without overflow on the way."""


def _copysign_gradient(g: Any, input: Any, result: Any) -> Any:
    return g * where(input == 0, 0, result / input)


@primitive(
    meta=elementwise("int_to_float", refuse="complex"),
    kernel="copysign",
    vjp={"input": _copysign_gradient, "other": lambda g: zeros_like(g)},
)
def copysign(input: Tensor, other: Tensor | Number) -> Tensor:
    """The size of ``input`` with the sign of ``other``."""


@primitive(
    meta=elementwise(refuse="bool int complex"),
    kernel="nextafter",
    vjp={"input": lambda g, input, other: where(input == other, 0, g), "other": lambda g: zeros_like(g)},
    exact=True,
    onnx="ONNX can not see the bits of a floating point number",
)
def nextafter(input: Tensor, other: Tensor) -> Tensor:
    """The next number that the type can hold, from ``input`` towards ``other``."""


@primitive(
    meta=SameType("default", None, "complex"),
    kernel=lambda xp, input, values: xp.where(input == 0, values, (input > 0).astype(input.dtype)),
    vjp={"input": underivable("heaviside"), "values": underivable("heaviside")},
    exact=True,
)
def heaviside(input: Tensor, values: Tensor) -> Tensor:
    """0 for what is negative, 1 for what is positive, and ``values`` for 0."""


# -- exponents ---------------------------------------------------------------------------------------------------


def _logaddexp_real(xp: Any, input: Any, other: Any) -> Any:
    # Written out: NumPy's own takes each element alone.  Equal operands, infinite ones too, are 0 apart.
    distance = xp.where(input == other, input.dtype.type(0), xp.absolute(input - other))
    return xp.maximum(input, other) + xp.log1p(xp.exp(-distance))


def _logaddexp(xp: Any, input: Any, other: Any) -> Any:
    if input.dtype.kind != "c":
        return _logaddexp_real(xp, input, other)
    first = input.real >= other.real
    large, small = xp.where(first, input, other), xp.where(first, other, input)
    return large + xp.log1p(xp.exp(small - large))


@primitive(
    meta=elementwise(refuse="bool int"),
    kernel=_logaddexp,
    vjp={
        "input": lambda g, input, other: g / conjugate(1 + exp(other - input)),
        "other": lambda g, input, other: g / conjugate(1 + exp(input - other)),
    },
    in_place=False,
)
def logaddexp(input: Tensor, other: Tensor) -> Tensor:
    """``log(exp(input) + exp(other))``, without overflow on the way."""


@primitive(
    meta=elementwise(refuse="bool int complex"),
    kernel="logaddexp2",
    vjp={
        "input": lambda g, input, other: g / (1 + exp2(other - input)),
        "other": lambda g, input, other: g / (1 + exp2(input - other)),
    },
    in_place=False,
)
def logaddexp2(input: Tensor, other: Tensor) -> Tensor:
    """``log2(2 ** input + 2 ** other)``, without overflow on the way."""


def _ldexp(xp: Any, input: Any, other: Any) -> Any:
    if input.dtype.kind == "c":
        return input * xp.exp2(other)
    half = xp.trunc(xp.clip(other * 0.5, -1024, 1024))  # in two steps: 2 ** other may be too large where the product is not
    return input * xp.exp2(half) * xp.exp2(other - half)


@primitive(
    meta=elementwise("int_to_float"),
    kernel=_ldexp,
    vjp={
        "input": lambda g, other: g * conjugate(exp2(other)),
        "other": lambda g, result: g * conjugate(result) * math.log(2),
    },
)
def ldexp(input: Tensor, other: Tensor) -> Tensor:
    """``input * 2 ** other``."""


def _xlogy(xp: Any, input: Any, other: Any) -> Any:
    return xp.where(xp.isnan(other), other, xp.where(input == 0, input.dtype.type(0), input * xp.log(other)))


@primitive(
    meta=elementwise("int_to_float", refuse="complex"),
    kernel=_xlogy,
    vjp={
        "input": lambda g, input, other: g * where((input == 0) & (other <= 0), 0, log(as_tensor(other, g))),
        "other": lambda g, input, other: g * (input / other),
    },
)
def xlogy(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """``input * log(other)``, and 0 where ``input`` is 0."""


def as_tensor(value: Any, like: Any) -> Any:
    """A number as a tensor (of the shape and type of another), for functions that take no numbers."""
    return value if isinstance(value, Tensor) else zeros_like(like) + value


def _widened(value: Any, dtype: Any) -> Any:
    if isinstance(value, Tensor):
        return value if value._array.dtype is dtype.numpy else cast(value, dtype)
    return complex(value) if dtype.is_complex else float(value)


@composite(in_place=True, out=True)
def float_power(input: Tensor | Number, exponent: Tensor | Number) -> Tensor:
    """``input ** exponent`` in double precision."""
    numbers = [BY_NUMPY[x._array.dtype].is_complex if isinstance(x, Tensor) else isinstance(x, complex) for x in (input, exponent)]
    dtype = complex128 if any(numbers) else float64
    return pow(_widened(input, dtype), _widened(exponent, dtype))


# -- with a third operand ----------------------------------------------------------------------------------------


@composite(method=False)
def rsub(input: Tensor, other: Tensor | Number, *, alpha: Number = 1) -> Tensor:
    """``other - alpha * input``."""
    return sub(other, input, alpha=alpha)


@primitive(
    meta=elementwise(refuse="bool"),
    kernel=lambda xp, input, tensor1, tensor2, value: input + as_scalar(value, input.dtype) * tensor1 * tensor2,
    vjp={
        "input": lambda g: g,
        "tensor1": lambda g, tensor2, value: g * conjugate(tensor2 * value),
        "tensor2": lambda g, tensor1, value: g * conjugate(tensor1 * value),
    },
)
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Number = 1) -> Tensor:
    """``input + value * tensor1 * tensor2``."""


class _Quotient(Elementwise):
    """Refuses to divide integers by integers."""

    __slots__ = ()

    def dtypes(self, op: Any, operands: list[Any]) -> tuple[Any, Any]:
        if all(BY_NUMPY[each.dtype].category in (BOOL, INTEGRAL) for each in operands[1:]):
            raise DtypeError(
                "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a true division of tensor1 and "
                "tensor2. The historic addcdiv behavior can be implemented as (input + value * torch.trunc(tensor1 / tensor2)).to(input.dtype) for "
                "integer inputs and as (input + value * tensor1 / tensor2) for float inputs. The future addcdiv behavior is just the latter "
                "implementation: (input + value * tensor1 / tensor2), for all dtypes."
            )
        return super().dtypes(op, operands)


@primitive(
    meta=_Quotient("default", None, "bool"),
    kernel=lambda xp, input, tensor1, tensor2, value: input + as_scalar(value, input.dtype) * tensor1 / tensor2,
    vjp={
        "input": lambda g: g,
        "tensor1": lambda g, tensor2, value: g * conjugate(value / tensor2),
        "tensor2": lambda g, tensor1, tensor2, value: -g * conjugate(value * (tensor1 / (tensor2 * tensor2))),
    },
)
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Number = 1) -> Tensor:
    """``input + value * tensor1 / tensor2``."""


class _Interpolation(SameType):
    """The weight, too, must be of the type of the ends."""

    __slots__ = ()

    def dtypes(self, op: Any, operands: list[Any]) -> tuple[Any, Any]:
        common, dtype = super().dtypes(op, operands)
        if common != operands[0].dtype:
            raise DtypeError(f"lerp(): the weight does not fit tensors of type {legacy_name(operands[0].dtype)}")
        return common, dtype


def _lerp(xp: Any, input: Any, end: Any, weight: Any) -> Any:
    # From the nearer end, so that a weight of 1 gives just the other end.
    distance = end - input
    is_number = isinstance(weight, np.generic)
    if is_number:
        return input + weight * distance if abs(weight) < 0.5 else end - distance * (1 - weight)
    return xp.where(xp.absolute(weight) < 0.5, input + weight * distance, end - distance * (1 - weight))


@primitive(
    meta=_Interpolation("default", None, "bool int", wide_numbers=True),
    kernel=_lerp,
    vjp={
        "input": lambda g, weight: g * conjugate(1 - weight),
        "end": lambda g, weight: g * conjugate(weight),
        "weight": lambda g, input, end: g * conjugate(end - input),
    },
)
def lerp(input: Tensor, end: Tensor, weight: Tensor | Number) -> Tensor:
    """``input + weight * (end - input)``."""

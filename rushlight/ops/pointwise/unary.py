"""Functions of one number, element by element: exponentials, logarithms, roots, signs, rounding."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.base import Spec
from ...core.base import TensorBase as Tensor
from ...core.declare import composite, primitive
from ...core.dtypes import BY_NUMPY, FLOATING, finfo
from ...core.errors import ArgumentError, DtypeError
from ...core.families import elementwise
from ..create.factories import zeros_like
from .arithmetic import conj_physical, conjugate, pow
from .comparison import isfinite
from .complex import real
from .complex_onnx import abs_form
from .copy_cast import cast
from .where_clamp import where

Number = int | float | complex | bool


# -- exponentials and logarithms ---------------------------------------------------------------------------------


class ThroughDouble:
    """A ufunc whose float32 form in NumPy is off by up to 3 units in the last place: it computes in float64."""

    def __init__(self, name: str) -> None:
        self.ufunc = getattr(np, name)

    def __call__(self, array: Any, out: Any = None) -> Any:
        if array.dtype != np.float32:
            return self.ufunc(array, out=out)
        if out is None and array.size < 1 << 12:
            return self.ufunc(array, dtype=np.float64).astype(np.float32)
        target = np.empty(array.shape, np.float32) if out is None else out
        return self.ufunc(array, out=target, dtype=np.float64, casting="same_kind")  # casts buffer by buffer


def through_double(name: str) -> dict[str, Any]:
    """The kernel of a pointwise function that computes in float64."""
    function = ThroughDouble(name)
    return {
        "kernel": lambda xp, input: function(input) if isinstance(input, (np.ndarray, np.generic)) else getattr(xp, name)(input),
        "ufunc": function,
    }


@primitive(
    meta=elementwise("int_to_float", fast=(1, "float")),
    **through_double("exp"),
    vjp={"input": lambda g, result: g * conjugate(result)},
)
def exp(input: Tensor) -> Tensor:
    """e to the power of every element."""


@primitive(
    meta=elementwise("int_to_float", fast=(1, "float")),
    kernel="exp2",
    vjp={"input": lambda g, result: g * conjugate(result) * math.log(2)},
)
def exp2(input: Tensor) -> Tensor:
    """2 to the power of every element."""


@primitive(
    meta=elementwise("int_to_float", fast=(1, "float")),
    kernel="expm1",
    vjp={"input": lambda g, result: g * conjugate(result + 1)},
)
def expm1(input: Tensor) -> Tensor:
    """``exp(input) - 1``, exact near 0."""


@primitive(
    meta=elementwise("int_to_float", fast=(1, "float")),
    **through_double("log"),
    vjp={"input": lambda g, input: g / conjugate(input)},
)
def log(input: Tensor) -> Tensor:
    """The natural logarithm of every element."""


@primitive(
    meta=elementwise("int_to_float", fast=(1, "float")),
    kernel="log2",
    vjp={"input": lambda g, input: g / (conjugate(input) * math.log(2))},
)
def log2(input: Tensor) -> Tensor:
    """The logarithm of every element to the base 2."""


@primitive(
    meta=elementwise("int_to_float", fast=(1, "float")),
    kernel="log10",
    vjp={"input": lambda g, input: g / (conjugate(input) * math.log(10))},
)
def log10(input: Tensor) -> Tensor:
    """The logarithm of every element to the base 10."""


@primitive(
    meta=elementwise("int_to_float", fast=(1, "float")),
    kernel="log1p",
    vjp={"input": lambda g, input: g / conjugate(input + 1)},
    node_name="Log1PBackward0",
)
def log1p(input: Tensor) -> Tensor:
    """``log(1 + input)``, exact near 0."""


def _sigmoid_kernel(xp: Any, input: Any, out: Any = None) -> Any:
    if out is None:
        return 1 / (1 + xp.exp(-input))
    try:
        with np.errstate(over="raise"):
            xp.exp(input, out=out)
    except FloatingPointError:
        xp.exp(xp.minimum(input, 80), out=out)  # from there on the result is 1
    return xp.divide(out, 1 + out, out=out)  # a step less than the formula above


@primitive(
    meta=elementwise("int_to_float"),
    kernel=_sigmoid_kernel,
    vjp={"input": lambda g, result: g * conjugate((1 - result) * result)},
    onnx={9: lambda g, input: NotImplemented if input.dtype.kind == "c" else g.Sigmoid(input)},
)
def sigmoid(input: Tensor) -> Tensor:
    """``1 / (1 + exp(-input))``."""


def _logit(xp: Any, input: Any, eps: float | None) -> Any:
    if eps is not None:
        low = input.dtype.type(eps)
        input = xp.where(input < low, low, xp.where(input > 1 - low, 1 - low, input))
    return xp.log(input / (1 - input))


def _logit_gradient(g: Any, input: Any, eps: float | None) -> Any:
    low, outside = (0.0, math.nan) if eps is None else (eps, 0.0)
    return where((input < low) | (input > 1 - low), outside, g / (input * (1 - input)).abs())


@primitive(meta=elementwise("int_to_float", refuse="complex"), kernel=_logit, vjp={"input": _logit_gradient})
def logit(input: Tensor, eps: float | None = None) -> Tensor:
    """``log(input / (1 - input))``; with ``eps``, of the input brought into ``[eps, 1 - eps]``."""


# -- powers and roots --------------------------------------------------------------------------------------------


@primitive(
    meta=elementwise("int_to_float", fast=(1, "float")),
    kernel="sqrt",
    vjp={"input": lambda g, result: g / (2 * conjugate(result))},
)
def sqrt(input: Tensor) -> Tensor:
    """The square root of every element."""


@primitive(
    meta=elementwise("int_to_float"),
    kernel=lambda xp, input: 1 / xp.sqrt(input),
    vjp={"input": lambda g, result: -0.5 * g * conjugate(result**3)},
    onnx={9: lambda g, input: NotImplemented if input.dtype.kind == "c" else g.Reciprocal(g.Sqrt(input))},
)
def rsqrt(input: Tensor) -> Tensor:
    """``1 / sqrt(input)``."""


@composite(in_place=True, out=True)
def square(input: Tensor) -> Tensor:
    """``input * input``."""
    return pow(input, 2)


@primitive(
    meta=elementwise("int_to_float", fast=(1, "float")),
    kernel="reciprocal",
    vjp={"input": lambda g, result: -g * conjugate(result * result)},
)
def reciprocal(input: Tensor) -> Tensor:
    """``1 / input``."""


# -- signs -------------------------------------------------------------------------------------------------------


def _absolute_into(xp: Any, input: Any) -> None:
    if input.dtype.kind == "c":
        raise DtypeError("In-place abs is not supported for complex tensors.")
    if input.dtype.kind == "b":
        raise DtypeError("abs(): not implemented for 'Bool' (torch.bool)")
    xp.absolute(input, out=input)


@primitive(
    meta=elementwise("real", fast=(1, "float"), refuse="bool"),
    kernel="absolute",
    in_place_kernel=_absolute_into,
    vjp={"input": lambda g, input: g * sgn(input)},
    exact=True,
    aliases=("absolute",),
    onnx={9: abs_form},
)
def abs(input: Tensor) -> Tensor:
    """The absolute value of every element."""


def _sign(xp: Any, input: Any) -> Any:
    if input.dtype.kind == "b":
        return xp.logical_or(input, input)
    if input.dtype.kind == "c":
        size = xp.absolute(input)
        return xp.where(size == 0, size, input / size)
    if input.dtype.kind in "iu":
        return xp.sign(input)
    return xp.where(xp.isnan(input), input.dtype.type(0), xp.sign(input))  # that of nan is 0, as in PyTorch


@primitive(
    meta=elementwise(refuse="complex"),
    kernel=_sign,
    vjp={"input": lambda g: zeros_like(g)},
    exact=True,
)
def sign(input: Tensor) -> Tensor:
    """-1, 0 or 1, as an element is negative, 0 or positive."""


def _sgn_gradient(g: Any, input: Any, result: Any) -> Any:
    if input._array.dtype.kind != "c":
        return zeros_like(g)
    # What of g points along the number changes its size alone, which the sign does not see.
    across = g - result * real(conj_physical(g) * result)
    return (across / abs(input)).masked_fill(input == 0, 0)


@primitive(
    meta=elementwise(),
    kernel=_sign,
    vjp={"input": _sgn_gradient},
    exact=True,
)
def sgn(input: Tensor) -> Tensor:
    """The sign; of a complex number, the number of size 1 with the same angle."""


@primitive(
    meta=elementwise("bool", refuse="complex"),
    kernel="signbit",
    vjp={},
    exact=True,
    in_place=False,
)
def signbit(input: Tensor) -> Tensor:
    """Whether the sign of each element is negative; that of -0.0 is."""


@composite()
def positive(input: Tensor) -> Tensor:
    """The tensor itself."""
    if input._array.dtype.kind == "b":
        raise DtypeError("The `+` operator, on a bool tensor is not supported.")
    return input


# -- rounding ----------------------------------------------------------------------------------------------------


def _whole(xp: Any, function: Any, input: Any) -> Any:
    return xp.positive(input) if input.dtype.kind in "iu" else function(input)


@primitive(
    meta=elementwise(fast=(1, "float"), refuse="bool complex"),
    kernel=lambda xp, input: _whole(xp, xp.ceil, input),
    ufunc="ceil",
    vjp={"input": lambda g: zeros_like(g)},
    exact=True,
)
def ceil(input: Tensor) -> Tensor:
    """The smallest whole number that is not less than each element."""


@primitive(
    meta=elementwise(fast=(1, "float"), refuse="bool complex"),
    kernel=lambda xp, input: _whole(xp, xp.floor, input),
    ufunc="floor",
    vjp={"input": lambda g: zeros_like(g)},
    exact=True,
)
def floor(input: Tensor) -> Tensor:
    """The largest whole number that is not greater than each element."""


@primitive(
    meta=elementwise(fast=(1, "float"), refuse="bool complex"),
    kernel=lambda xp, input: _whole(xp, xp.trunc, input),
    ufunc="trunc",
    vjp={"input": lambda g: zeros_like(g)},
    exact=True,
    aliases=("fix",),
)
def trunc(input: Tensor) -> Tensor:
    """Every element without what is behind its point."""


def _round(xp: Any, input: Any, decimals: int) -> Any:
    if isinstance(decimals, bool) or not isinstance(decimals, int):
        raise ArgumentError(f"round(): argument 'decimals' must be int, not {type(decimals).__name__}")
    if not decimals:
        return _whole(xp, xp.rint, input)
    if input.dtype.kind in "iu":
        raise DtypeError(f"round(): with decimals, not implemented for torch.{BY_NUMPY[input.dtype].name}")
    scale = input.dtype.type(10.0 ** math.fabs(decimals))
    return xp.rint(input * scale) / scale if decimals > 0 else xp.rint(input / scale) * scale


@primitive(meta=elementwise(fast=(1, "float"), refuse="bool complex"), kernel=_round, ufunc="rint", vjp={"input": lambda g: zeros_like(g)})
def round(input: Tensor, *, decimals: int = 0) -> Tensor:
    """The nearest whole number (of two, the even one), or number with so many ``decimals``."""


@primitive(
    meta=elementwise(refuse="bool int complex"),
    kernel=lambda xp, input: input - xp.trunc(input),
    vjp={"input": lambda g: g},
)
def frac(input: Tensor) -> Tensor:
    """What is behind the point of each element, with its sign."""


def _frexp_meta(input: Any) -> list[Spec]:
    if BY_NUMPY[input.dtype].category != FLOATING:
        raise DtypeError("torch.frexp() only supports floating-point dtypes")
    return [Spec(input.shape, input.dtype), Spec(input.shape, np.dtype(np.int32))]


def _frexp(xp: Any, input: Any) -> Any:
    _frexp_meta(input)
    return xp.frexp(input)


@primitive(
    meta=_frexp_meta,
    kernel=_frexp,
    vjp={"input": lambda g, exponent: g / exp2(cast(exponent, BY_NUMPY[g._array.dtype]))},
    returns=("mantissa", "exponent"),
    nondifferentiable=("exponent",),
    onnx="ONNX does not take numbers apart into mantissa and exponent",
)
def frexp(input: Tensor) -> Any:
    """Mantissa and exponent: ``input == mantissa * 2 ** exponent`` with the mantissa in ``[0.5, 1)``."""


# -- special values ----------------------------------------------------------------------------------------------


def _nan_to_num(xp: Any, input: Any, nan: Any, posinf: Any, neginf: Any) -> Any:
    if input.dtype.kind == "c":
        result = xp.empty(input.shape, input.dtype)
        result.real = _nan_to_num(xp, input.real, nan, posinf, neginf)
        result.imag = _nan_to_num(xp, input.imag, nan, posinf, neginf)
        return result
    if input.dtype.kind in "biu":
        return xp.where(input, input, input)
    number = input.dtype.type
    limits = finfo(BY_NUMPY[input.dtype])
    finite = xp.where(xp.isnan(input), number(nan or 0.0), input)
    high, low = number(limits.max if posinf is None else posinf), number(limits.min if neginf is None else neginf)
    return xp.where(xp.isinf(input), xp.where(input > 0, high, low), finite)


@primitive(
    meta=elementwise(),
    kernel=_nan_to_num,
    vjp={"input": lambda g, input: where(isfinite(input), g, 0)},
    exact=True,
    onnx={9: lambda g, input, *rest: input if input.dtype.kind in "biu" else NotImplemented},
)
def nan_to_num(input: Tensor, nan: float | None = None, posinf: float | None = None, neginf: float | None = None) -> Tensor:
    """``nan`` (0), ``posinf`` and ``neginf`` (the largest and smallest number) in the place of what is not finite."""

"""Trigonometric and hyperbolic functions, and their inverses."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.base import TensorBase as Tensor
from ...core.declare import primitive
from ...core.families import elementwise
from ...core.recording import recomputed
from .arithmetic import conjugate
from .unary import rsqrt
from .where_clamp import where


@primitive(
    meta=elementwise("int_to_float", fast=(1, "float")),
    kernel="sin",
    vjp={"input": lambda g, input: g * conjugate(cos(input))},
)
def sin(input: Tensor) -> Tensor:
    """The sine of every element."""


@primitive(
    meta=elementwise("int_to_float", fast=(1, "float")),
    kernel="cos",
    vjp={"input": lambda g, input: -g * conjugate(sin(input))},
)
def cos(input: Tensor) -> Tensor:
    """The cosine of every element."""


@primitive(
    meta=elementwise("int_to_float", fast=(1, "float")),
    kernel="tan",
    vjp={"input": lambda g, result: g * conjugate(1 + result * result)},
)
def tan(input: Tensor) -> Tensor:
    """The tangent of every element."""


@primitive(
    meta=elementwise("int_to_float", fast=(1, "float")),
    kernel="arcsin",
    vjp={"input": lambda g, input: g * conjugate(rsqrt(1 - input * input))},
    aliases=("arcsin",),
)
def asin(input: Tensor) -> Tensor:
    """The angle whose sine each element is, between -pi/2 and pi/2."""


@primitive(
    meta=elementwise("int_to_float", fast=(1, "float")),
    kernel="arccos",
    vjp={"input": lambda g, input: -g * conjugate(rsqrt(1 - input * input))},
    aliases=("arccos",),
)
def acos(input: Tensor) -> Tensor:
    """The angle whose cosine each element is, between 0 and pi."""


@primitive(
    meta=elementwise("int_to_float", fast=(1, "float")),
    kernel="arctan",
    vjp={"input": lambda g, input: g / conjugate(input * input + 1)},
    aliases=("arctan",),
)
def atan(input: Tensor) -> Tensor:
    """The angle whose tangent each element is, between -pi/2 and pi/2."""


@primitive(
    meta=elementwise("int_to_float", fast=(1, "float")),
    kernel="sinh",
    vjp={"input": lambda g, input: g * conjugate(cosh(input))},
)
def sinh(input: Tensor) -> Tensor:
    """The hyperbolic sine of every element."""


@primitive(
    meta=elementwise("int_to_float", fast=(1, "float")),
    kernel="cosh",
    vjp={"input": lambda g, input: g * conjugate(sinh(input))},
)
def cosh(input: Tensor) -> Tensor:
    """The hyperbolic cosine of every element."""


@primitive(
    meta=elementwise("int_to_float", fast=(1, "float")),
    kernel="tanh",
    vjp={"input": lambda g, result: g * conjugate(1 - result * result)},
)
def tanh(input: Tensor) -> Tensor:
    """The hyperbolic tangent of every element."""


@primitive(
    meta=elementwise("int_to_float", fast=(1, "float")),
    kernel="arcsinh",
    vjp={"input": lambda g, input: g * conjugate(rsqrt(input * input + 1))},
    aliases=("arcsinh",),
)
def asinh(input: Tensor) -> Tensor:
    """The number whose hyperbolic sine each element is."""


def _acosh_gradient(g: Any, input: Any) -> Any:
    if input._array.dtype.kind == "c":  # one root of the product would take the wrong branch on the left
        return g * conjugate(rsqrt(input - 1) * rsqrt(input + 1))  # 0 at infinity
    return g * rsqrt(input * input - 1)


@primitive(
    meta=elementwise("int_to_float", fast=(1, "float")),
    kernel="arccosh",
    vjp={"input": _acosh_gradient},
    aliases=("arccosh",),
)
def acosh(input: Tensor) -> Tensor:
    """The number, not negative, whose hyperbolic cosine each element is."""


@primitive(
    meta=elementwise("int_to_float", fast=(1, "float")),
    kernel="arctanh",
    vjp={"input": lambda g, input: g / conjugate(1 - input * input)},
    aliases=("arctanh",),
)
def atanh(input: Tensor) -> Tensor:
    """The number whose hyperbolic tangent each element is."""


def _sinc(xp: Any, input: Any) -> Any:
    angle = input * np.pi
    return xp.where(angle == 0, input.dtype.type(1), xp.sin(angle) / angle)


def _sinc_gradient(g: Any, input: Any, result: Any) -> Any:
    zero = input == 0
    safe = where(zero, 1, input)
    return g * conjugate(where(zero, 0, (cos(safe * math.pi) - result) / safe))


@primitive(
    meta=elementwise("int_to_float"),
    kernel=_sinc,
    vjp={"input": _sinc_gradient},
)
def sinc(input: Tensor) -> Tensor:
    """``sin(pi * input) / (pi * input)``, and 1 at 0."""


@primitive(
    meta=elementwise("int_to_float", refuse="complex"),
    kernel=lambda xp, input: input * input.dtype.type(math.pi / 180),
    vjp={"input": lambda g: g * (math.pi / 180)},
    node_name="Deg2RadBackward0",
)
def deg2rad(input: Tensor) -> Tensor:
    """Angles in radians from angles in degrees."""


@primitive(
    meta=elementwise("int_to_float", refuse="complex"),
    kernel=lambda xp, input: input * input.dtype.type(180 / math.pi),
    vjp={"input": lambda g: g * (180 / math.pi)},
    node_name="Rad2DegBackward0",
)
def rad2deg(input: Tensor) -> Tensor:
    """Angles in degrees from angles in radians."""


def _inverse_square(input: Any, other: Any) -> Any:
    square = input * input + other * other
    return where(square == 0, 0, 1 / square)


@primitive(
    meta=elementwise("int_to_float", refuse="complex"),
    kernel="arctan2",
    vjp={
        "input": lambda g, input, other: g * (other * _inverse_square(input, other)),
        "other": lambda g, input, other: g * (-input * _inverse_square(input, other)),
    },
    aliases=("arctan2",),
)
def atan2(input: Tensor, other: Tensor) -> Tensor:
    """The angle of the point ``(other, input)``, between -pi and pi."""


# PyTorch keeps no result of these: programs write to them in place.
recomputed.set(True, "sinc")

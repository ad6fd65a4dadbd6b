"""Trigonometric and hyperbolic functions, and their inverses."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.base import TensorBase as Tensor
from ...core.declare import primitive
from ...core.families import elementwise
from ...core.samples import Sample, cases, together, unary
from .arithmetic import conjugate
from .unary import refused, rsqrt, sqrt
from .where_clamp import where


@primitive(
    meta=elementwise("int_to_float", fast=(1, "float")),
    kernel="sin",
    vjp={"input": lambda g, input: g * conjugate(cos(input))},
    samples=unary(-4, 4, complex=True),
)
def sin(input: Tensor) -> Tensor:
    """The sine of every element."""


@primitive(
    meta=elementwise("int_to_float", fast=(1, "float")),
    kernel="cos",
    vjp={"input": lambda g, input: -g * conjugate(sin(input))},
    samples=unary(-4, 4, complex=True),
)
def cos(input: Tensor) -> Tensor:
    """The cosine of every element."""


@primitive(
    meta=elementwise("int_to_float", fast=(1, "float")),
    kernel="tan",
    vjp={"input": lambda g, result: g * conjugate(1 + result * result)},
    samples=unary(-1.4, 1.4, complex=True),
)
def tan(input: Tensor) -> Tensor:
    """The tangent of every element."""


@primitive(
    meta=elementwise("int_to_float", fast=(1, "float")),
    kernel="arcsin",
    vjp={"input": lambda g, input: g * conjugate(rsqrt(1 - input * input))},
    samples=unary(-0.9, 0.9, complex=True),
    aliases=("arcsin",),
)
def asin(input: Tensor) -> Tensor:
    """The angle whose sine each element is, between -pi/2 and pi/2."""


@primitive(
    meta=elementwise("int_to_float", fast=(1, "float")),
    kernel="arccos",
    vjp={"input": lambda g, input: -g * conjugate(rsqrt(1 - input * input))},
    samples=unary(-0.9, 0.9, complex=True),
    aliases=("arccos",),
)
def acos(input: Tensor) -> Tensor:
    """The angle whose cosine each element is, between 0 and pi."""


@primitive(
    meta=elementwise("int_to_float", fast=(1, "float")),
    kernel="arctan",
    vjp={"input": lambda g, input: g / conjugate(input * input + 1)},
    samples=unary(-2, 2, complex=True),
    aliases=("arctan",),
)
def atan(input: Tensor) -> Tensor:
    """The angle whose tangent each element is, between -pi/2 and pi/2."""


@primitive(
    meta=elementwise("int_to_float", fast=(1, "float")),
    kernel="sinh",
    vjp={"input": lambda g, input: g * conjugate(cosh(input))},
    samples=unary(complex=True),
)
def sinh(input: Tensor) -> Tensor:
    """The hyperbolic sine of every element."""


@primitive(
    meta=elementwise("int_to_float", fast=(1, "float")),
    kernel="cosh",
    vjp={"input": lambda g, input: g * conjugate(sinh(input))},
    samples=unary(complex=True),
)
def cosh(input: Tensor) -> Tensor:
    """The hyperbolic cosine of every element."""


@primitive(
    meta=elementwise("int_to_float", fast=(1, "float")),
    kernel="tanh",
    vjp={"input": lambda g, result: g * conjugate(1 - result * result)},
    samples=unary(-4, 4, complex=True),
)
def tanh(input: Tensor) -> Tensor:
    """The hyperbolic tangent of every element."""


@primitive(
    meta=elementwise("int_to_float", fast=(1, "float")),
    kernel="arcsinh",
    vjp={"input": lambda g, input: g * conjugate(rsqrt(input * input + 1))},
    samples=unary(complex=True),
    aliases=("arcsinh",),
)
def asinh(input: Tensor) -> Tensor:
    """The number whose hyperbolic sine each element is."""


def _acosh_gradient(g: Any, input: Any) -> Any:
    if input._array.dtype.kind == "c":  # one root of the product would take the wrong branch on the left
        return g / conjugate(sqrt(input - 1) * sqrt(input + 1))
    return g * rsqrt(input * input - 1)


@primitive(
    meta=elementwise("int_to_float", fast=(1, "float")),
    kernel="arccosh",
    vjp={"input": _acosh_gradient},
    samples=unary(1.2, 3, complex=True),
    aliases=("arccosh",),
)
def acosh(input: Tensor) -> Tensor:
    """The number, not negative, whose hyperbolic cosine each element is."""


@primitive(
    meta=elementwise("int_to_float", fast=(1, "float")),
    kernel="arctanh",
    vjp={"input": lambda g, input: g / conjugate(1 - input * input)},
    samples=unary(-0.9, 0.9, complex=True),
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
    samples=together(unary(complex=True), cases(lambda m: [Sample(np.array([0, 1j, 1], np.complex64), gradient=False)])),
)
def sinc(input: Tensor) -> Tensor:
    """``sin(pi * input) / (pi * input)``, and 1 at 0."""


@primitive(
    meta=elementwise("int_to_float", refuse="complex"),
    kernel=lambda xp, input: input * input.dtype.type(math.pi / 180),
    vjp={"input": lambda g: g * (math.pi / 180)},
    samples=together(unary(-360, 360), refused("complex")),
    node_name="Deg2RadBackward0",
)
def deg2rad(input: Tensor) -> Tensor:
    """Angles in radians from angles in degrees."""


@primitive(
    meta=elementwise("int_to_float", refuse="complex"),
    kernel=lambda xp, input: input * input.dtype.type(180 / math.pi),
    vjp={"input": lambda g: g * (180 / math.pi)},
    samples=together(unary(-4, 4), refused("complex")),
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
    samples=cases(lambda m: [
        Sample(m.real(2, 3), m.real(3, low=0.5)),
        Sample(m.real(2, 1), m.real(3, low=-2, high=-0.5)),
        Sample(m.real(), m.real(2)),
        Sample(m.real(0, 2), m.real(2)),
        Sample(m.real(2), m.real(2, dtype=np.float64)),
        Sample(m.real(3, dtype=np.float16), m.real(3, dtype=np.float16), gradient=False),
        Sample(np.array([0, -0.0, 0, -0.0, np.inf, np.nan], np.float32), np.array([0, 0, -0.0, -0.0, -np.inf, 1], np.float32), gradient=False),
        Sample(m.integers(4), m.integers(4), gradient=False),
        Sample(m.booleans(4), m.booleans(4), gradient=False),
        Sample(m.integers(4), m.real(4), gradient=False),
        Sample(m.complex(2), m.complex(2), gradient=False),
        Sample(m.real(2), 1.0, gradient=False),
    ]),
    aliases=("arctan2",),
)  # fmt: skip
def atan2(input: Tensor, other: Tensor) -> Tensor:
    """The angle of the point ``(other, input)``, between -pi and pi."""

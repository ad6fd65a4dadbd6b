"""Bessel functions, the Airy function, and the classical orthogonal polynomials.  PyTorch gives them no gradients."""

from __future__ import annotations

import numpy as np

from ...core.base import TensorBase as Tensor
from ...core.declare import primitive
from ...core.families import elementwise
from ...core.samples import Sample, cases, together, unary
from ..pointwise.unary import refused
from . import bessel_kernels as numerics

Number = int | float | complex | bool

# -- Bessel functions --------------------------------------------------------------------------------------------

_EVERYWHERE = together(unary(-20, 20, half=False), refused("complex"))
# PyTorch's J beyond 5 and Y beyond 3 are right to 7 digits only in double precision: there, single is compared.
_WAVES = together(unary(-4.9, 4.9, half=False), cases(lambda m: [Sample(m.real(8, low=-40, high=40))]), refused("complex"))
_RIGHT_WAVES = together(
    unary(0.1, 2.9, half=False), cases(lambda m: [Sample(m.real(8, low=0, high=40)), Sample(m.real(3))]), refused("complex")
)
_RIGHT = together(unary(0.1, 20, half=False), cases(lambda m: [Sample(m.real(3), gradient=False)]), refused("complex"))


@primitive(meta=elementwise("int_to_float", refuse="complex"), kernel=numerics.j0, vjp={}, samples=_WAVES, in_place=False)
def special_bessel_j0(input: Tensor) -> Tensor:
    """The Bessel function of the first kind of order 0."""


@primitive(meta=elementwise("int_to_float", refuse="complex"), kernel=numerics.j1, vjp={}, samples=_WAVES, in_place=False)
def special_bessel_j1(input: Tensor) -> Tensor:
    """The Bessel function of the first kind of order 1."""


@primitive(meta=elementwise("int_to_float", refuse="complex"), kernel=numerics.y0, vjp={}, samples=_RIGHT_WAVES, in_place=False)
def special_bessel_y0(input: Tensor) -> Tensor:
    """The Bessel function of the second kind of order 0."""


@primitive(meta=elementwise("int_to_float", refuse="complex"), kernel=numerics.y1, vjp={}, samples=_RIGHT_WAVES, in_place=False)
def special_bessel_y1(input: Tensor) -> Tensor:
    """The Bessel function of the second kind of order 1."""


@primitive(meta=elementwise("int_to_float", refuse="complex"), kernel=numerics.i0, vjp={}, samples=_EVERYWHERE, in_place=False)
def special_modified_bessel_i0(input: Tensor) -> Tensor:
    """The modified Bessel function of the first kind of order 0."""


@primitive(meta=elementwise("int_to_float", refuse="complex"), kernel=numerics.i1, vjp={}, samples=_EVERYWHERE, in_place=False)
def special_modified_bessel_i1(input: Tensor) -> Tensor:
    """The modified Bessel function of the first kind of order 1."""


@primitive(meta=elementwise("int_to_float", refuse="complex"), kernel=numerics.k0, vjp={}, samples=_RIGHT, in_place=False)
def special_modified_bessel_k0(input: Tensor) -> Tensor:
    """The modified Bessel function of the second kind of order 0."""


@primitive(meta=elementwise("int_to_float", refuse="complex"), kernel=numerics.k1, vjp={}, samples=_RIGHT, in_place=False)
def special_modified_bessel_k1(input: Tensor) -> Tensor:
    """The modified Bessel function of the second kind of order 1."""


@primitive(meta=elementwise("int_to_float", refuse="complex"), kernel=numerics.k0e, vjp={}, samples=_RIGHT, in_place=False)
def special_scaled_modified_bessel_k0(input: Tensor) -> Tensor:
    """``exp(input)`` times the modified Bessel function of the second kind of order 0."""


@primitive(meta=elementwise("int_to_float", refuse="complex"), kernel=numerics.k1e, vjp={}, samples=_RIGHT, in_place=False)
def special_scaled_modified_bessel_k1(input: Tensor) -> Tensor:
    """``exp(input)`` times the modified Bessel function of the second kind of order 1."""


@primitive(meta=elementwise("int_to_float", refuse="complex"), kernel=numerics.spherical_j0, vjp={}, samples=_EVERYWHERE, in_place=False)
def special_spherical_bessel_j0(input: Tensor) -> Tensor:
    """The spherical Bessel function of the first kind of order 0: ``sin(input) / input``."""


@primitive(
    meta=elementwise("int_to_float", refuse="complex"),
    kernel=numerics.airy,
    vjp={},
    samples=cases(lambda m: [
        Sample(m.real(2, 3, low=-10, high=5)), Sample(m.real()), Sample(m.real(5, low=-15, high=8, dtype=np.float64)), Sample(m.integers(3)),
        Sample(np.array([np.nan, 0, -0.0, 2, -4, 90], np.float32)), Sample(m.complex(2), gradient=False),
    ]),
    in_place=False,
)  # fmt: skip
def special_airy_ai(input: Tensor) -> Tensor:
    """The Airy function Ai."""


# -- orthogonal polynomials --------------------------------------------------------------------------------------

_BY_DEGREE = "its recurrence has as many steps as the degrees say, which are values"
_DEGREES = cases(lambda m: [
    Sample(m.real(2, 3), m.integers(2, 3, low=-1, high=8)),
    Sample(m.real(4), m.real(4, low=0, high=6)),
    Sample(m.real(4, dtype=np.float64), 3),
    Sample(m.real(2, 1, dtype=np.float64), np.arange(7.0)),
    Sample(0.5, m.integers(4, low=0, high=9)),
    Sample(m.integers(3), m.integers(3, low=0, high=4)),
    Sample(np.array([1, -1, 0, 1, -1], np.float32), np.array([4, 3, 5, 9, 8], np.float32)),
    Sample(m.real(0, 2), 2),
    Sample(m.complex(2), 2, gradient=False),
])  # fmt: skip


@primitive(
    meta=elementwise("int_to_float", refuse="complex"),
    kernel=numerics.chebyshev_t,
    vjp={},
    samples=_DEGREES,
    in_place=False,
    onnx=_BY_DEGREE,
)
def special_chebyshev_polynomial_t(input: Tensor | Number, n: Tensor | Number) -> Tensor:
    """The Chebyshev polynomial of the first kind of degree ``n``."""


@primitive(
    meta=elementwise("int_to_float", refuse="complex"),
    kernel=numerics.chebyshev_u,
    vjp={},
    samples=_DEGREES,
    in_place=False,
    onnx=_BY_DEGREE,
)
def special_chebyshev_polynomial_u(input: Tensor | Number, n: Tensor | Number) -> Tensor:
    """The Chebyshev polynomial of the second kind of degree ``n``."""


@primitive(
    meta=elementwise("int_to_float", refuse="complex"),
    kernel=numerics.chebyshev_v,
    vjp={},
    samples=_DEGREES,
    in_place=False,
    onnx=_BY_DEGREE,
)
def special_chebyshev_polynomial_v(input: Tensor | Number, n: Tensor | Number) -> Tensor:
    """The Chebyshev polynomial of the third kind of degree ``n``."""


@primitive(
    meta=elementwise("int_to_float", refuse="complex"),
    kernel=numerics.chebyshev_w,
    vjp={},
    samples=_DEGREES,
    in_place=False,
    onnx=_BY_DEGREE,
)
def special_chebyshev_polynomial_w(input: Tensor | Number, n: Tensor | Number) -> Tensor:
    """The Chebyshev polynomial of the fourth kind of degree ``n``."""


@primitive(
    meta=elementwise("int_to_float", refuse="complex"),
    kernel=numerics.shifted_chebyshev_t,
    vjp={},
    samples=_DEGREES,
    in_place=False,
    onnx=_BY_DEGREE,
)
def special_shifted_chebyshev_polynomial_t(input: Tensor | Number, n: Tensor | Number) -> Tensor:
    """The Chebyshev polynomial of the first kind of degree ``n``, moved to [0, 1]."""


@primitive(
    meta=elementwise("int_to_float", refuse="complex"),
    kernel=numerics.shifted_chebyshev_u,
    vjp={},
    samples=_DEGREES,
    in_place=False,
    onnx=_BY_DEGREE,
)
def special_shifted_chebyshev_polynomial_u(input: Tensor | Number, n: Tensor | Number) -> Tensor:
    """The Chebyshev polynomial of the second kind of degree ``n``, moved to [0, 1]."""


@primitive(
    meta=elementwise("int_to_float", refuse="complex"),
    kernel=numerics.shifted_chebyshev_v,
    vjp={},
    samples=_DEGREES,
    in_place=False,
    onnx=_BY_DEGREE,
)
def special_shifted_chebyshev_polynomial_v(input: Tensor | Number, n: Tensor | Number) -> Tensor:
    """The Chebyshev polynomial of the third kind of degree ``n``, moved to [0, 1]."""


@primitive(
    meta=elementwise("int_to_float", refuse="complex"),
    kernel=numerics.shifted_chebyshev_w,
    vjp={},
    samples=_DEGREES,
    in_place=False,
    onnx=_BY_DEGREE,
)
def special_shifted_chebyshev_polynomial_w(input: Tensor | Number, n: Tensor | Number) -> Tensor:
    """The Chebyshev polynomial of the fourth kind of degree ``n``, moved to [0, 1]."""


@primitive(
    meta=elementwise("int_to_float", refuse="complex"), kernel=numerics.hermite_h, vjp={}, samples=_DEGREES, in_place=False, onnx=_BY_DEGREE
)
def special_hermite_polynomial_h(input: Tensor | Number, n: Tensor | Number) -> Tensor:
    """The physicists' Hermite polynomial of degree ``n``."""


@primitive(
    meta=elementwise("int_to_float", refuse="complex"),
    kernel=numerics.hermite_he,
    vjp={},
    samples=_DEGREES,
    in_place=False,
    onnx=_BY_DEGREE,
)
def special_hermite_polynomial_he(input: Tensor | Number, n: Tensor | Number) -> Tensor:
    """The probabilists' Hermite polynomial of degree ``n``."""


@primitive(
    meta=elementwise("int_to_float", refuse="complex"), kernel=numerics.laguerre, vjp={}, samples=_DEGREES, in_place=False, onnx=_BY_DEGREE
)
def special_laguerre_polynomial_l(input: Tensor | Number, n: Tensor | Number) -> Tensor:
    """The Laguerre polynomial of degree ``n``."""


@primitive(
    meta=elementwise("int_to_float", refuse="complex"), kernel=numerics.legendre, vjp={}, samples=_DEGREES, in_place=False, onnx=_BY_DEGREE
)
def special_legendre_polynomial_p(input: Tensor | Number, n: Tensor | Number) -> Tensor:
    """The Legendre polynomial of degree ``n``."""

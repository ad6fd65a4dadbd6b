"""Bessel functions, the Airy function, and the classical orthogonal polynomials.  PyTorch gives them no gradients."""

from __future__ import annotations

from ...core.base import TensorBase as Tensor
from ...core.declare import primitive
from ...core.families import elementwise
from . import bessel_kernels as numerics

Number = int | float | complex | bool

# -- Bessel functions --------------------------------------------------------------------------------------------


@primitive(meta=elementwise("int_to_float", refuse="complex"), kernel=numerics.j0, vjp={}, in_place=False)
def special_bessel_j0(input: Tensor) -> Tensor:
    """The Bessel function of the first kind of order 0."""


@primitive(meta=elementwise("int_to_float", refuse="complex"), kernel=numerics.j1, vjp={}, in_place=False)
def special_bessel_j1(input: Tensor) -> Tensor:
    """The Bessel function of the first kind of order 1."""


@primitive(meta=elementwise("int_to_float", refuse="complex"), kernel=numerics.y0, vjp={}, in_place=False)
def special_bessel_y0(input: Tensor) -> Tensor:
    """The Bessel function of the second kind of order 0."""


@primitive(meta=elementwise("int_to_float", refuse="complex"), kernel=numerics.y1, vjp={}, in_place=False)
def special_bessel_y1(input: Tensor) -> Tensor:
    """The Bessel function of the second kind of order 1."""


@primitive(meta=elementwise("int_to_float", refuse="complex"), kernel=numerics.i0, vjp={}, in_place=False)
def special_modified_bessel_i0(input: Tensor) -> Tensor:
    """The modified Bessel function of the first kind of order 0."""


@primitive(meta=elementwise("int_to_float", refuse="complex"), kernel=numerics.i1, vjp={}, in_place=False)
def special_modified_bessel_i1(input: Tensor) -> Tensor:
    """The modified Bessel function of the first kind of order 1."""


@primitive(meta=elementwise("int_to_float", refuse="complex"), kernel=numerics.k0, vjp={}, in_place=False)
def special_modified_bessel_k0(input: Tensor) -> Tensor:
    """The modified Bessel function of the second kind of order 0."""


@primitive(meta=elementwise("int_to_float", refuse="complex"), kernel=numerics.k1, vjp={}, in_place=False)
def special_modified_bessel_k1(input: Tensor) -> Tensor:
    """The modified Bessel function of the second kind of order 1."""


@primitive(meta=elementwise("int_to_float", refuse="complex"), kernel=numerics.k0e, vjp={}, in_place=False)
def special_scaled_modified_bessel_k0(input: Tensor) -> Tensor:
    """``exp(input)`` times the modified Bessel function of the second kind of order 0."""


@primitive(meta=elementwise("int_to_float", refuse="complex"), kernel=numerics.k1e, vjp={}, in_place=False)
def special_scaled_modified_bessel_k1(input: Tensor) -> Tensor:
    """``exp(input)`` times the modified Bessel function of the second kind of order 1."""


@primitive(meta=elementwise("int_to_float", refuse="complex"), kernel=numerics.spherical_j0, vjp={}, in_place=False)
def special_spherical_bessel_j0(input: Tensor) -> Tensor:
    """The spherical Bessel function of the first kind of order 0: ``sin(input) / input``."""


@primitive(meta=elementwise("int_to_float", refuse="complex"), kernel=numerics.airy, vjp={}, in_place=False)
def special_airy_ai(input: Tensor) -> Tensor:
    """The Airy function Ai."""


# -- orthogonal polynomials --------------------------------------------------------------------------------------

_BY_DEGREE = "its recurrence has as many steps as the degrees say, which are values"


@primitive(
    meta=elementwise("int_to_float", refuse="complex"),
    kernel=numerics.chebyshev_t,
    vjp={},
    in_place=False,
    onnx=_BY_DEGREE,
)
def special_chebyshev_polynomial_t(input: Tensor | Number, n: Tensor | Number) -> Tensor:
    """The Chebyshev polynomial of the first kind of degree ``n``."""


@primitive(
    meta=elementwise("int_to_float", refuse="complex"),
    kernel=numerics.chebyshev_u,
    vjp={},
    in_place=False,
    onnx=_BY_DEGREE,
)
def special_chebyshev_polynomial_u(input: Tensor | Number, n: Tensor | Number) -> Tensor:
    """The Chebyshev polynomial of the second kind of degree ``n``."""


@primitive(
    meta=elementwise("int_to_float", refuse="complex"),
    kernel=numerics.chebyshev_v,
    vjp={},
    in_place=False,
    onnx=_BY_DEGREE,
)
def special_chebyshev_polynomial_v(input: Tensor | Number, n: Tensor | Number) -> Tensor:
    """The Chebyshev polynomial of the third kind of degree ``n``."""


@primitive(
    meta=elementwise("int_to_float", refuse="complex"),
    kernel=numerics.chebyshev_w,
    vjp={},
    in_place=False,
    onnx=_BY_DEGREE,
)
def special_chebyshev_polynomial_w(input: Tensor | Number, n: Tensor | Number) -> Tensor:
    """The Chebyshev polynomial of the fourth kind of degree ``n``."""


@primitive(
    meta=elementwise("int_to_float", refuse="complex"),
    kernel=numerics.shifted_chebyshev_t,
    vjp={},
    in_place=False,
    onnx=_BY_DEGREE,
)
def special_shifted_chebyshev_polynomial_t(input: Tensor | Number, n: Tensor | Number) -> Tensor:
    """The Chebyshev polynomial of the first kind of degree ``n``, moved to [0, 1]."""


@primitive(
    meta=elementwise("int_to_float", refuse="complex"),
    kernel=numerics.shifted_chebyshev_u,
    vjp={},
    in_place=False,
    onnx=_BY_DEGREE,
)
def special_shifted_chebyshev_polynomial_u(input: Tensor | Number, n: Tensor | Number) -> Tensor:
    """The Chebyshev polynomial of the second kind of degree ``n``, moved to [0, 1]."""


@primitive(
    meta=elementwise("int_to_float", refuse="complex"),
    kernel=numerics.shifted_chebyshev_v,
    vjp={},
    in_place=False,
    onnx=_BY_DEGREE,
)
def special_shifted_chebyshev_polynomial_v(input: Tensor | Number, n: Tensor | Number) -> Tensor:
    """The Chebyshev polynomial of the third kind of degree ``n``, moved to [0, 1]."""


@primitive(
    meta=elementwise("int_to_float", refuse="complex"),
    kernel=numerics.shifted_chebyshev_w,
    vjp={},
    in_place=False,
    onnx=_BY_DEGREE,
)
def special_shifted_chebyshev_polynomial_w(input: Tensor | Number, n: Tensor | Number) -> Tensor:
    """The Chebyshev polynomial of the fourth kind of degree ``n``, moved to [0, 1]."""


@primitive(meta=elementwise("int_to_float", refuse="complex"), kernel=numerics.hermite_h, vjp={}, in_place=False, onnx=_BY_DEGREE)
def special_hermite_polynomial_h(input: Tensor | Number, n: Tensor | Number) -> Tensor:
    """The physicists' Hermite polynomial of degree ``n``."""


@primitive(
    meta=elementwise("int_to_float", refuse="complex"),
    kernel=numerics.hermite_he,
    vjp={},
    in_place=False,
    onnx=_BY_DEGREE,
)
def special_hermite_polynomial_he(input: Tensor | Number, n: Tensor | Number) -> Tensor:
    """The probabilists' Hermite polynomial of degree ``n``."""


@primitive(meta=elementwise("int_to_float", refuse="complex"), kernel=numerics.laguerre, vjp={}, in_place=False, onnx=_BY_DEGREE)
def special_laguerre_polynomial_l(input: Tensor | Number, n: Tensor | Number) -> Tensor:
    """The Laguerre polynomial of degree ``n``."""


@primitive(meta=elementwise("int_to_float", refuse="complex"), kernel=numerics.legendre, vjp={}, in_place=False, onnx=_BY_DEGREE)
def special_legendre_polynomial_p(input: Tensor | Number, n: Tensor | Number) -> Tensor:
    """The Legendre polynomial of degree ``n``."""

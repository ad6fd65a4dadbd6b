"""Bessel functions, the Airy function, and the classical orthogonal polynomials.  PyTorch gives them no gradients."""

from __future__ import annotations

from typing import Any

from ...core.base import TensorBase as Tensor
from ...core.declare import primitive
from ...core.families import elementwise
from . import bessel_kernels as numerics

Number = int | float | complex | bool
_FUNCTION: dict[str, Any] = {"meta": elementwise("int_to_float", refuse="complex"), "vjp": {}, "in_place": False}

# -- Bessel functions --------------------------------------------------------------------------------------------


@primitive(kernel=numerics.j0, **_FUNCTION)
def special_bessel_j0(input: Tensor) -> Tensor:
    """The Bessel function of the first kind of order 0."""


@primitive(kernel=numerics.j1, **_FUNCTION)
def special_bessel_j1(input: Tensor) -> Tensor:
    """The Bessel function of the first kind of order 1."""


@primitive(kernel=numerics.y0, **_FUNCTION)
def special_bessel_y0(input: Tensor) -> Tensor:
    """The Bessel function of the second kind of order 0."""


@primitive(kernel=numerics.y1, **_FUNCTION)
def special_bessel_y1(input: Tensor) -> Tensor:
    """The Bessel function of the second kind of order 1."""


@primitive(kernel=numerics.i0, **_FUNCTION)
def special_modified_bessel_i0(input: Tensor) -> Tensor:
    """The modified Bessel function of the first kind of order 0."""


@primitive(kernel=numerics.i1, **_FUNCTION)
def special_modified_bessel_i1(input: Tensor) -> Tensor:
    """The modified Bessel function of the first kind of order 1."""


@primitive(kernel=numerics.k0, **_FUNCTION)
def special_modified_bessel_k0(input: Tensor) -> Tensor:
    """The modified Bessel function of the second kind of order 0."""


@primitive(kernel=numerics.k1, **_FUNCTION)
def special_modified_bessel_k1(input: Tensor) -> Tensor:
    """The modified Bessel function of the second kind of order 1."""


@primitive(kernel=numerics.k0e, **_FUNCTION)
def special_scaled_modified_bessel_k0(input: Tensor) -> Tensor:
    """``exp(input)`` times the modified Bessel function of the second kind of order 0."""


@primitive(kernel=numerics.k1e, **_FUNCTION)
def special_scaled_modified_bessel_k1(input: Tensor) -> Tensor:
    """``exp(input)`` times the modified Bessel function of the second kind of order 1."""


@primitive(kernel=numerics.spherical_j0, **_FUNCTION)
def special_spherical_bessel_j0(input: Tensor) -> Tensor:
    """The spherical Bessel function of the first kind of order 0: ``sin(input) / input``."""


@primitive(kernel=numerics.airy, **_FUNCTION)
def special_airy_ai(input: Tensor) -> Tensor:
    """The Airy function Ai."""


# -- orthogonal polynomials --------------------------------------------------------------------------------------

_BY_DEGREE = "its recurrence has as many steps as the degrees say, which are values"
_POLYNOMIAL: dict[str, Any] = {**_FUNCTION, "onnx": _BY_DEGREE}


@primitive(kernel=numerics.chebyshev_t, **_POLYNOMIAL)
def special_chebyshev_polynomial_t(input: Tensor | Number, n: Tensor | Number) -> Tensor:
    """The Chebyshev polynomial of the first kind of degree ``n``."""


@primitive(kernel=numerics.chebyshev_u, **_POLYNOMIAL)
def special_chebyshev_polynomial_u(input: Tensor | Number, n: Tensor | Number) -> Tensor:
    """The Chebyshev polynomial of the second kind of degree ``n``."""


@primitive(kernel=numerics.chebyshev_v, **_POLYNOMIAL)
def special_chebyshev_polynomial_v(input: Tensor | Number, n: Tensor | Number) -> Tensor:
    """The Chebyshev polynomial of the third kind of degree ``n``."""


@primitive(kernel=numerics.chebyshev_w, **_POLYNOMIAL)
def special_chebyshev_polynomial_w(input: Tensor | Number, n: Tensor | Number) -> Tensor:
    """The Chebyshev polynomial of the fourth kind of degree ``n``."""


@primitive(kernel=numerics.shifted_chebyshev_t, **_POLYNOMIAL)
def special_shifted_chebyshev_polynomial_t(input: Tensor | Number, n: Tensor | Number) -> Tensor:
    """The Chebyshev polynomial of the first kind of degree ``n``, moved to [0, 1]."""


@primitive(kernel=numerics.shifted_chebyshev_u, **_POLYNOMIAL)
def special_shifted_chebyshev_polynomial_u(input: Tensor | Number, n: Tensor | Number) -> Tensor:
    """The Chebyshev polynomial of the second kind of degree ``n``, moved to [0, 1]."""


@primitive(kernel=numerics.shifted_chebyshev_v, **_POLYNOMIAL)
def special_shifted_chebyshev_polynomial_v(input: Tensor | Number, n: Tensor | Number) -> Tensor:
    """The Chebyshev polynomial of the third kind of degree ``n``, moved to [0, 1]."""


@primitive(kernel=numerics.shifted_chebyshev_w, **_POLYNOMIAL)
def special_shifted_chebyshev_polynomial_w(input: Tensor | Number, n: Tensor | Number) -> Tensor:
    """The Chebyshev polynomial of the fourth kind of degree ``n``, moved to [0, 1]."""


@primitive(kernel=numerics.hermite_h, **_POLYNOMIAL)
def special_hermite_polynomial_h(input: Tensor | Number, n: Tensor | Number) -> Tensor:
    """The physicists' Hermite polynomial of degree ``n``."""


@primitive(kernel=numerics.hermite_he, **_POLYNOMIAL)
def special_hermite_polynomial_he(input: Tensor | Number, n: Tensor | Number) -> Tensor:
    """The probabilists' Hermite polynomial of degree ``n``."""


@primitive(kernel=numerics.laguerre, **_POLYNOMIAL)
def special_laguerre_polynomial_l(input: Tensor | Number, n: Tensor | Number) -> Tensor:
    """The Laguerre polynomial of degree ``n``."""


@primitive(kernel=numerics.legendre, **_POLYNOMIAL)
def special_legendre_polynomial_p(input: Tensor | Number, n: Tensor | Number) -> Tensor:
    """The Legendre polynomial of degree ``n``."""

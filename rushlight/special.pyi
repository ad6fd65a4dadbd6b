"""Special functions: stub.

Written by tools/generate_stubs.py from the op table: run `make generate` after changing an op's signature.
"""

from builtins import bool as _bool, float as _float, int as _int, list as _list, str as _str
from rushlight.tensor.op_results import Number as _Number
from rushlight.tensor.tensor import Tensor
from typing import Any

def airy_ai(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Airy function Ai."""
def bessel_j0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Bessel function of the first kind of order 0."""
def bessel_j1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Bessel function of the first kind of order 1."""
def bessel_y0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Bessel function of the second kind of order 0."""
def bessel_y1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Bessel function of the second kind of order 1."""
def chebyshev_polynomial_t(input: Tensor | _Number, n: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """The Chebyshev polynomial of the first kind of degree ``n``."""
def chebyshev_polynomial_u(input: Tensor | _Number, n: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """The Chebyshev polynomial of the second kind of degree ``n``."""
def chebyshev_polynomial_v(input: Tensor | _Number, n: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """The Chebyshev polynomial of the third kind of degree ``n``."""
def chebyshev_polynomial_w(input: Tensor | _Number, n: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """The Chebyshev polynomial of the fourth kind of degree ``n``."""
def digamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """See :func:`digamma`."""
def entr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``-input * log(input)``; 0 for 0 and -inf for what is negative."""
def erf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """See :func:`erf`."""
def erfc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """See :func:`erfc`."""
def erfcx(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``exp(input ** 2) * erfc(input)``."""
def erfinv(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """See :func:`erfinv`."""
def exp2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """See :func:`exp2`."""
def expit(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """See :func:`sigmoid`."""
def expm1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """See :func:`expm1`."""
def gammainc(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """See :func:`igamma`."""
def gammaincc(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """See :func:`igammac`."""
def gammaln(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """See :func:`lgamma`."""
def hermite_polynomial_h(input: Tensor | _Number, n: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """The physicists' Hermite polynomial of degree ``n``."""
def hermite_polynomial_he(input: Tensor | _Number, n: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """The probabilists' Hermite polynomial of degree ``n``."""
def i0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """See :func:`i0`."""
def i0e(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``exp(-|input|) * i0(input)``."""
def i1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the first kind of order 1."""
def i1e(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``exp(-|input|) * i1(input)``."""
def laguerre_polynomial_l(input: Tensor | _Number, n: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """The Laguerre polynomial of degree ``n``."""
def legendre_polynomial_p(input: Tensor | _Number, n: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """The Legendre polynomial of degree ``n``."""
def log1p(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """See :func:`log1p`."""
def log_ndtr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the area under the normal distribution to the left of each element."""
def log_softmax(input: Tensor, dim: _int = ..., dtype: Any = None, *, axis: _int = ..., out: Tensor | None = None) -> Tensor:
    """The logarithm of :func:`softmax`, computed without overflow."""
def logit(input: Tensor, eps: _float | None = None, *, out: Tensor | None = None) -> Tensor:
    """See :func:`logit`."""
def logsumexp(input: Tensor, dim: Any = ..., keepdim: _bool = False, *, axis: Any = ..., keepdims: _bool = ..., out: Tensor | None = None) -> Tensor:
    """The logarithm of the sum of exponentials along dimensions, computed without overflow."""
def modified_bessel_i0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the first kind of order 0."""
def modified_bessel_i1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the first kind of order 1."""
def modified_bessel_k0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the second kind of order 0."""
def modified_bessel_k1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the second kind of order 1."""
def multigammaln(input: Tensor, p: _int, *, out: Tensor | None = None) -> Tensor:
    """See :func:`mvlgamma`."""
def ndtr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The area under the normal distribution to the left of each element."""
def ndtri(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Where the area under the normal distribution to the left is each element."""
def polygamma(n: _int, input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """See :func:`polygamma`."""
def psi(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """See :func:`digamma`."""
def round(input: Tensor, *, decimals: _int = 0, out: Tensor | None = None) -> Tensor:
    """See :func:`round`."""
def scaled_modified_bessel_k0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``exp(input)`` times the modified Bessel function of the second kind of order 0."""
def scaled_modified_bessel_k1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``exp(input)`` times the modified Bessel function of the second kind of order 1."""
def shifted_chebyshev_polynomial_t(input: Tensor | _Number, n: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """The Chebyshev polynomial of the first kind of degree ``n``, moved to [0, 1]."""
def shifted_chebyshev_polynomial_u(input: Tensor | _Number, n: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """The Chebyshev polynomial of the second kind of degree ``n``, moved to [0, 1]."""
def shifted_chebyshev_polynomial_v(input: Tensor | _Number, n: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """The Chebyshev polynomial of the third kind of degree ``n``, moved to [0, 1]."""
def shifted_chebyshev_polynomial_w(input: Tensor | _Number, n: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """The Chebyshev polynomial of the fourth kind of degree ``n``, moved to [0, 1]."""
def sinc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """See :func:`sinc`."""
def softmax(input: Tensor, dim: _int = ..., dtype: Any = None, *, axis: _int = ..., out: Tensor | None = None) -> Tensor:
    """Exponentials divided by their sum along a dimension, computed without overflow."""
def spherical_bessel_j0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The spherical Bessel function of the first kind of order 0: ``sin(input) / input``."""
def xlog1py(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """``input * log1p(other)``, and 0 where ``input`` is 0."""
def xlogy(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """See :func:`xlogy`."""
def zeta(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Hurwitz' zeta function: the sum of ``(other + k) ** -input`` over all whole numbers k from 0."""

__all__: _list[_str]

"""The names that ``rushlight.special`` has for functions of ``rushlight`` itself."""

from __future__ import annotations

from ...core.base import TensorBase as Tensor
from ...core.declare import composite
from ..pointwise.binary import xlogy
from ..pointwise.trigonometry import sinc
from ..pointwise.unary import exp2, expm1, log1p, logit, round, sigmoid
from .functions import digamma, erf, erfc, erfinv, i0, igamma, igammac, lgamma, mvlgamma, polygamma

Number = int | float | complex | bool


@composite(out=True)
def special_digamma(input: Tensor) -> Tensor:
    """See :func:`digamma`."""
    return digamma(input)


@composite(out=True)
def special_psi(input: Tensor) -> Tensor:
    """See :func:`digamma`."""
    return digamma(input)


@composite(out=True)
def special_erf(input: Tensor) -> Tensor:
    """See :func:`erf`."""
    return erf(input)


@composite(out=True)
def special_erfc(input: Tensor) -> Tensor:
    """See :func:`erfc`."""
    return erfc(input)


@composite(out=True)
def special_erfinv(input: Tensor) -> Tensor:
    """See :func:`erfinv`."""
    return erfinv(input)


@composite(out=True)
def special_exp2(input: Tensor) -> Tensor:
    """See :func:`exp2`."""
    return exp2(input)


@composite(out=True)
def special_expit(input: Tensor) -> Tensor:
    """See :func:`sigmoid`."""
    return sigmoid(input)


@composite(out=True)
def special_expm1(input: Tensor) -> Tensor:
    """See :func:`expm1`."""
    return expm1(input)


@composite(out=True)
def special_gammaln(input: Tensor) -> Tensor:
    """See :func:`lgamma`."""
    return lgamma(input)


@composite(out=True)
def special_i0(input: Tensor) -> Tensor:
    """See :func:`i0`."""
    return i0(input)


@composite(out=True)
def special_log1p(input: Tensor) -> Tensor:
    """See :func:`log1p`."""
    return log1p(input)


@composite(out=True)
def special_sinc(input: Tensor) -> Tensor:
    """See :func:`sinc`."""
    return sinc(input)


@composite(out=True)
def special_logit(input: Tensor, eps: float | None = None) -> Tensor:
    """See :func:`logit`."""
    return logit(input, eps)


@composite(out=True)
def special_round(input: Tensor, *, decimals: int = 0) -> Tensor:
    """See :func:`round`."""
    return round(input, decimals=decimals)


@composite(out=True)
def special_polygamma(n: int, input: Tensor) -> Tensor:
    """See :func:`polygamma`."""
    return polygamma(n, input)


@composite(out=True)
def special_multigammaln(input: Tensor, p: int) -> Tensor:
    """See :func:`mvlgamma`."""
    return mvlgamma(input, p)


@composite(out=True)
def special_gammainc(input: Tensor, other: Tensor) -> Tensor:
    """See :func:`igamma`."""
    return igamma(input, other)


@composite(out=True)
def special_gammaincc(input: Tensor, other: Tensor) -> Tensor:
    """See :func:`igammac`."""
    return igammac(input, other)


@composite(out=True)
def special_xlogy(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """See :func:`xlogy`."""
    return xlogy(input, other)

"""How the special functions are computed: NumPy has none of them.

Every function takes the array module and arrays and is a formula of pointwise steps over all elements; ranges that need
formulas of their own are computed everywhere and chosen by ``where``.  The polynomials come from
:mod:`special_coefficients`.  Single precision is computed in double, except for ``erf``, which networks call most.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from . import coefficients as fits

_SINGLE = np.dtype(np.float32)


def in_double(formula: Callable[..., Any]) -> Callable[..., Any]:
    """Compute a formula of many steps in double precision, and round once, at the end."""

    @functools.wraps(formula)
    def run(xp: Any, *arrays: Any) -> Any:
        dtype = arrays[0].dtype
        if dtype != _SINGLE:
            return formula(xp, *arrays)
        return formula(xp, *(array.astype(np.float64) for array in arrays)).astype(dtype)

    return run


def fitted(value: Any, fit: tuple[float, float, tuple[float, ...]]) -> Any:
    """The polynomial of a fit at some values of its variable."""
    scale, shift, (highest, *rest) = fit
    t = value * scale
    t += shift
    result = t * highest
    for coefficient in rest[:-1]:
        result += coefficient
        result *= t
    result += rest[-1]
    return result


# -- the error function and its relatives ------------------------------------------------------------------------


def erf(xp: Any, x: Any) -> Any:
    """The error function: as ``1 - erfc``, with the logarithm of erfc a polynomial."""
    fit, limit = (fits.ERF_SINGLE, 4.0) if x.dtype == _SINGLE else (fits.ERF, 6.0)
    size = xp.minimum(xp.absolute(x), limit)  # beyond, the result is 1
    return xp.copysign(xp.expm1(size * fitted(size, fit)), x)


def _erfcx_right(xp: Any, x: Any) -> Any:
    """``exp(x**2) erfc(x)`` for x that is not negative."""
    return fitted(1 - 7.5 / (x + 3.75), fits.ERFCX) / (1 + 2 * x)


@in_double
def erfc(xp: Any, x: Any) -> Any:
    """``1 - erf(x)``, exact where erf is near 1."""
    size = xp.absolute(x)
    tail = xp.exp(-size * size) * _erfcx_right(xp, size)
    return xp.where(x < 0, 2 - tail, tail)


@in_double
def erfcx(xp: Any, x: Any) -> Any:
    """``exp(x**2) erfc(x)``."""
    right = _erfcx_right(xp, xp.absolute(x))
    return xp.where(x < 0, 2 * xp.exp(x * x) - right, right)


@in_double
def erfinv(xp: Any, x: Any) -> Any:
    """The inverse of erf on [-1, 1]."""
    w = -xp.log((1 - x) * (1 + x))
    s = xp.sqrt(w)
    factor = xp.where(w < 6.25, fitted(w, fits.ERFINV_CENTRE), xp.where(s < 4, fitted(s, fits.ERFINV_OUTER), fitted(s, fits.ERFINV_TAIL)))
    return xp.where(xp.absolute(x) == 1, x * np.inf, x * factor)


def _log_ndtr(xp: Any, x: Any) -> Any:
    scaled = x * math.sqrt(0.5)
    right = _erfcx_right(xp, xp.absolute(scaled))
    left = xp.log(right * 0.5) - scaled * scaled
    return xp.where(x < -1, left, xp.log1p(-0.5 * erfc(xp, scaled)))


@in_double
def log_ndtr(xp: Any, x: Any) -> Any:
    """The logarithm of the area under the normal distribution to the left of x."""
    return _log_ndtr(xp, x)


@in_double
def ndtri(xp: Any, p: Any) -> Any:
    """Where the area under the normal distribution to the left is p."""
    centre = erfinv(xp, 2 * p - 1) * math.sqrt(2)
    small = xp.minimum(p, 1 - p)
    wanted = xp.log(xp.maximum(small, 5e-324))
    guess = -2 * wanted
    x = -xp.sqrt(xp.maximum(guess - xp.log(2 * np.pi * xp.maximum(guess, 1.0)), 1.0))
    for _ in range(4):  # Halley's steps towards log_ndtr(x) = log(p), for the tails
        value = _log_ndtr(xp, x)
        slope = xp.exp(-0.5 * x * x - value) / math.sqrt(2 * np.pi)
        step = (value - wanted) / slope
        x = x - step / (1 + 0.5 * step * (x + slope))
    tail = xp.where(p < 0.5, x, -x)
    result = xp.where(small < 0.02, tail, centre)
    return xp.where(small == 0, xp.where(p == 0, -np.inf, np.inf), xp.where(small < 0, np.nan, result))


# -- the gamma function and its relatives ------------------------------------------------------------------------


def _fraction(xp: Any, x: Any) -> Any:
    """How far a number is from the nearest whole one: for sines and tangents of pi x."""
    return x - xp.rint(x)


def _lgamma_right(xp: Any, x: Any) -> Any:
    """log(gamma(x)) for x that is not negative."""
    low = xp.where(x < 1, x + 1, xp.minimum(x, 3.0))
    near = (low - 1) * (low - 2) * fitted(low, fits.LGAMMA)
    near = xp.where(x < 1, near - xp.log(x), near)
    high = xp.maximum(x, 3.0)
    inverse = 1 / high
    rest = fitted(inverse * inverse, fits.STIRLING) * inverse
    far = (high - 0.5) * (xp.log(high) - 1) + (rest + 0.5 * (math.log(2 * math.pi) - 1))
    return xp.where(x < 3, near, far)


@in_double
def lgamma(xp: Any, x: Any) -> Any:
    """The logarithm of the size of the gamma function."""
    size = xp.absolute(x)
    right = _lgamma_right(xp, size)
    reflected = np.log(np.pi) - xp.log(size * xp.absolute(xp.sin(np.pi * _fraction(xp, size)))) - right
    return xp.where(xp.isinf(x), size, xp.where(x < 0, reflected, right))


@in_double
def digamma(xp: Any, x: Any) -> Any:
    """The derivative of log(gamma(x))."""
    negative = x < 0
    y = xp.where(negative, 1 - x, x)
    shift = xp.where(y < 3, -(1 / y + 1 / (y + 1) + 1 / (y + 2)), 0.0)
    y = xp.where(y < 3, y + 3, y)
    inverse = 1 / y
    square = inverse * inverse
    result = xp.log(y) - 0.5 * inverse + square * fitted(square, fits.DIGAMMA) + shift
    fraction = _fraction(xp, x)
    pole = xp.where(fraction == 0, np.nan, np.pi / xp.tan(np.pi * fraction))
    return xp.where(x == 0, xp.copysign(np.inf, -x), xp.where(negative, result - pole, result))


_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330)


def _zeta_right(xp: Any, s: Any, q: Any) -> Any:
    """The sum of ``(q + k) ** -s`` for q > 0: some terms one by one, the rest by Euler and Maclaurin's formula."""
    result = q**-s
    for k in range(1, 10):
        result = result + (q + k) ** -s
    a = q + 10
    power = a**-s
    result = result + a ** (1 - s) / (s - 1) + 0.5 * power
    factor = s * power / a
    for j, number in enumerate(_BERNOULLI, 1):
        result = result + factor * (number / math.factorial(2 * j))
        factor = factor * ((s + (2 * j - 1)) * (s + 2 * j)) / (a * a)
    return result


def _zeta(xp: Any, s: Any, q: Any) -> Any:
    size = xp.absolute(q)
    right = _zeta_right(xp, s, xp.where(q > 0, q, 1.0))
    # Left of 0 there are finitely many terms more: a difference of two such sums, up to the sign of their powers.
    whole = xp.ceil(size)
    sign = 1 - 2 * xp.absolute(xp.remainder(s, 2.0))
    inner = xp.where(size == whole, 1.0, size - whole + 1)
    left = _zeta_right(xp, s, xp.where(size == whole, 1.0, whole - size)) + sign * (
        _zeta_right(xp, s, inner) - _zeta_right(xp, s, size + 1)
    )
    pole = xp.where(s == xp.floor(s), left, np.nan)
    left = xp.where(size == whole, np.inf, pole)
    result = xp.where(q > 0, right, left)
    return xp.where(s == 1, np.inf, xp.where(s > 1, result, np.nan))


@in_double
def zeta(xp: Any, s: Any, q: Any) -> Any:
    """Hurwitz' zeta function: the sum of ``(q + k) ** -s`` over k = 0, 1, 2, ..."""
    return _zeta(xp, s, q)


def polygamma(xp: Any, n: int, x: Any) -> Any:
    """The n-th derivative of digamma."""
    if n == 0:
        return digamma(xp, x)
    factor = (-1) ** (n + 1) * (float(math.factorial(n)) if n <= 170 else math.inf)
    return in_double(lambda xp, x: factor * _zeta(xp, np.float64(n + 1), x))(xp, x)


_NODES: list[Any] = []
_LARGE = 100.0  # from here on the incomplete gamma function is integrated numerically


def _incomplete_large(xp: Any, a: Any, x: Any) -> tuple[Any, Any]:
    """P and Q for large a: the density, integrated from x outwards over the lighter tail."""
    if not _NODES:
        _NODES.extend(np.polynomial.legendre.leggauss(64))
    peak = a - 1
    width = xp.sqrt(peak)
    right = x > peak
    end = xp.where(
        right, xp.maximum(peak + 11.5 * width, x + 6 * width),
        xp.maximum(0.0, xp.minimum(peak - 10 * width, x - 6 * width)),
    )  # fmt: skip
    inverse = 1 / peak
    height = -0.5 * xp.log(2 * np.pi * peak) - fitted(inverse * inverse, fits.STIRLING) * inverse
    total = xp.zeros_like(x)
    for node, weight in zip(*_NODES):
        t = 0.5 * ((end - x) * node + (end + x))
        v = (t - peak) * inverse
        total = total + weight * xp.exp(peak * (xp.log1p(v) - v) + height)
    area = total * 0.5 * xp.absolute(end - x)
    return xp.where(right, 1 - area, area), xp.where(right, area, 1 - area)


def _incomplete_small(xp: Any, a: Any, x: Any) -> tuple[Any, Any]:
    """P and Q for small a: by the power series for x up to about a, else by the continued fraction."""
    series = x < a + 1
    front = xp.exp(a * xp.log(x) - x - _lgamma_right(xp, a + 1))
    near = xp.where(series, x, 0.0)
    term = xp.ones_like(x)
    total = xp.ones_like(x)
    for n in range(1, 2000):
        term = term * (near / (a + n))
        total = total + term
        if not np.any(term > total * 1e-17):
            break
    lower = front * total
    # Lentz's method, on values for which it converges
    far = xp.where(series, a + 2, x)
    b = far + 1 - a
    c = xp.full_like(x, 1e300)
    d = 1 / b
    fraction = d
    for n in range(1, 2000):
        step = -n * (n - a)
        b = b + 2
        d = 1 / (step * d + b)
        c = b + step / c
        change = c * d
        fraction = fraction * change
        if not np.any(xp.absolute(change - 1) > 1e-16):
            break
    upper = front * a * fraction
    return xp.where(series, lower, 1 - upper), xp.where(series, 1 - lower, upper)


def _incomplete(xp: Any, a: Any, x: Any, upper: int) -> Any:
    usual = (a > 0) & (x > 0) & xp.isfinite(a) & xp.isfinite(x)
    large = a >= _LARGE
    one = xp.ones_like(x)
    small = _incomplete_small(xp, xp.where(usual & ~large, a, one), xp.where(usual & ~large, x, one))[upper]
    big = _incomplete_large(xp, xp.where(usual & large, a, 200.0), xp.where(usual & large, x, 200.0))[upper]
    lower_edge = xp.where((a == 0) | xp.isinf(x), one, 0 * one)  # P is 1 there; at x = 0 and a = inf it is 0
    edge = 1 - lower_edge if upper else lower_edge
    undefined = (a < 0) | (x < 0) | ((a == 0) & (x == 0)) | (xp.isinf(a) & xp.isinf(x)) | (xp.isnan(a) & (x != 0)) | xp.isnan(x)
    return xp.where(usual, xp.where(large, big, small), xp.where(undefined, np.nan, edge))


@in_double
def igamma(xp: Any, a: Any, x: Any) -> Any:
    """The regularised lower incomplete gamma function P(a, x)."""
    return _incomplete(xp, a, x, 0)


@in_double
def igammac(xp: Any, a: Any, x: Any) -> Any:
    """The regularised upper incomplete gamma function Q(a, x)."""
    return _incomplete(xp, a, x, 1)

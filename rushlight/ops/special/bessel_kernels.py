"""How Bessel, Airy and the classical orthogonal polynomials are computed; see :mod:`special_functions`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from . import coefficients as fits
from .kernels import fitted, in_double

# -- modified Bessel functions -----------------------------------------------------------------------------------


def _i0e(xp: Any, x: Any) -> Any:
    size = xp.absolute(x)
    far = xp.maximum(size, 8.0)
    return xp.where(size <= 8, fitted(xp.minimum(size, 8.0), fits.I0E), fitted(1 / far, fits.I0E_LARGE) / xp.sqrt(far))


def _i1e(xp: Any, x: Any) -> Any:
    size = xp.absolute(x)
    near, far = xp.minimum(size, 8.0), xp.maximum(size, 8.0)
    result = xp.where(size <= 8, near * fitted(near, fits.I1E), fitted(1 / far, fits.I1E_LARGE) / xp.sqrt(far))
    return xp.where(x < 0, -result, result)


@in_double
def i0e(xp: Any, x: Any) -> Any:
    """``exp(-|x|) I0(x)``."""
    return _i0e(xp, x)


@in_double
def i0(xp: Any, x: Any) -> Any:
    """The modified Bessel function I0."""
    return xp.exp(xp.absolute(x)) * _i0e(xp, x)


@in_double
def i1e(xp: Any, x: Any) -> Any:
    """``exp(-|x|) I1(x)``."""
    return _i1e(xp, x)


@in_double
def i1(xp: Any, x: Any) -> Any:
    """The modified Bessel function I1."""
    return xp.exp(xp.absolute(x)) * _i1e(xp, x)


def _second(xp: Any, x: Any, order: int, scaled: bool) -> Any:
    """K0 or K1, or that times exp(x)."""
    near, far = xp.minimum(x, 2.0), xp.maximum(x, 2.0)
    grown = xp.exp(near)
    if order:
        small = xp.log(near / 2) * (_i1e(xp, near) * grown) + near * fitted(near * near, fits.K1) + 1 / near
        small = xp.where(x == 0, np.inf, small)
    else:
        small = fitted(near * near, fits.K0) - xp.log(near / 2) * (_i0e(xp, near) * grown)
    large = fitted(1 / far, fits.K1_LARGE if order else fits.K0_LARGE) / xp.sqrt(far)
    return xp.where(x <= 2, small * grown if scaled else small, large if scaled else large * xp.exp(-far))


@in_double
def k0(xp: Any, x: Any) -> Any:
    """The modified Bessel function K0."""
    return _second(xp, x, 0, False)


@in_double
def k1(xp: Any, x: Any) -> Any:
    """The modified Bessel function K1."""
    return _second(xp, x, 1, False)


@in_double
def k0e(xp: Any, x: Any) -> Any:
    """``exp(x) K0(x)``."""
    return _second(xp, x, 0, True)


@in_double
def k1e(xp: Any, x: Any) -> Any:
    """``exp(x) K1(x)``."""
    return _second(xp, x, 1, True)


# -- Bessel functions --------------------------------------------------------------------------------------------


def _wave(xp: Any, x: Any, order: int) -> tuple[Any, Any]:
    """J and Y for x of at least 5, from their slowly changing size and phase."""
    far = xp.maximum(x, 5.0)
    square = 1 / (far * far)
    p = fitted(square, fits.P1 if order else fits.P0)
    q = fitted(square, fits.Q1 if order else fits.Q0) / far
    size = xp.sqrt(2 / (np.pi * far)) * math.sqrt(0.5)
    sine, cosine = xp.sin(far), xp.cos(far)
    # The angles x - pi/4 and x - 3 pi/4, written out so that x itself is reduced exactly
    c, s = (sine - cosine, -sine - cosine) if order else (cosine + sine, sine - cosine)
    return size * (p * c - q * s), size * (p * s + q * c)


def _near(xp: Any, x: Any, order: int) -> Any:
    near = xp.minimum(x, 5.0)
    square = near * near
    return near * fitted(square, fits.J1) if order else fitted(square, fits.J0)


@in_double
def j0(xp: Any, x: Any) -> Any:
    """The Bessel function J0."""
    size = xp.absolute(x)
    return xp.where(size <= 5, _near(xp, size, 0), _wave(xp, size, 0)[0])


@in_double
def j1(xp: Any, x: Any) -> Any:
    """The Bessel function J1."""
    size = xp.absolute(x)
    result = xp.where(size <= 5, _near(xp, size, 1), _wave(xp, size, 1)[0])
    return xp.where(x < 0, -result, result)


@in_double
def y0(xp: Any, x: Any) -> Any:
    """The Bessel function Y0; nan left of 0."""
    near = xp.minimum(x, 5.0)
    small = 2 / np.pi * xp.log(near) * _near(xp, near, 0) + fitted(near * near, fits.Y0)
    return xp.where(x <= 5, small, _wave(xp, x, 0)[1])


@in_double
def y1(xp: Any, x: Any) -> Any:
    """The Bessel function Y1; nan left of 0."""
    near = xp.minimum(x, 5.0)
    small = 2 / np.pi * (xp.log(near) * _near(xp, near, 1) - 1 / near) + near * fitted(near * near, fits.Y1)
    return xp.where(x == 0, -np.inf, xp.where(x <= 5, small, _wave(xp, x, 1)[1]))


@in_double
def spherical_j0(xp: Any, x: Any) -> Any:
    """``sin(x) / x``, and 1 at 0."""
    return xp.where(x == 0, 1.0, xp.where(xp.isinf(x), 0.0, xp.sin(x) / x))


@in_double
def airy(xp: Any, x: Any) -> Any:
    """The Airy function Ai."""
    centre = fitted(xp.clip(x, -4.0, 2.0), fits.AIRY)
    size = xp.where(x > 0, xp.maximum(x, 2.0), xp.maximum(-x, 4.0))
    z = size * xp.sqrt(size) * (2 / 3)
    front = 1 / (math.sqrt(np.pi) * xp.sqrt(xp.sqrt(size)))
    right = 0.5 * front * xp.exp(-z) * fitted(xp.minimum(1 / z, 0.5303300858899107), fits.AIRY_LARGE)
    square = xp.minimum(1 / (z * z), 0.03515625)
    sine, cosine = xp.sin(z + np.pi / 4), xp.cos(z + np.pi / 4)
    left = front * (sine * fitted(square, fits.AIRY_P) - cosine * fitted(square, fits.AIRY_Q) / z)
    return xp.where(x > 2, right, xp.where(x < -4, left, centre))


# -- orthogonal polynomials --------------------------------------------------------------------------------------


def recurrence(
    first: Callable[[Any], Any], step: Callable[[int, Any, Any, Any], Any], *, shifted: bool = False
) -> Callable[[Any, Any, Any], Any]:
    """A family of polynomials: that of degree 1, and how each follows from the two before; that of degree 0 is 1.

    Degrees may differ from element to element; a degree below 0 gives 0, and fractions are cut off.  Shifted polynomials
    have [0, 1] where the others have [-1, 1].
    """

    @in_double
    def evaluate(xp: Any, x: Any, n: Any) -> Any:
        degree = xp.trunc(n)
        if shifted:
            x = 2 * x - 1
        before, current = xp.ones_like(x), first(x)
        result = xp.where(degree < 0, 0.0, xp.where(degree == 0, before, current))
        functions = np if isinstance(degree, (np.ndarray, np.generic)) else xp  # a degree that is known, in a kernel that is traced
        highest = functions.max(degree, initial=0.0, where=functions.isfinite(degree))
        for k in range(1, int(highest)):
            before, current = current, step(k, x, current, before)
            result = xp.where(degree == k + 1, current, result)
            if not k % 64 and not np.isfinite(current).any():  # as are all of higher degree
                return xp.where(degree > k + 1, np.nan, result)
        return result

    return evaluate


def _double_angle(k: int, x: Any, current: Any, before: Any) -> Any:
    return 2 * x * current - before


chebyshev_t = recurrence(lambda x: x, _double_angle)
chebyshev_u = recurrence(lambda x: 2 * x, _double_angle)
chebyshev_v = recurrence(lambda x: 2 * x - 1, _double_angle)
chebyshev_w = recurrence(lambda x: 2 * x + 1, _double_angle)
shifted_chebyshev_t = recurrence(lambda x: x, _double_angle, shifted=True)
shifted_chebyshev_u = recurrence(lambda x: 2 * x, _double_angle, shifted=True)
shifted_chebyshev_v = recurrence(lambda x: 2 * x - 1, _double_angle, shifted=True)
shifted_chebyshev_w = recurrence(lambda x: 2 * x + 1, _double_angle, shifted=True)
hermite_h = recurrence(lambda x: 2 * x, lambda k, x, current, before: 2 * x * current - 2 * k * before)
hermite_he = recurrence(lambda x: x, lambda k, x, current, before: x * current - k * before)
laguerre = recurrence(lambda x: 1 - x, lambda k, x, current, before: ((2 * k + 1 - x) * current - k * before) / (k + 1))
legendre = recurrence(lambda x: x, lambda k, x, current, before: ((2 * k + 1) * x * current - k * before) / (k + 1))

"""Make rushlight/ops/special/coefficients.py: the polynomials behind the special functions.

    python tests/record/special_coefficients.py     # in an environment with mpmath

Each special function is split into ranges on which some transformed function is smooth.  That one is interpolated at
Chebyshev points with 45 digits, cut off where the rest is below the precision wanted, and written as a polynomial in a
variable that runs from -1 to 1 over the range.
"""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np

TARGET = pathlib.Path(__file__).resolve().parents[2] / "rushlight" / "ops" / "special" / "coefficients.py"
POINTS = 70
PRECISION = 1e-17
mp.mp.dps = 60

Function = Callable[[Any], Any]


def chebyshev(function: Function, low: Any, high: Any) -> list[Any]:
    """Coefficients of the interpolation in Chebyshev polynomials."""
    angles = [mp.pi * (k + mp.mpf(1) / 2) / POINTS for k in range(POINTS)]
    values = [function((high - low) / 2 * mp.cos(angle) + (high + low) / 2) for angle in angles]
    found = [2 / mp.mpf(POINTS) * sum(v * mp.cos(j * angle) for v, angle in zip(values, angles)) for j in range(POINTS)]
    found[0] /= 2
    return found


def powers(coefficients: list[Any]) -> list[Any]:
    """The same polynomial in powers of its variable, the lowest first."""
    result = [mp.mpf(0)] * len(coefficients)
    before, current = [mp.mpf(1)], [mp.mpf(0), mp.mpf(1)]
    for coefficient in coefficients:
        for power, value in enumerate(before):
            result[power] += coefficient * value
        following = [mp.mpf(0), *(2 * value for value in current)]
        for power, value in enumerate(before):
            following[power] -= value
        before, current = current, following
    return result


def weighted(function: Function, weight: Function, low: Any, high: Any, degree: int) -> list[Any]:
    """Chebyshev coefficients with the smallest largest error where errors count by a weight (Lawson's iteration)."""
    places = [mp.cos(mp.pi * (k + mp.mpf(1) / 2) / 500) for k in range(500)]
    points = [(high - low) / 2 * place + (high + low) / 2 for place in places]
    values, weights = (np.array([float(each(point)) for point in points]) for each in (function, weight))
    basis = np.polynomial.chebyshev.chebvander(np.array([float(place) for place in places]), degree)
    emphasis = np.ones(len(points))
    for _ in range(300):
        factor = weights * np.sqrt(emphasis)
        found = np.linalg.lstsq(basis * factor[:, None], values * factor, rcond=None)[0]
        errors = np.abs((basis @ found - values) * weights)
        emphasis *= errors / errors.max() + 1e-9
        emphasis /= emphasis.sum()
    return [mp.mpf(each) for each in found]


def fit(name: str, comment: str, function: Function, low: Any, high: Any, weight: Function | None = None, degree: int = 0) -> str:
    """The source of one entry: scale, shift and the coefficients, the highest power first."""
    low, high = mp.mpf(low), mp.mpf(high)
    if weight is not None:
        found = weighted(function, weight, low, high, degree)
    else:
        found = chebyshev(function, low, high)
        size = max(abs(each) for each in found)
        found = found[: max(index for index, each in enumerate(found) if abs(each) > PRECISION * size) + 1]
    numbers = [repr(float(each)) for each in reversed(powers(found))]
    lines = [f"# {comment}", f"{name} = ({float(2 / (high - low))!r}, {float(-(high + low) / (high - low))!r}, ("]
    for start in range(0, len(numbers), 4):
        lines.append("    " + ", ".join(numbers[start : start + 4]) + ",")
    return "\n".join([*lines, "))  # fmt: skip"])


# -- the functions, each made smooth -----------------------------------------------------------------------------


def log_erfc(x: Any) -> Any:
    return mp.log(mp.erfc(x)) / x if x else -2 / mp.sqrt(mp.pi)


def scaled_erfcx(t: Any) -> Any:
    x = mp.mpf("3.75") * (1 + t) / (1 - t)
    return (1 + 2 * x) * mp.exp(x * x) * mp.erfc(x)


def inverse_erf(w: Any) -> Any:
    x = mp.sqrt(1 - mp.exp(-w))
    return mp.erfinv(x) / x if x else mp.sqrt(mp.pi) / 2


def log_gamma(x: Any) -> Any:
    return mp.loggamma(x) / ((x - 1) * (x - 2))


def stirling(z: Any) -> Any:
    x = 1 / mp.sqrt(z)
    return x * (mp.loggamma(x) - (x - mp.mpf(1) / 2) * mp.log(x) + x - mp.log(2 * mp.pi) / 2)


def digamma(z: Any) -> Any:
    x = 1 / mp.sqrt(z)
    return x * x * (mp.digamma(x) - mp.log(x) + 1 / (2 * x))


def modified_large(order: int) -> Function:
    return lambda u: mp.sqrt(1 / u) * mp.exp(-1 / u) * mp.besseli(order, 1 / u)


def second_large(order: int) -> Function:
    return lambda u: mp.sqrt(1 / u) * mp.exp(1 / u) * mp.besselk(order, 1 / u)


def y_small(order: int) -> Function:
    def function(v: Any) -> Any:
        x = mp.sqrt(v)
        singular = mp.log(x) * mp.besselj(order, x) - (1 / x if order else 0)
        rest = mp.bessely(order, x) - 2 / mp.pi * singular
        return rest / x if order else rest

    return function


def k_small(order: int) -> Function:
    def function(v: Any) -> Any:
        x = mp.sqrt(v)
        if order:
            return (mp.besselk(1, x) - mp.log(x / 2) * mp.besseli(1, x) - 1 / x) / x
        return mp.besselk(0, x) + mp.log(x / 2) * mp.besseli(0, x)

    return function


def wave(order: int, part: int) -> Function:
    """The slow factors P and x Q of Bessel functions of large x, in 1 / x**2."""

    def function(z: Any) -> Any:
        x = 1 / mp.sqrt(z)
        angle = x - mp.pi / 4 - order * mp.pi / 2
        size = mp.sqrt(mp.pi * x / 2)
        first, second = mp.besselj(order, x), mp.bessely(order, x)
        if part == 0:
            return size * (first * mp.cos(angle) + second * mp.sin(angle))
        return x * size * (second * mp.cos(angle) - first * mp.sin(angle))

    return function


def airy_large(u: Any) -> Any:
    z = 1 / u
    x = (3 * z / 2) ** (mp.mpf(2) / 3)
    return mp.airyai(x) * 2 * mp.sqrt(mp.pi) * x ** (mp.mpf(1) / 4) * mp.exp(z)


def airy_wave(part: int) -> Function:
    def function(u: Any) -> Any:
        z = 1 / mp.sqrt(u)
        x = (3 * z / 2) ** (mp.mpf(2) / 3)
        angle, size = z + mp.pi / 4, mp.sqrt(mp.pi) * x ** (mp.mpf(1) / 4)
        first, second = mp.airyai(-x), mp.airybi(-x)
        if part == 0:
            return size * (first * mp.sin(angle) + second * mp.cos(angle))
        return z * size * (second * mp.sin(angle) - first * mp.cos(angle))

    return function


def main() -> None:
    fifth = mp.mpf(1) / 25
    entries = [
        fit("ERF", "log(erfc(x)) / x on [0, 6]", log_erfc, 0, 6),
        fit("ERF_SINGLE", "the same on [0, 4], for single precision", log_erfc, 0, 4,
            lambda x: x * mp.erfc(x) / mp.erf(x), 7),
        fit("ERFCX", "(1 + 2 x) exp(x**2) erfc(x) in (x - 3.75) / (x + 3.75)", scaled_erfcx, -1, 1),
        fit("ERFINV_CENTRE", "erfinv(x) / x in w = -log(1 - x**2) on [0, 6.25]", inverse_erf, 0, mp.mpf("6.25")),
        fit("ERFINV_OUTER", "the same in sqrt(w) on [2.5, 4]", lambda s: inverse_erf(s * s), mp.mpf("2.5"), 4),
        fit("ERFINV_TAIL", "the same in sqrt(w) on [4, 6.1]", lambda s: inverse_erf(s * s), 4, mp.mpf("6.1")),
        fit("LGAMMA", "log(gamma(x)) / ((x - 1) (x - 2)) on [1, 3]", log_gamma, 1, 3),
        fit("STIRLING", "x times the rest of Stirling's formula, in 1 / x**2, for x >= 3", stirling, 0, mp.mpf(1) / 9),
        fit("DIGAMMA", "x**2 (digamma(x) - log(x) + 1 / (2 x)) in 1 / x**2, for x >= 3", digamma, 0, mp.mpf(1) / 9),
        fit("I0E", "exp(-x) I0(x) on [0, 8]", lambda x: mp.exp(-x) * mp.besseli(0, x), 0, 8),
        fit("I0E_LARGE", "sqrt(x) exp(-x) I0(x) in 1 / x, for x >= 8", modified_large(0), 0, mp.mpf(1) / 8),
        fit("I1E", "exp(-x) I1(x) / x on [0, 8]", lambda x: mp.exp(-x) * mp.besseli(1, x) / x, 0, 8),
        fit("I1E_LARGE", "sqrt(x) exp(-x) I1(x) in 1 / x, for x >= 8", modified_large(1), 0, mp.mpf(1) / 8),
        fit("K0", "K0(x) + log(x / 2) I0(x) in x**2 on [0, 4]", k_small(0), 0, 4),
        fit("K0_LARGE", "sqrt(x) exp(x) K0(x) in 1 / x, for x >= 2", second_large(0), 0, mp.mpf(1) / 2),
        fit("K1", "(K1(x) - log(x / 2) I1(x) - 1 / x) / x in x**2 on [0, 4]", k_small(1), 0, 4),
        fit("K1_LARGE", "sqrt(x) exp(x) K1(x) in 1 / x, for x >= 2", second_large(1), 0, mp.mpf(1) / 2),
        fit("J0", "J0(x) in x**2 on [0, 25]", lambda v: mp.besselj(0, mp.sqrt(v)), 0, 25),
        fit("J1", "J1(x) / x in x**2 on [0, 25]", lambda v: mp.besselj(1, mp.sqrt(v)) / mp.sqrt(v), 0, 25),
        fit("Y0", "Y0(x) - 2 / pi log(x) J0(x) in x**2 on [0, 25]", y_small(0), 0, 25),
        fit("Y1", "(Y1(x) - 2 / pi (log(x) J1(x) - 1 / x)) / x in x**2 on [0, 25]", y_small(1), 0, 25),
        fit("P0", "the cosine part of J0 and Y0 in 1 / x**2, for x >= 5", wave(0, 0), 0, fifth),
        fit("Q0", "x times the sine part of J0 and Y0", wave(0, 1), 0, fifth),
        fit("P1", "the cosine part of J1 and Y1 in 1 / x**2, for x >= 5", wave(1, 0), 0, fifth),
        fit("Q1", "x times the sine part of J1 and Y1", wave(1, 1), 0, fifth),
        fit("AIRY", "Ai(x) on [-4, 2]", mp.airyai, -4, 2),
        fit("AIRY_LARGE", "2 sqrt(pi) x**(1/4) exp(z) Ai(x) in 1 / z, z = 2/3 x**(3/2), for x >= 2", airy_large,
            0, mp.mpf(3) / 2 / mp.mpf(2) ** (mp.mpf(3) / 2)),
        fit("AIRY_P", "the sine part of Ai(-x) in 1 / z**2, for x >= 4", airy_wave(0), 0, (mp.mpf(3) / 16) ** 2),
        fit("AIRY_Q", "z times the cosine part of Ai(-x)", airy_wave(1), 0, (mp.mpf(3) / 16) ** 2),
    ]  # fmt: skip
    header = (
        '"""Polynomials behind the special functions; written by tests/record/special_coefficients.py, not by hand.\n\n'
        "Each is (scale, shift, coefficients): the variable ``v`` of the comment becomes ``t = scale * v + shift`` in [-1, 1],\n"
        'and the coefficients are those of powers of ``t``, the highest first.\n"""\n\nfrom __future__ import annotations\n\n'
    )
    TARGET.write_text(header + "\n".join(entries) + "\n")


if __name__ == "__main__":
    main()

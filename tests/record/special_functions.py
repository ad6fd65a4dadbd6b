"""Record exact values of the special functions, for the tests of how rushlight computes them.

python tests/record/special_functions.py     # in an environment with mpmath
"""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np

TARGET = pathlib.Path(__file__).resolve().parent.parent / "data" / "special_functions.npz"
mp.mp.dps = 40


def ndtri(p: Any) -> Any:
    if p > mp.mpf("0.5"):
        return -ndtri(1 - p)
    start = -mp.sqrt(-2 * mp.log(p)) if p < 0.01 else mp.sqrt(2) * mp.erfinv(2 * p - 1)
    return mp.findroot(lambda x: mp.log(mp.erfc(-x / mp.sqrt(2)) / 2) - mp.log(p), start)


def regularised(upper: bool) -> Callable[[Any, Any], Any]:
    def function(a: Any, x: Any) -> Any:
        return mp.gammainc(a, x, mp.inf, regularized=True) if upper else mp.gammainc(a, 0, x, regularized=True)

    return function


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "erf": mp.erf, "erfc": mp.erfc, "erfcx": lambda x: mp.exp(x * x) * mp.erfc(x), "erfinv": mp.erfinv, "ndtri": ndtri,
    "log_ndtr": lambda x: mp.log(mp.erfc(-x / mp.sqrt(2)) / 2), "lgamma": lambda x: mp.log(abs(mp.gamma(x))),
    "digamma": mp.digamma, "trigamma": lambda x: mp.polygamma(1, x), "zeta": mp.zeta,
    "igamma": regularised(False), "igammac": regularised(True),
    "i0": lambda x: mp.besseli(0, x), "i1": lambda x: mp.besseli(1, x),
    "i0e": lambda x: mp.exp(-abs(x)) * mp.besseli(0, x), "i1e": lambda x: mp.exp(-abs(x)) * mp.besseli(1, x),
    "k0": lambda x: mp.besselk(0, x), "k1": lambda x: mp.besselk(1, x),
    "k0e": lambda x: mp.exp(x) * mp.besselk(0, x), "k1e": lambda x: mp.exp(x) * mp.besselk(1, x),
    "j0": lambda x: mp.besselj(0, x), "j1": lambda x: mp.besselj(1, x),
    "y0": lambda x: mp.bessely(0, x), "y1": lambda x: mp.bessely(1, x), "airy": mp.airyai,
}  # fmt: skip


def main() -> None:
    stream = np.random.default_rng(0)

    def between(low: float, high: float, count: int = 40) -> np.ndarray:
        return np.sort(stream.uniform(low, high, count))

    def scales(low: float, high: float, count: int = 40) -> np.ndarray:
        return 10.0 ** between(low, high, count)

    everywhere = np.concatenate([between(-20, 20), scales(-8, 2, 20), [5.0, -5.0, 8.0, 2.0, -4.0]])
    right = np.concatenate([between(0, 20), scales(-8, 2, 20), [5.0, 2.0, 3.0, 1.0]])
    a = np.concatenate([scales(-2, 2), scales(2, 5, 20)])
    x = np.abs(a + stream.standard_normal(60) * 3 * np.sqrt(a))
    places: dict[str, tuple[np.ndarray, ...]] = {
        "erf": (np.concatenate([between(-7, 7), scales(-12, 0, 20)]),), "erfc": (between(-6, 26, 60),),
        "erfcx": (np.concatenate([between(-20, 30), scales(1, 100, 20)]),),
        "erfinv": (np.concatenate([between(-1, 1), 1 - scales(-15, -1, 30), scales(-10, -1, 10)]),),
        "ndtri": (np.concatenate([between(0.001, 0.999), scales(-300, -2, 30)]),), "log_ndtr": (between(-60, 8, 60),),
        "lgamma": (np.concatenate([between(-8, 8), scales(-10, 30, 30)]),),
        "digamma": (np.concatenate([between(-8, 8), scales(-10, 30, 30)]),),
        "trigamma": (np.concatenate([between(-8, 8), scales(-5, 5, 30)]),),
        "zeta": (np.concatenate([between(1.01, 30), between(1.01, 8, 20)]), np.concatenate([between(0.1, 30), scales(-3, 5, 20)])),
        "igamma": (a, x), "igammac": (a, x), "airy": (between(-15, 10, 60),),
    }  # fmt: skip
    for name in ("i0", "i1", "i0e", "i1e", "j0", "j1"):
        places[name] = (everywhere,)
    for name in ("k0", "k1", "k0e", "k1e", "y0", "y1"):
        places[name] = (right,)
    found: dict[str, np.ndarray] = {}
    for name, function in FUNCTIONS.items():
        points = places[name]
        found[name] = np.array([float(function(*(mp.mpf(float(each)) for each in point))) for point in zip(*points)])
        for index, values in enumerate(points):
            found[f"{name}/{index}"] = values
    np.savez_compressed(TARGET, **found)


if __name__ == "__main__":
    main()

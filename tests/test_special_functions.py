"""How special functions are computed, against exact values (recorded by tests/record/special_functions.py)."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import pytest

from rushlight.ops.special import bessel_kernels, kernels

RECORDED = dict(np.load(pathlib.Path(__file__).resolve().parent / "data" / "special_functions.npz"))
NAMES = [name for name in RECORDED if "/" not in name]
# Where a function passes through 0 or oscillates, its error counts against its usual size there.
SIZES = {"j0": 1.0, "j1": 1.0, "y0": 1.0, "y1": 1.0, "airy": 0.5, "lgamma": 1.0, "digamma": 1.0, "log_ndtr": 0.0}


def compute(name: str, *arguments: Any) -> Any:
    if name == "trigamma":
        return kernels.polygamma(np, 1, *arguments)
    module = kernels if hasattr(kernels, name) else bessel_kernels
    return getattr(module, name)(np, *arguments)


def arguments_of(name: str) -> list[np.ndarray]:
    return [RECORDED[f"{name}/{index}"] for index in range(2) if f"{name}/{index}" in RECORDED]


@pytest.mark.parametrize("name", NAMES)
def test_double_precision(name: str) -> None:
    want = RECORDED[name]
    with np.errstate(all="ignore"):
        found = compute(name, *arguments_of(name))
    error = np.abs(found - want) / np.maximum(np.abs(want), SIZES.get(name, 0.0) or np.finfo(np.float64).tiny)
    assert error.max() < 2e-13


@pytest.mark.parametrize("name", NAMES)
def test_single_precision(name: str) -> None:
    """Single precision gives the rounded result of the rounded argument."""
    with np.errstate(all="ignore"):
        rounded = [each.astype(np.float32) for each in arguments_of(name)]
        found = compute(name, *rounded)
        want = compute(name, *(each.astype(np.float64) for each in rounded))
        expected = want.astype(np.float32)
    assert found.dtype == np.float32
    finite = np.isfinite(expected) & np.isfinite(found)
    np.testing.assert_array_equal(np.isfinite(expected), np.isfinite(found))
    np.testing.assert_allclose(found[finite], expected[finite], rtol=1e-6, atol=1e-44)


@pytest.mark.parametrize(
    "array",
    [
        np.linspace(-3, 3, 70_000),
        np.linspace(-3, 3, 72_000).reshape(60, 40, 30).transpose(2, 0, 1),
        np.linspace(-3, 3, 300_000).reshape(500, 600)[::2, ::3],
        np.broadcast_to(np.linspace(-3, 3, 300), (200, 300)),
        np.linspace(-3, 3, 80_000, dtype=np.float32),
    ],
    ids=["plain", "permuted", "strided", "broadcast", "single"],
)
def test_long_arrays_are_computed_in_pieces(array: np.ndarray) -> None:
    found = kernels.erf(np, array)
    piece = kernels.erf(np, np.ascontiguousarray(array).reshape(-1)[:1000])
    assert found.shape == array.shape and found.dtype == array.dtype
    np.testing.assert_array_equal(found.reshape(-1)[:1000], piece)
    np.testing.assert_array_equal(found.reshape(-1)[-7:], kernels.erf(np, np.ascontiguousarray(array).reshape(-1)[-7:]))


def test_two_long_arrays_broadcast() -> None:
    a, x = np.linspace(0.5, 50, 300)[:, None], np.linspace(0.5, 60, 200)
    found = kernels.igamma(np, a, x)
    assert found.shape == (300, 200)
    np.testing.assert_allclose(found[17], kernels.igamma(np, np.broadcast_to(a[17], x.shape), x), rtol=1e-14)
    np.testing.assert_allclose(found + kernels.igammac(np, a, x), 1, rtol=1e-13)


def test_polynomials_of_several_degrees_at_once() -> None:
    x, degree = np.linspace(-0.9, 0.9, 7), np.array([0.0, 1, 2, 3, 10, -1, 2.7])
    want = np.cos(np.trunc(degree) * np.arccos(x)) * (degree >= 0)
    np.testing.assert_allclose(bessel_kernels.chebyshev_t(np, x, degree), want, atol=1e-13)

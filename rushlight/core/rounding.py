"""Rounding as PyTorch's compiled kernels do it: one rounding for ``a * b + c``, and narrow types by way of float32.

NumPy has no fused multiply-add, so it is made here from error-free sums and products (Dekker; Boldo and Melquiond).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .dtypes import LOW_PRECISION

_SPLITTER = 2.0**27 + 1.0  # cuts a float64 into two halves whose products are exact
_SAFE = 1e290  # beyond it the intermediate products below could overflow
_CHUNK = 2**14  # values at a time, so that the intermediate arrays stay in the processor's cache

Array = np.ndarray[Any, np.dtype[Any]]


def fused_multiply_add(values: Array, factor: float, addend: float) -> Array:
    """``values * factor + addend``, rounded once, for a vector of float32 or float64.

    >>> fused_multiply_add(np.array([3.0], np.float32), 0.1, -0.3)  # 3 * 0.1 rounds to 0.3 when it is rounded first
    array([-7.450581e-09], dtype=float32)
    """
    with np.errstate(all="ignore"):
        factor, addend = values.dtype.type(factor), values.dtype.type(addend)
        # With a factor of one or nothing to add there is only one rounding anyway.
        if factor == 1 or addend == 0 or not (abs(float(factor)) < _SAFE and abs(float(addend)) < _SAFE):
            return np.asarray(values * factor + addend)
        fuse = _fuse_single if values.dtype == np.float32 else _fuse_double
        result = np.empty_like(values)
        for start in range(0, values.size, _CHUNK):
            result[start : start + _CHUNK] = fuse(values[start : start + _CHUNK], factor, addend)
        return result


def store(values: Array, dtype: np.dtype[Any]) -> Array:
    """Convert float32 or float64 values to a floating type in silence; narrow types are reached through float32."""
    with np.errstate(all="ignore"):
        if dtype in LOW_PRECISION:
            values = values.astype(np.float32, copy=False)
        return values.astype(dtype, copy=False)


def _fuse_single(values: Array, factor: Any, addend: Any) -> Array:
    # A product of two float32 is exact in float64.
    return _sum_to_odd(values.astype(np.float64) * np.float64(factor), np.float64(addend)).astype(np.float32)


def _fuse_double(values: Array, factor: Any, addend: Any) -> Array:
    product, product_error = _exact_product(values, factor)
    small, small_error = _exact_sum(addend, product_error)
    large, large_error = _exact_sum(product, small)
    return np.asarray(large + _sum_to_odd(large_error, small_error))


def _exact_sum(a: Any, b: Any) -> tuple[Any, Any]:
    # The rounded sum and what the rounding lost.
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _exact_product(a: Any, b: Any) -> tuple[Any, Any]:
    # The rounded product and what the rounding lost.
    product = a * b
    a_high, a_low = _halves(a)
    b_high, b_low = _halves(b)
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def _halves(a: Any) -> tuple[Any, Any]:
    scaled = _SPLITTER * a
    high = scaled - (scaled - a)
    return high, a - high


def _sum_to_odd(a: Any, b: Any) -> Array:
    # An inexact sum is rounded to the neighbour with an odd last bit, so that a second rounding can't go wrong.
    total, error = _exact_sum(a, b)
    inexact_even = (error != 0) & ((total.view(np.int64) & 1) == 0)
    towards = np.where(error > 0, np.inf, -np.inf)
    return np.where(inexact_even, np.nextafter(total, towards), total)

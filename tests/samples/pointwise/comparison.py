"""Samples of the ops of ``ops/pointwise/comparison.py``."""

from __future__ import annotations

import numpy as np

from ..make import Sample, binary, cases, samples, together, unary

_ORDERED = together(
    binary(-2, 2),
    cases(lambda m: [
        Sample(m.integers(8, low=-1, high=2), m.integers(8, low=-1, high=2), gradient=False),
        Sample(np.array([0.1, 0.2], np.float16), 0.1, gradient=False),
        Sample(m.integers(3, low=0, high=5, dtype=np.uint8), -1, gradient=False),
        Sample(m.complex(2), m.complex(2), gradient=False),
        Sample(m.real(2), m.real(3), gradient=False),
        Sample(m.real(2), None, gradient=False),
        Sample(2.5, m.real(2), gradient=False),
    ]),
)  # fmt: skip

_EQUAL = together(
    binary(-2, 2, complex=True),
    cases(lambda m: [
        Sample(m.integers(8, low=-1, high=2), m.integers(8, low=-1, high=2), gradient=False),
        Sample(np.array([0.1, 0.2], np.float16), 0.1, gradient=False),
        Sample(np.array([1, 2, 1j], np.complex64), 1j, gradient=False),
        Sample(np.array([1, 2, 3], np.float32), 1j, gradient=False),
        Sample(np.array([2**24 + 1, 3]), np.array([2.0**24, 3], np.float32), gradient=False),
        Sample(m.real(2), m.real(3), gradient=False),
        Sample(m.real(2), "a", gradient=False),
    ]),
)  # fmt: skip

samples("eq", _EQUAL)
samples("ne", _EQUAL)
samples("lt", _ORDERED)
samples("le", _ORDERED)
samples("gt", _ORDERED)
samples("ge", _ORDERED)

_SPECIAL_VALUES = together(
    unary(complex=True),
    cases(lambda m: [
        Sample(np.array([complex(1, np.nan), complex(np.inf, np.nan), complex(-np.inf, 0), 1 + 1j], np.complex64), gradient=False),
    ]),
)  # fmt: skip

samples("isnan", _SPECIAL_VALUES)
samples("isinf", _SPECIAL_VALUES)
samples("isfinite", _SPECIAL_VALUES)
samples("isposinf", unary(complex=True))
samples("isneginf", unary(complex=True))
samples("isreal", together(unary(complex=True), cases(lambda m: [Sample(np.array([1, 1j, 2 + 0j], np.complex64), gradient=False)])))

samples("isclose", cases(lambda m: [
    Sample(np.array([1, np.nan, np.inf, np.inf, 1e10], np.float32), np.array([1.000001, np.nan, np.inf, -np.inf, 1.1e10], np.float32), gradient=False),
    Sample(np.array([1, np.nan], np.float64), np.array([1.1, np.nan]), rtol=0.2, equal_nan=True, gradient=False),
    Sample(m.integers(5), m.integers(5), rtol=0.5, gradient=False),
    Sample(m.integers(5), m.integers(5), atol=2.0, gradient=False),
    Sample(m.integers(5), m.integers(5), rtol=0, atol=0, gradient=False),
    Sample(m.booleans(5), m.booleans(5), gradient=False),
    Sample(m.complex(2, 3), m.complex(3), rtol=1.0, gradient=False),
    Sample(m.real(4, dtype=np.float16), m.real(4, dtype=np.float16), 0.5, 0.1, gradient=False),
    Sample(m.real(2), m.real(2), rtol=-1, gradient=False),
    Sample(m.real(2), m.real(2), atol=-1, gradient=False),
    Sample(m.real(2), m.integers(2), gradient=False),
    Sample(m.real(2), m.real(3), gradient=False),
    Sample(m.real(2), 1.0, gradient=False),
]))  # fmt: skip

samples("allclose", cases(lambda m: [
    Sample(np.ones((2, 3), np.float32), np.full(3, 1.000001, np.float32), gradient=False),
    Sample(m.real(2, 3), m.real(3), gradient=False),
    Sample(m.real(0), m.real(0), gradient=False),
    Sample(np.array([np.nan]), np.array([np.nan]), equal_nan=True, gradient=False),
    Sample(m.real(2), m.integers(2), gradient=False),
]))  # fmt: skip

samples("equal", cases(lambda m: [
    Sample(np.ones((2, 3), np.float32), np.ones((2, 3), np.float32), gradient=False),
    Sample(np.ones((2, 3), np.float32), np.ones((2, 3), np.int64), gradient=False),
    Sample(np.ones((2, 3), np.float32), np.ones((3,), np.float32), gradient=False),
    Sample(np.array([np.nan]), np.array([np.nan]), gradient=False),
    Sample(m.real(0), m.real(0), gradient=False),
    Sample(m.real(2), 1.0, gradient=False),
]))  # fmt: skip

samples("is_nonzero", cases(lambda m: [
    Sample(np.array([[0.0]], np.float32), gradient=False),
    Sample(np.array(np.nan, np.float32), gradient=False),
    Sample(np.array([2]), gradient=False),
    Sample(np.array(1j), gradient=False),
    Sample(m.real(2), gradient=False),
    Sample(m.real(0), gradient=False),
]))  # fmt: skip

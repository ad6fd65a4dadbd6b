"""Samples of the ops of ``ops/pointwise/where_clamp.py``."""

from __future__ import annotations

import numpy as np

from ..make import Sample, cases, samples, together

_CHOICES = cases(lambda m: [
    Sample(m.booleans(2, 3), m.real(2, 3), m.real(2, 3)),
    Sample(m.booleans(2, 1), m.real(3), m.real(2, 3)),
    Sample(m.booleans(2, 3), m.real(), m.real(3)),
    Sample(m.booleans(4, 1, 3), m.real(2, 1), m.real(2, 3)),
    Sample(np.array(True), m.real(2), m.real(2)),
    Sample(m.booleans(0, 3), m.real(0, 3), m.real(3)),
    Sample(m.booleans(3, 2).T, m.real(3, 2).T, m.real(2, 3)),
    Sample(m.booleans(4), m.real(4), 2.5),
    Sample(m.booleans(4), 0, m.real(4)),
    Sample(m.booleans(4), 1, 2),
    Sample(m.booleans(4), 1.0, 2),
    Sample(m.booleans(4), True, 2),
    Sample(m.booleans(4), 1j, 2.0),
    Sample(m.booleans(4), m.integers(4), 2.5),
    Sample(m.booleans(4), m.integers(4), m.real(4, dtype=np.float16), gradient=False),
    Sample(m.booleans(4), m.real(4), m.real(dtype=np.float64)),
    Sample(m.booleans(4), m.integers(4, low=0, dtype=np.uint8), m.integers(4, dtype=np.int8), gradient=False),
    Sample(m.booleans(4), m.complex(4), m.real(4)),
    Sample(m.integers(4, low=0, high=2, dtype=np.uint8), m.real(4), m.real(4)),
    Sample(m.booleans(100, 60), m.integers(100, 60, dtype=np.float32), 0.0, gradient=False),  # long enough for masks
    Sample(m.booleans(100, 60), 0.0, m.integers(60, dtype=np.float16), gradient=False),
    Sample(m.booleans(100, 60), m.integers(100, 1), m.integers(100, 60), gradient=False),
])  # fmt: skip

samples("where_elements", _CHOICES)

samples("where", together(_CHOICES, cases(lambda m: [
    Sample(m.booleans(2, 3)),
    Sample(m.real(4), 1, 2, gradient=False),
    Sample(m.booleans(2), m.real(3), 1.0, gradient=False),
    Sample(m.booleans(2), m.real(2), gradient=False),
    Sample(m.booleans(2), m.real(2), None, gradient=False),
    Sample(1, 2, 3, gradient=False),
])))  # fmt: skip

_BOUNDS = cases(lambda m: [
    Sample(m.apart(2, 3), -0.15, 0.25),
    Sample(m.apart(2, 3), min=0.05),
    Sample(m.apart(2, 3), max=0.05),
    Sample(m.apart(2, 3), m.apart(3, gap=0.07)),
    Sample(m.apart(4, 6, gap=0.1), m.apart(6, gap=0.013) - 1, m.apart(4, 1, gap=0.017) + 1),
    Sample(m.apart(5), m.apart(5, gap=0.07) + np.float32(0.011), m.apart(5, gap=0.03) - np.float32(0.017)),
    Sample(m.apart(4), None, m.apart(gap=0.03)),
    Sample(m.apart(2, 3), 3, 1, gradient=False),
    Sample(m.real(3, dtype=np.float16), 0.1, 0.2, gradient=False),
    Sample(np.array([np.nan, np.inf, -np.inf, 0.0], np.float32), -1, 1, gradient=False),
    Sample(np.array([1.0, 2.0, 3.0], np.float32), np.array([np.nan, 1, 1], np.float32), np.array([2, np.nan, 2], np.float32), gradient=False),
    Sample(m.real(3), float("nan"), gradient=False),
    Sample(m.integers(5), -1, 3, gradient=False),
    Sample(m.integers(5), -1, 2.5, gradient=False),
    Sample(m.integers(5), m.real(5), gradient=False),
    Sample(m.integers(5, low=0, dtype=np.uint8), -1, 3, gradient=False),
    Sample(m.integers(5, low=0, dtype=np.uint8), 0, 300, gradient=False),
    Sample(m.booleans(5), 0, 1, gradient=False),
    Sample(m.booleans(5), m.booleans(5), gradient=False),
    Sample(m.real(0, 2), 0.0),
    Sample(m.real(2), gradient=False),
    Sample(m.real(2), m.real(2), 1.0, gradient=False),
    Sample(m.complex(2), 0, gradient=False),
    Sample(m.real(2), m.real(3), gradient=False),
    Sample(m.real(2), "a", gradient=False),
])  # fmt: skip

samples("clamp", _BOUNDS)

_ONE_BOUND = cases(lambda m: [
    Sample(m.apart(2, 3), 0.05),
    Sample(m.apart(2, 3), m.apart(3, gap=0.07)),
    Sample(m.apart(3, gap=0.2), m.apart(2, 1, gap=0.07)),
    Sample(m.real(3, dtype=np.float16), 0.1, gradient=False),
    Sample(np.array([np.nan, np.inf, -np.inf, 0.0], np.float32), 1, gradient=False),
    Sample(np.array([np.nan, 1.0], np.float32), np.array([0, np.nan], np.float32), gradient=False),
    Sample(m.integers(5), 1, gradient=False),
    Sample(m.integers(5), 1.5, gradient=False),
    Sample(m.complex(2), 0, gradient=False),
    Sample(m.real(2), None, gradient=False),
])  # fmt: skip

samples("clamp_min", _ONE_BOUND)
samples("clamp_max", _ONE_BOUND)
samples("where_method", cases(lambda m: [
    Sample(m.real(2, 3), m.booleans(2, 3), m.real(3)),
    Sample(m.real(3), m.booleans(2, 1), 1.5),
    Sample(m.integers(3), m.booleans(3), m.real(3), gradient=False),
]))  # fmt: skip

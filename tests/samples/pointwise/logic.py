"""Samples of the ops of ``ops/pointwise/logic.py``."""

from __future__ import annotations

import numpy as np

from ..make import Sample, binary, cases, samples, together, unary

_LOGICAL = together(
    binary(-2, 2, complex=True, scalars=False),
    cases(lambda m: [
        Sample(m.integers(8, low=0, high=2), m.booleans(8), gradient=False),
        Sample(np.array([0.0, 1.0, np.nan, -0.0]), np.array([1, 0, 1, 1]), gradient=False),
        Sample(m.booleans(2), m.booleans(3), gradient=False),
        Sample(m.booleans(2), True, gradient=False),
    ]),
)  # fmt: skip

samples("logical_and", _LOGICAL)
samples("logical_or", _LOGICAL)
samples("logical_xor", _LOGICAL)
samples("logical_not", unary(complex=True))

_BITS = cases(lambda m: [
    Sample(m.integers(2, 4), m.integers(4)),
    Sample(m.integers(2, 1, 3), m.integers(2, 1)),
    Sample(m.integers(), m.integers()),
    Sample(m.integers(0, 2), m.integers(2)),
    Sample(m.integers(3, 2).T, m.integers(3)),
    Sample(m.booleans(6), m.booleans(6)),
    Sample(m.booleans(6), 1),
    Sample(m.booleans(6), True),
    Sample(m.integers(4), 3),
    Sample(6, m.integers(4)),
    Sample(m.integers(4, dtype=np.int32), m.integers(4, dtype=np.int16)),
    Sample(m.integers(4, low=0, high=255, dtype=np.uint8), 300),
    Sample(m.integers(4, low=0, high=255, dtype=np.uint8), m.integers(4, dtype=np.int8)),
    Sample(m.integers(4), m.booleans(4)),
    Sample(m.real(4), m.integers(4), gradient=False),
    Sample(m.integers(4), 1.5, gradient=False),
    Sample(m.integers(4), m.integers(3), gradient=False),
    Sample(m.integers(4), "a", gradient=False),
])  # fmt: skip

samples("bitwise_and", _BITS)
samples("bitwise_or", _BITS)
samples("bitwise_xor", _BITS)

samples("bitwise_not", cases(lambda m: [
    Sample(m.integers(2, 3)), Sample(m.integers()), Sample(m.integers(0)), Sample(m.booleans(4)),
    Sample(m.integers(3, low=0, high=255, dtype=np.uint8)), Sample(m.integers(3, dtype=np.int16)), Sample(m.real(2), gradient=False),
]))  # fmt: skip

_SHIFTS = together(
    cases(lambda m: [
        Sample(m.integers(2, 4), m.integers(4, low=0)),
        Sample(m.integers(2, 1, 3), m.integers(2, 1, low=0)),
        Sample(m.integers(4), 2),
        Sample(5, m.integers(4, low=0)),
        Sample(m.integers(4, dtype=np.int32), m.integers(4, low=0, dtype=np.int16)),
        Sample(m.integers(6), np.array([-1, 63, 64, 100, 0, 62])),
        Sample(np.array([-8, 8, 1, -1], np.int8), np.array([1, -1, 7, 8], np.int8)),
        Sample(np.array([200, 3, 1], np.uint8), np.array([1, 7, 9], np.uint8)),
        Sample(m.integers(3), 1.5, gradient=False),
        Sample(m.real(3), 1, gradient=False),
        Sample(m.booleans(3), m.booleans(3), gradient=False),
        Sample(m.booleans(3), 1),
    ]),
)  # fmt: skip

samples("bitwise_left_shift", _SHIFTS)
samples("bitwise_right_shift", _SHIFTS)

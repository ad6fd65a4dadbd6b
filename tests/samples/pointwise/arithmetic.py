"""Samples of the ops of ``ops/pointwise/arithmetic.py``."""

from __future__ import annotations

import numpy as np

from ..make import Sample, binary, cases, samples, together, unary

samples("add", binary(complex=True))

samples(
    "sub",
    together(
        binary(complex=True),
        cases(
            lambda m: [
                Sample(m.real(2), m.real(2), alpha=0.5),
                Sample(m.integers(2), m.integers(2), alpha=0.5, gradient=False),
                Sample(m.real(2), m.booleans(2), gradient=False),
                Sample(m.integers(2), True, gradient=False),
                Sample(1.5, m.real(2)),
                Sample(m.real(2), m.real(2), alpha=1j, gradient=False),
            ]
        ),
    ),
)

samples("mul", binary(complex=True))

samples(
    "div",
    together(
        binary(0.5, 2, complex=True),
        cases(
            lambda m: [
                Sample(m.real(2, 3), m.real(3, low=0.3, high=2), rounding_mode="floor", gradient=False),
                Sample(m.real(2, 3), m.real(3, low=0.3, high=2), rounding_mode="trunc", gradient=False),
                Sample(m.integers(6), m.integers(6, low=1, high=4), rounding_mode="trunc", gradient=False),
                Sample(m.integers(6), m.integers(6, low=-4, high=0), rounding_mode="floor", gradient=False),
            ]
        ),
    ),
)

samples("true_divide", binary(0.5, 2, complex=True))
samples("neg", unary(complex=True, integers=False))
samples("conj_physical", unary(complex=True))

samples(
    "pow",
    cases(
        lambda m: [
            Sample(m.real(2, 3, low=0.3, high=2), m.real(3)),
            Sample(m.real(2, 3), 2),
            Sample(m.real(2, 3), 3.0),
            Sample(m.real(2, 3, low=0.3), 0.5, gradient=False),
            Sample(m.real(2, 3, low=0.3, high=2), -1.5),
            Sample(m.real(2, 3), 0),
            Sample(m.integers(2, 3), 3, gradient=False),
            Sample(m.integers(2, 3), 2.5, gradient=False),
            Sample(m.integers(4), m.integers(4, low=0, high=3), gradient=False),
            Sample(2.5, m.real(2, 3)),
            Sample(m.complex(2, 2), m.complex(2)),
            Sample(m.real(3, low=0.3, high=2, dtype=np.float16), 2.5, gradient=False),
        ]
    ),
)

"""Samples of the ops of ``ops/pointwise/copy_cast.py``."""

from __future__ import annotations

import numpy as np

from ..make import Sample, cases, samples, unary

samples("clone", unary(complex=True))
samples("copy", cases(lambda m: [Sample(m.real(2, 3), m.real(3)), Sample(m.real(2, 3), m.real(2, 3, dtype=np.float64))]))
samples("fill", cases(lambda m: [Sample(m.real(2, 3), 1.5), Sample(m.real(2, 3), m.real()), Sample(m.integers(3), 2)]))
samples(
    "zero",
    cases(
        lambda m: [
            Sample(m.real(2, 3)),
            Sample(m.real(3, 2).T),
            Sample(m.integers(3), gradient=False),
            Sample(m.booleans(2), gradient=False),
        ]
    ),
)

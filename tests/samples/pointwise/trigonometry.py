"""Samples of the ops of ``ops/pointwise/trigonometry.py``."""

from __future__ import annotations

import numpy as np

from ..make import Sample, cases, refused_kinds, samples, together, unary

samples("sin", unary(-4, 4, complex=True))
samples("cos", unary(-4, 4, complex=True))
samples("tan", unary(-1.4, 1.4, complex=True))
samples("asin", unary(-0.9, 0.9, complex=True))
samples("acos", unary(-0.9, 0.9, complex=True))
samples("atan", unary(-2, 2, complex=True))
samples("sinh", unary(complex=True))
samples("cosh", unary(complex=True))
samples("tanh", unary(-4, 4, complex=True))
samples("asinh", unary(complex=True))
samples("acosh", unary(1.2, 3, complex=True))
samples("atanh", unary(-0.9, 0.9, complex=True))
samples("sinc", together(unary(complex=True), cases(lambda m: [Sample(np.array([0, 1j, 1], np.complex64), gradient=False)])))
samples("deg2rad", together(unary(-360, 360), refused_kinds("complex")))
samples("rad2deg", together(unary(-4, 4), refused_kinds("complex")))

samples("atan2", cases(lambda m: [
    Sample(m.real(2, 3), m.real(3, low=0.5)),
    Sample(m.real(2, 1), m.real(3, low=-2, high=-0.5)),
    Sample(m.real(), m.real(2)),
    Sample(m.real(0, 2), m.real(2)),
    Sample(m.real(2), m.real(2, dtype=np.float64)),
    Sample(m.real(3, dtype=np.float16), m.real(3, dtype=np.float16), gradient=False),
    Sample(np.array([0, -0.0, 0, -0.0, np.inf, np.nan], np.float32), np.array([0, 0, -0.0, -0.0, -np.inf, 1], np.float32), gradient=False),
    Sample(m.integers(4), m.integers(4), gradient=False),
    Sample(m.booleans(4), m.booleans(4), gradient=False),
    Sample(m.integers(4), m.real(4), gradient=False),
    Sample(m.complex(2), m.complex(2), gradient=False),
    Sample(m.real(2), 1.0, gradient=False),
]))  # fmt: skip

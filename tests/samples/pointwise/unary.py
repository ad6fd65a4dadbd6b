"""Samples of the ops of ``ops/pointwise/unary.py``."""

from __future__ import annotations

import numpy as np

from ..make import Sample, cases, refused_kinds, samples, together, unary

samples("exp", unary(complex=True))
samples("exp2", unary(complex=True))
samples("expm1", unary(complex=True))
samples("log", unary(0.2, 3, complex=True))
samples("log2", unary(0.2, 3, complex=True))
samples("log10", unary(0.2, 3, complex=True))
samples("log1p", unary(-0.8, 2, complex=True))
samples("sigmoid", together(unary(complex=True), cases(lambda m: [Sample(np.array([-104, -80, 20, 100], np.float32), gradient=False)])))

samples("logit", together(
    unary(0.1, 0.9, integers=False),
    cases(lambda m: [
        Sample(np.array([-1, 0, 0.05, 0.1, 0.5, 0.92, 2, np.nan], np.float32), 0.1, gradient=False),
        Sample(m.real(6, low=-0.2, high=1.2), eps=0.21),
        Sample(m.real(6, low=-0.2, high=1.2), gradient=False),
        Sample(np.array([0, 1]), gradient=False),
        Sample(m.complex(2), gradient=False),
    ]),
))  # fmt: skip

samples("sqrt", unary(0.2, 3, complex=True))
samples("rsqrt", unary(0.2, 3, complex=True))
samples("square", unary(complex=True))
samples("reciprocal", unary(0.5, 3, complex=True))
samples("abs", unary(complex=True))
samples("sign", together(unary(), refused_kinds("complex")))
samples("sgn", together(unary(complex=True), cases(lambda m: [Sample(np.array([0, 1j, -2], np.complex64), gradient=False)])))
samples("signbit", together(unary(), refused_kinds("complex")))
samples("positive", unary(complex=True))

_WHOLE = together(unary(), refused_kinds("complex"))

samples("ceil", _WHOLE)
samples("floor", _WHOLE)
samples("trunc", _WHOLE)

samples("round", together(
    _WHOLE,
    cases(lambda m: [
        Sample(np.array([0.5, 1.5, 2.5, -0.5, -1.5], np.float32), gradient=False),
        Sample(m.real(6), decimals=2, gradient=False),
        Sample(m.real(6, low=-2000, high=2000), decimals=-2, gradient=False),
        Sample(m.real(6, dtype=np.float64), decimals=3, gradient=False),
        Sample(m.real(3, dtype=np.float16), decimals=1, gradient=False),
        Sample(m.integers(3), decimals=1, gradient=False),
        Sample(m.real(3), decimals=1.0, gradient=False),
    ]),
))  # fmt: skip

samples("frac", together(unary(), refused_kinds("complex")))
samples("frexp", together(unary(0.1, 3, integers=False), refused_kinds("integers", "booleans", "complex")))

samples("nan_to_num", together(
    unary(complex=True),
    cases(lambda m: [
        Sample(np.array([np.nan, np.inf, -np.inf, 1], np.float32), 1.0, 2.0, 3.0, gradient=False),
        Sample(np.array([np.nan, np.inf, -np.inf, 1], np.float32), posinf=1e50, gradient=False),
        Sample(np.array([np.nan, np.inf, -np.inf, 1], np.float64), nan=-1.0, neginf=-2, gradient=False),
        Sample(np.array([np.nan, np.inf, -np.inf, 1], np.float16), gradient=False),
        Sample(np.array([complex(np.nan, np.inf), complex(1, -np.inf)], np.complex64), 1.0, 2.0, gradient=False),
    ]),
))  # fmt: skip

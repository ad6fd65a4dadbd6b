"""Samples of the ops of ``ops/special/functions.py``."""

from __future__ import annotations

import numpy as np

from ..make import Sample, cases, refused_kinds, samples, together, unary

samples("erf", together(unary(-4, 4), refused_kinds("complex")))
samples("erfc", together(unary(-4, 4), refused_kinds("complex")))
samples("special_erfcx", together(unary(-2, 4, half=False), refused_kinds("complex")))
samples(
    "erfinv", together(unary(-0.9, 0.9), cases(lambda m: [Sample(np.array([-1, 1, 2, 0.9999]), gradient=False)]), refused_kinds("complex"))
)
samples("special_ndtr", together(unary(-4, 4), refused_kinds("complex")))

samples(
    "special_ndtri",
    together(
        unary(0.05, 0.95, half=False, integers=False),
        cases(lambda m: [Sample(np.array([0, 1, 2, -1, 1e-30, 1 - 1e-9]), gradient=False)]),
        refused_kinds("complex", "integers", "booleans"),
    ),
)

samples("special_log_ndtr", together(unary(-6, 3, half=False), refused_kinds("complex")))
samples("special_entr", together(unary(0.1, 3), cases(lambda m: [Sample(np.array([-1, 0, 2]), gradient=False)]), refused_kinds("complex")))

samples(
    "lgamma",
    together(
        unary(0.3, 6),
        cases(lambda m: [Sample(np.array([-0.5, -1.3, -7.7, 30, 1e4])), Sample(np.array([1, 2, -3, 0, 7]), gradient=False)]),
        refused_kinds("complex"),
    ),
)

samples("digamma", together(
    unary(0.3, 6), cases(lambda m: [Sample(np.array([-0.5, -1.3, -7.7, 30, 1e4])), Sample(np.array([0, -1, 4]), gradient=False)]),
    refused_kinds("complex"),
))  # fmt: skip

_POLYGAMMA = cases(lambda m: [
    Sample(0, m.real(3, low=0.5)),
    Sample(1, m.real(2, 3, low=0.5)),
    Sample(1, m.real(3, low=-1.8, high=-1.2, dtype=np.float64)),
    Sample(2, m.real(3, low=0.5, dtype=np.float64)),
    Sample(3, m.real(3, low=-0.8, high=-0.2, dtype=np.float64)),
    Sample(20, np.array([1.0, 0.01, 5.0], np.float32), gradient=False),
    Sample(2, m.integers(3, low=1), gradient=False),
    Sample(1, m.real(3, low=0.5, dtype=np.float16), gradient=False),
    Sample(-1, m.real(2), gradient=False),
    Sample(1.5, m.real(2), gradient=False),
    Sample(1, m.complex(2), gradient=False),
])  # fmt: skip

samples("polygamma", _POLYGAMMA)

_MVLGAMMA = cases(lambda m: [
    Sample(m.real(2, 3, low=1.6, high=5), 3), Sample(m.real(3, low=1, high=5), p=1), Sample(m.real(low=2, high=5), 2),
    Sample(m.real(3, low=2, high=5, dtype=np.float64), 4), Sample(m.integers(3, low=2), 2, gradient=False),
    Sample(np.array([0.4]), 2), Sample(m.real(2), 0, gradient=False),
])  # fmt: skip

samples("mvlgamma", _MVLGAMMA)

_INCOMPLETE = cases(lambda m: [
    Sample(m.real(2, 3, low=0.3, high=5), m.real(3, low=0.1, high=8), gradient=False),
    Sample(m.real(2, 1, low=0.3, high=5, dtype=np.float64), m.real(3, low=0.1, high=8, dtype=np.float64), gradient=False),
    Sample(np.array([0, 0, 1, -1, 1, np.inf, 1, np.inf, np.nan, 1], np.float32),
           np.array([0, 1, 0, 1, -1, 1, np.inf, np.inf, 1, np.nan], np.float32), gradient=False),
    Sample(np.array([0.001, 200, 1e5, 1e5, 1e5, 90]), np.array([0.001, 210, 1e5, 1.01e5, 0.99e5, 100]), gradient=False),
    Sample(m.real(3, low=0.3, dtype=np.float16), m.real(3, low=0.3, dtype=np.float16), gradient=False),
    Sample(m.real(0, 3), m.real(3), gradient=False),
    Sample(m.integers(2), m.integers(2), gradient=False), Sample(m.real(2), 1.0, gradient=False), Sample(m.real(2), m.real(3), gradient=False),
])  # fmt: skip

samples("igamma", _INCOMPLETE)
samples("igammac", _INCOMPLETE)

samples("special_zeta", cases(lambda m: [
    Sample(m.real(2, 3, low=1.2, high=5), m.real(3, low=0.2, high=5), gradient=False),
    Sample(2, m.real(3, low=0.2, high=5)),
    Sample(3.5, m.real(3, low=0.2, high=5, dtype=np.float64)),
    Sample(m.real(3, low=1.2, high=5), 2.5, gradient=False),
    Sample(np.array([2, 1, 0.5, 0, -1, 3, 2, 2.5, 3, np.nan], np.float32),
           np.array([1, 1, 1, 1, 1, 0, -1, -0.5, -0.5, 1], np.float32), gradient=False),
    Sample(np.array([3, 2, 1000, 1000.0]), np.array([-2.5, -3.5, 2, 0.5]), gradient=False),
    Sample(m.integers(3, low=2), m.integers(3, low=1), gradient=False),
    Sample(m.complex(2), m.complex(2), gradient=False),
]))  # fmt: skip

samples("special_xlog1py", cases(lambda m: [
    Sample(m.real(2, 3), m.real(3, low=-0.5)), Sample(m.real(3), 0.5), Sample(1.5, m.real(3, low=-0.5)),
    Sample(np.array([0, 0, 1, np.nan, 0], np.float32), np.array([-1, np.nan, -1, 1, 2], np.float32), gradient=False),
    Sample(m.integers(3), m.integers(3, low=0), gradient=False), Sample(m.booleans(3), m.real(3, low=-0.5), gradient=False),
    Sample(m.real(3, dtype=np.float16), m.real(3, low=-0.5, dtype=np.float16), gradient=False),
    Sample(m.complex(2), m.complex(2), gradient=False), Sample(m.real(2), m.real(3), gradient=False),
]))  # fmt: skip

samples("i0", together(unary(-10, 10), refused_kinds("complex")))
samples("special_i0e", together(unary(-10, 10), refused_kinds("complex")))
samples("special_i1", together(unary(-10, 10), refused_kinds("complex")))
samples("special_i1e", together(unary(-10, 10), refused_kinds("complex")))
samples("polygamma_method", cases(lambda m: [Sample(m.real(2, 3, low=0.5, high=3), 0), Sample(m.real(3, low=0.5, high=3), 2)]))

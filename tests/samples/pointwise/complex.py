"""Samples of the ops of ``ops/pointwise/complex.py``."""

from __future__ import annotations

import numpy as np

from ..make import Sample, cases, samples, together, unary

samples("real_part", cases(lambda m: [Sample(m.complex(2, 3)), Sample(m.complex(2, 3, 2).transpose(2, 0, 1)), Sample(m.complex())]))

samples(
    "real",
    cases(
        lambda m: [
            Sample(m.complex(2, 3)),
            Sample(m.real(2, 3)),
            Sample(m.integers(3), gradient=False),
            Sample(m.complex(0, 3)),
        ]
    ),
)

samples(
    "imag",
    cases(
        lambda m: [
            Sample(m.complex(2, 3)),
            Sample(m.complex(2, 3, 2).transpose(2, 0, 1)),
            Sample(m.complex(dtype=np.complex128)),
            Sample(m.real(2, 3), gradient=False),
            Sample(m.integers(2, 3), gradient=False),
        ]
    ),
)

_PAIRS = cases(lambda m: [
    Sample(m.real(2, 3), m.real(3)), Sample(m.real(), m.real()), Sample(m.real(2, dtype=np.float64), m.real(dtype=np.float64)),
    Sample(m.real(0, 2), m.real(2)), Sample(m.integers(2), m.integers(2)), Sample(m.real(2), m.real(2, dtype=np.float64), gradient=False),
    Sample(m.real(2), m.real(3), gradient=False), Sample(m.real(2), 1.0, gradient=False),
])  # fmt: skip

samples("complex", _PAIRS)

samples("polar", cases(lambda m: [
    Sample(m.real(2, 3, low=0.5), m.real(3)), Sample(m.real(low=0.5), m.real()), Sample(m.real(2, low=0.5, dtype=np.float64), m.real(dtype=np.float64)),
    Sample(m.real(2), m.real(3), gradient=False), Sample(m.integers(2), m.real(2), gradient=False),
]))  # fmt: skip

samples(
    "angle", together(unary(complex=True), cases(lambda m: [Sample(np.array([1, -1, 0, 1j, -1j, np.nan], np.complex64), gradient=False)]))
)

samples(
    "view_as_real",
    cases(
        lambda m: [
            Sample(m.complex(2, 3)),
            Sample(m.complex(3, 2).T),
            Sample(m.complex()),
            Sample(m.complex(0, 2)),
            Sample(m.complex(2, dtype=np.complex128)),
            Sample(m.real(2), gradient=False),
        ]
    ),
)

samples("view_as_complex", cases(lambda m: [
    Sample(m.real(3, 2)), Sample(m.real(2, 3, 2).transpose(1, 0, 2)), Sample(m.real(2)),
    Sample(m.real(3, 2, dtype=np.float64)), Sample(m.real(2, 2).T, gradient=False), Sample(m.real(2, 3), gradient=False),
    Sample(m.real(), gradient=False), Sample(m.integers(2, 2), gradient=False),
]))  # fmt: skip

samples("conj", unary(complex=True))
samples("resolve_conj", unary(complex=True))
samples("resolve_neg", unary(complex=True))

_ONE_OF_EACH = cases(lambda m: [
    Sample(m.real(2), gradient=False), Sample(m.complex(2), gradient=False), Sample(m.integers(2), gradient=False),
    Sample(m.booleans(2), gradient=False), Sample(m.integers(2, low=0, dtype=np.uint8), gradient=False),
])  # fmt: skip

samples("is_conj", _ONE_OF_EACH)
samples("is_neg", _ONE_OF_EACH)
samples("is_complex", _ONE_OF_EACH)
samples("is_floating_point", _ONE_OF_EACH)
samples("is_signed", _ONE_OF_EACH)

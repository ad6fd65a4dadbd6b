"""Samples of the ops of ``ops/shape/repeat.py``."""

from __future__ import annotations

import numpy as np

from ..make import Sample, cases, refused, samples

samples(
    "repeat",
    cases(
        lambda m: [
            Sample(m.real(2, 3), 2, 1),
            Sample(m.real(2), 3, 2),
            Sample(m.real(), (2, 2)),
            Sample(m.real(2, 3).T, (1, 2)),
            Sample(m.real(2, 1), 1, 1),
            Sample(m.real(2), 0),
            Sample(m.complex(2), 2),
            Sample(m.booleans(2), 2, gradient=False),
            refused(m.real(2, 3), 2),
            refused(m.real(2), -1),
        ]
    ),
)

samples(
    "tile",
    cases(
        lambda m: [
            Sample(m.real(2, 3), 2),
            Sample(m.real(2, 3), (1, 2)),
            Sample(m.real(2), 2, 1, 2),
            Sample(m.real(2), ()),
        ]
    ),
)

samples(
    "repeat_interleave",
    cases(
        lambda m: [
            Sample(m.real(2, 3), 2),
            Sample(m.real(2, 3), 2, 1),
            Sample(m.real(2, 3), 2, dim=-2, output_size=4),
            Sample(m.real(2, 3), 0, 1),
            Sample(m.real(), 2),
            Sample(m.real(2, 3), np.array([1, 2]), 0),
            Sample(m.real(2, 3), np.array([2, 0, 1]), 1),
            Sample(m.real(4), np.array([1, 0, 2, 1])),
            Sample(m.real(2, 3), np.array([2]), 1),
            Sample(m.real(2, 3), np.array(2), 0),
            Sample(m.real(2, 3), np.array([1, 2]), 0, output_size=3),
            Sample(np.array([1, 0, 2]), gradient=False),
            Sample(np.array([1, 0, 2], np.int32), output_size=3, gradient=False),
            refused(m.real(2, 3), -1),
            refused(m.real(2, 3), 2, 2),
            refused(m.real(2, 3), np.array([1, 2, 3]), 0),
            refused(m.real(2, 3), np.array([1, -2]), 0),
            refused(m.real(2, 3), np.array([1.0, 2.0]), 0),
            refused(m.real(2, 3), np.array([[1, 2]]), 0),
            refused(m.real(2, 3), 2, 0, output_size=5),
            refused(m.real(2, 3), 2.0),
            refused(np.array([1, 0, 2]), output_size=4),
        ]
    ),
)

samples(
    "roll",
    cases(
        lambda m: [
            Sample(m.real(2, 3), 1),
            Sample(m.real(2, 3), -7),
            Sample(m.real(2, 3), 1, 0),
            Sample(m.real(2, 3), (1, 2), (0, 1)),
            Sample(m.real(2, 3), (1, 2), (0, 0)),
            Sample(m.real(2, 3).T, shifts=1, dims=-1),
            Sample(m.real(), 1),
            Sample(m.real(0), 1),
            Sample(m.integers(3), 1, 0, gradient=False),
            refused(m.real(2, 3), (1, 2)),
            refused(m.real(2, 3), (1, 2), 0),
            refused(m.real(2, 3), 1, (0, 1)),
            refused(m.real(2, 3), 1, 2),
            refused(m.real(), 1, 0),
            refused(m.real(2), ()),
        ]
    ),
)

samples(
    "flip",
    cases(
        lambda m: [
            Sample(m.real(2, 3), 0),
            Sample(m.real(2, 3), (0, -1)),
            Sample(m.real(2, 3).T, 1),
            Sample(m.real(2, 3), ()),
            Sample(m.real(), 0),
            Sample(m.real(0, 2), 0),
            Sample(m.booleans(3), 0, gradient=False),
            refused(m.real(2, 3), 0, 0),
            refused(m.real(2, 3), 2),
        ]
    ),
)

samples("fliplr", cases(lambda m: [Sample(m.real(2, 3)), Sample(m.real(1, 2, 2)), refused(m.real(2))]))
samples("flipud", cases(lambda m: [Sample(m.real(2, 3)), Sample(m.real(2)), refused(m.real())]))

samples(
    "rot90",
    cases(
        lambda m: [
            *(Sample(m.real(2, 3), k) for k in (0, 1, 2, 3, -1, 5)),
            Sample(m.real(2, 3)),
            Sample(m.real(2, 3, 2), 1, (1, 2)),
            Sample(m.real(2, 3, 2), k=1, dims=(2, -2)),
            refused(m.real(2, 3), 1, (0, 0)),
            refused(m.real(2, 3), 1, (0, -2)),
            refused(m.real(2, 3), 1, (0,)),
            refused(m.real(2)),
            refused(m.real(2, 3), 1, (0, 2)),
        ]
    ),
)

samples(
    "kron",
    cases(
        lambda m: [
            Sample(m.real(2, 2), m.real(1, 3)),
            Sample(m.real(2), m.real(3, 1)),
            Sample(m.real(), m.real(2)),
            Sample(m.real(), m.real()),
            Sample(m.integers(2), m.real(2)),
            Sample(m.complex(2), m.complex(2)),
        ]
    ),
)

samples(
    "linalg_cross",
    cases(
        lambda m: [
            Sample(m.real(3), m.real(3)),
            Sample(m.real(2, 3), m.real(2, 3)),
            Sample(m.real(3, 2), m.real(3, 2), dim=0),
            Sample(m.real(1, 3), m.real(2, 3)),
            Sample(m.complex(3), m.complex(3)),
            Sample(m.integers(3), m.integers(3), gradient=False),
            refused(m.real(3, 2), m.real(3, 2)),
            refused(m.real(2, 3), m.real(3)),
            refused(m.real(2, 3), m.real(2, 3), dim=2),
        ]
    ),
)

samples(
    "cross",
    cases(
        lambda m: [
            Sample(m.real(3), m.real(3)),
            Sample(m.real(2, 3), m.real(2, 3)),
            Sample(m.real(3, 3), m.real(3, 3)),
            Sample(m.real(3, 3), m.real(3, 3), 1),
            Sample(m.real(1, 3), m.real(2, 3), -1),
            Sample(m.real(3, dtype=np.float16), m.real(3, dtype=np.float16), gradient=False),
            refused(m.real(2, 2), m.real(2, 2)),
            refused(m.real(2, 3), m.real(2, 3), 0),
            refused(m.real(3), m.integers(3)),
            refused(m.booleans(3), m.booleans(3)),
        ]
    ),
)

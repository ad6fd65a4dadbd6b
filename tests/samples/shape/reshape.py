"""Samples of the ops of ``ops/shape/reshape.py``."""

from __future__ import annotations

import numpy as np

from ..make import Sample, cases, refused, samples

samples(
    "flatten",
    cases(
        lambda m: [
            Sample(m.real(2, 3, 2)),
            Sample(m.real(2, 3, 2), 1),
            Sample(m.real(2, 3, 2), 0, 1),
            Sample(m.real(2, 3, 2).transpose(2, 0, 1), start_dim=-2, end_dim=-1),
            Sample(m.real(3)),
            Sample(m.real()),
            Sample(m.real(0, 3)),
            Sample(m.integers(2, 2), gradient=False),
            refused(m.real(2, 3), 1, 0),
            refused(m.real(2, 3), 2),
            refused(m.real(), 1),
        ]
    ),
)

samples("ravel", cases(lambda m: [Sample(m.real(2, 3)), Sample(m.real(2, 3).T), Sample(m.real()), Sample(m.real(3))]))

samples(
    "unflatten",
    cases(
        lambda m: [
            Sample(m.real(6, 2), 0, (2, -1)),
            Sample(m.real(2, 6), -1, (1, 3, 2)),
            Sample(m.real(6, 2).T, 1, [3, 2]),
            Sample(m.real(6, 2), dim=0, sizes=(6,)),
            refused(m.real(6, 2), 0, (4, -1)),
            refused(m.real(6, 2), 0, (2, 2)),
            refused(m.real(6, 2), 0, (-1, -1)),
            refused(m.real(6, 2), 0, ()),
            refused(m.real(6, 2), 2, (2, 3)),
            refused(m.real(), 0, (1,)),
            refused(m.real(6), 0, 6),
        ]
    ),
)

samples(
    "view_as",
    cases(
        lambda m: [
            Sample(m.real(6), m.real(2, 3)),
            Sample(m.real(2, 3), m.integers(3, 2)),
            refused(m.real(2, 3).T, m.real(6)),
        ]
    ),
)

samples("reshape_as", cases(lambda m: [Sample(m.real(6), m.real(2, 3)), Sample(m.real(2, 3).T, m.real(6))]))
samples("expand_as", cases(lambda m: [Sample(m.real(3), m.real(2, 3)), Sample(m.real(), m.integers(2)), refused(m.real(2), m.real(3))]))

samples(
    "broadcast_to",
    cases(
        lambda m: [
            Sample(m.real(3), (2, 3)),
            Sample(m.real(2, 1), [2, 2]),
            Sample(m.real(), ()),
            refused(m.real(2), (3,)),
        ]
    ),
)

samples(
    "narrow",
    cases(
        lambda m: [
            Sample(m.real(4, 3), 0, 1, 2),
            Sample(m.real(4, 3), -1, -2, 2),
            Sample(m.real(4, 3), 0, 4, 0),
            Sample(m.real(4, 3), dim=1, start=0, length=3),
            Sample(m.real(4, 3), 0, np.array(1), 2),
            refused(m.real(2, 3), 0, 0, 3),
            refused(m.real(2, 3), 0, 3, 0),
            refused(m.real(2, 3), 1, -4, 2),
            refused(m.real(2, 3), 0, 0, -1),
            refused(m.real(2, 3), 2, 0, 1),
            refused(m.real(), 0, 0, 1),
            refused(m.real(2, 3), 0, np.array([1]), 1),
            refused(m.real(2, 3), 0, np.array(1.0), 1),
        ]
    ),
)

samples("narrow_copy", cases(lambda m: [Sample(m.real(4, 3), 0, 1, 2), Sample(m.real(4, 3), 1, -2, 2), refused(m.real(2, 3), 0, 0, 3)]))

samples(
    "select_scatter",
    cases(
        lambda m: [
            Sample(m.real(2, 3), m.real(3), 0, 1),
            Sample(m.real(2, 3).T, m.real(3), -1, -2),
            Sample(m.real(3), m.real(), 0, 0),
            Sample(m.integers(2, 3), m.real(3), 0, 0, gradient=False),
            refused(m.real(2, 3), m.real(2), 0, 0),
            refused(m.real(2, 3), m.real(1), 0, 0),
            refused(m.real(2, 3), m.real(3), 0, 2),
        ]
    ),
)

samples(
    "slice_scatter",
    cases(
        lambda m: [
            Sample(m.real(4, 3), m.real(2, 3), 0, 1, 3),
            Sample(m.real(4, 3), m.real(2, 3), start=-2),
            Sample(m.real(4, 3), m.real(4, 2), 1, 0, 9, 2),
            Sample(m.real(4, 3), m.real(4, 3)),
            Sample(m.integers(4), m.integers(1), 0, 3, gradient=False),
            refused(m.real(4, 3), m.real(1, 3), 0, 1, 3),
            refused(m.real(4, 3), m.real(4, 3), 2),
        ]
    ),
)

"""Samples of the ops of ``ops/shape/striding.py``."""

from __future__ import annotations

from ..make import Sample, cases, refused, samples

samples("contiguous", cases(lambda m: [Sample(m.real(2, 3)), Sample(m.real(2, 3).T), Sample(m.real(2, 3, 4)[:, ::2]), Sample(m.real())]))

samples(
    "as_strided",
    cases(
        lambda m: [
            Sample(m.real(12), (3, 4), (4, 1)),
            Sample(m.real(3, 4), (2, 2), (1, 2), 1),
            Sample(m.real(3, 4), (4, 3), (1, 4)),
            Sample(m.real(6), (4, 3), (1, 1)),
            Sample(m.real(6), (2, 3), (0, 1), 3),
            Sample(m.real(2, 3).T, (2, 2), (2, 1), 1),
            Sample(m.real(3), (), ()),
            Sample(m.real(), (2, 2), (0, 0)),
            Sample(m.real(3), (0, 2), (1, 1)),
            Sample(m.complex(4), (2, 2), (1, 1)),
            Sample(m.integers(4), (2, 2), (1, 1), gradient=False),
            refused(m.real(12), (3, 4), (4, 2)),
            refused(m.real(12), (12,), (1,), 1),
            refused(m.real(4), (2,), (-1,)),
            refused(m.real(4), (2,), (1,), -1),
            refused(m.real(4), (2,), (1, 1)),
            refused(m.real(4), (-2,), (1,)),
        ]
    ),
)

samples(
    "as_strided_scatter",
    cases(
        lambda m: [
            Sample(m.real(6), m.real(2, 2), (2, 2), (1, 2)),
            Sample(m.real(2, 3).T, m.real(2), (2,), (2,), 1),
            Sample(m.real(3, 4), m.real(3), (3,), (5,)),
            refused(m.real(6), m.real(3), (2, 2), (1, 2)),
            refused(m.real(6), m.real(2), (2,), (6,)),
        ]
    ),
)

samples(
    "unfold",
    cases(
        lambda m: [
            Sample(m.real(7), 0, 3, 1),
            Sample(m.real(7), 0, 2, 3),
            Sample(m.real(2, 6), 1, 3, 2),
            Sample(m.real(5, 2), -2, 2, 1),
            Sample(m.real(2, 6)[:, ::2], 1, 2, 1),
            Sample(m.real(3), 0, 0, 1),
            Sample(m.real(), 0, 1, 1),
            Sample(m.integers(5), 0, 5, 1, gradient=False),
            refused(m.real(3), 0, 4, 1),
            refused(m.real(3), 0, 2, 0),
            refused(m.real(3), 0, -1, 1),
            refused(m.real(3), 1, 1, 1),
        ]
    ),
)

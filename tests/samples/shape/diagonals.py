"""Samples of the ops of ``ops/shape/diagonals.py``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..make import Sample, cases, refused, samples

samples(
    "diagonal",
    cases(
        lambda m: [
            Sample(m.real(3, 3)),
            Sample(m.real(2, 3), 1),
            Sample(m.real(2, 3), -1),
            Sample(m.real(2, 3), 5),
            Sample(m.real(2, 3, 2), 0, 0, 2),
            Sample(m.real(2, 3, 2), offset=-1, dim1=-1, dim2=0),
            Sample(m.real(4, 6)[::2, ::2], 1),
            Sample(m.real(3, 2).T),
            Sample(m.real(0, 3)),
            Sample(m.complex(2, 2)),
            Sample(m.integers(2, 2), gradient=False),
            refused(m.real(3)),
            refused(m.real(2, 3), 0, 0, -2),
            refused(m.real(2, 3), 0, 0, 2),
        ]
    ),
)

samples(
    "diag_embed",
    cases(
        lambda m: [
            Sample(m.real(3)),
            Sample(m.real(2, 3), 1),
            Sample(m.real(2, 2), -1, 0, 2),
            Sample(m.real(2, 2), dim1=0, dim2=1),
            Sample(m.booleans(2), gradient=False),
            Sample(m.real(0)),
            refused(m.real()),
            refused(m.real(2), 0, 0, 0),
            refused(m.real(2), 0, 0, 3),
        ]
    ),
)

samples(
    "diag",
    cases(
        lambda m: [
            Sample(m.real(3)),
            Sample(m.real(2), 1),
            Sample(m.real(2), -1),
            Sample(m.real(2, 3)),
            Sample(m.real(3, 3), diagonal=-1),
            Sample(m.integers(2, 2), gradient=False),
            refused(m.real(1, 2, 2)),
            refused(m.real()),
        ]
    ),
)

samples("diagflat", cases(lambda m: [Sample(m.real(3)), Sample(m.real(2, 2), 1), Sample(m.real(), offset=-1)]))

samples(
    "diagonal_scatter",
    cases(
        lambda m: [
            Sample(m.real(3, 3), m.real(3)),
            Sample(m.real(3, 3), m.real(2), 1),
            Sample(m.real(2, 3, 2), m.real(3, 2), 0, 0, 2),
            Sample(m.real(2, 3).T, m.real(2)),
            refused(m.real(2, 3), m.real(3)),
        ]
    ),
)


def _triangle_samples(m: Any) -> list[Sample]:
    return [
        Sample(m.real(3, 3)),
        Sample(m.real(2, 4), 1),
        Sample(m.real(4, 2), -1),
        Sample(m.real(2, 2, 3), diagonal=9),
        Sample(m.real(3, 3).T, -9),
        Sample(m.real(0, 3)),
        Sample(m.complex(2, 2)),
        Sample(m.real(2, 2, dtype=np.float16), gradient=False),
        Sample(m.integers(3, 3), gradient=False),
        Sample(m.booleans(3, 3), gradient=False),
        Sample(np.array([[np.nan, np.inf], [1, -np.inf]], np.float32), gradient=False),
        refused(m.real(3)),
        refused(m.real()),
    ]


samples("tril", cases(_triangle_samples))
samples("triu", cases(_triangle_samples))

samples(
    "trace",
    cases(
        lambda m: [
            Sample(m.real(3, 3)),
            Sample(m.real(2, 4)),
            Sample(m.complex(2, 2)),
            Sample(m.integers(3, 2, dtype=np.int32), gradient=False),
            Sample(m.real(0, 2)),
            refused(m.real(3)),
            refused(m.real(1, 2, 2)),
        ]
    ),
)

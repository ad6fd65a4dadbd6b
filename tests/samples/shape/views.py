"""Samples of the ops of ``ops/shape/views.py``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..make import Sample, cases, refused, samples


def _view_samples(m: Any) -> list[Sample]:
    return [
        Sample(m.real(2, 6), 3, 4),
        Sample(m.real(2, 6), (-1,)),
        Sample(m.real(2, 3, 4), 6, -1),
        Sample(m.real(), 1, 1),
        Sample(m.real(1), ()),
        Sample(m.real(0, 3), 3, 0, 2),
        Sample(m.real(2, 1, 3).transpose(1, 0, 2), 6),
        Sample(m.real(3, 2, 2).transpose(1, 2, 0), 4, 3),
        Sample(m.complex(2, 2), 4),
        Sample(m.booleans(2, 2), 4),
        refused(m.real(2, 3), 4, -1),
        refused(m.real(2, 3), -1, -1),
        refused(m.real(2, 3), -2, 3),
        refused(m.real(0, 3), -1, 0),
        refused(m.real(2, 3), 2.0, 3),
    ]


def _view_dtype_samples(m: Any) -> list[Sample]:
    return [
        refused(m.real(2, 3).T, 6),
        Sample(m.real(2, 3), np.dtype(np.int32), gradient=False),
        Sample(m.real(2, 3).T, np.dtype(np.int32), gradient=False),
        Sample(m.real(2, 3), np.dtype(np.int16), gradient=False),
        Sample(m.integers(2, 4, dtype=np.int16), np.dtype(np.int64), gradient=False),
        Sample(m.integers(4, 4, dtype=np.int16)[:, :2], np.dtype(np.int32), gradient=False),
        Sample(m.integers(2, dtype=np.int16), np.dtype(np.uint8), gradient=False),
        Sample(m.real(dtype=np.float64), np.dtype(np.int64), gradient=False),
        Sample(m.real(2, 3), dtype=np.dtype(np.uint8), gradient=False),
        Sample(m.real(2, 3), np.dtype(np.float64), gradient=False),
        Sample(m.real(2, 4).T, np.dtype(np.float64), gradient=False),
        Sample(m.real(), np.dtype(np.float16), gradient=False),
    ]


samples("view", cases(lambda m: _view_samples(m) + _view_dtype_samples(m)))
samples("reshape", cases(lambda m: [*_view_samples(m), Sample(m.real(2, 3).T, 6), Sample(m.real(2, 3, 4)[:, ::2], 4, -1)]))

samples(
    "expand",
    cases(
        lambda m: [
            Sample(m.real(3, 1), 3, 4),
            Sample(m.real(3), 2, -1),
            Sample(m.real(), 2, 3),
            Sample(m.real(2, 1), (0, 2, 5)),
            Sample(m.real(1, 4)[:, ::2], 3, 2),
            Sample(m.real(), ()),
            Sample(m.integers(1, 3), -1, 3, gradient=False),
            refused(m.real(2, 3), 3),
            refused(m.real(2, 3), 4, 3),
            refused(m.real(2, 3), -1, 2, 3),
            refused(m.real(1, 3), -2, 3),
        ]
    ),
)

samples(
    "unsqueeze",
    cases(
        lambda m: [
            *(Sample(m.real(2, 3), dim) for dim in (0, 1, 2, -1, -2, -3)),
            Sample(m.real(), 0),
            Sample(m.real(), -1),
            Sample(m.real(0, 2), 1),
            Sample(m.real(2, 3).T, 1),
            Sample(m.real(2, 3, 4)[:, ::2, 1], 1),
            Sample(m.complex(2), 0),
            refused(m.real(2), 2),
            refused(m.real(2), -3),
        ]
    ),
)

samples(
    "squeeze",
    cases(
        lambda m: [
            Sample(m.real(1, 2, 1, 3)),
            Sample(m.real(1, 2, 1, 3), 0),
            Sample(m.real(1, 2, 1, 3), -2),
            Sample(m.real(1, 2, 1, 3), 1),
            Sample(m.real(1, 2, 1, 3), (0, 2)),
            Sample(m.real(1, 2, 1, 3), (0, 1)),
            Sample(m.real(1, 2, 1), ()),
            Sample(m.real(1, 1)),
            Sample(m.real()),
            Sample(m.real(), 0),
            Sample(m.real(), (-1,)),
            Sample(m.real(1, 0)),
            Sample(m.real(3, 1, 4)[::2]),
            Sample(m.integers(1, 2), dim=0, gradient=False),
            refused(m.real(1, 2), 2),
            refused(m.real(1, 2), (0, -2)),
        ]
    ),
)

samples(
    "slice",
    cases(
        lambda m: [
            Sample(m.real(5, 3), 0, 1, 4),
            Sample(m.real(5, 3), 0, None, None, 2),
            Sample(m.real(2, 6), -1, -4, -1),
            Sample(m.real(3), 0, 2, 1),
        ]
    ),
)

samples(
    "select",
    cases(
        lambda m: [
            Sample(m.real(2, 3), 0, 1),
            Sample(m.real(2, 3), -1, -3),
            Sample(m.real(4), 0, 2),
            Sample(m.real(2, 3, 4).transpose(2, 0, 1), 1, 0),
            Sample(m.real(2, 0), 0, 1),
            Sample(m.complex(2, 2), dim=1, index=1),
            Sample(m.integers(3), 0, 0, gradient=False),
            refused(m.real(2, 3), 0, 2),
            refused(m.real(2, 3), 0, -3),
            refused(m.real(2, 3), 2, 0),
            refused(m.real(), 0, 0),
        ]
    ),
)

samples("detach", cases(lambda m: [Sample(m.real(2, 3), gradient=False), Sample(m.real(), gradient=False)]))
samples("alias", cases(lambda m: [Sample(m.real(2, 3)), Sample(m.real(3, 2).T), Sample(m.integers(3), gradient=False)]))

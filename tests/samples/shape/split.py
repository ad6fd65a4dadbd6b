"""Samples of the ops of ``ops/shape/split.py``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..make import Sample, cases, refused, samples

samples(
    "unbind",
    cases(
        lambda m: [
            Sample(m.real(2, 3)),
            Sample(m.real(2, 3), 1),
            Sample(m.real(2, 3).T, dim=-1),
            Sample(m.real(3)),
            Sample(m.real(0, 2)),
            Sample(m.real(2, 0)),
            Sample(m.integers(2, 2), gradient=False),
            refused(m.real()),
            refused(m.real(2), 1),
        ]
    ),
)


def _sizes_samples(m: Any) -> list[Sample]:
    return [
        Sample(m.real(5, 2), [2, 3]),
        Sample(m.real(5, 2), (1, 0, 4)),
        Sample(m.real(2, 4), [1, 3], 1),
        Sample(m.real(4, 2).T, [1, 3], dim=-1),
        Sample(m.integers(3), [1, 2], gradient=False),
        Sample(m.real(0, 3), []),
        refused(m.real(3, 2), [1, 1]),
        refused(m.real(3, 2), [1, -1, 3]),
        refused(m.real(3), [3], 1),
        refused(m.real(3), 1.0),
    ]


samples("split_with_sizes", cases(_sizes_samples))
samples("unsafe_split_with_sizes", cases(_sizes_samples))


def _split_samples(m: Any) -> list[Sample]:
    return [
        Sample(m.real(5, 2), 2),
        Sample(m.real(5, 2), 1, 1),
        Sample(m.real(5, 2), 9),
        Sample(m.real(2, 6).T, 3, dim=-2),
        Sample(m.real(0, 2), 2),
        Sample(m.booleans(4), 3, gradient=False),
        refused(m.real(3), 0),
        refused(m.real(3), -1),
        refused(m.real(), 1),
        refused(m.real(3), 1, 1),
    ]


samples("split", cases(lambda m: [*_split_samples(m), Sample(m.real(5, 2), [2, 3]), Sample(m.real(0, 2), 0), refused(m.real(3), 1.0)]))
samples("unsafe_split", cases(lambda m: [*_split_samples(m), Sample(m.real(0, 2), 0)]))
samples("chunk", cases(_split_samples))
samples("unsafe_chunk", cases(_split_samples))

samples(
    "tensor_split",
    cases(
        lambda m: [
            Sample(m.real(5, 2), 2),
            Sample(m.real(5, 2), 3, 1),
            Sample(m.real(7), 3),
            Sample(m.real(5, 2), (1, 3)),
            Sample(m.real(5, 2), (1, 9, 2)),
            Sample(m.real(5, 2), (-2,), dim=0),
            Sample(m.real(5, 2), sections=2, dim=-2),
            Sample(m.real(5, 2), indices=(1,)),
            Sample(m.real(5), np.array(3), gradient=False),
            Sample(m.real(5), np.array([1, 3]), gradient=False),
            refused(m.real(5), 0),
            refused(m.real(), 1),
            refused(m.real(5), np.array([[1, 3]])),
            refused(m.real(5), np.array(3.0)),
            refused(m.real(5), 2, 1),
        ]
    ),
)

samples(
    "hsplit",
    cases(
        lambda m: [
            Sample(m.real(4), 2),
            Sample(m.real(2, 4), 2),
            Sample(m.real(2, 4), (1, 3)),
            Sample(m.real(4), (1,)),
            refused(m.real(4), 3),
            refused(m.real(2, 4), 0),
            refused(m.real(), 1),
        ]
    ),
)

samples(
    "vsplit",
    cases(
        lambda m: [
            Sample(m.real(4, 2), 2),
            Sample(m.real(4, 2), (1, 3)),
            refused(m.real(4), 2),
            refused(m.real(4, 2), 3),
        ]
    ),
)

samples("dsplit", cases(lambda m: [Sample(m.real(2, 1, 4), 2), Sample(m.real(1, 2, 3), (1, 2)), refused(m.real(4, 2), 2)]))

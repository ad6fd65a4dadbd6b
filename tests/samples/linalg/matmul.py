"""Samples of the ops of ``ops/linalg/matmul.py``."""

from __future__ import annotations

import numpy as np

from ..make import Maker, Sample, cases, refused, samples


def _product_samples(m: Maker) -> list[Sample]:
    return [
        Sample(m.real(2, 3), m.real(3, 4)),
        Sample(m.real(3, 2).T, m.real(4, 3).T),
        Sample(m.real(3), m.real(3)),
        Sample(m.real(2, 3), m.real(3)),
        Sample(m.real(3), m.real(3, 2)),
        Sample(m.real(3), m.real(2, 3, 4)),
        Sample(m.real(2, 2, 3), m.real(3)),
        Sample(m.real(2, 2, 3), m.real(3, 2)),
        Sample(m.real(2, 3), m.real(2, 3, 2)),
        Sample(m.real(2, 1, 2, 3), m.real(2, 3, 2)),
        Sample(m.real(1, 2, 3), m.real(3, 3, 1)),
        Sample(m.real(2, 0), m.real(0, 3)),
        Sample(m.real(0, 2, 3), m.real(3, 2)),
        Sample(m.real(0, 2, 3), m.real(0, 3, 2)),
        Sample(m.complex(2, 3), m.complex(3, 2)),
        Sample(m.complex(2, 2, 3), m.complex(3)),
        Sample(m.complex(3), m.complex(3)),
        Sample(m.real(2, 3, dtype=np.float64), m.real(3, 2, dtype=np.float64)),
        Sample(m.real(2, 3, dtype=np.float16), m.real(3, 2, dtype=np.float16), gradient=False),
        Sample(m.integers(2, 3), m.integers(3, 2), gradient=False),
        Sample(
            m.integers(2, 3, dtype=np.uint8, low=100, high=200),
            m.integers(3, 2, dtype=np.uint8, low=0, high=9),
            gradient=False,
        ),
        refused(m.booleans(2, 3), m.booleans(3, 2)),
        refused(m.real(2, 3), m.real(2, 3)),
        refused(m.real(2, 3), m.real(3, 2, dtype=np.float64)),
        refused(m.real(), m.real(3, 2)),
        refused(m.real(3), m.real(4)),
        refused(m.real(2, 2, 3), m.real(2, 4, 5)),
        refused(m.real(2, 2, 3), m.real(3, 3, 5)),
    ]


samples("matmul", cases(_product_samples))

samples("mm", cases(lambda m: [
    Sample(m.real(2, 3), m.real(3, 4)), Sample(m.complex(2, 3), m.complex(3, 1)),
    Sample(m.real(2, 0), m.real(0, 3)),
    Sample(m.integers(2, 3), m.integers(3, 2), gradient=False),
    refused(m.real(2, 3), m.real(3)), refused(m.real(2, 3), m.real(2, 3)), refused(m.real(1, 2, 3), m.real(3, 2)),
]))  # fmt: skip

samples("bmm", cases(lambda m: [
    Sample(m.real(2, 2, 3), m.real(2, 3, 1)), Sample(m.complex(2, 1, 2), m.complex(2, 2, 2)),
    Sample(m.real(0, 2, 3), m.real(0, 3, 2)), Sample(m.integers(2, 2, 3), m.integers(2, 3, 2), gradient=False),
    refused(m.real(1, 2, 3), m.real(2, 3, 2)), refused(m.real(2, 3), m.real(3, 2)),
    refused(m.real(2, 2, 3), m.real(2, 2, 3)),
]))  # fmt: skip

samples("mv", cases(lambda m: [
    Sample(m.real(2, 3), m.real(3)), Sample(m.complex(2, 3), m.complex(3)), Sample(m.real(3, 2).T, m.real(3)),
    refused(m.real(2, 3), m.real(2)), refused(m.real(2, 3), m.real(3, 1)), refused(m.real(3), m.real(3)),
]))  # fmt: skip

_VECTORS = cases(lambda m: [
    Sample(m.real(3), m.real(3)), Sample(m.complex(3), m.complex(3)), Sample(m.real(0), m.real(0)),
    Sample(m.integers(4), m.integers(4), gradient=False),
    refused(m.real(3), m.real(4)), refused(m.real(3), m.real(3, dtype=np.float64)), refused(m.real(1, 3), m.real(3)),
])  # fmt: skip

samples("dot", _VECTORS)
samples("vdot", _VECTORS)

samples("inner", cases(lambda m: [
    Sample(m.real(2, 3), m.real(4, 3)), Sample(m.real(3), m.real(3)), Sample(m.real(2, 3), m.real()),
    Sample(m.real(2, 1, 3), m.real(3)), Sample(m.complex(2), m.complex(3, 2)),
    refused(m.real(2, 3), m.real(4)), refused(m.real(3), m.real(3, dtype=np.float64)),
]))  # fmt: skip

samples("outer", cases(lambda m: [
    Sample(m.real(2), m.real(3)), Sample(m.complex(2), m.complex(2)), Sample(m.real(0), m.real(2)),
    Sample(m.integers(2), m.real(2), gradient=False), Sample(m.booleans(2), m.booleans(3), gradient=False),
    refused(m.real(2, 2), m.real(2)),
]))  # fmt: skip

samples("linalg_multi_dot", cases(lambda m: [
    Sample([m.real(2, 3), m.real(3, 4), m.real(4, 1)]), Sample([m.real(3), m.real(3, 4), m.real(4)]),
    Sample([m.real(2, 3), m.real(3)]), Sample([m.real(3), m.real(3, 2)]), Sample([m.real(3), m.real(3)]),
    Sample([m.complex(2, 3), m.complex(3, 1), m.complex(1, 2), m.complex(2, 2)]),
    refused([m.real(2, 3)]), refused([m.real(2, 3), m.real(2)]),
    refused([m.real(2, 3), m.real(1, 3, 2), m.real(2)]),
    refused([m.real(2, 3), m.real(3, 2, dtype=np.float64)]),
]))  # fmt: skip

samples(
    "chain_matmul",
    cases(
        lambda m: [
            Sample(m.real(2, 3), m.real(3, 4), m.real(4, 1)),
            Sample(m.real(2, 3)),
            refused(m.real(2, 3), m.real(3)),
        ]
    ),
)

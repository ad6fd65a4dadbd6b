"""Samples of the ops of ``ops/shape/concat.py``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..make import Sample, cases, refused, samples

samples(
    "cat",
    cases(
        lambda m: [
            Sample([m.real(2, 3), m.real(1, 3)]),
            Sample([m.real(2, 3), m.real(2, 1), m.real(4, 2).T[:, ::2]], 1),
            Sample([m.real(2, 3), m.real(2, 3)], dim=-1),
            Sample([m.real(2, 3), m.real(2, 3)], axis=1),
            Sample((m.real(3),)),
            Sample([m.real(0), m.real(2, 3), m.real(0)], 1),
            Sample([m.real(0), m.real(0)]),
            Sample([m.real(0, 3), m.real(2, 3)]),
            Sample([m.real(3), m.integers(3)]),
            Sample([m.integers(3, dtype=np.int32), m.integers(0)], gradient=False),
            Sample([m.booleans(2), m.integers(2, dtype=np.uint8)], gradient=False),
            Sample([m.real(2, dtype=np.float16), m.real(2)], gradient=False),
            Sample([m.complex(2), m.real(2)]),
            refused([]),
            refused([m.real(2), m.real()]),
            refused([m.real(2, 3), m.real(2, 4)]),
            refused([m.real(2, 3), m.real(2)]),
            refused([m.real(2, 3), m.real(2, 3)], 2),
            refused([m.real(2, 3), 1.0]),
        ]
    ),
)

samples(
    "stack",
    cases(
        lambda m: [
            Sample([m.real(2, 3), m.real(2, 3)]),
            Sample([m.real(2, 3), m.real(2, 3), m.real(3, 2).T], 1),
            Sample([m.real(2, 3), m.real(2, 3)], dim=-1),
            Sample([m.real(2), m.real(2)], -2),
            Sample([m.real(), m.real()]),
            Sample((m.real(0, 2), m.real(0, 2)), 2),
            Sample([m.real(3), m.integers(3)]),
            Sample([m.integers(2), m.booleans(2)], gradient=False),
            Sample([m.real(2, dtype=np.float16), m.real(2, dtype=np.float16)], gradient=False),
            Sample([m.complex(2), m.real(2)]),
            refused([]),
            refused([m.real(2), m.real(3)]),
            refused([m.real(2), m.real(2)], 2),
        ]
    ),
)


def _stacks(m: Any) -> list[Sample]:
    return [
        Sample([m.real(2), m.real(2)]),
        Sample([m.real(2, 3), m.real(2, 3)]),
        Sample([m.real(), m.real()]),
        Sample([m.real(2, 1, 2), m.real(2, 1, 2)]),
        Sample([m.integers(2, 2), m.real(2, 2)]),
        Sample((m.real(3),)),
        refused([]),
        refused([m.real(2, 2), m.real(3, 3, 3)]),
    ]


samples("hstack", cases(lambda m: [*_stacks(m), Sample([m.real(2), m.real(3)])]))
samples("vstack", cases(lambda m: [*_stacks(m), Sample([m.real(2), m.real(3, 2)])]))
samples("dstack", cases(lambda m: [*_stacks(m), Sample([m.real(2), m.real(1, 2)])]))
samples("column_stack", cases(lambda m: [*_stacks(m), Sample([m.real(2), m.real(2, 2)])]))


def _lifted(m: Any) -> list[Sample]:
    return [
        *(Sample(m.real(*shape)) for shape in ((), (3,), (2, 3), (1, 2, 3), (1, 1, 2, 2))),
        Sample(m.real(), m.real(2)),
        Sample([m.real(2), m.real(2, 2)]),
        Sample(m.integers(2), gradient=False),
        Sample(),
        refused(1.5),
    ]


samples("atleast_1d", cases(_lifted))
samples("atleast_2d", cases(_lifted))
samples("atleast_3d", cases(_lifted))

samples(
    "broadcast_tensors",
    cases(
        lambda m: [
            Sample(m.real(2, 1), m.real(3)),
            Sample(m.real(), m.real(2, 2), m.real(1, 2)),
            Sample(m.real(2)),
            Sample(m.integers(2), m.real(1)),
            refused(m.real(2), m.real(3)),
        ]
    ),
)

samples(
    "meshgrid",
    cases(
        lambda m: [
            Sample(m.real(2), m.real(3), indexing="ij"),
            Sample(m.real(2), m.real(3), indexing="xy"),
            Sample([m.real(2), m.real(3), m.real(1)], indexing="xy"),
            Sample(m.real(), m.real(3), indexing="xy"),
            Sample(m.integers(3), indexing="xy", gradient=False),
            refused(m.real(2, 2), indexing="ij"),
            refused(m.real(2), m.real(2), indexing="zz"),
            refused(m.real(2), m.integers(2), indexing="ij"),
        ]
    ),
)

samples(
    "cartesian_prod",
    cases(
        lambda m: [
            Sample(m.real(2), m.real(3)),
            Sample(m.real(3)),
            Sample(m.integers(2), m.integers(1), m.integers(2), gradient=False),
            refused(m.real(2, 2)),
            refused(m.real(2), m.real(1, 1)),
        ]
    ),
)

samples(
    "block_diag",
    cases(
        lambda m: [
            Sample(m.real(2, 2), m.real(1, 3), m.real(2)),
            Sample(m.real(), m.real(2, 1)),
            Sample(m.integers(2), m.real(1)),
            Sample(m.real(0, 2), m.real(2, 2)),
            Sample(),
            refused(m.real(2, 2, 2)),
        ]
    ),
)

samples(
    "combinations",
    cases(
        lambda m: [
            Sample(m.real(4)),
            Sample(m.real(4), 3),
            Sample(m.real(3), 2, True),
            Sample(m.real(2), 3, gradient=False),
            Sample(m.integers(3), 1, gradient=False),
            Sample(m.real(3), 0, gradient=False),
            refused(m.real(2, 2)),
            refused(m.real(3), -1),
        ]
    ),
)

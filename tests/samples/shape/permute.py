"""Samples of the ops of ``ops/shape/permute.py``."""

from __future__ import annotations

from ..make import Sample, cases, refused, samples

samples(
    "permute",
    cases(
        lambda m: [
            Sample(m.real(2, 3, 4), 2, 0, 1),
            Sample(m.real(2, 3), (1, 0)),
            Sample(m.real(), ()),
            Sample(m.real(2, 3, 4), -1, 0, 1),
            Sample(m.complex(2, 3), 1, 0),
            Sample(m.real(0, 3), 1, 0),
            refused(m.real(2, 3), 0, 0),
            refused(m.real(2, 3), 0),
            refused(m.real(2, 3), 0, 2),
        ]
    ),
)

samples(
    "transpose",
    cases(
        lambda m: [
            Sample(m.real(2, 3, 4), 0, 2),
            Sample(m.real(2, 3), -1, 0),
            Sample(m.real(), 0, -1),
            Sample(m.real(2, 3), dim0=1, dim1=1),
            refused(m.real(2, 3), 0, 2),
        ]
    ),
)

samples(
    "t",
    cases(
        lambda m: [
            Sample(m.real(2, 3)),
            Sample(m.real(3)),
            Sample(m.real()),
            Sample(m.complex(2, 2)),
            refused(m.real(1, 2, 3)),
        ]
    ),
)

samples("swapaxes", cases(lambda m: [Sample(m.real(2, 3), 0, 1), Sample(m.real(2, 3), axis0=0, axis1=-1), refused(m.real(2), 0, 1)]))

samples(
    "movedim",
    cases(
        lambda m: [
            Sample(m.real(2, 3, 2), 0, 2),
            Sample(m.real(2, 3, 2), -1, 0),
            Sample(m.real(2, 3, 2), (0, 1), (1, 2)),
            Sample(m.real(2, 3, 2), (2, 0), (0, -1)),
            Sample(m.real(2, 3), (), ()),
            Sample(m.real(), 0, 0),
            refused(m.real(2, 3, 2), (0,), (1, 2)),
            refused(m.real(2, 3, 2), (0, 0), (1, 2)),
            refused(m.real(2, 3, 2), (0, 1), (1, 1)),
            refused(m.real(2, 3), 2, 0),
            refused(m.real(2, 3), 0, (1,)),
        ]
    ),
)

samples("adjoint", cases(lambda m: [Sample(m.real(2, 3)), Sample(m.complex(2, 2, 3)), Sample(m.real()), refused(m.real(2))]))
_MATRICES = cases(lambda m: [Sample(m.real(2, 3)), Sample(m.complex(2, 3)), refused(m.real(3))])
_BATCHES = cases(
    lambda m: [Sample(m.real(2, 3)), Sample(m.complex(2, 2, 3)), Sample(m.integers(2, 3).T, gradient=False), refused(m.real(3))]
)
samples("matrix_H", _MATRICES)
samples("mH", _BATCHES)
samples("mT", _BATCHES)
samples("numpy_T", cases(lambda m: [Sample(m.real(2, 3)), Sample(m.complex(2, 3)), Sample(m.integers(2, 3).T, gradient=False)]))

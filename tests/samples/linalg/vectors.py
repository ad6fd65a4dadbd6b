"""Samples of the ops of ``ops/linalg/vectors.py``."""

from __future__ import annotations

import numpy as np

from ..make import Sample, cases, refused, samples

samples("linalg_vecdot", cases(lambda m: [
    Sample(m.real(2, 3), m.real(3)), Sample(m.real(2, 3), m.real(2, 1), dim=0),
    Sample(m.complex(2, 3), m.complex(2, 3)), Sample(m.real(0, 3), m.real(0, 3)),
    refused(m.real(2, 3), m.real(2, 2)), refused(m.integers(3), m.integers(3)),
    refused(m.real(3), m.real(3, dtype=np.float64)),
]))  # fmt: skip

samples("linalg_vander", cases(lambda m: [
    Sample(m.apart(3)), Sample(m.apart(3), N=2), Sample(m.apart(2, 3), N=4), Sample(m.integers(3), gradient=False),
    Sample(m.complex(2)),
    refused(m.real(2), N=0), refused(m.booleans(2)), refused(m.real()),
]))  # fmt: skip

samples("vander", cases(lambda m: [
    Sample(m.apart(3)), Sample(m.apart(3), 2, True), Sample(m.apart(3), 1, gradient=False),
    Sample(m.integers(3), gradient=False), Sample(m.real(2), 0, gradient=False),
    refused(m.real(2, 2)), refused(m.real(2), -1),
]))  # fmt: skip

samples(
    "linalg_diagonal",
    cases(
        lambda m: [
            Sample(m.real(2, 3)),
            Sample(m.real(2, 2, 3), offset=1),
            Sample(m.real(2, 3, 2), offset=-1, dim1=0, dim2=1),
        ]
    ),
)

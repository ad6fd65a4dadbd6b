"""Samples of the ops of ``ops/linalg/lowrank.py``."""

from __future__ import annotations

from ..make import Sample, cases, refused, samples

samples(
    "svd_lowrank",
    cases(
        lambda m: [
            Sample(m.real(4, 3), 2, compare=False, gradient=False),
            Sample(m.real(2, 3, 4), q=2, niter=1, compare=False, gradient=False),
        ]
    ),
)

samples("pca_lowrank", cases(lambda m: [
    Sample(m.real(4, 3), 2, compare=False, gradient=False),
    Sample(m.real(4, 3), center=False, compare=False, gradient=False),
    refused(m.real(4, 3), 7), refused(m.real(4, 3), 2, niter=-1),
]))  # fmt: skip

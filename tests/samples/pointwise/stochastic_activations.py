"""Samples of the ops of ``ops/pointwise/stochastic_activations.py``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..make import Sample, cases, refused, samples


def _rrelu_samples(m: Any) -> list[Sample]:
    return [
        Sample(m.apart(3, 4)), Sample(m.apart(2, 3).T, 0.1, 0.4), Sample(m.apart(6, dtype=np.float64), 0.2, 0.2, True), Sample(m.real(0, 2)),
        Sample(m.real(3, low=0.5), training=True), Sample(m.real(3, dtype=np.float16), gradient=False), Sample(m.apart(2, 2), training=True, compare=False, gradient=False),
        refused(m.real(2), 0.5, 0.1), refused(m.real(2), 0.5, 0.1, True), refused(m.real(2, dtype=np.float16), 0.1, 0.2, True),
    ]  # fmt: skip


samples("rrelu", cases(_rrelu_samples))
samples("nn_functional_rrelu", cases(_rrelu_samples))


def _gumbel_samples(m: Any) -> list[Sample]:
    drawn = [Sample(m.real(2, 3)), Sample(m.real(2, 3), 0.5, True), Sample(m.real(3, 2).T, 2.0, dim=0)]
    for sample in drawn:  # values are compared in tests/test_nn_modules.py, where both sides are seeded
        sample.compare = sample.gradient = False
    return [
        *drawn,
        Sample(m.real(2, 1), hard=True, gradient=False),
        refused(m.real(2, 3), dim=2),
        refused(m.integers(2, 3)),
    ]


samples("gumbel_softmax", cases(_gumbel_samples))

"""Samples of the ops of ``ops/nn/dropout.py``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..make import Sample, cases, samples


def _samples(*more: Sample, training: bool = True) -> Any:
    def build(m: Any) -> list[Sample]:
        random = [Sample(m.real(2, 3, 4), 0.4, training), Sample(m.real(2, 4, 3).transpose(0, 2, 1), 0.5, training)]
        for sample in random:  # masks are compared in tests/test_random.py, where both sides are seeded
            sample.compare = sample.gradient = False
        plain = [
            Sample(m.real(2, 3), 0.0, training), Sample(m.real(2, 3), 1.0, training), Sample(m.real(2, 3), 0.3, False),
            Sample(m.real(0, 3), 0.3, training), Sample(m.integers(2, 3), 0.3, training, gradient=False),
            Sample(m.complex(2, 3), 0.3, training, gradient=False), Sample(m.real(2, 3), 1.5, training, gradient=False),
            Sample(m.real(2, 3), -0.1, training, gradient=False),
            Sample(m.real(2, 3, dtype=np.float16), 1.0, training, gradient=False),
        ]  # fmt: skip
        return [*random, *plain, *more]

    return cases(build)


samples("dropout", _samples())
samples("feature_dropout", _samples())
samples("alpha_dropout", _samples())
samples("feature_alpha_dropout", _samples())
samples("nn_functional_dropout", _samples())
samples("nn_functional_alpha_dropout", _samples(training=True))
samples("nn_functional_feature_alpha_dropout", _samples())

_REFUSED = Sample(np.ones(3, np.float32), gradient=False)

samples(
    "nn_functional_dropout1d",
    _samples(_REFUSED, Sample(np.ones((1, 2, 3, 4), np.float32), gradient=False), Sample(np.ones((2, 3), np.float32), 1.0)),
)

samples("nn_functional_dropout2d", _samples(_REFUSED, Sample(np.ones((1, 2, 3, 4), np.float32), 1.0)))
samples("nn_functional_dropout3d", _samples(Sample(np.ones((1, 2, 3, 2), np.float32), 1.0)))

"""Samples of the ops of ``ops/random/sampling.py``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..make import Sample, cases, samples


def _drawn(m: Any) -> list[Sample]:
    found = [
        Sample(2, 3), Sample((0, 2)), Sample(()), Sample(size=(17,)), Sample(3, dtype=np.dtype(np.float64)),
        Sample(3, dtype=np.dtype(np.float16)), Sample(2, dtype=np.dtype(np.complex64)), Sample(2, requires_grad=True),
    ]  # fmt: skip
    for sample in found:
        sample.compare = False  # values are compared in tests/test_random.py, where both sides are seeded
    return [*found, Sample(2, dtype=np.dtype(np.int64)), Sample(-1), Sample(2, generator=3)]


samples("rand", cases(_drawn))
samples("randn", cases(_drawn))

samples("randint", cases(lambda m: [
    Sample(1, (3,)), Sample(2, 3, (2, 2)), Sample(high=1, size=(2,)), Sample(low=4, high=5, size=(0, 2)),
    Sample(1, [2], dtype=np.dtype(np.float32)), Sample(5, 3), Sample(5, 5, (2,)),
    Sample(0, 300, (2,), dtype=np.dtype(np.uint8)), Sample(0, 1, (2,), dtype=np.dtype(np.bool_)), Sample(2.5, (2,)),
    Sample(0, 1, (-1,)), Sample(5),
]))  # fmt: skip

samples("randperm", cases(lambda m: [
    Sample(1), Sample(0), Sample(1, dtype=np.dtype(np.float32)), Sample(-1), Sample(300, dtype=np.dtype(np.uint8)),
    Sample(2.5), Sample(3, dtype=np.dtype(np.bool_)),
]))  # fmt: skip


def _drawn_like(m: Any) -> list[Sample]:
    found = [
        Sample(m.real(2, 3)), Sample(m.real(2, 3).T), Sample(m.real()), Sample(m.real(0)),
        Sample(m.integers(2), dtype=np.dtype(np.float64)), Sample(m.real(2), requires_grad=True),
    ]  # fmt: skip
    for sample in found:
        sample.compare = False
    return [*found, Sample(m.integers(2)), Sample(3)]


samples("rand_like", cases(_drawn_like))
samples("randn_like", cases(_drawn_like))

samples("randint_like", cases(lambda m: [
    Sample(m.real(2, 3), 1), Sample(m.integers(2), 4, 5), Sample(m.real(2), low=2, high=3),
    Sample(m.real(2), 1, dtype=np.dtype(np.int64)), Sample(m.real(2), 3, 3), Sample(m.real(2)),
    Sample(m.real(2), 1.5),
]))  # fmt: skip


def _without_gradient(found: list[Sample]) -> list[Sample]:
    """Samples of deterministic draws (of deviation 0), which numerical differentiation would see through."""
    for sample in found:
        sample.gradient = False
    return found


samples("normal", cases(lambda m: _without_gradient([
    Sample(m.real(3), 0.0), Sample(m.real(2, 3), np.zeros(3, np.float32)),
    Sample(0.5, np.zeros((2, 2), np.float64)), Sample(2.0, 0.0, (3,)), Sample(m.real(3, 1), m.real(1, 4) * 0),
    Sample(m.real(3), m.real(4)), Sample(0, 1), Sample(m.integers(3), 1.0), Sample(m.real(3), -1.0),
    Sample(1, 0, size=(2,), dtype=np.dtype(np.float64)), Sample(0.0, m.complex(3)), Sample(m.complex(3), 0.0),
    Sample(m.real(3), "a"), Sample(mean=0.0, std=m.real(3) * 0), Sample(m.real(3, dtype=np.float64), m.real(3) * 0),
    Sample(0.0, m.real(2) * 0 - 1),
])))  # fmt: skip

samples("bernoulli", cases(lambda m: [
    Sample(np.array([0.0, 1.0, 1.0], np.float32), gradient=False), Sample(m.real(2, 3), 1.0),
    Sample(m.integers(3), 0.0), Sample(m.integers(3)), Sample(m.real(2), p=1.5, gradient=False),
    Sample(np.array([0.0, 1.5], np.float32), gradient=False), Sample(m.complex(2), 0.5, gradient=False),
]))  # fmt: skip

samples("multinomial", cases(lambda m: [
    Sample(np.array([0.0, 1.0, 0.0], np.float32), 1), Sample(np.array([[0, 2.0], [1.0, 0]], np.float64), 3, True),
    Sample(m.real(3, low=0.1), 4), Sample(m.integers(3), 1), Sample(np.ones((1, 1, 2), np.float32), 1),
    Sample(np.ones(2, np.float32), 0),
]))  # fmt: skip

samples(
    "poisson",
    cases(
        lambda m: [
            Sample(np.zeros((2, 3), np.float32), gradient=False),
            Sample(m.integers(3)),
            Sample(np.array([-1.0], np.float32), gradient=False),
        ]
    ),
)

samples("binomial", cases(lambda m: [
    Sample(np.full((2, 3), 5.0, np.float32), np.ones(3, np.float32), constants=(0, 1)),
    Sample(np.zeros(3), np.full((), 0.5), constants=(0, 1)),
    Sample(m.integers(3), m.real(3), gradient=False),
    Sample(np.ones(2, np.float32), np.ones(3, np.float32), gradient=False),
]))  # fmt: skip

samples("_standard_gamma", cases(lambda m: [Sample(m.real(2, 3, low=0.5), compare=False, gradient=False), Sample(m.integers(2))]))
samples("_sample_dirichlet", cases(lambda m: [Sample(m.real(2, 3, low=0.5), compare=False, gradient=False), Sample(m.integers(2))]))

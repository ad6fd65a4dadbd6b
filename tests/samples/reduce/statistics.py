"""Samples of the ops of ``ops/reduce/statistics.py``."""

from __future__ import annotations

from typing import Any

import numpy as np

from rushlight.ops.reduce.statistics import _INTERPOLATIONS

from ..make import Sample, cases, samples

_WITH_NAN = np.array([[1, np.nan, 3, np.nan], [4, 2, 7, 5], [np.nan] * 4], np.float32)


def _quantile_samples(m: Any) -> list[Sample]:
    def q(*values: float) -> np.ndarray:
        return np.array(values, np.float32)

    return [
        Sample(m.apart(2, 3), 0.5), Sample(m.apart(2, 3), 0.3, 1), Sample(m.apart(2, 4), q(0.1, 0.55), 1),
        Sample(m.apart(4, 2), q(0.1, 0.55, 0.9), 0, True), Sample(m.apart(2, 3), q(0.1, 0.55), keepdim=True),
        Sample(m.apart(2, 3), 0.3, dim=-2, keepdim=True), Sample(m.apart(2, 3), 0.7, keepdim=True),
        Sample(m.apart(2, 3), np.array(0.3, np.float32), 0), Sample(m.apart(4, 3).T, 0.2, 0), Sample(m.apart(), 0.5),
        Sample(m.apart(5, dtype=np.float64), 0.45),
        *(Sample(m.apart(2, 4), q(0.05, 0.4, 0.8), 1, interpolation=how, gradient=False) for how in _INTERPOLATIONS),
        Sample(_WITH_NAN, 0.3, 1, gradient=False), Sample(_WITH_NAN, q(0, 0.25, 1), 1, gradient=False),
        Sample(_WITH_NAN, 0.5, gradient=False), Sample(m.apart(3), q(), gradient=False),
        Sample(m.apart(3), 1.5, gradient=False), Sample(m.apart(3), q(1.5), gradient=False),
        Sample(m.apart(3), q(0.5)[None], gradient=False), Sample(m.apart(3), np.array([0.5]), gradient=False),
        Sample(m.apart(3), 0.5, interpolation="bad", gradient=False), Sample(m.integers(3), 0.5, gradient=False),
        Sample(m.apart(3, dtype=np.float16), 0.5, gradient=False), Sample(m.real(0, 3), 0.5, gradient=False),
        Sample(m.apart(3), [0.5], gradient=False), Sample(m.apart(3), 0.5, 1, gradient=False),
    ]  # fmt: skip


samples("quantile", cases(_quantile_samples))
samples("nanquantile", cases(_quantile_samples))

samples("cov", cases(lambda m: [
    Sample(m.real(2, 4)), Sample(m.real(2, 4), correction=0), Sample(m.real(5)), Sample(m.complex(2, 3)),
    Sample(m.integers(2, 4), gradient=False), Sample(m.real(2, 3), fweights=np.array([1, 2, 3])),
    Sample(m.real(2, 3), aweights=m.real(3, low=0.5)), Sample(m.real(), gradient=False),
    Sample(m.real(2, 3), fweights=np.array([1, 2, 3]), aweights=m.real(3, low=0.5)),
    Sample(m.real(2, 3), correction=0, aweights=m.real(3, low=0.5)),
    Sample(m.real(2, 3), correction=5, gradient=False), Sample(m.real(2, 2, 2), gradient=False),
    Sample(m.booleans(2, 2), gradient=False), Sample(m.real(2, 3), fweights=m.real(3, low=0.5), gradient=False),
    Sample(m.real(2, 3), fweights=np.array([1, 2]), gradient=False),
    Sample(m.real(2, 3), fweights=np.array([1, 2, -1]), gradient=False),
    Sample(m.real(2, 3), aweights=np.array([1.0, 2, -1], np.float32), gradient=False),
    Sample(m.real(2, 3), fweights=np.array([0, 0, 0]), gradient=False),
    Sample(m.real(2, 3), fweights=np.array([[1, 2, 1]]), gradient=False),
    Sample(m.real(2, 3), aweights=np.array([1, 2, 3]), gradient=False), Sample(m.real(1, 4)),
]))  # fmt: skip

samples("corrcoef", cases(lambda m: [
    Sample(m.real(3, 4)), Sample(m.real(5), gradient=False), Sample(m.complex(2, 4), gradient=False),
    Sample(m.integers(2, 4), gradient=False), Sample(m.real(2, 2, 2), gradient=False),
    Sample(m.real(), gradient=False),
]))  # fmt: skip

samples("bincount", cases(lambda m: [
    Sample(m.integers(7, low=0, high=4)), Sample(m.integers(3, low=0, high=4), m.real(3)),
    Sample(m.integers(3, low=0, high=4), m.real(3, dtype=np.float64)),
    Sample(m.integers(3, low=0, high=4), m.integers(3)),
    Sample(m.integers(3, low=0, high=4), m.real(3, dtype=np.float16)),
    Sample(m.integers(3, low=0, high=4), minlength=9), Sample(m.integers(3, low=0, high=4, dtype=np.uint8)),
    Sample(np.zeros(0, np.int64), minlength=2), Sample(np.zeros(0, np.int64), np.zeros(0, np.float32)),
    Sample(np.array([1, -1])), Sample(m.integers(2, 2, low=0, high=4)), Sample(m.real(3)), Sample(m.booleans(3)),
    Sample(m.integers(3, low=0, high=4), m.real(2)), Sample(m.integers(3, low=0, high=4), minlength=-1),
]))  # fmt: skip

_STEPS = np.array([1, 3, 5, 7, 9], np.float32)

samples("histc", cases(lambda m: [
    Sample(_STEPS, 4, gradient=False), Sample(_STEPS, gradient=False), Sample(_STEPS, 4, 2, 8, gradient=False),
    Sample(m.real(3, 4), bins=3, min=-1, max=1, gradient=False), Sample(np.ones(3, np.float32), 3, gradient=False),
    Sample(m.real(12, dtype=np.float64), 5, gradient=False), Sample(np.zeros(0, np.float32), 3, gradient=False),
    Sample(np.array([1, np.nan, 3], np.float32), 4, 0, 2, gradient=False), Sample(_STEPS, 0, gradient=False),
    Sample(_STEPS, 3, 5, 2, gradient=False), Sample(np.array([1, np.nan, 3], np.float32), 4, gradient=False),
    Sample(np.array([1, np.inf], np.float32), 4, gradient=False), Sample(m.integers(3), 2, gradient=False),
    Sample(m.booleans(3), 2, gradient=False),
]))  # fmt: skip

samples("histogram", cases(lambda m: [
    Sample(_STEPS, 4), Sample(_STEPS, 4, range=(0.0, 8.0)), Sample(_STEPS, np.array([0, 2, 4, 9], np.float32)),
    Sample(_STEPS, 4, weight=m.real(5)), Sample(_STEPS, 4, density=True),
    Sample(_STEPS, np.array([0, 2, 4, 9], np.float32), weight=m.real(5, low=1), density=True),
    Sample(m.real(2, 5), 3), Sample(_STEPS, 4, range=(2.0, 2.0)), Sample(np.ones(3, np.float32), 2),
    Sample(np.zeros(0, np.float32), 2), Sample(m.real(9, dtype=np.float64), bins=5), Sample(m.integers(3), 4),
    Sample(_STEPS, 4, range=(8.0, 0.0)), Sample(_STEPS, 4, weight=m.real(4)),
    Sample(_STEPS, np.array([[0, 2]], np.float32)), Sample(_STEPS, np.array([0.0, 2.0])),
    Sample(_STEPS, np.array([4], np.float32)), Sample(np.array([1, np.nan], np.float32), 2),
]))  # fmt: skip

_POINTS = np.array([[0, 1], [1, 0], [2, 0], [2, 2]], np.float32)

samples("histogramdd", cases(lambda m: [
    Sample(_POINTS, [3, 3], gradient=False), Sample(_POINTS, 2, gradient=False),
    Sample(_POINTS, bins=[2, 3], weight=m.real(4), gradient=False),
    Sample(_POINTS, [np.array([0, 1, 2], np.float32), np.array([0, 2], np.float32)], gradient=False),
    Sample(_POINTS, 2, density=True, gradient=False),
    Sample(_POINTS, [2, 2], range=[0.0, 1.0, 0.0, 4.0], gradient=False), Sample(_POINTS, [2], gradient=False),
    Sample(m.real(4), 2, gradient=False),
]))  # fmt: skip

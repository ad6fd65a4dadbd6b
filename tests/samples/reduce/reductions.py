"""Samples of the ops of ``ops/reduce/reductions.py``."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..make import Sample, cases, reduce, samples, together

_NAN_AND_INF = np.array([[np.nan, 1.0, 2.0], [np.inf, 1.0, 0.0], [-np.inf, -np.inf, -np.inf]], np.float32)

samples("prod", together(
    reduce(several=False, complex=True),
    cases(lambda m: [
        Sample(np.array([[0, 2, 3], [0, 0, 2], [1, 2, 4]], np.float32), 1),
        Sample(np.array([[0, 2, 3], [1, 5, 2]], np.float32)), Sample(m.real(0, 3)), Sample(m.real(0, 3), 0),
        Sample(m.booleans(2, 3), gradient=False), Sample(m.real(2, 3), 0, dtype=np.dtype(np.float64)),
        Sample(m.integers(3), dtype=np.dtype(np.float32), gradient=False),
        Sample(m.real(2, 3), (0, 1), gradient=False), Sample(m.real(2, 3), 2, gradient=False),
    ]),
))  # fmt: skip


def _variance_samples(m: Any) -> list[Sample]:
    return [
        Sample(m.apart(2, 3, 4)), Sample(m.apart(2, 3, 4), 1), Sample(m.apart(2, 3, 4), (0, -1), keepdim=True),
        Sample(m.apart(2, 3), False), Sample(m.apart(2, 3), unbiased=False), Sample(m.apart(2, 3), 0, False),
        Sample(m.apart(2, 3), 0, False, True), Sample(m.apart(2, 3), 0, unbiased=True, keepdim=True),
        Sample(m.apart(2, 3), None, False), Sample(m.apart(2, 3), correction=0),
        Sample(m.apart(2, 3), -1, correction=0.5, keepdim=True), Sample(m.apart(2, 3), 1, correction=None),
        Sample(m.apart(2, 3), []), Sample(m.apart(4, 3).T, 0), Sample(m.complex(3, 4), 1),
        Sample(m.apart(5, dtype=np.float64)), Sample(m.apart(5, dtype=np.float16), gradient=False),
        Sample(m.apart(2, 3), 0, correction=2, gradient=False), Sample(m.real(1), gradient=False),
        Sample(m.real(), gradient=False), Sample(m.real(0, 3), gradient=False), Sample(m.real(0, 3), 0, gradient=False),
        Sample(m.real(0, 3), 1, gradient=False), Sample(m.integers(2, 3), 0, gradient=False),
        Sample(m.booleans(3), gradient=False), Sample(m.apart(2, 3), 2, gradient=False),
        Sample(m.apart(2, 3), 0, True, correction=1, gradient=False),
        Sample(m.apart(2, 3), unbiased=True, correction=1, gradient=False),
    ]  # fmt: skip


samples("var", cases(_variance_samples))
samples("std", cases(_variance_samples))
samples("var_mean", cases(_variance_samples))
samples("std_mean", cases(_variance_samples))


def _truth_samples(m: Any) -> list[Sample]:
    return [
        Sample(m.booleans(2, 3)), Sample(m.booleans(2, 3, 2), 1), Sample(m.booleans(2, 3), -1, True),
        Sample(m.booleans(2, 3), dim=(0, 1)), Sample(m.booleans(2, 3), []), Sample(m.booleans(2, 3), None),
        Sample(m.integers(3, 2, low=0, high=2), 0), Sample(m.real(2, 3)), Sample(m.complex(2, 3), 0),
        Sample(m.integers(2, 3, low=0, high=2, dtype=np.uint8), 1), Sample(_NAN_AND_INF, 1), Sample(m.real(0, 3)),
        Sample(m.real(0, 3), 0), Sample(np.array(True)), Sample(m.real(3, dtype=np.float16)),
        Sample(m.booleans(2, 3), (0, 0)), Sample(m.booleans(2, 3), 3),
    ]  # fmt: skip


samples("all", cases(_truth_samples))
samples("any", cases(_truth_samples))

samples("logsumexp", cases(lambda m: [
    Sample(m.real(2, 3, 4), 1), Sample(m.real(2, 3, 4), (0, -1), True), Sample(m.real(4, 3).T, -1),
    Sample(m.real(), 0), Sample(m.real(2, 3) + 1000, 1), Sample(m.complex(2, 3), 0),
    Sample(m.integers(2, 3), 1, gradient=False), Sample(m.booleans(2, 3), 1, gradient=False),
    Sample(_NAN_AND_INF, 1, gradient=False), Sample(m.real(0, 3), 0, gradient=False), Sample(m.real(0, 3), 1),
    Sample(m.real(4, dtype=np.float16), 0, gradient=False), Sample(m.real(2, 3), 2, gradient=False),
]))  # fmt: skip

samples("norm", cases(lambda m: [
    Sample(m.apart(2, 3)), Sample(m.apart(2, 3), 1), Sample(m.apart(2, 3), 2, 0), Sample(m.apart(2, 3), 3, 1, True),
    Sample(m.apart(2, 3), dim=0), Sample(m.apart(2, 3), "fro"), Sample(m.apart(2, 3), "fro", (0, 1)),
    Sample(m.apart(2, 3), "fro", 0), Sample(m.apart(2, 3), "nuc"), Sample(m.apart(2, 3, 2), "nuc", (0, 2)),
    Sample(m.apart(2, 3) + 0.03, math.inf), Sample(m.apart(2, 3) + 0.03, -math.inf, 1),
    Sample(m.apart(2, 3), 0, 1, gradient=False), Sample(m.apart(2, 3), None), Sample(m.apart(2, 3), keepdim=True),
    Sample(m.apart(2, 3, 2), 2, (0, 1, 2)), Sample(m.apart(2, 3), dtype=np.dtype(np.float64)),
    Sample(m.complex(2, 3)), Sample(m.complex(2, 3), 1, 0), Sample(m.real(0, 3), gradient=False),
    Sample(m.integers(3), gradient=False), Sample(m.apart(2, 3), "bad", gradient=False),
    Sample(m.real(4, dtype=np.float16), gradient=False), Sample(m.apart(2, 3), 2, 3, gradient=False),
]))  # fmt: skip

samples("dist", cases(lambda m: [
    Sample(m.apart(2, 3), m.real(2, 3)), Sample(m.apart(2, 3), m.real(3), 1), Sample(m.apart(2, 3), m.real(1), 3.5),
    Sample(m.apart(2, 3), m.real(2, 3), 0, gradient=False), Sample(m.apart(2, 3), m.real(2, 3), math.inf),
    Sample(m.apart(2, 3), m.real(2, 3), -math.inf), Sample(m.complex(3), m.complex(3)),
    Sample(m.real(2), m.real(2, dtype=np.float64)), Sample(m.integers(2), m.integers(2), gradient=False),
    Sample(m.real(2), m.real(3), gradient=False),
]))  # fmt: skip

samples("renorm", cases(lambda m: [
    Sample(m.apart(3, 4), 2, 0, 1.0), Sample(m.apart(3, 4), 1, -1, 2.5), Sample(m.apart(2, 3, 2), 3.0, 1, 1),
    Sample(m.apart(3, 2), 2, 0, 100.0), Sample(m.apart(2, 2), math.inf, 0, 0.2, gradient=False),
    Sample(np.zeros((2, 2), np.float32), 2, 0, 1.0, gradient=False), Sample(m.complex(2, 3), 2, 0, 1.0),
    Sample(m.apart(3), 2, 0, 1.0, gradient=False), Sample(m.apart(2, 2), 0, 0, 1.0, gradient=False),
    Sample(m.apart(2, 2), 2, 0, -1.0, gradient=False), Sample(m.apart(2, 2), 2, 2, 1.0, gradient=False),
    Sample(m.integers(2, 2), 2, 0, 1.0, gradient=False),
]))  # fmt: skip

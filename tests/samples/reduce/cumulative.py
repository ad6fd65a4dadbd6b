"""Samples of the ops of ``ops/reduce/cumulative.py``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..make import Sample, cases, samples


def _running_samples(m: Any) -> list[Sample]:
    return [
        Sample(m.real(2, 3), 0), Sample(m.real(2, 3, 4), -2), Sample(m.real(4, 3).T, 1), Sample(m.real(), 0),
        Sample(m.real(0, 3), 0), Sample(m.real(3, 0), 0), Sample(m.complex(2, 3), 1),
        Sample(m.real(5, dtype=np.float16), 0, gradient=False), Sample(m.real(3), 0, dtype=np.dtype(np.float64)),
        Sample(m.real(3, dtype=np.float16), 0, dtype=np.dtype(np.float32), gradient=False),
        Sample(m.integers(2, 3), 1, gradient=False), Sample(m.booleans(2, 3), 1, gradient=False),
        Sample(m.integers(5, dtype=np.int8), 0, gradient=False),
        Sample(m.integers(3), 0, dtype=np.dtype(np.float32), gradient=False),
        Sample(m.booleans(2), 0, dtype=np.dtype(np.bool_), gradient=False), Sample(m.real(2, 3), 2, gradient=False),
        Sample(np.array([1, 0, 2, 0, 3], np.float32), 0), Sample(np.array([[0, 2], [4, 0], [3, 5]], np.float32), 0),
    ]  # fmt: skip


samples("cumsum", cases(_running_samples))
samples("cumprod", cases(_running_samples))

samples("logcumsumexp", cases(lambda m: [
    Sample(m.real(2, 3), 0), Sample(m.real(2, 3, 4), -2), Sample(m.real(4, 3).T, 1), Sample(m.real(), 0),
    Sample(m.real(0, 3), 0), Sample(m.real(5) * 100, 0, gradient=False), Sample(m.complex(2, 3), 1),
    Sample(m.real(5, dtype=np.float16), 0, gradient=False),
    Sample(np.array([-np.inf, 1, np.inf, 2, np.nan, 3], np.float32), 0, gradient=False),
    Sample(m.real(7, dtype=np.float64), 0), Sample(m.integers(3), 0, gradient=False),
    Sample(m.real(2, 3), 2, gradient=False),
]))  # fmt: skip


def _running_extreme_samples(m: Any) -> list[Sample]:
    return [
        Sample(m.apart(2, 3), 0), Sample(m.apart(2, 3, 4), -2), Sample(m.apart(4, 3).T, 1), Sample(m.apart(), 0),
        Sample(m.real(0, 3), 0), Sample(np.array([3, 1, 2, 1, 3, 3], np.float32), 0, gradient=False),
        Sample(m.integers(3, 5), 1, gradient=False),
        Sample(np.array([1, np.nan, 3, np.nan, -np.inf], np.float32), 0, gradient=False),
        Sample(m.booleans(2, 4), 1, gradient=False), Sample(m.apart(4, dtype=np.float16), 0, gradient=False),
        Sample(m.complex(3), 0, gradient=False), Sample(m.real(2, 3), 2, gradient=False),
    ]  # fmt: skip


samples("cummax", cases(_running_extreme_samples))
samples("cummin", cases(_running_extreme_samples))

samples("diff", cases(lambda m: [
    Sample(m.real(2, 4)), Sample(m.real(2, 4), 2), Sample(m.real(2, 3), 0), Sample(m.real(2, 3), 5),
    Sample(m.real(3, 2), 1, 0), Sample(m.real(2, 3), prepend=m.real(2, 1), append=m.real(2, 2)),
    Sample(m.real(2, 3), 2, 0, m.real(1, 3)), Sample(m.booleans(2, 4), gradient=False),
    Sample(m.integers(5), gradient=False), Sample(m.complex(3)), Sample(m.real(2, 3), -1, gradient=False),
    Sample(m.real(), gradient=False), Sample(m.real(2, 3), prepend=m.real(2), gradient=False),
    Sample(m.real(2, 3), prepend=m.real(1, 1), gradient=False), Sample(m.real(2, 3), 1, 2, gradient=False),
]))  # fmt: skip


def _area_samples(m: Any) -> list[Sample]:
    return [
        Sample(m.real(2, 3)), Sample(m.real(2, 3), dx=2), Sample(m.real(2, 3), dx=0.5, dim=0),
        Sample(m.real(2, 3), m.real(3)), Sample(m.real(2, 3), m.real(2), dim=0), Sample(m.real(2, 3), m.real(2, 3)),
        Sample(m.real(2, 3), x=m.real(1, 3)), Sample(m.real(2, 2, 3), m.real(2, 3)),
        Sample(m.integers(2, 3), gradient=False), Sample(m.integers(3), m.integers(3), gradient=False),
        Sample(m.booleans(3), gradient=False), Sample(m.real(2, 3), m.real(2), gradient=False),
        Sample(m.real(), gradient=False), Sample(m.complex(4)), Sample(m.real(1)),
    ]  # fmt: skip


samples("trapezoid", cases(_area_samples))
samples("cumulative_trapezoid", cases(_area_samples))

samples("gradient", cases(lambda m: [
    Sample(m.real(5)), Sample(m.real(5), spacing=2), Sample(m.real(5), spacing=[0.5]),
    Sample(m.real(5), edge_order=2), Sample(m.real(3, 4)), Sample(m.real(3, 4), dim=1),
    Sample(m.real(3, 4), dim=(1, 0), spacing=[1.0, 2.0]), Sample(m.real(2, 3)),
    Sample(m.integers(5), gradient=False), Sample(m.real(5), spacing=(np.array([0, 1, 3, 6, 10], np.float32),)),
    Sample(m.complex(4)), Sample(m.real(3), dim=2, gradient=False),
    Sample(m.real(5), spacing=(np.array([0, 1, 3, 6, 10], np.float32),), edge_order=2),
    Sample(m.real(2, 2), spacing=[1.0], gradient=False),
    Sample(m.real(3, 3), spacing=(np.array([0, 1, 3], np.float32), np.array([0, 2, 3], np.float32)), dim=(1, -2)),
    Sample(m.real(1), gradient=False), Sample(m.real(2), edge_order=2, gradient=False),
    Sample(m.real(4), edge_order=3, gradient=False), Sample(m.real(3, 3), dim=(0, 0), gradient=False),
]))  # fmt: skip

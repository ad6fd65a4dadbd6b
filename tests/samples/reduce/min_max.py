"""Samples of the ops of ``ops/reduce/min_max.py``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..make import Sample, cases, samples


def _extreme_samples(m: Any) -> list[Sample]:
    return [
        Sample(m.apart(2, 3)), Sample(m.apart(2, 3, 2), 1), Sample(m.apart(2, 3, 2), (0, -1), True),
        Sample(m.apart(2, 3), ()), Sample(m.apart(2, 3), dim=0, keepdim=True), Sample(m.apart(4, 3).T, -1),
        Sample(m.apart()), Sample(m.apart(), 0),
        Sample(np.array([[1, 3, 3], [1, 1, 2]], np.float32), 1, gradient=False),
        Sample(m.integers(3, 4), 0, gradient=False), Sample(m.booleans(2, 3), 1, gradient=False),
        Sample(m.apart(4, dtype=np.float16), gradient=False),
        Sample(np.array([[1, np.nan, 3], [np.inf, -np.inf, 0]], np.float32), 1, gradient=False),
        Sample(m.integers(4, low=0, high=9, dtype=np.uint8), gradient=False), Sample(m.real(0, 3), gradient=False),
        Sample(m.real(0, 3), 0, gradient=False), Sample(m.real(0, 3), 1, gradient=False),
        Sample(m.complex(3), gradient=False), Sample(m.real(2, 3), 2, gradient=False),
        Sample(m.real(2, 3), (0, 0), gradient=False),
    ]  # fmt: skip


samples("amax", cases(_extreme_samples))
samples("amin", cases(_extreme_samples))

samples("aminmax", cases(lambda m: [
    Sample(m.apart(2, 3)), Sample(m.apart(2, 3), dim=0), Sample(m.apart(2, 3), dim=-1, keepdim=True),
    Sample(m.apart(2, 3), keepdim=True), Sample(m.apart()), Sample(m.apart(), dim=0),
    Sample(np.array([1, np.nan, 2], np.float32), gradient=False), Sample(m.integers(3, 2), dim=1, gradient=False),
    Sample(m.booleans(3), gradient=False), Sample(m.real(0, 2), gradient=False),
    Sample(m.real(0, 2), dim=0, gradient=False), Sample(m.real(0, 2), dim=1, gradient=False),
    Sample(m.complex(2), gradient=False),
]))  # fmt: skip


def _front_samples(m: Any) -> list[Sample]:
    return [
        Sample(m.apart(2, 3)), Sample(m.apart(2, 3, 2), 1), Sample(m.apart(2, 3), -1, True),
        Sample(m.apart(2, 3), dim=0, keepdim=True), Sample(m.apart(4, 3).T, 0), Sample(m.apart()), Sample(m.apart(), 0),
        Sample(m.apart(), -1, True), Sample(m.apart(2, 3), m.real(3)), Sample(m.apart(2, 3), other=m.real(2, 1)),
        Sample(np.array([[1, 3, 3, 0], [1, 1, 2, 2]], np.float32), 1, gradient=False),
        Sample(m.integers(3, 4), 0, gradient=False), Sample(m.booleans(2, 3), 1, gradient=False),
        Sample(m.booleans(2, 3), gradient=False), Sample(m.apart(4, dtype=np.float16), 0, gradient=False),
        Sample(np.array([[1, np.nan, 3, np.nan], [np.inf, 0, 1, 2]], np.float32), 1, gradient=False),
        Sample(np.array([1, np.nan, 3], np.float32), gradient=False), Sample(m.real(0, 3), gradient=False),
        Sample(m.real(0, 3), 0, gradient=False), Sample(m.real(0, 3), 1, gradient=False),
        Sample(m.complex(3), gradient=False), Sample(m.complex(3), 0, gradient=False),
        Sample(m.real(2, 3), 2, gradient=False), Sample(m.real(2, 3), (0, 1), gradient=False),
        Sample(m.real(2, 3), keepdim=True, gradient=False),
    ]  # fmt: skip


samples("max", cases(_front_samples))
samples("min", cases(_front_samples))


def _index_samples(m: Any) -> list[Sample]:
    return [
        Sample(m.apart(2, 3)), Sample(m.apart(2, 3, 2), 1), Sample(m.apart(2, 3), -1, True),
        Sample(m.apart(2, 3), dim=None, keepdim=True), Sample(m.apart(4, 3).T), Sample(m.apart(4, 3).T, 0),
        Sample(m.apart()), Sample(m.apart(), 0), Sample(m.integers(3, 4), 0),
        Sample(np.array([[1, 3, 3, 0], [1, 1, 2, 2]], np.float32), 1),
        Sample(np.array([1, np.nan, 3, np.nan], np.float32)), Sample(m.apart(4, dtype=np.float16), 0),
        Sample(m.booleans(3)), Sample(m.complex(3)), Sample(m.real(0, 3)), Sample(m.real(0, 3), 0),
        Sample(m.real(0, 3), 1), Sample(m.real(2, 3), 2), Sample(m.real(2, 3), (0, 1)),
    ]  # fmt: skip


samples("argmax", cases(_index_samples))
samples("argmin", cases(_index_samples))

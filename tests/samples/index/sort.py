"""Samples of the ops of ``ops/index/sort.py``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..make import Sample, cases, samples


def _sort_samples(m: Any) -> list[Sample]:
    return [
        Sample(m.apart(2, 3)), Sample(m.apart(3, 4), 0), Sample(m.apart(2, 3, 2), 1, True),
        Sample(m.apart(4, 3).T, descending=True), Sample(m.apart(2, 3), dim=-2, descending=True), Sample(m.apart()),
        Sample(m.apart(), 0), Sample(m.real(0, 3), 0), Sample(m.real(0, 3), 1),
        Sample(np.array([3, 1, 2, 1, 3], np.float32), gradient=False),
        Sample(np.array([3, 1, 2, 1, 3], np.float32), 0, True, gradient=False),
        Sample(np.array([3, 1, 2, 1, 3], np.float32), stable=True, gradient=False),
        Sample(np.array([3, 1, 2, 1, 3], np.float32), stable=True, dim=0, descending=True, gradient=False),
        Sample(np.array([2, np.nan, -np.inf, np.nan, np.inf, 0, -0.0], np.float32), gradient=False),
        Sample(np.array([2, np.nan, -np.inf, np.nan, np.inf, 0, -0.0], np.float32), 0, True, gradient=False),
        Sample(m.integers(3, 5), gradient=False), Sample(m.booleans(2, 5), 1, True, gradient=False),
        Sample(m.integers(6, low=0, high=4, dtype=np.uint8), gradient=False),
        Sample(m.apart(5, dtype=np.float16), gradient=False), Sample(m.complex(3), gradient=False),
        Sample(m.real(2, 3), 2, gradient=False),
    ]  # fmt: skip


samples("sort", cases(_sort_samples))
samples("argsort", cases(_sort_samples))

samples(
    "msort",
    cases(
        lambda m: [
            Sample(m.apart(3, 4)),
            Sample(m.apart()),
            Sample(m.integers(5), gradient=False),
            Sample(m.complex(2), gradient=False),
        ]
    ),
)

_WITH_TIES = np.where(np.arange(140) % 41 == 7, np.nan, np.arange(140) * 7919 % 100).astype(np.float32)

samples("topk", cases(lambda m: [
    Sample(m.apart(2, 5), 2), Sample(m.apart(2, 5), 3, -1, False), Sample(m.apart(5, 3), 2, 0),
    Sample(m.apart(2, 5), 5, largest=False), Sample(m.apart(2, 4, 3), 2, 1), Sample(m.apart(4, 3).T, 2),
    Sample(m.apart(3), 0), Sample(m.apart(), 1), Sample(m.apart(3, 4), 2, 0, True, True), Sample(m.apart(200), 5),
    Sample(m.apart(2, 150), 3, 1, False), Sample(m.apart(150, 2), 4, 0),
    Sample(_WITH_TIES, 9, gradient=False, compare=False),
    Sample(m.integers(3, 1, low=0, high=9).astype(np.int32), 1, 0, gradient=False, compare=False),
    Sample(m.apart(6, dtype=np.float16), 2, gradient=False),
    Sample(np.array([1, np.nan, 3, 5], np.float32), 3, gradient=False), Sample(m.apart(3), 4, gradient=False),
    Sample(m.apart(3), -1, gradient=False), Sample(m.booleans(3), 1, gradient=False),
    Sample(m.complex(3), 1, gradient=False), Sample(m.real(2, 3), 1, 2, gradient=False),
]))  # fmt: skip

samples("kthvalue", cases(lambda m: [
    Sample(m.apart(2, 5), 2), Sample(m.apart(5, 3), 4, 0), Sample(m.apart(2, 4), 1, -1, True),
    Sample(m.apart(4, 3).T, 2), Sample(m.apart(), 1),
    Sample(np.array([1, np.nan, 3, 2], np.float32), 3, gradient=False),
    Sample(np.array([1, np.nan, 3, 2], np.float32), 4, gradient=False),
    Sample(m.integers(7) * 8 + np.arange(7), 3, gradient=False),
    Sample(m.apart(5, dtype=np.float16), 2, gradient=False), Sample(m.real(0, 3), 1, gradient=False),
    Sample(m.real(0, 3), 1, 0, gradient=False), Sample(m.apart(3), 0, gradient=False),
    Sample(m.apart(3), 4, gradient=False), Sample(m.booleans(3), 1, gradient=False),
    Sample(m.complex(3), 1, gradient=False),
]))  # fmt: skip


def _median_samples(m: Any) -> list[Sample]:
    return [
        Sample(m.apart(2, 3)), Sample(m.apart(2, 4), 1), Sample(m.apart(5, 3), 0, True),
        Sample(m.apart(2, 3, 2), dim=-2), Sample(m.apart(4, 3).T, -1), Sample(m.apart()), Sample(m.apart(), 0),
        Sample(np.array([3, 1, 2, 2], np.float32), 0, gradient=False),
        Sample(np.array([2, 2, 1, 3, 2, 2], np.float32), 0, gradient=False),
        Sample(np.array([1, np.nan, 3, np.nan], np.float32), gradient=False),
        Sample(np.array([[1, np.nan, 3, np.nan], [4, 1, 2, 3]], np.float32), 1, gradient=False),
        Sample(m.integers(3, 4), 1, gradient=False), Sample(m.integers(7), gradient=False),
        Sample(m.apart(6, dtype=np.float16), gradient=False), Sample(m.real(0, 3), gradient=False),
        Sample(m.real(0, 3), 0, gradient=False), Sample(m.real(0, 3), 1, gradient=False),
        Sample(m.booleans(3), gradient=False), Sample(m.complex(3), gradient=False),
        Sample(m.real(2, 3), 2, gradient=False),
    ]  # fmt: skip


samples("median", cases(_median_samples))
samples("nanmedian", cases(_median_samples))

samples("mode", cases(lambda m: [
    Sample(m.apart(2, 3)), Sample(m.apart(4, 3), 0, True), Sample(m.apart(), -1),
    Sample(np.array([[3, 1, 2, 2], [1, 1, 3, 3]], np.float32), gradient=False),
    Sample(np.array([1, 2, 2, 1, 3], np.float32), gradient=False),
    Sample(m.integers(3, 6, low=0, high=3), 1, gradient=False), Sample(m.booleans(2, 5), gradient=False),
    Sample(m.integers(6, 2, low=0, high=3), 0, gradient=False),
    Sample(np.array([1, 2, 2], np.float16), gradient=False), Sample(m.real(0, 3), 1, gradient=False),
    Sample(m.real(0, 3), 0, gradient=False), Sample(m.complex(2), gradient=False),
]))  # fmt: skip

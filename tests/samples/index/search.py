"""Samples of the ops of ``ops/index/search.py``."""

from __future__ import annotations

import numpy as np

from ..make import Sample, cases, samples

_TABLE = np.array([[1, 2, 1], [1, 2, 1], [0, 2, 0]])

_WITH_NAN = np.array([1, np.nan, 3, np.nan], np.float32)

samples("unique", cases(lambda m: [
    Sample(m.integers(8, low=0, high=4)), Sample(m.integers(2, 5, low=0, high=4), True, True, True),
    Sample(_TABLE, return_inverse=True), Sample(_TABLE, return_counts=True), Sample(_TABLE, sorted=False),
    Sample(_TABLE, dim=0), Sample(_TABLE, dim=1, return_inverse=True),
    Sample(_TABLE, dim=-2, return_inverse=True, return_counts=True), Sample(m.booleans(5), return_counts=True),
    Sample(np.array(3)), Sample(_WITH_NAN, return_inverse=True, return_counts=True, gradient=False),
    Sample(np.array([0.0, -0.0], np.float32), gradient=False),
    Sample(np.array([2, 1, 2], np.float16), gradient=False), Sample(m.real(0, 3), gradient=False),
    Sample(m.real(0, 3), dim=0, gradient=False), Sample(m.real(0, 3), dim=1, gradient=False),
    Sample(np.zeros(0, np.float32), True, True, True, gradient=False), Sample(m.complex(3), gradient=False),
    Sample(np.array(3), dim=0), Sample(_TABLE, dim=2),
]))  # fmt: skip

samples("unique_consecutive", cases(lambda m: [
    Sample(np.array([1, 1, 2, 2, 1])), Sample(np.array([1, 1, 2, 2, 1]), return_inverse=True, return_counts=True),
    Sample(_TABLE), Sample(_TABLE, return_inverse=True, dim=0), Sample(_TABLE, dim=1, return_counts=True),
    Sample(np.array(3), return_inverse=True), Sample(_WITH_NAN[1::2], gradient=False), Sample(m.booleans(6)),
    Sample(m.real(0, 3), gradient=False), Sample(m.real(0, 3), dim=0, gradient=False),
]))  # fmt: skip

_ROWS = np.array([[1, 3, 5], [2, 4, 6]], np.float32)

_STEPS = np.array([1, 3, 5, 7, 9], np.float32)

samples("searchsorted", cases(lambda m: [
    Sample(_STEPS, np.array([1, 4, 9, 10], np.float32)),
    Sample(_STEPS, np.array([1, 4, 9, 10], np.float32), right=True), Sample(_STEPS, 4),
    Sample(_STEPS, 4.5, side="right"), Sample(_STEPS, np.array([[1, 4], [4, 7]], np.float32), out_int32=True),
    Sample(_ROWS, np.array([[1, 4], [4, 7]], np.float32)),
    Sample(_ROWS, np.array([[1, 4, 5], [6, 7, 0]], np.float32), right=True),
    Sample(_STEPS, np.array([np.nan, np.inf], np.float32)),
    Sample(_ROWS, np.array([[np.nan, np.inf], [-np.inf, 6]], np.float32)),
    Sample(np.array([5, 1, 3], np.float32), np.array([1, 4], np.float32), sorter=np.array([1, 2, 0])),
    Sample(np.zeros(0, np.float32), np.array([1], np.float32)), Sample(np.array([1, 3, 5]), np.array([3, 6])),
    Sample(_ROWS, np.array([1, 4], np.float32)), Sample(_ROWS, 4),
    Sample(_STEPS, np.array([1], np.float32), side="left", right=True),
    Sample(_STEPS, np.array([1], np.float32), side="middle"),
    Sample(_STEPS, np.array([1], np.float32), sorter=np.array([1, 2])),
    Sample(_STEPS[:3], np.array([1], np.float32), sorter=np.array([1, 2, 7])),
    Sample(_STEPS[:2], np.array([1], np.float32), sorter=np.array([1.0, 0.0])),
    Sample(np.array(1, np.float32), np.array([1], np.float32)),
]))  # fmt: skip

samples("bucketize", cases(lambda m: [
    Sample(np.array([[3, 6, 9], [3, 6, 9]], np.float32), _STEPS),
    Sample(np.array([3, 6, 9], np.float32), _STEPS, right=True), Sample(3, _STEPS),
    Sample(np.array([3]), np.array([1, 3]), out_int32=True),
    Sample(np.array([3.0], np.float32), _ROWS, gradient=False),
]))  # fmt: skip

samples("isin", cases(lambda m: [
    Sample(m.integers(2, 3), np.array([1, 2, -1])), Sample(m.integers(6), 1), Sample(1, m.integers(6)),
    Sample(m.integers(6), np.array([0, 1]), invert=True),
    Sample(np.array([3, 1, 2]), np.array([1, 2]), assume_unique=True), Sample(_STEPS, np.array([1, 3])),
    Sample(_WITH_NAN, _WITH_NAN), Sample(m.integers(3), np.zeros(0, np.int64)), Sample(m.complex(2), m.complex(2)),
    Sample(m.booleans(2), m.booleans(2)), Sample(1, 2),
]))  # fmt: skip

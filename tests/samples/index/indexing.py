"""Samples of the ops of ``ops/index/indexing.py``."""

from __future__ import annotations

import numpy as np

from ..make import Sample, cases, samples

samples("index", cases(lambda m: [
    Sample(m.real(3, 4), [np.array([0, 2, 2])]),
    Sample(m.real(3, 4), [None, np.array([[0, -1], [2, 2]], np.int32)]),
    Sample(m.real(3, 4), [np.array([[0], [2]]), np.array([1, 1, 3])]),
    Sample(m.real(2, 3, 2), [np.array([0, 1]), None, np.array([1, 0])]),
    Sample(m.real(2, 3, 2), [None, np.array([0, 1, 1]), np.array(1)]),
    Sample(m.real(4, 3).T, [np.array(1)]),
    Sample(m.real(3, 4), [np.zeros((2, 0), np.int64)]),
    Sample(m.complex(3), [np.array([1, 1])]),
]))  # fmt: skip

samples("index_put", cases(lambda m: [
    Sample(m.real(3, 4), [np.array([0, 2])], m.real(2, 4)),
    Sample(m.real(3, 4), [np.array([0, 2])], m.real()),
    Sample(m.real(3, 4), [np.array([-1, 1], np.int32), np.array([[1], [3]])], m.real(2)),
    Sample(m.real(3, 4), [np.array([0, 2, 0, 0])], m.real(4, 4), accumulate=True),
    Sample(m.real(3, 4), [np.array([0, 2, 0, -3]), np.array([1, -1, 1, 1])], m.real(4), accumulate=True),
    Sample(m.real(3, 4), [np.array([0, 2, 0, -3])], m.real(1), accumulate=True),
    Sample(m.real(2, 3, 2), [np.array([[0], [1], [0]]), np.array([1, 1])], m.real(3, 2, 2), accumulate=True),
    Sample(m.real(4, 3).T, [np.array([0, 0, 1]), np.array([1, 1, 1])], m.real(3), accumulate=True),
    Sample(m.real(3, 4), [np.array([True, False, True])], m.real(2, 4)),
    Sample(m.real(3, 4), [np.array([True, False, True])], m.real(4), accumulate=True),
    Sample(m.real(3, 4), [np.array([True, False, True]), np.array([1, 2])], m.real(2)),
    Sample(m.real(3, 2), [np.array([[True, False], [True, True], [False, False]])], m.real(3)),
    Sample(m.real(3, 4), [np.zeros(0, np.int64)], m.real(0, 4)),
    Sample(m.complex(3), [np.array([1, 1])], m.complex(2), accumulate=True),
    Sample(m.real(3, dtype=np.float16), [np.array([1, 1])], m.real(2, dtype=np.float16), accumulate=True, gradient=False),
    Sample(m.integers(3), [np.array([1, 1])], m.integers(2), accumulate=True, gradient=False),
    Sample(m.integers(3), [np.array([1, 2], np.int32)], m.integers(2), gradient=False),
    Sample(m.booleans(3), [np.array([1, 0, 1], np.uint8)], m.booleans(2), gradient=False),
    Sample(m.real(3, 4), [np.array([7])], m.real(4), gradient=False),
    Sample(m.real(3, 4), [np.array([-4])], m.real(4), accumulate=True, gradient=False),
    Sample(m.real(3, 4), [np.array([0.0])], m.real(4), gradient=False),
    Sample(m.real(3, 4), [np.array([0], np.int16)], m.real(4), gradient=False),
    Sample(m.real(3, 4), [np.array([0])], m.integers(4), gradient=False),
    Sample(m.real(3, 4), [np.array([0])], m.real(3), gradient=False),
    Sample(m.real(3, 4), [np.array([0])], m.real(1, 1, 4), gradient=False),
    Sample(m.real(3, 4), [np.array([True, False])], m.real(4), gradient=False),
    Sample(m.real(3, 4), [np.array([True, False, True])], m.real(3, 4), gradient=False),
    Sample(m.real(3, 4), [np.array([0]), np.array([0]), np.array([0])], m.real(1), gradient=False),
    Sample(m.real(3, 4), [np.array([0, 1]), np.array([0, 1, 2])], m.real(1), gradient=False),
    Sample(m.real(3, 4), [np.array([0])], 1.0, gradient=False),
]))  # fmt: skip

samples("take", cases(lambda m: [
    Sample(m.real(3, 4), np.array([[0, 5], [5, -1]])),
    Sample(m.real(4, 3).T, np.array([1, 2])),
    Sample(m.real(3, 4), np.array(3)),
    Sample(m.real(), np.array([0, 0])),
    Sample(np.zeros(0, np.float32), np.zeros((2, 0), np.int64)),
    Sample(m.complex(3), np.array([2, 2])),
    Sample(m.integers(3), np.array([2, 2]), gradient=False),
    Sample(m.real(3, 4), np.array([12]), gradient=False),
    Sample(m.real(3, 4), np.array([-13]), gradient=False),
    Sample(m.real(3, 4), np.array([0], np.int32), gradient=False),
    Sample(np.zeros(0, np.float32), np.array([0]), gradient=False),
]))  # fmt: skip

samples("put", cases(lambda m: [
    Sample(m.real(3, 4), np.array([[0, 5], [6, -1]]), m.real(4)),
    Sample(m.real(4, 3).T, np.array([1, 2]), m.real(2)),
    Sample(m.real(3, 4), np.array([[0, 5], [5, -1]]), m.real(2, 2), accumulate=True),
    Sample(m.real(), np.array(0), m.real(1)),
    Sample(m.real(3), np.zeros(0, np.int64), m.real(0)),
    Sample(m.integers(3), np.array([2, 2]), m.integers(2), True, gradient=False),
    Sample(m.real(3, 4), np.array([12]), m.real(1), gradient=False),
    Sample(m.real(3, 4), np.array([0, 1]), m.real(3), gradient=False),
    Sample(m.real(3, 4), np.array([0]), m.integers(1), gradient=False),
    Sample(m.real(3, 4), np.array([0], np.int32), m.real(1), gradient=False),
]))  # fmt: skip

samples("take_along_dim", cases(lambda m: [
    Sample(m.real(3, 4), np.array([[0], [1], [2]]), 1),
    Sample(m.real(3, 4), np.array([[2, 1, 0, 0], [0, 0, 1, 1]]), dim=0),
    Sample(m.real(3, 4), np.array([[-1, 1]]), -1),
    Sample(m.real(1, 4), np.array([[0], [3]]), 1),
    Sample(m.real(3, 4), np.array([[7]]), 0),
    Sample(m.real(3, 4), np.array([[3, 0], [11, 3]])),
    Sample(m.real(), np.array(0)),
    Sample(m.integers(3), np.array([2, 2]), 0, gradient=False),
    Sample(m.real(3, 4), np.array([0]), 0, gradient=False),
    Sample(m.real(3, 4), np.array([[0], [1]]), 1, gradient=False),
    Sample(m.real(3, 4), np.array([[0]], np.int32), 1, gradient=False),
    Sample(m.real(3, 4), np.array([[0]]), 2, gradient=False),
]))  # fmt: skip

samples("unravel_index", cases(lambda m: [
    Sample(np.array([3, 7, 0]), (2, 4)),
    Sample(np.array([[5]], np.int32), (2, 2, 2)),
    Sample(np.array(-1), (2, 4)),
    Sample(np.array([8]), (2, 4)),
    Sample(np.array([1]), 4),
    Sample(np.zeros(0, np.int64), (2, 4)),
    Sample(np.array([1.0]), (2, 4), gradient=False),
    Sample(np.array([1]), (2, -1)),
    Sample(np.array([1]), (2, 2.0)),
]))  # fmt: skip

samples("one_hot", cases(lambda m: [
    Sample(np.array([[0, 2], [1, 1]])),
    Sample(np.array([[0, 2], [1, 1]]), 4),
    Sample(np.array(2)),
    Sample(np.zeros(0, np.int64), 3),
    Sample(np.zeros(0, np.int64)),
    Sample(np.array([0, 2]), num_classes=2),
    Sample(np.array([0, -1]), 2),
    Sample(np.array([0, 1], np.int32), 2),
    Sample(np.array([0.0, 1.0]), 2),
]))  # fmt: skip

"""Samples of the ops of ``ops/index/index_select.py``."""

from __future__ import annotations

import numpy as np

from ..make import Sample, cases, samples

samples("index_select", cases(lambda m: [
    Sample(m.real(3, 4), 0, np.array([0, 2, 2])),
    Sample(m.real(3, 4), -1, np.array([3, 0], np.int32)),
    Sample(m.real(2, 3, 2), 1, np.array([2, 2, 0, 1])),
    Sample(m.real(4, 3).T, 0, np.array([1])),
    Sample(m.real(3, 4), 0, np.array(1)),
    Sample(m.real(), 0, np.array([0])),
    Sample(m.real(), 0, np.array(0)),
    Sample(m.real(3, 4), 1, np.zeros(0, np.int64)),
    Sample(m.complex(3), 0, np.array([2, 2])),
    Sample(m.real(3, dtype=np.float16), 0, np.array([1]), gradient=False),
    Sample(m.integers(3), 0, np.array([1, 0]), gradient=False),
    Sample(m.booleans(3), 0, np.array([1, 0]), gradient=False),
    Sample(m.real(3, 4), 0, np.array([3]), gradient=False),
    Sample(m.real(3, 4), 0, np.array([-1]), gradient=False),
    Sample(m.real(3, 4), 0, np.array([[0]]), gradient=False),
    Sample(m.real(3, 4), 0, np.array([0], np.int16), gradient=False),
    Sample(m.real(), 0, np.array([0, 0]), gradient=False),
    Sample(m.real(3, 4), 2, np.array([0]), gradient=False),
]))  # fmt: skip

samples("index_add", cases(lambda m: [
    Sample(m.real(3, 4), 0, np.array([0, 2]), m.real(2, 4)),
    Sample(m.real(3, 4), 0, np.array([1, 1, 1]), m.real(3, 4), alpha=2.5),
    Sample(m.real(3, 4), -1, np.array([3, 0, 3], np.int32), m.real(3, 3)),
    Sample(m.real(2, 3, 2), 1, np.array([2, 2, 0, 1]), m.real(2, 4, 2)),
    Sample(m.real(4, 3).T, 1, np.array([0, 0]), m.real(2, 3).T),
    Sample(m.real(3, 4), 0, np.array(1), m.real(1, 4)),
    Sample(m.real(), 0, np.array(0), m.real()),
    Sample(m.real(3, 4), 0, np.zeros(0, np.int64), m.real(0, 4)),
    Sample(m.complex(3), 0, np.array([2, 2]), m.complex(2)),
    Sample(m.real(3, dtype=np.float16), 0, np.array([1, 1]), m.real(2, dtype=np.float16), gradient=False),
    Sample(m.integers(3), 0, np.array([1, 1]), m.integers(2), alpha=2.5, gradient=False),
    Sample(m.booleans(3), 0, np.array([1, 0]), m.booleans(2), gradient=False),
    Sample(m.real(3, 4), 0, np.array([0, 3]), m.real(2, 4), gradient=False),
    Sample(m.real(3, 4), 0, np.array([0, -1]), m.real(2, 4), gradient=False),
    Sample(m.real(3, 4), 0, np.array([0, 1]), m.real(2, 3), gradient=False),
    Sample(m.real(3, 4), 0, np.array([0, 1]), m.real(3, 4), gradient=False),
    Sample(m.real(3, 4), 0, np.array([[0, 1]]), m.real(2, 4), gradient=False),
    Sample(m.real(3, 4), 0, np.array([0, 1]), m.integers(2, 4), gradient=False),
    Sample(m.real(3, 4), 0, np.array([0, 1], np.int16), m.real(2, 4), gradient=False),
    Sample(m.real(), 0, np.array([0]), m.real(1), gradient=False),
]))  # fmt: skip

samples("index_copy", cases(lambda m: [
    Sample(m.real(3, 4), 0, np.array([0, 2]), m.real(2, 4)),
    Sample(m.real(3, 4), -1, np.array([3, 0]), m.real(3, 2)),
    Sample(m.real(4, 3).T, 1, np.array([0]), m.real(1, 3).T),
    Sample(m.real(3, 4), 0, np.array(1), m.real(1, 4)),
    Sample(m.real(), 0, np.array([0]), m.real(1)),
    Sample(m.real(), 0, np.array(0), m.real()),
    Sample(m.complex(3), 0, np.array([2, 1]), m.complex(2)),
    Sample(m.integers(3), 0, np.array([1, 2]), m.integers(2), gradient=False),
    Sample(m.real(3, 4), 0, np.array([0, 3]), m.real(2, 4), gradient=False),
    Sample(m.real(3, 4), 0, np.array([0, -1]), m.real(2, 4), gradient=False),
    Sample(m.real(3, 4), 0, np.array([0, 1]), m.real(2, 3), gradient=False),
    Sample(m.real(3, 4), 0, np.array([0, 1]), m.real(3, 4), gradient=False),
    Sample(m.real(3, 4), 0, np.array([1]), m.real(4), gradient=False),
    Sample(m.real(3, 4), 0, np.array([[1]]), m.real(1, 4), gradient=False),
    Sample(m.real(3, 4), 0, np.array([1], np.int32), m.real(1, 4), gradient=False),
    Sample(m.real(3, 4), 0, np.array([1]), m.integers(1, 4), gradient=False),
]))  # fmt: skip

samples("index_fill", cases(lambda m: [
    Sample(m.real(3, 4), 0, np.array([0, 2]), 1.5),
    Sample(m.real(3, 4), -1, np.array([3, 0]), m.real()),
    Sample(m.real(4, 3).T, 1, np.array([0]), m.real(dtype=np.float64)),
    Sample(m.real(3, 4), 0, np.array([-1, 0, -1]), m.real()),
    Sample(m.real(3, 4), 0, np.array(1), 2),
    Sample(m.real(), 0, np.array([0]), 3.0),
    Sample(m.real(3, 4), 0, np.array([-1]), 1.0),
    Sample(m.real(3, 4), 0, np.zeros(0, np.int64), 1.0),
    Sample(m.complex(3), 0, np.array([2]), 1 + 1j),
    Sample(m.integers(3), 0, np.array([2]), 1.5, gradient=False),
    Sample(m.booleans(3), 0, np.array([2]), True, gradient=False),
    Sample(m.real(3, 4), 0, np.array([3]), 1.0, gradient=False),
    Sample(m.real(3, 4), 0, np.array([[1]]), 1.0, gradient=False),
    Sample(m.real(3, 4), 0, np.array([1], np.int32), 1.0, gradient=False),
    Sample(m.real(3, 4), 0, np.array([1]), m.real(1), gradient=False),
    Sample(m.real(3, 4), 0, np.array([1]), 1j, gradient=False),
]))  # fmt: skip

samples("index_reduce", cases(lambda m: [
    *(
        Sample(m.apart(3, 2), 0, np.array([0, 2, 2]), m.real(3, 2), reduce, include_self=include_self)
        for reduce in ("prod", "mean", "amax", "amin") for include_self in (True, False)
    ),
    Sample(m.real(4, 3).T, -1, np.array([1, 1], np.int32), m.real(3, 2), "prod"),
    Sample(m.integers(3), 0, np.array([2, 2]), m.integers(2), "amax", gradient=False),
    Sample(m.real(3, dtype=np.float16), 0, np.array([2, 2]), m.real(2, dtype=np.float16), "amin", gradient=False),
    Sample(m.real(3), 0, np.array([2, 2]), m.real(2), "sum", gradient=False),
    Sample(m.real(3), 0, np.array([5]), m.real(1), "amax", gradient=False),
    Sample(m.real(3), 0, np.array([2, 2]), m.real(2, dtype=np.float64), "amax", gradient=False),
    Sample(m.real(3), 0, np.array([[2]]), m.real(1), "amax", gradient=False),
    Sample(m.real(3, 2), 0, np.array([2]), m.real(1, 3), "amax", gradient=False),
]))  # fmt: skip

"""Samples of the ops of ``ops/index/gather_scatter.py``."""

from __future__ import annotations

import numpy as np

from ..make import Sample, cases, samples

samples("gather", cases(lambda m: [
    Sample(m.real(3, 4), 1, m.integers(3, 2, low=0, high=4)),
    Sample(m.real(3, 4), 0, m.integers(5, 2, low=0, high=3)),
    Sample(m.real(3, 4), -1, m.integers(2, 6, low=0, high=4, dtype=np.int32)),
    Sample(m.real(4, 3).T, 0, m.integers(2, 4, low=0, high=3)),
    Sample(m.real(2, 3, 2), 1, m.integers(2, 4, 1, low=0, high=3)),
    Sample(m.real(4), 0, np.array(2)),
    Sample(m.real(), 0, np.array([0, 0])),
    Sample(m.real(), -1, np.array(0)),
    Sample(m.real(3, 4), 1, np.zeros((0,), np.int64)),
    Sample(m.complex(3), 0, np.array([2, 2, 0])),
    Sample(m.real(3, dtype=np.float16), 0, np.array([2, 0]), gradient=False),
    Sample(m.booleans(3), 0, np.array([2, 0]), gradient=False),
    Sample(m.real(3, 4), 1, np.array([[4]]), gradient=False),
    Sample(m.real(3, 4), 1, np.array([[-1]]), gradient=False),
    Sample(m.real(3, 4), 1, np.array([0]), gradient=False),
    Sample(m.real(3, 4), 1, np.zeros((4, 1), np.int64), gradient=False),
    Sample(m.real(3, 4), 1, np.zeros((1, 1), np.int16), gradient=False),
    Sample(m.real(3, 4), 2, np.zeros((1, 1), np.int64), gradient=False),
]))  # fmt: skip

samples("scatter", cases(lambda m: [
    Sample(m.real(3, 4), 1, np.array([[0, 3], [1, 2]]), m.real(2, 2)),
    Sample(m.real(3, 4), 0, np.array([[0, 2, 1, 1]]), m.real(2, 5)),
    Sample(m.real(3, 4), -1, np.array([[0, 3], [1, 2]], np.int32), 1.5),
    Sample(m.real(4, 3).T, 1, np.array([[0, 3], [1, 2]]), m.real(2, 2)),
    Sample(m.real(3, 4), 1, np.array([[0, 3], [1, 1]]), value=2),
    Sample(m.real(3, 4), 1, index=np.array([[0, 3], [1, 2]]), src=m.real(3, 2)),
    Sample(m.real(3), 0, np.array(1), m.real()),
    Sample(m.real(), 0, np.array([0]), m.real(1)),
    Sample(m.real(3, 4), 1, np.zeros((0,), np.int64), m.real(2, 2)),
    Sample(m.complex(3), 0, np.array([2, 0]), m.complex(2)),
    Sample(m.real(3, 4), 1, np.array([[0, 3], [1, 1]]), m.real(2, 2), reduce="add"),
    Sample(m.real(3, 4), 1, np.array([[0, 3], [1, 1]]), m.real(2, 3), reduce="multiply"),
    Sample(m.real(3, 4), 1, np.array([[0, 3], [1, 1]]), 2, reduce="multiply"),
    Sample(m.real(3, dtype=np.float16), 0, np.array([2, 2]), 1.5, reduce="add", gradient=False),
    Sample(m.integers(3, 4), 1, np.array([[0, 3]]), 2.5, gradient=False),
    Sample(m.booleans(3), 0, np.array([1, 2]), np.array([True, False]), gradient=False),
    Sample(m.real(3, 4), 1, np.array([[4]]), 1.0, gradient=False),
    Sample(m.real(3, 4), 1, np.array([[-1]]), 1.0, gradient=False),
    Sample(m.real(3, 4), 1, np.array([[0, 1]]), m.real(1, 1), gradient=False),
    Sample(m.real(3, 4), 1, np.array([[0, 1]]), m.real(2), gradient=False),
    Sample(m.real(3, 4), 1, np.array([[0, 1]]), m.real(), gradient=False),
    Sample(m.real(3, 4), 1, np.array([0, 1]), m.real(1, 2), gradient=False),
    Sample(m.real(3, 4), 1, np.zeros((4, 1), np.int64), m.real(4, 4), gradient=False),
    Sample(m.real(3, 4), 1, np.array([[0, 1]]), m.integers(1, 2), gradient=False),
    Sample(m.real(3, 4), 1, np.array([[0, 1]]), m.real(1, 2), reduce="sum", gradient=False),
    Sample(m.real(3, 4), 1, np.array([[0, 1]]), 1j, gradient=False),
    Sample(m.real(3, 4), 1, np.array([[0, 1]], np.int16), 1.0, gradient=False),
]))  # fmt: skip

samples("scatter_add", cases(lambda m: [
    Sample(m.real(3, 4), 1, np.array([[0, 3], [1, 1]]), m.real(2, 2)),
    Sample(m.real(3, 4), 0, np.array([[0, 2, 1, 1], [0, 0, 0, 0]]), m.real(2, 5)),
    Sample(m.real(4, 3).T, -1, np.array([[3, 3], [1, 2]], np.int32), m.real(2, 2)),
    Sample(m.real(3), 0, np.array(1), m.real()),
    Sample(m.real(), 0, np.array([0, 0]), m.real(2)),
    Sample(m.real(3, 4), 1, np.zeros((0,), np.int64), m.real(2, 2)),
    Sample(m.complex(3), 0, np.array([2, 2]), m.complex(2)),
    Sample(m.real(3, dtype=np.float16), 0, np.array([2, 2]), m.real(2, dtype=np.float16), gradient=False),
    Sample(m.integers(3), 0, np.array([2, 2]), m.integers(2), gradient=False),
    Sample(np.zeros(3, np.bool_), 0, np.array([2, 2]), np.array([True, True]), gradient=False),
    Sample(m.real(3, 4), 1, np.array([[4]]), m.real(1, 1), gradient=False),
    Sample(m.real(3, 4), 1, np.array([[0, 1]]), m.real(1, 1), gradient=False),
    Sample(m.real(3, 4), 1, np.array([[0, 1]]), m.real(1, 2, dtype=np.float64), gradient=False),
    Sample(m.real(3, 4), 1, np.array([[0, 1]]), 1.0, gradient=False),
]))  # fmt: skip

samples("scatter_reduce", cases(lambda m: [
    *(
        Sample(m.apart(3, 4), 1, np.array([[0, 3, 3], [1, 1, 1]]), m.real(2, 3), reduce, include_self=include_self)
        for reduce in ("sum", "prod", "mean", "amax", "amin") for include_self in (True, False)
    ),
    Sample(m.real(4, 3).T, 0, np.array([[0, 0, 2, 2]], np.int32), m.real(3, 5), "prod"),
    Sample(m.real(3), 0, np.array(1), m.real(), "mean"),
    Sample(m.real(), 0, np.array([0, 0]), m.real(2), "sum"),
    Sample(m.real(3, 4), 1, np.zeros((0,), np.int64), m.real(2, 2), "prod"),
    Sample(np.array([2.0, 0.0, 3.0, 0.0], np.float32), 0, np.array([0, 0, 1, 2, 2, 3]), np.array([0, 3, 4, 5, 6, 0], np.float32), "prod", gradient=False),
    Sample(np.zeros(2, np.float32), 0, np.array([0, 0, 1]), np.array([np.nan, 1, 2], np.float32), "amax", gradient=False),
    Sample(m.complex(3), 0, np.array([2, 2]), m.complex(2), "sum"),
    Sample(m.complex(3), 0, np.array([2, 2]), m.complex(2), "prod", gradient=False),
    Sample(m.real(3, dtype=np.float16), 0, np.array([2, 2]), m.real(2, dtype=np.float16), "mean", gradient=False),
    Sample(m.integers(3), 0, np.array([2, 2, 0, 1]), m.integers(4), "mean", gradient=False),
    Sample(m.integers(3), 0, np.array([2, 2, 0, 1]), m.integers(4), "amin", include_self=False, gradient=False),
    Sample(m.booleans(3), 0, np.array([2, 2, 0, 1]), m.booleans(4), "amax", gradient=False),
    Sample(m.booleans(3), 0, np.array([2, 2, 0, 1]), m.booleans(4), "prod", gradient=False),
    Sample(m.booleans(3), 0, np.array([2, 2, 0, 1]), m.booleans(4), "mean", gradient=False),
    Sample(m.complex(3), 0, np.array([2, 2]), m.complex(2), "amax", gradient=False),
    Sample(m.real(3), 0, np.array([2, 2]), m.real(2), "add", gradient=False),
    Sample(m.real(3), 0, np.array([2, 3]), m.real(2), "amax", gradient=False),
]))  # fmt: skip

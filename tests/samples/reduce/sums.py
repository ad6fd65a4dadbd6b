"""Samples of the ops of ``ops/reduce/sums.py``."""

from __future__ import annotations

import numpy as np

from ..make import Sample, cases, reduce, refused, samples, together

samples("sum", together(reduce(complex=True), cases(lambda m: [
    Sample(m.real(0, 3)), Sample(m.real(0, 3), 0), Sample(m.real(2, 3), []),
    Sample(m.real(2, 3), dtype=np.dtype(np.float64)),
    Sample(m.integers(2, 3), dtype=np.dtype(np.float32), gradient=False),
    Sample(m.integers(2, 3, dtype=np.int8), gradient=False), Sample(m.booleans(2, 3), gradient=False),
    Sample(m.real(2, 3), (0, 0), gradient=False), Sample(m.real(2, 3), 2, gradient=False),
    Sample(m.real(3, 4, 2).transpose(2, 0, 1), (0, 2)),
])))  # fmt: skip

samples("mean", together(reduce(complex=True), cases(lambda m: [
    Sample(m.real(0, 3)), Sample(m.real(0, 3), 0), Sample(m.real(0, 3), 1), Sample(m.real(2, 3), []),
    Sample(m.integers(2, 3), dtype=np.dtype(np.float32), gradient=False),
    Sample(m.real(2, 3), dtype=np.dtype(np.float64)),
    Sample(m.real(2, 3), dtype=np.dtype(np.int64), gradient=False), Sample(m.real(2, 3), 5, gradient=False),
])))  # fmt: skip

samples("nansum", together(reduce(), cases(lambda m: [
    Sample(np.array([[1, np.nan, 2], [np.nan, 4, 5]], np.float32), 1, gradient=False),
    Sample(np.array([np.nan, np.nan], np.float16), gradient=False),
    Sample(m.real(2, 3), 0, True, dtype=np.dtype(np.float64)), Sample(m.complex(2), gradient=False),
])))  # fmt: skip

samples("nanmean", together(reduce(), cases(lambda m: [
    Sample(np.array([[1, np.nan, 2], [np.nan, np.nan, np.nan]], np.float32), 1, gradient=False),
    Sample(m.real(2, 3), 0, True, dtype=np.dtype(np.float64)), Sample(m.complex(2), gradient=False),
])))  # fmt: skip

samples("count_nonzero", cases(lambda m: [
    Sample(m.integers(3, 4, low=-1, high=2)), Sample(m.integers(3, 4, low=-1, high=2), 0),
    Sample(m.booleans(2, 3), dim=(0, 1)), Sample(np.array([0.0, np.nan, -0.0, 1.0], np.float32), gradient=False),
    Sample(m.complex(2, 3), -1), Sample(m.real()), Sample(np.array([0, 1, 0], np.float16)), Sample(m.real(0, 2), 0),
    Sample(m.real(2, 2), 2),
]))  # fmt: skip
samples(
    "sum_to_size",
    cases(lambda m: [Sample(m.real(2, 3), (2, 1)), Sample(m.real(2, 3), (3,)), Sample(m.real(2, 3), ()), refused(m.real(2, 3), (2,))]),
)

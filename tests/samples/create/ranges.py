"""Samples of the ops of ``ops/create/ranges.py``."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from ..make import Sample, cases, samples

samples("arange", cases(
    lambda m: [
        Sample(5), Sample(5.0), Sample(1, 5), Sample(1, 5, 2), Sample(1, 5.0, 2), Sample(1, 5, 0.5), Sample(5, 1),
        Sample(5, 1, -1), Sample(1, 5, 0), Sample(1, 5, -1), Sample(float("inf")), Sample(float("nan")),
        Sample(0, 1e30), Sample(end=5), Sample(start=1, end=6, step=3), Sample(0, 5, dtype=np.dtype(np.float32)),
        Sample(0, 2.5, 0.3), Sample(-5), Sample(1, 1), Sample(0.1, 1, 0.1, dtype=np.dtype(np.float64)),
        Sample(0, 5, dtype=np.dtype(np.bool_)), Sample(True), Sample(1j), Sample("a"),
        Sample(0, 5, dtype=np.dtype(np.complex64)), Sample(0, -5, -1, dtype=np.dtype(np.uint8)),
        Sample(0, 300, 50, dtype=np.dtype(np.uint8)), Sample(0, 2.5, 0.3, dtype=np.dtype(np.int64)),
        Sample(0, 2.5, 0.3, dtype=np.dtype(np.int32)), Sample(2**63 - 3, 2**63 - 1),
        Sample(0.7, 5.5, 1.5, dtype=np.dtype(np.int64)), Sample(0.7, 5.5, 1.5, dtype=np.dtype(np.int32)),
        Sample(np.int32(3)), Sample(0, 5, dtype=np.dtype(np.float16)),
        Sample(0, 1, 0.1, dtype=np.dtype(ml_dtypes.bfloat16)), Sample(), Sample(np.float64(3)),
        Sample(0, 2**62, 2**60),
    ]
))  # fmt: skip

samples("range", cases(lambda m: [
    Sample(1, 4), Sample(0, 1, 0.25), Sample(4, 1), Sample(4, 1, -1), Sample(1, 4, dtype=np.dtype(np.int64)),
    Sample(1, 4, 0), Sample(0, 2, 0.3, dtype=np.dtype(np.float64)),
]))  # fmt: skip

samples("linspace", cases(
    lambda m: [
        Sample(0, 1, 5), Sample(0, 10, 5, dtype=np.dtype(np.int64)), Sample(3, -100, 7, dtype=np.dtype(np.int32)),
        Sample(0, 1, 1), Sample(0.7, 9.9, 4, dtype=np.dtype(np.int64)), Sample(0, 1, 0), Sample(0, 1, -1),
        Sample(-3.5, 2.25, steps=6), Sample(0, 1j, 3), Sample(0, 1j, 3, dtype=np.dtype(np.float32)),
        Sample(0, 1, 3, dtype=np.dtype(np.complex64)), Sample(0, 1, 3, dtype=np.dtype(np.bool_)),
        Sample(0, 1, 7, dtype=np.dtype(np.float16)), Sample(0, 1, 7, dtype=np.dtype(ml_dtypes.bfloat16)),
        Sample(0, 1, 2.5), Sample(0, 1, 9, dtype=np.dtype(np.float64)),
        Sample(np.array([0.0], np.float32), 1, 3, gradient=False), Sample(5, -5, 8), Sample(1e39, 0, 3),
    ]
))  # fmt: skip

samples("logspace", cases(
    lambda m: [
        Sample(0, 1, 5), Sample(0, 3, 4, base=2), Sample(0, 3, 4, 2), Sample(0, 3, 4, dtype=np.dtype(np.int64)),
        Sample(0, 1, 1), Sample(0, 1, 0), Sample(0, 1, -1), Sample(0, 1j, 3),
        Sample(0, 1, 3, dtype=np.dtype(np.float16)), Sample(0, 1, 3, base=-2.0),
        Sample(-2, 2.5, 6, dtype=np.dtype(np.float64)), Sample(0, 2, 5, dtype=np.dtype(np.int32)),
        Sample(0, 1, 2.5),
    ]
))  # fmt: skip


def _triangles(m: Any) -> list[Sample]:
    return [
        Sample(3, 3), Sample(3, 4, 1), Sample(4, 3, -1), Sample(2, 5, 7), Sample(2, 5, -7), Sample(0, 3), Sample(3, 0),
        Sample(-1, 2), Sample(3, 3, dtype=np.dtype(np.int32)), Sample(row=5, col=2, offset=-2), Sample(2, 6, 2),
    ]  # fmt: skip


samples("tril_indices", cases(_triangles))
samples("triu_indices", cases(_triangles))

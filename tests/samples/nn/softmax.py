"""Samples of the ops of ``ops/nn/softmax.py``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..make import Sample, cases, samples


def _softmax_samples(m: Any) -> list[Sample]:
    return [
        Sample(m.real(2, 3), 0), Sample(m.real(2, 3, 4), 1), Sample(m.real(2, 3), -1), Sample(m.real(4, 3).T, 1),
        Sample(m.real(), 0), Sample(m.real(2, 3) * 100, 1, gradient=False), Sample(m.real(0, 3), 0),
        Sample(m.real(0, 3), 1), Sample(m.real(2, 3), 1, np.dtype(np.float64)),
        Sample(m.real(2, 3), 1, dtype=np.dtype(np.float64)), Sample(m.real(4, dtype=np.float16), 0, gradient=False),
        Sample(m.real(4, dtype=np.float16), 0, dtype=np.dtype(np.float32), gradient=False),
        Sample(m.integers(2, 3), 1, dtype=np.dtype(np.float32), gradient=False),
        Sample(m.integers(2, 3), 1, gradient=False), Sample(m.booleans(3), 0, gradient=False),
        Sample(m.complex(3), 0, gradient=False), Sample(m.real(2, 3), 2, gradient=False),
        Sample(np.array([[-np.inf, 1], [np.inf, 1], [np.nan, 1], [-np.inf, -np.inf]], np.float32), 1, gradient=False),
        Sample(m.real(2, 3), 0.5, gradient=False), Sample(m.real(2, 3), (0,), gradient=False),
    ]  # fmt: skip


samples("softmax", cases(_softmax_samples))
samples("log_softmax", cases(_softmax_samples))


def _functional_samples(m: Any) -> list[Sample]:
    return [
        Sample(m.real(2, 3), 1), Sample(m.real(2, 3), dim=0, _stacklevel=5),
        Sample(m.real(2, 3), 1, 3, np.dtype(np.float64)), Sample(m.real(2, 3), -1, dtype=np.dtype(np.float64)),
        Sample(m.integers(2, 3), 1, gradient=False),
    ]  # fmt: skip


samples("nn_functional_softmax", cases(_functional_samples))
samples("nn_functional_log_softmax", cases(_functional_samples))
samples("nn_functional_softmin", cases(_functional_samples))

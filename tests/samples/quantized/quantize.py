"""Samples of the ops of ``ops/quantized/quantize.py``."""

from __future__ import annotations

import numpy as np

from ..make import Maker, Sample, cases, samples

samples("fake_quantize_per_tensor_affine", cases(lambda m: [
    Sample(m.real(3, 4), 0.1, 3, 0, 20, gradient=False),
    Sample(m.real(3, 4), 0.25, 0, -128, 127, gradient=False),
    Sample(m.real(5, dtype=np.float64), 0.03, 7, 0, 255, gradient=False),
    Sample(m.real(2, 2), np.array(0.1, np.float32), np.array(3, np.int32), 0, 255, gradient=False),
    Sample(m.real(0), 0.1, 3, 0, 20, gradient=False),
    Sample(m.real(3), 0.1, 30, 0, 20, gradient=False),
    Sample(m.real(3), 0.1, 3, 20, 0, gradient=False),
    Sample(m.integers(3), 0.1, 3, 0, 20, gradient=False),
]))  # fmt: skip


def _channel_samples(m: Maker) -> list[Sample]:
    scale, zero = np.array([0.1, 0.2, 0.3], np.float32), np.array([3, 0, 5], np.int32)
    return [
        Sample(m.real(3, 4), scale, zero, 0, 0, 20, gradient=False),
        Sample(m.real(2, 3, 2), scale, zero, 1, -128, 127, gradient=False),
        Sample(m.real(2, 3), scale, zero.astype(np.float32), -1, 0, 255, gradient=False),
        Sample(m.real(3, 4), scale, zero.astype(np.int64), 0, 0, 20, gradient=False),
        Sample(m.real(3, 4), scale, zero, 1, 0, 20, gradient=False),
        Sample(m.real(3, 4), scale, zero[:2], 0, 0, 20, gradient=False),
        Sample(m.real(3, 4), scale, zero, 0, 0, 4, gradient=False),
        Sample(m.real(3, 4), scale, zero, 2, 0, 20, gradient=False),
    ]


samples("fake_quantize_per_channel_affine", cases(_channel_samples))

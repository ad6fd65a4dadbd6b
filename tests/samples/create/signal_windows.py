"""Samples of the ops of ``ops/create/signal_windows.py``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..make import Sample, cases, samples


def _lengths(*more: Sample) -> Any:
    float16, int64 = np.dtype(np.float16), np.dtype(np.int64)
    return cases(lambda m: [
        Sample(6), Sample(5), Sample(5, False), Sample(7, periodic=True, dtype=np.dtype(np.float64)), Sample(1),
        Sample(2), Sample(0), Sample(-1), Sample(5, dtype=int64), Sample(5, dtype=float16), Sample(2.5),
        Sample(1, False), Sample(4, requires_grad=True), Sample(5, dtype=np.dtype(np.complex64)), *more,
    ])  # fmt: skip


samples("hann_window", _lengths())
samples("hamming_window", _lengths(Sample(5, True, 0.5), Sample(5, True, 0.5, 0.4)))
samples("bartlett_window", _lengths())
samples("blackman_window", _lengths())
samples("kaiser_window", _lengths(Sample(5, True, 8.0), Sample(6, periodic=False, beta=3)))


def _signal_samples(*more: Sample, **required: Any) -> Any:
    return cases(lambda m: [
        Sample(5, **required), Sample(6, sym=False, **required), Sample(0, **required), Sample(1, **required),
        Sample(4, dtype=np.dtype(np.float64), **required), Sample(-1, **required),
        Sample(5, dtype=np.dtype(np.float16), **required), *more,
    ])  # fmt: skip


samples("signal_windows_bartlett", _signal_samples())
samples("signal_windows_blackman", _signal_samples())
samples("signal_windows_cosine", _signal_samples())

samples(
    "signal_windows_exponential",
    _signal_samples(
        Sample(5, center=1, sym=False),
        Sample(5, center=2),
        Sample(5, tau=-1.0),
        Sample(4, tau=2.5),
        Sample(1, center=3, sym=False),
    ),
)

samples("signal_windows_gaussian", _signal_samples(Sample(5, std=0), Sample(4, std=2.0, sym=False)))

samples(
    "signal_windows_general_cosine",
    _signal_samples(Sample(5, a=3), Sample(5, a=[]), Sample(7, a=(0.4, 0.3, 0.2, 0.1)), a=[0.46, 0.23, 0.31]),
)

samples("signal_windows_general_hamming", _signal_samples(Sample(5, alpha=0.4)))
samples("signal_windows_hamming", _signal_samples())
samples("signal_windows_hann", _signal_samples())
samples("signal_windows_kaiser", _signal_samples(Sample(5, beta=-1), Sample(7, beta=3.5), Sample(4, beta=0.0)))
samples("signal_windows_nuttall", _signal_samples())

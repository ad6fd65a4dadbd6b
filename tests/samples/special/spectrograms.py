"""Samples of the ops of ``ops/special/spectrograms.py``."""

from __future__ import annotations

import numpy as np

from ..make import Maker, Sample, cases, refused, samples


def _stft_samples(m: Maker) -> list[Sample]:
    x, window = m.real(12), m.real(4, low=0.3)
    return [
        Sample(x, 4, return_complex=True), Sample(x, 4, return_complex=False),
        Sample(x, 4, center=False, return_complex=True), Sample(m.real(2, 9), 5, 2, return_complex=True),
        Sample(x, 6, 3, 4, window, return_complex=True),
        Sample(x, 4, normalized=True, onesided=False, return_complex=True),
        Sample(m.complex(9), 4, return_complex=True),
        Sample(x, 4, pad_mode="constant", return_complex=True),
        Sample(x, 8, 2, 4, window, center=False, align_to_window=True, return_complex=True),
        Sample(x, 4, window=m.complex(4), return_complex=True),
        Sample(m.real(9, dtype=np.float64), 4, return_complex=True),
        refused(x, 4), refused(x, 4, window=m.real(3), return_complex=True),
        refused(x, 20, center=False, return_complex=True), refused(x, 4, 0, return_complex=True),
        refused(x, 4, win_length=5, return_complex=True), refused(m.integers(12), 4, return_complex=True),
        refused(m.real(1, 2, 8), 4, return_complex=True),
        refused(m.complex(9), 4, onesided=True, return_complex=True), refused(x, 40, return_complex=True),
        refused(x, 4, align_to_window=True, return_complex=True),
    ]  # fmt: skip


samples("stft", cases(_stft_samples))


def _istft_samples(m: Maker) -> list[Sample]:
    window, spectrum = m.real(4, low=0.5), m.complex(3, 6)
    return [
        Sample(spectrum, 4), Sample(spectrum, 4, window=window), Sample(spectrum, 4, 2, window=window),
        Sample(m.complex(2, 3, 5), 4, 2, window=window),
        Sample(spectrum, 4, window=window, length=4), Sample(spectrum, 4, window=window, length=12),
        Sample(spectrum, 4, window=window, center=False),
        Sample(spectrum, 4, normalized=True), Sample(m.complex(4, 6), 4, onesided=False, return_complex=True),
        Sample(m.complex(4, 6), 4, onesided=False),
        Sample(m.complex(4, 5), 6, 2, 4, window),
        Sample(m.complex(4, 6), 4, window=m.complex(4), onesided=False, return_complex=True),
        refused(m.real(3, 6), 4), refused(spectrum, 6), refused(spectrum, 4, 5),
        refused(spectrum, 4, return_complex=True), refused(spectrum, 4, window=np.zeros(4, np.float32)),
        refused(spectrum, 4, window=m.complex(4)), refused(m.complex(3, 0), 4), refused(spectrum, 4, win_length=5),
        refused(spectrum, 4, window=m.real(3)),
    ]  # fmt: skip


samples("istft", cases(_istft_samples))

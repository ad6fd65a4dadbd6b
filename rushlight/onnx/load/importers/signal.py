"""Signals: Fourier transforms and windows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import calls as rl
from ..registry import Float, Int, NodeContext, importer, ops


@importer("DFT")
def dft(node: NodeContext, x: Any, length: Int | None = None, axis: Int | None = None) -> Any:
    if node.opset < 20:
        axis = node["axis"]
    axis = -2 if axis is None else axis
    axis = axis + x.dim() if axis < 0 else axis
    return transformed(node, x, axis, length, bool(node["inverse"]), bool(node["onesided"]))


def transformed(node: NodeContext, x: Any, axis: int, length: int | None, inverse: bool, one_sided: bool) -> Any:
    """The transform of real numbers, or of pairs, along an axis; the last dimension of the result holds pairs."""
    dtype = x.dtype
    wide = x if inverse and dtype in (rl.float32, rl.float64) else x.to(rl.float64)  # frequencies that are not there come out as zero
    signal = rl.view_as_complex(wide.contiguous()) if x.shape[-1] == 2 else wide.squeeze(-1)
    if one_sided and inverse:
        result = ops.fft_irfft(signal, length, axis).unsqueeze(-1)
    elif one_sided:
        if x.shape[-1] == 2:
            raise node.error("a one-sided transform takes real numbers")
        result = rl.view_as_real(ops.fft_rfft(signal, length, axis))
    else:
        result = rl.view_as_real((ops.fft_ifft if inverse else ops.fft_fft)(signal, length, axis))
    return result.to(dtype)


@importer("STFT")
def stft(node: NodeContext, x: Any, step: Int, window: Any = None, length: Int | None = None) -> Any:
    if length is None:
        length = x.shape[1] if window is None else window.shape[0]
    frames = x.unfold(1, length, step).transpose(2, 3)  # (batch, frames, length, 1 or 2)
    if window is not None:
        frames = frames * window.reshape(-1, 1)
    return transformed(node, frames, 2, None, False, bool(node["onesided"]) and x.shape[-1] == 1)


@importer("MelWeightMatrix")
def mel_weight_matrix(node: NodeContext, bins: Int, length: Int, rate: Int, lower: Float, upper: Float) -> Any:
    def mel(frequency: Any) -> Any:
        return 2595 * np.log10(1 + frequency / 700)

    points = np.arange(bins + 2) * ((mel(upper) - mel(lower)) / (bins + 2)) + mel(lower)
    edges = np.floor((length + 1) * (700 * (10 ** (points / 2595) - 1)) / rate).astype(np.int64)
    result = np.zeros((length // 2 + 1, bins))
    at = np.arange(length // 2 + 1)
    for index, (low, peak, high) in enumerate(zip(edges, edges[1:], edges[2:])):
        if peak == low:
            result[peak, index] = 1
        else:
            rising = (at >= low) & (at <= peak)
            result[rising, index] = (at[rising] - low) / (peak - low)
        if high > peak:
            falling = (at >= peak) & (at < high)
            result[falling, index] = (high - at[falling]) / (high - peak)
    return rl.from_numpy(result).to(node.dtype("output_datatype"))


def cosine_window(node: NodeContext, size: int, *coefficients: float) -> Any:
    """A sum of cosines over a period."""
    period = size if node["periodic"] else size - 1
    angles = rl.arange(size, dtype=rl.float64) * (2 * math.pi / max(period, 1))
    total: Any = sum(coefficient * rl.cos(angles * index) for index, coefficient in enumerate(coefficients))
    return total.to(node.dtype("output_datatype"))


@importer("HannWindow")
def hann_window(node: NodeContext, size: Int) -> Any:
    return cosine_window(node, size, 0.5, -0.5)


@importer("HammingWindow")
def hamming_window(node: NodeContext, size: Int) -> Any:
    return cosine_window(node, size, 25 / 46, -21 / 46)


@importer("BlackmanWindow")
def blackman_window(node: NodeContext, size: Int) -> Any:
    return cosine_window(node, size, 0.42, -0.5, 0.08)

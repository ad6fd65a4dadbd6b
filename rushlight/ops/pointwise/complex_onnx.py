"""Complex numbers, Fourier transforms and spectrograms in ONNX, where complex numbers are pairs of real ones."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

_INT64 = np.dtype(np.int64)
_PADDING = {"constant": "constant", "reflect": "reflect", "replicate": "edge"}


def real_part_form(g: Any, input: Any) -> Any:
    return g.parts(input)[0]


def imag_form(g: Any, input: Any) -> Any:
    return g.parts(input)[1]


def complex_form(g: Any, real: Any, imag: Any) -> Any:
    shape = g.outputs[0].shape
    return g.joined(g.expand(real, shape), g.expand(imag, shape))


def polar_form(g: Any, size: Any, angle: Any) -> Any:
    return complex_form(g, g.Mul(size, g.Cos(angle)), g.Mul(size, g.Sin(angle)))


def view_as_real_form(g: Any, input: Any) -> Any:
    return g.pair(input)


def view_as_complex_form(g: Any, input: Any) -> Any:
    return g.complex(input)


def conjugate_form(g: Any, input: Any) -> Any:
    if input.dtype.kind != "c":
        return input
    return g.complex(g.Mul(g.pair(input), g.constant([1.0, -1.0], g.pair(input).dtype)))


def abs_form(g: Any, input: Any) -> Any:
    if input.dtype.kind != "c":
        return NotImplemented
    return g.reduce("ReduceL2", g.pair(input), [input.rank])


def angle_form(g: Any, input: Any) -> Any:
    if input.dtype.kind != "c":
        return NotImplemented
    return angle_of(g, *g.parts(input))


def angle_of(g: Any, real: Any, imaginary: Any) -> Any:
    """The angle of complex numbers by their parts."""
    if g.opset < 11:
        raise g.unsupported("the angle of complex numbers", since=11)
    width, height = g.Abs(real), g.Abs(imaginary)
    slope = g.where(g.Equal(width, height), g.Sign(height), g.Div(height, width))  # also where both are 0, or both infinite
    angle = g.Atan(slope)
    angle = g.where(g.Less(real, 0.0), g.Sub(np.pi, angle), angle)
    return g.where(g.Less(imaginary, 0.0), g.Neg(angle), angle)


# -- transforms --------------------------------------------------------------------------------------------------


def _transform(g: Any, pair: Any, dim: int, inverse: bool = False, onesided: bool = False) -> Any:
    """One dimension of numbers whose parts are a last dimension of size 2 (of real ones, 1)."""
    rank = pair.rank
    if dim == 0:  # ONNX takes the first dimension for a batch
        made = _transform(g, g.unsqueeze(pair, [0]), 1, inverse, onesided)
        return g.squeeze(made, [0])
    options = {"inverse_i": int(inverse), "onesided_i": int(onesided)}
    if g.opset >= 20:
        made = g.op("DFT", pair, None, g.constant(dim, _INT64), **options)
    else:
        made = g.op("DFT", pair, axis_i=dim, **options)
    size = pair.shape[dim] // 2 + 1 if onesided else pair.shape[dim]
    made.shape = (*pair.shape[:dim], size, *pair.shape[dim + 1 : rank - 1], 2)
    return made


def _scaled(g: Any, x: Any, count: Any, scale: str, inverse: bool) -> Any:
    """ONNX scales inverse transforms by 1 / n, and no others."""
    power = {"none": 0.0, "root": -0.5, "full": -1.0}[scale] + inverse
    if power == 0:
        return x
    made = g.Mul(x, g.constant(float(count) ** power, x.dtype) if type(count) is int else g.Pow(g.number(count, x.dtype), power))
    made.shape = x.shape
    return made


def fourier_form(g: Any, input: Any, dims: Any, scale: str, forward: bool) -> Any:
    pair = g.pair(input)
    for dim in dims:
        pair = _transform(g, pair, dim, not forward)
    return g.complex(_scaled(g, pair, math.prod(input.shape[dim] for dim in dims), scale, not forward))


def to_half_form(g: Any, input: Any, dims: Any, scale: str, doubled: bool) -> Any:
    if doubled:
        raise g.unsupported("this gradient of a Fourier transform has no ONNX form")
    pair = _transform(g, g.unsqueeze(input, [input.rank]), dims[-1], onesided=True)
    for dim in dims[:-1]:
        pair = _transform(g, pair, dim)
    return g.complex(_scaled(g, pair, math.prod(input.shape[dim] for dim in dims), scale, False))


def from_half_form(g: Any, input: Any, dims: Any, size: Any, scale: str, halved: bool) -> Any:
    if halved:
        raise g.unsupported("this gradient of a Fourier transform has no ONNX form")
    pair, last = g.pair(input), dims[-1]
    for dim in dims[:-1]:
        pair = _transform(g, pair, dim, True)
    shape = pair.shape
    mirrored = (size - 1) // 2  # the other half: conjugates, backwards
    other = g.Mul(g.slice(pair, [mirrored], [0], [last], [-1]), g.constant([1.0, -1.0], pair.dtype))
    other.shape = (*shape[:last], mirrored, *shape[last + 1 :])
    whole = _transform(g, g.concat([pair, other], last), last, True)
    real = g.gather(whole, 0, whole.rank - 1)
    return _scaled(g, real, math.prod([*(input.shape[dim] for dim in dims[:-1]), size]), scale, True)


def stft_form(
    g: Any, input: Any, n_fft: int, hop_length: Any, win_length: Any, window: Any, center: bool, pad_mode: str, normalized: bool,
    onesided: Any, return_complex: Any, align_to_window: Any,
) -> Any:  # fmt: skip
    is_complex = input.dtype.kind == "c" or (window is not None and window.dtype.kind == "c")
    if is_complex or align_to_window or pad_mode not in _PADDING or any(type(each) is not int for each in (n_fft, hop_length or 0)):
        return NotImplemented
    signal = g.unsqueeze(input, [0]) if input.rank == 1 else input
    if center:
        half = n_fft // 2
        signal = g.pad(signal, [0, half, 0, half], mode=_PADDING[pad_mode])
    length = n_fft if win_length is None else win_length
    if window is None and length < n_fft:
        window = g.constant(np.ones(length, input.dtype))
    if window is not None and length < n_fft:
        window = g.pad(window, [(n_fft - length) // 2, n_fft - length - (n_fft - length) // 2])
    if window is None:
        window = g.constant(np.ones(n_fft, input.dtype))
    step, size = g.constant(n_fft // 4 if hop_length is None else hop_length, _INT64), g.constant(n_fft, _INT64)
    spectra = g.op("STFT", g.unsqueeze(signal, [2]), step, window, size, onesided_i=int(onesided is not False))
    transposed = g.op("Transpose", spectra, perm_i=[0, 2, 1, 3])
    result = g.outputs[0].shape
    result = (*result, 2) if return_complex else result
    transposed.shape = result if input.rank == 2 else (1, *result)
    transposed = transposed if input.rank == 2 else g.squeeze(transposed, [0])
    transposed = _scaled(g, transposed, n_fft, "root" if normalized else "none", False)
    return g.complex(transposed) if return_complex else transposed

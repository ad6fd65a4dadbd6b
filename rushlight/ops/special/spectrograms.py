"""Short-time Fourier transforms: spectra of windows that slide over a signal, and back."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from ...core.base import TensorBase as Tensor
from ...core.declare import composite, table
from ...core.errors import DimensionError, DtypeError, OperationError, ShapeError
from ..pointwise import complex_onnx as forms
from .fft import fourier, from_half, to_half


def _centred(window: Any, size: int) -> Any:
    """A window in the middle of zeros."""
    missing = size - window._array.shape[-1]
    return table["constant_pad_nd"].call(window, [missing // 2, missing - missing // 2]) if missing else window


def _lengths(name: str, n_fft: int, hop_length: Any, win_length: Any, window: Any) -> tuple[int, int]:
    """The checked hop and window lengths."""
    hop = n_fft // 4 if hop_length is None else hop_length
    length = n_fft if win_length is None else win_length
    if hop <= 0:
        raise ShapeError(f"{name}: expected hop_length > 0, but got hop_length={hop}")
    if not 0 < length <= n_fft:
        raise ShapeError(f"{name}: expected 0 < win_length <= n_fft, but got win_length={length}")
    if window is not None and tuple(window._array.shape) != (length,):
        raise ShapeError(
            f"{name}: expected a 1D window tensor of size equal to win_length={length}, but got window with size {list(window._array.shape)}"
        )
    return hop, length


@composite(onnx={17: forms.stft_form})
def stft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Tensor:
    """The spectra of windows that slide over a signal (or a batch of them): frequencies by frames."""
    is_complex = "c" in (input._array.dtype.kind, "f" if window is None else window._array.dtype.kind)
    if return_complex is None:
        if not is_complex:
            raise OperationError(
                "stft requires the return_complex parameter be given for real inputs, and will further require that "
                "return_complex=True in a future PyTorch release."
            )
        return_complex = True
    if align_to_window is not None and center:
        raise OperationError("stft align_to_window should only be set when center = false")
    if input._array.dtype.kind not in "fc" or input._array.dtype == np.float16:
        raise DtypeError(f"stft: expected a tensor of floating point or complex values, got {input.dtype}")
    if input._array.ndim not in (1, 2):
        raise ShapeError(f"stft: expected a 1D or 2D tensor, got {input._array.ndim}D")
    if center:
        signal: Any = input.unsqueeze(0) if input._array.ndim == 1 else input
        half = n_fft // 2
        signal = table["pad"].call(signal.unsqueeze(0), [half, half], pad_mode).squeeze(0)
        input = signal.squeeze(0) if input._array.ndim == 1 else signal
    samples = input._array.shape[-1]
    if not 0 < n_fft <= samples:
        raise ShapeError(f"stft: expected 0 < n_fft < {samples}, but got n_fft={n_fft}")
    hop, length = _lengths("stft", n_fft, hop_length, win_length, window)
    onesided = not is_complex if onesided is None else onesided
    if onesided and is_complex:
        raise OperationError("Cannot have onesided output if window or input is complex")
    if align_to_window:  # frames are as long as the window, and their spectra are of frames in the middle of zeros
        frames = input.unfold(-1, length, hop)
        frames = _centred(frames if window is None else frames * window, n_fft)
    else:
        frames = input.unfold(-1, n_fft, hop)
        if window is None and length < n_fft:
            window = table["ones"].call(length, dtype=input.dtype, device=input.device)
        if window is not None:
            frames = frames * _centred(window, n_fft)
    scale = "root" if normalized else "none"
    last = (frames._array.ndim - 1,)
    if onesided:
        spectrum = to_half(frames, last, scale, False)
    else:
        spectrum = fourier(
            frames if frames._array.dtype.kind == "c" else table["cast"].call(frames, frames.dtype.to_complex()),
            last,
            scale,
            True,
        )
    result = spectrum.transpose(-2, -1)
    return result if return_complex else table["view_as_real"].call(result)


@composite()
def istft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Tensor:
    """The signal with these short-time spectra: frames are added up, and divided by what their windows add up to."""
    shape = tuple(input._array.shape)
    if input._array.dtype.kind != "c":
        raise DtypeError("istft requires a complex-valued input tensor matching the output from stft with return_complex=True.")
    if len(shape) not in (2, 3):
        raise DimensionError(f"istft: expected a tensor with 2 or 3 dimensions, but got {len(shape)}")
    if 0 in shape:
        raise ShapeError("istft: input tensor cannot be empty.")
    hop, win_length = _lengths("istft", n_fft, hop_length, win_length, window)
    if hop > win_length:
        raise ShapeError(f"istft: expected 0 < hop_length <= win_length, but got hop_length={hop}")
    complex_window = window is not None and window._array.dtype.kind == "c"
    if complex_window and not return_complex:
        raise OperationError("Complex windows are incompatible with return_complex=False")
    onesided = shape[-2] != n_fft if onesided is None else onesided
    if onesided and return_complex:
        raise OperationError("Cannot have onesided output if window or input is complex")
    if shape[-2] != (n_fft // 2 + 1 if onesided else n_fft):
        raise ShapeError(
            f"istft: expected the frequency dimension (3rd to the last) of the input tensor to match n_fft / 2 + 1 when onesided=True and "
            f"n_fft otherwise, but got {shape[-2]} for n_fft={n_fft}"
        )
    spectra = input.transpose(-2, -1)
    scale, last = "root" if normalized else "full", (len(shape) - 1,)
    if return_complex:
        frames = fourier(spectra, last, scale, False)
    else:
        frames = from_half(spectra.narrow(-1, 0, n_fft // 2 + 1), last, n_fft, scale, False)
    if window is None:
        window = table["ones"].call(win_length, dtype=input.dtype.to_real(), device=input.device)
    elif window._array.dtype.kind in "biu":
        window = window.to(input.dtype.to_real())
    spread = _centred(window, n_fft)
    count = shape[-1]
    total = n_fft + hop * (count - 1)
    add = table["unfold_backward"].call
    signal = add(frames * spread, (*shape[:-2], total), -1, n_fft, hop)
    envelope = add((spread * spread).expand(count, n_fft), (total,), 0, n_fft, hop)
    start = n_fft // 2 if center else 0
    end = total - start if length is None else start + length
    kept = min(end, total) - start
    signal, envelope = signal.narrow(-1, start, kept), envelope.narrow(0, start, kept)
    if envelope._array.__class__ is np.ndarray and float(np.abs(envelope._array).min(initial=math.inf)) <= 1e-11:
        raise OperationError("istft: window overlap add min: the windows leave parts of the signal uncovered (they add up to 0 there)")
    result = signal / envelope
    if end <= total:
        return result
    warnings.warn(
        "The length of signal is shorter than the length parameter. Result is being padded with zeros in the tail.",
        UserWarning,
        stacklevel=3,
    )
    return table["constant_pad_nd"].call(result, [0, end - total])

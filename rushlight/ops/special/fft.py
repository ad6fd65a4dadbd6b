"""Discrete Fourier transforms.

Three primitives do the work, over several dimensions at once: complex to complex, real to the half of a spectrum that
says it all, and back from that half.  Each is the adjoint of one of the others, so that gradients are transforms too.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.base import Spec
from ...core.base import TensorBase as Tensor
from ...core.declare import composite, primitive, table
from ...core.dtypes import BY_NUMPY, FLOATING, LOW_PRECISION, complex64, default, float16, legacy_name
from ...core.errors import DimensionError, DtypeError, OperationError, ShapeError
from ...core.families import normalize_dim, plain_number
from ..create.factories import checked_size
from ..linalg.checks import complex_type, real_type
from ..pointwise import complex_onnx as forms
from ..pointwise.arithmetic import conjugate

# How a transform is scaled: not at all, by 1 / sqrt(n), by 1 / n; NumPy names these by direction.
_FORWARDS = {"none": "backward", "root": "ortho", "full": "forward"}
_BACKWARDS = {"none": "forward", "root": "ortho", "full": "backward"}
_SINGLE = (np.dtype(np.float32), np.dtype(np.complex64))


def _run(function: Any, input: Any, sizes: list[int], dims: Any, scale: str, names: dict[str, str]) -> Any:
    """One of NumPy's transforms, which leave single precision for (slow) double where nothing is to be scaled."""
    if scale == "none" and input.dtype in _SINGLE:
        result = function(input, s=sizes, axes=dims, norm=names["full"])
        result *= np.float32(math.prod(sizes))
        return result
    return function(input, s=sizes, axes=dims, norm=names[scale])


def _fourier_kernel(xp: Any, input: Any, dims: Any, scale: str, forward: bool) -> Any:
    sizes = [input.shape[dim] for dim in dims]
    if forward:
        return _run(xp.fft.fftn, input, sizes, dims, scale, _FORWARDS)
    return _run(xp.fft.ifftn, input, sizes, dims, scale, _BACKWARDS)


@primitive(
    meta=lambda input, dims, scale, forward: Spec(input.shape, input.dtype),
    kernel=_fourier_kernel,
    vjp={"input": lambda g, dims, scale, forward: fourier(g, dims, scale, not forward)},
    exact=True,
    namespace=None,
    method=False,
    out=False,
    node_name="FftC2CBackward0",
    onnx={17: forms.fourier_form},
)
def fourier(input: Tensor, dims: Any, scale: str, forward: bool) -> Tensor:
    """The transform of a complex tensor over dimensions."""


def _weighted(spectrum: Any, dim: int, full: int, factor: float) -> Any:
    """Half a spectrum with what stands for two frequencies (all but the ends) multiplied."""
    inside = (slice(None),) * dim + (slice(1, (full + 1) // 2),)
    result = spectrum.copy()
    result[inside] *= factor
    return result


def _half_shape(input: Any, dims: Any) -> tuple[int, ...]:
    shape = list(input.shape)
    shape[dims[-1]] = shape[dims[-1]] // 2 + 1
    return tuple(shape)


def _half_kernel(xp: Any, input: Any, dims: Any, scale: str, doubled: bool) -> Any:
    spectrum = _run(xp.fft.rfftn, input, [input.shape[dim] for dim in dims], dims, scale, _FORWARDS)
    return _weighted(spectrum, dims[-1], input.shape[dims[-1]], 2.0) if doubled else spectrum


@primitive(
    meta=lambda input, dims, scale, doubled: Spec(_half_shape(input, dims), complex_type(input.dtype)),
    kernel=_half_kernel,
    vjp={"input": lambda g, input_shape, dims, scale, doubled: from_half(g, dims, input_shape[dims[-1]], scale, not doubled)},
    exact=True,
    namespace=None,
    method=False,
    out=False,
    node_name="FftR2CBackward0",
    onnx={17: forms.to_half_form},
)
def to_half(input: Tensor, dims: Any, scale: str, doubled: bool) -> Tensor:
    """The half spectrum of a real tensor; ``doubled`` counts each frequency for its mirror image too."""


def _from_half_shape(input: Any, dims: Any, size: int) -> tuple[int, ...]:
    shape = list(input.shape)
    shape[dims[-1]] = size
    return tuple(shape)


def _from_half_kernel(xp: Any, input: Any, dims: Any, size: int, scale: str, halved: bool) -> Any:
    if halved:
        input = _weighted(input, dims[-1], size, 0.5)
    shape = _from_half_shape(input, dims, size)
    return _run(xp.fft.irfftn, input, [shape[dim] for dim in dims], dims, scale, _BACKWARDS)


@primitive(
    meta=lambda input, dims, size, scale, halved: Spec(_from_half_shape(input, dims, size), real_type(input.dtype)),
    kernel=_from_half_kernel,
    vjp={"input": lambda g, dims, scale, halved: to_half(g, dims, scale, not halved)},
    exact=True,
    namespace=None,
    method=False,
    out=False,
    node_name="FftC2RBackward0",
    onnx={17: forms.from_half_form},
)
def from_half(input: Tensor, dims: Any, size: int, scale: str, halved: bool) -> Tensor:
    """The real tensor of which this is the half spectrum; ``halved`` counts frequencies with a mirror image half."""


# -- the arguments of the public functions ------------------------------------------------------------------------


def _scale(norm: str | None, forward: bool) -> str:
    """What a ``norm`` means for a direction."""
    scales = {None: "none", "backward": "none", "ortho": "root", "forward": "full"}
    if norm not in scales:
        raise OperationError(f'Invalid normalization mode: "{norm}"')
    scale = scales[norm]
    return scale if forward or scale == "root" else {"none": "full", "full": "none"}[scale]


def _numbers(input: Any, complex: bool) -> Any:
    """The input as floating-point numbers, complex where that is asked for."""
    dtype = BY_NUMPY[input._array.dtype]
    if dtype.numpy in LOW_PRECISION:
        raise DtypeError(f"Unsupported dtype {legacy_name(dtype)}")
    wanted = default.floating if dtype.category < FLOATING else dtype
    wanted = (complex64 if wanted is float16 else wanted.to_complex()) if complex else wanted
    return input if wanted is dtype else table["cast"].call(input, wanted)


def _real(name: str, input: Any) -> Any:
    if input._array.dtype.kind == "c":
        kind = legacy_name(input._array.dtype)
        if name == "ihfftn":
            raise DtypeError(f"Only supports floating-point dtypes, but found: {kind}")
        raise DtypeError(f"{name} expects a real{'-valued' if name == 'rfftn' else ''} input tensor, but got {kind}")
    return _numbers(input, False)


def _resized(input: Any, dims: tuple[int, ...], sizes: tuple[int, ...]) -> Any:
    """Zeros added to, or elements cut off, the end of dimensions."""
    for size in sizes:
        if size < 1:
            raise ShapeError(f"Invalid number of data points ({size}) specified")
    shape = input._array.shape
    pads = [0] * (2 * len(shape))
    for dim, size in zip(dims, sizes):
        pads[2 * (len(shape) - 1 - dim) + 1] = size - shape[dim]
    return table["constant_pad_nd"].call(input, pads) if any(pads) else input


def _one(input: Any, n: int | None, dim: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The dimension and its size for a one-dimensional transform."""
    if not input._array.ndim:
        raise DimensionError(f"Dimension specified as {dim} but tensor has no dimensions")
    axis = normalize_dim(dim, input._array.ndim)
    return (axis,), (input._array.shape[axis] if n is None else n,)


def _several(input: Any, s: Any, dim: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The dimensions and their sizes for a transform over several."""
    shape = tuple(input._array.shape)
    sizes = None if s is None else tuple(s) if isinstance(s, (tuple, list)) else (s,)
    if dim is None:
        if sizes is not None and len(sizes) > len(shape):
            raise ShapeError(f"Got shape with {len(sizes)} values but input tensor only has {len(shape)} dimensions.")
        dims = tuple(range(len(shape) - (len(shape) if sizes is None else len(sizes)), len(shape)))
    else:
        given = dim if isinstance(dim, (tuple, list)) else (dim,)
        dims = tuple(normalize_dim(each, len(shape)) for each in given)
        if len(set(dims)) != len(dims):
            raise ShapeError("FFT dims must be unique")
    if sizes is not None and len(sizes) != len(dims):
        raise ShapeError("When given, dim and shape arguments must have the same length")
    if sizes is None:
        return dims, tuple(shape[each] for each in dims)
    return dims, tuple(shape[each] if size == -1 else size for each, size in zip(dims, sizes))


Dims = tuple[tuple[int, ...], tuple[int, ...]]


def _transform(input: Any, where: Dims, norm: Any, forward: bool) -> Any:
    dims, sizes = where
    input = _resized(_numbers(input, True), dims, sizes)
    return fourier(input, dims, _scale(norm, forward), forward) if dims else input.clone()


def _real_transform(name: str, input: Any, where: Dims, norm: Any, forward: bool) -> Any:
    """Real to half a spectrum; backwards, its conjugate."""
    dims, sizes = where
    input = _real(name, input)
    if not dims:
        raise ShapeError(f"{name} must transform at least one axis")
    spectrum = to_half(_resized(input, dims, sizes), dims, _scale(norm, forward), False)
    return spectrum if forward else conjugate(spectrum)


def _half_transform(name: str, input: Any, where: Dims, last: int | None, norm: Any, forward: bool) -> Any:
    """Half a spectrum to real; forwards, from its conjugate.  ``last`` is the size asked for in the last dimension."""
    dims, sizes = where
    if not dims:
        raise ShapeError(f"{name} must transform at least one axis")
    input = _numbers(input, True)
    size = 2 * (input._array.shape[dims[-1]] - 1) if last is None else last
    if size < 1:
        raise ShapeError(f"Invalid number of data points ({size}) specified")
    input = _resized(input, dims, (*sizes[:-1], size // 2 + 1))
    return from_half(conjugate(input) if forward else input, dims, size, _scale(norm, forward), False)


def _last(s: Any) -> int | None:
    """The size given for the last dimension, if any."""
    if s is None:
        return None
    last = s[-1] if isinstance(s, (tuple, list)) else s
    return None if last == -1 else last


# -- samples ------------------------------------------------------------------------------------------------------


# -- one dimension ------------------------------------------------------------------------------------------------


@composite(out=True)
def fft_fft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The Fourier transform along a dimension."""
    return _transform(input, _one(input, n, dim), norm, True)


@composite(out=True)
def fft_ifft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse Fourier transform along a dimension."""
    return _transform(input, _one(input, n, dim), norm, False)


@composite(out=True)
def fft_rfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The Fourier transform of real input: the half of the spectrum that is not redundant."""
    return _real_transform("rfft", input, _one(input, n, dim), norm, True)


@composite(out=True)
def fft_irfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of ``rfft``; ``n`` is the size of the result, since half a spectrum leaves it open by one."""
    return _half_transform("irfft", input, _one(input, n, dim), n, norm, False)


@composite(out=True)
def fft_hfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The transform of a signal that is conjugate-symmetric in time, given by half: the result is real."""
    return _half_transform("hfft", input, _one(input, n, dim), n, norm, True)


@composite(out=True)
def fft_ihfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of ``hfft``."""
    return _real_transform("ihfft", input, _one(input, n, dim), norm, False)


# -- several dimensions -------------------------------------------------------------------------------------------


@composite(out=True)
def fft_fftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """The Fourier transform over several dimensions (by default all)."""
    return _transform(input, _several(input, s, dim), norm, True)


@composite(out=True)
def fft_ifftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """The inverse Fourier transform over several dimensions."""
    return _transform(input, _several(input, s, dim), norm, False)


@composite(out=True)
def fft_rfftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """The Fourier transform of real input over several dimensions; the last is halved."""
    return _real_transform("rfftn", input, _several(input, s, dim), norm, True)


@composite(out=True)
def fft_irfftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """The inverse of ``rfftn``."""
    return _half_transform("irfftn", input, _several(input, s, dim), _last(s), norm, False)


@composite(out=True)
def fft_hfftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """The transform of conjugate-symmetric input over several dimensions: the result is real."""
    return _half_transform("hfftn", input, _several(input, s, dim), _last(s), norm, True)


@composite(out=True)
def fft_ihfftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """The inverse of ``hfftn``."""
    return _real_transform("ihfftn", input, _several(input, s, dim), norm, False)


@composite(out=True)
def fft_fft2(input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Tensor:
    """The Fourier transform over two dimensions."""
    return fft_fftn(input, s, dim, norm)


@composite(out=True)
def fft_ifft2(input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Tensor:
    """The inverse Fourier transform over two dimensions."""
    return fft_ifftn(input, s, dim, norm)


@composite(out=True)
def fft_rfft2(input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Tensor:
    """The Fourier transform of real input over two dimensions."""
    return fft_rfftn(input, s, dim, norm)


@composite(out=True)
def fft_irfft2(input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Tensor:
    """The inverse of ``rfft2``."""
    return fft_irfftn(input, s, dim, norm)


@composite(out=True)
def fft_hfft2(input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Tensor:
    """The transform of conjugate-symmetric input over two dimensions."""
    return fft_hfftn(input, s, dim, norm)


@composite(out=True)
def fft_ihfft2(input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Tensor:
    """The inverse of ``hfft2``."""
    return fft_ihfftn(input, s, dim, norm)


# -- frequencies --------------------------------------------------------------------------------------------------


def _frequency_type(name: str, dtype: Any) -> Any:
    chosen = default.floating if dtype is None else dtype
    if chosen.category < FLOATING:
        raise DtypeError(f"{name} requires a floating point or complex dtype")
    return chosen.numpy


def _fftfreq_kernel(xp: Any, n: Any, d: Any, dtype: Any, *rest: Any) -> Any:
    n, d = plain_number(n), plain_number(d)
    places = ((xp.arange(*checked_size((n,))) + n // 2) % n - n // 2) * (1.0 / (n * d) if d else np.inf) if n else xp.zeros(0)
    return places.astype(_frequency_type("fftfreq", dtype))


def _rfftfreq_kernel(xp: Any, n: Any, d: Any, dtype: Any, *rest: Any) -> Any:
    n, d = plain_number(n), plain_number(d)
    places = xp.arange(*checked_size((int(n / 2) + 1,))) * (1.0 / (n * d) if n * d else np.inf)
    return places.astype(_frequency_type("rfftfreq", dtype))


@primitive(
    meta=lambda n, d, dtype, *rest: Spec(checked_size((n,)), _frequency_type("fftfreq", dtype)),
    kernel=_fftfreq_kernel,
    vjp={},
    factory=True,
    exact=True,
)
def fft_fftfreq(
    n: int,
    d: float = 1.0,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """The frequencies that the elements of ``fft`` stand for: rising from 0, then the negative ones."""


@primitive(
    meta=lambda n, d, dtype, *rest: Spec(checked_size((int(n / 2) + 1,)), _frequency_type("rfftfreq", dtype)),
    kernel=_rfftfreq_kernel,
    vjp={},
    factory=True,
    exact=True,
)
def fft_rfftfreq(
    n: int,
    d: float = 1.0,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """The frequencies that the elements of ``rfft`` stand for, rising from 0."""


def _shifted(input: Any, dim: Any, forwards: bool) -> Any:
    shape = input._array.shape
    if dim is None:
        dims = tuple(range(len(shape)))
    else:  # one that is named twice is rolled twice
        dims = tuple(normalize_dim(each, len(shape)) for each in (dim if isinstance(dim, (tuple, list)) else (dim,)))
    if not dims:
        raise ShapeError("`shifts` required")
    return input.roll([shape[each] // 2 if forwards else (shape[each] + 1) // 2 for each in dims], list(dims))


@composite()
def fft_fftshift(input: Tensor, dim: Any = None) -> Tensor:
    """A spectrum with the frequency 0 in the middle."""
    return _shifted(input, dim, True)


@composite()
def fft_ifftshift(input: Tensor, dim: Any = None) -> Tensor:
    """A spectrum with the frequency 0 in front: undoes ``fftshift``."""
    return _shifted(input, dim, False)

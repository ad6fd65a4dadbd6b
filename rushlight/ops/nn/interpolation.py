"""Resizing: nearest, linear, cubic, area and Lanczos interpolation."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.base import Spec
from ...core.base import TensorBase as Tensor
from ...core.declare import composite, primitive, table
from ...core.dtypes import BY_NAME, legacy_name
from ...core.errors import ArgumentError, NotSupported, ShapeError, ValueRangeError
from ...core.symbolic import as_size, is_symbolic
from . import interpolation_kernels
from . import interpolation_onnx as onnx_forms
from .sliding_windows import Checked

# Each of PyTorch's modes: what happens along one dimension, and in how many dimensions it may be asked for.
_MODES: dict[str, tuple[str, tuple[int, ...]]] = {
    "nearest": ("nearest", (1, 2, 3)), "linear": ("linear", (1,)), "bilinear": ("linear", (2,)), "bicubic": ("cubic", (2,)),
    "trilinear": ("linear", (3,)), "lanczos": ("lanczos", (2,)), "area": ("area", (1, 2, 3)),
    "nearest-exact": ("nearest-exact", (1, 2, 3)),
}  # fmt: skip
_SMOOTH = ("linear", "bilinear", "bicubic", "trilinear")


def _named(sizes: Sequence[Any]) -> str:
    return "(" + ", ".join(f"{letter}: {n}" for letter, n in zip("DHW"[-len(sizes) :], sizes)) + ")"


def _resample_meta(input: Any, size: Any, mode: str, align_corners: bool, factors: Any, antialias: bool) -> Spec:
    lead = input.ndim - len(size)
    given = input.shape[lead:]
    if not all(n > 0 for n in (*given, *size)):
        raise ShapeError(f"Input and output sizes should be greater than 0, but got input {_named(given)} output {_named(size)}")
    if not all(input.shape[1:]):
        raise ShapeError(f"Non-empty {input.ndim}D data tensor expected but got a tensor with sizes {list(input.shape)}")
    bytes_too = mode.startswith("nearest") or (len(size) == 2 and mode != "area")
    if input.dtype.kind in "biuc" and not (input.dtype == np.uint8 and bytes_too):
        raise NotSupported(f"interpolation by \"{mode}\" not implemented for '{legacy_name(input.dtype)}'")
    return Spec((*input.shape[:lead], *size), input.dtype)


def _resample_kernel(xp: Any, input: Any, size: Any, mode: str, align_corners: bool, factors: Any, antialias: bool) -> Any:
    given = input.shape[input.ndim - len(size) :]
    return interpolation_kernels.resample(xp, input, given, size, mode, align_corners, factors, antialias)


@primitive(
    layout="channels last",
    meta=Checked(_resample_meta),
    kernel=_resample_kernel,
    vjp={
        "input": lambda g, input_shape, size, mode, align_corners, factors, antialias: resample_backward(
            g, tuple(input_shape[len(input_shape) - len(size) :]), mode, align_corners, factors, antialias
        )
    },
    namespace=None,
    method=False,
    out=False,
    onnx={9: onnx_forms.resample},
)
def resample(input: Tensor, size: Any, mode: str, align_corners: bool, factors: Any, antialias: bool) -> Tensor:
    """The last dimensions, as many as ``size`` has, resized: what ``interpolate`` and adaptive averages call."""


def _backward_kernel(xp: Any, grad: Any, size: Any, mode: str, align_corners: bool, factors: Any, antialias: bool) -> Any:
    counts = grad.shape[grad.ndim - len(size) :]
    if not grad.size:
        return xp.zeros((*grad.shape[: grad.ndim - len(size)], *size), grad.dtype)
    return interpolation_kernels.resample(xp, grad, size, counts, mode, align_corners, factors, antialias, backward=True)


@primitive(
    meta=lambda grad, size, *rest: Spec((*grad.shape[: grad.ndim - len(size)], *size), grad.dtype),
    kernel=_backward_kernel,
    vjp={
        "grad": lambda g, grad_shape, size, mode, align_corners, factors, antialias: resample(
            g, tuple(grad_shape[len(grad_shape) - len(size) :]), mode, align_corners, factors, antialias
        )
    },
    namespace=None,
    method=False,
    out=False,
    onnx={9: onnx_forms.resample_backward},
)
def resample_backward(grad: Tensor, size: Any, mode: str, align_corners: bool, factors: Any, antialias: bool) -> Tensor:
    """The gradient of ``resample``, whose input had ``size``: its transpose."""


def _check_length(given: Sequence[Any], spatial: Sequence[int], name: str, shown: str) -> None:
    if len(given) != len(spatial):
        raise ValueRangeError(
            f"Input and {name} must have the same number of spatial dimensions, but got input with spatial dimensions of "
            f"{list(spatial)} and {shown} of {tuple(given)}: an input (N, C, d1, ..., dK) takes K of them."
        )


def _scaled(size: int, factor: Any) -> int:
    """A size times a factor, rounded down; of a symbolic size a formula, where the factor is a simple fraction.

    A factor that is a tensor, as in programs for a tracer, gives a size that follows from its value.
    """
    if isinstance(factor, Tensor):
        return as_size((factor * size).floor().to(BY_NAME["int64"]))  # type: ignore[no-any-return]
    if is_symbolic(size):
        for below in range(1, 1001):
            above = round(factor * below)
            if abs(above / below - factor) < 1e-9:
                return size * above // below
    return math.floor(float(size) * factor)


def _sizes(
    spatial: tuple[int, ...], size: Any, scale_factor: Any, recompute_scale_factor: bool | None
) -> tuple[tuple[int, ...], tuple[float | None, ...]]:
    """The output size, and the factors that positions are scaled by (None where sizes decide)."""
    if size is not None and scale_factor is not None:
        raise ValueRangeError("only one of size or scale_factor should be defined")
    if size is not None:
        sizes = tuple(size) if isinstance(size, (tuple, list)) else (size,) * len(spatial)
        _check_length(sizes, spatial, "output", "output size")
        if any(isinstance(each, (float, str)) for each in sizes):
            raise ArgumentError(f"expected size to be an int or a tuple of ints, but got {size!r}")
        if recompute_scale_factor:
            raise ValueRangeError("recompute_scale_factor is not meaningful with an explicit size.")
        return sizes, (None,) * len(sizes)
    if scale_factor is None:
        raise ValueRangeError("either size or scale_factor should be defined")
    factors = tuple(scale_factor) if isinstance(scale_factor, (tuple, list)) else (scale_factor,) * len(spatial)
    _check_length(factors, spatial, "scale_factor", "scale_factor")
    sizes = tuple(_scaled(n, factor) for n, factor in zip(spatial, factors))
    return sizes, (None,) * len(sizes) if recompute_scale_factor else tuple(map(float, factors))


def _check_mode(mode: str, ndim: int, align_corners: bool | None, antialias: bool) -> None:
    if mode == "lanczos" and align_corners:
        raise ValueRangeError("Lanczos mode does not support align_corners=True")
    if align_corners is not None and mode not in _SMOOTH and mode != "lanczos":
        raise ValueRangeError("align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear")
    if antialias and not (mode in ("bilinear", "bicubic", "lanczos") and ndim == 4):
        raise ValueRangeError("Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input")
    if mode == "lanczos" and not antialias:
        raise ValueRangeError("Lanczos mode requires antialias=True")
    if mode not in _MODES or ndim not in (3, 4, 5):
        raise NotSupported(
            f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {ndim}D) for the modes: {' | '.join(_MODES)} (got {mode})"
        )
    wanted = _MODES[mode][1]
    if ndim - 2 not in wanted:
        raise NotSupported(f"Got {ndim}D input, but {mode} mode needs {wanted[0] + 2}D input")


@composite(namespace="nn.functional")
def interpolate(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None, antialias: bool = False,
) -> Tensor:  # fmt: skip
    """Resize the dimensions after batch and channels to ``size``, or by ``scale_factor``."""
    shape = tuple(input.shape)
    spatial = shape[2:]
    if mode not in _SMOOTH and align_corners is not None:
        _check_mode(mode, len(shape), align_corners, antialias)
    if spatial:
        sizes, factors = _sizes(spatial, size, scale_factor, recompute_scale_factor)
    _check_mode(mode, len(shape), align_corners, antialias)
    if mode == "area":
        return table[f"adaptive_avg_pool{len(sizes)}d"].call(input, sizes)
    return resample(input, sizes, _MODES[mode][0], bool(align_corners), factors, bool(antialias))


def _deprecated(name: str) -> None:
    warnings.warn(f"nn.functional.{name} is deprecated: use nn.functional.interpolate.", UserWarning, stacklevel=4)


@composite(
    namespace="nn.functional",
)
def upsample(input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None) -> Tensor:
    """What ``interpolate`` was called."""
    _deprecated("upsample")
    return interpolate(input, size, scale_factor, mode, align_corners)


@composite(
    namespace="nn.functional",
)
def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """``interpolate`` by the nearest element."""
    _deprecated("upsample_nearest")
    return interpolate(input, size, scale_factor, mode="nearest")


@composite(
    namespace="nn.functional",
)
def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """``interpolate`` linearly in two dimensions, with aligned corners."""
    _deprecated("upsample_bilinear")
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)

"""Sampling at grids, unfolding windows, and moving elements between channels and places."""

from __future__ import annotations

import math
import warnings
from typing import Any

from ...core.base import Spec
from ...core.base import TensorBase as Tensor
from ...core.declare import composite, joint, primitive
from ...core.dtypes import BY_NUMPY, legacy_name
from ...core.errors import ArgumentError, DtypeError, NotSupported, ShapeError, ValueRangeError
from . import vision_onnx as onnx_forms
from .grid_kernels import BICUBIC, base_grid, sample, sample_backward
from .sliding_windows import Checked, as_ints, padded, refuse_types, window_count, window_view

# -- sampling at the points of a grid ----------------------------------------------------------------------------


def _sampler_meta(ndim: int) -> Any:
    def meta(input: Any, grid: Any, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Spec:
        for name, value in (("interpolation_mode", interpolation_mode), ("padding_mode", padding_mode)):
            if not isinstance(value, int):
                raise ArgumentError(f"grid_sampler(): argument '{name}' must be int, not {type(value).__name__}")
        shape, points = list(input.shape), list(grid.shape)
        if not shape or not points or shape[0] != points[0]:
            raise ShapeError(
                f"grid_sampler(): expected grid and input to have same batch size, but got input with sizes {shape} "
                f"and grid with sizes {points}"
            )
        if len(shape) != len(points) or len(shape) != ndim + 2:
            raise ShapeError(
                f"grid_sampler(): expected {ndim + 2}D input and grid with same number of dimensions, but got input "
                f"with sizes {shape} and grid with sizes {points}"
            )
        if points[-1] != ndim:
            raise ShapeError(f"grid_sampler(): expected grid to have size {ndim} in last dimension, but got grid with sizes {points}")
        for dim in range(2, len(shape)):
            if shape[dim] == 0:
                raise ShapeError(
                    "grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes "
                    f"{shape} with dimension {dim} being empty"
                )
        if interpolation_mode == BICUBIC and ndim != 2:
            raise ShapeError("grid_sampler(): bicubic interpolation only supports 4D input")
        refuse_types("grid_sampler", input, "biuc")
        if grid.dtype != input.dtype:
            raise DtypeError(
                f"expected scalar type {legacy_name(input.dtype)} but found {legacy_name(grid.dtype)}: input and "
                "grid should have the same type"
            )
        return Spec((*shape[:2], *points[1:-1]), input.dtype)

    return Checked(meta)


def _sampler_gradient(g: Any, input: Any, grid: Any, interpolation_mode: int, padding_mode: int, align_corners: bool, needs: Any) -> Any:
    found = grid_sampler_backward(g, input, grid, interpolation_mode, padding_mode, align_corners, needs)
    return tuple(each if wanted else None for each, wanted in zip(found, needs))


def _declare_sampler(ndim: int) -> Any:
    @primitive(
        meta=_sampler_meta(ndim),
        kernel=sample,
        vjp=joint("input", "grid")(_sampler_gradient),
        name=f"grid_sampler_{ndim}d",
        node_name=f"GridSampler{ndim}DBackward0",
        method=False,
        out=False,
        notes="once differentiable",
        onnx={11: onnx_forms.grid_sampler},
    )
    def grid_sampler_nd(input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Tensor:
        """The input at the points of a grid; modes by number, in the order that ``grid_sample`` names them."""

    return grid_sampler_nd


grid_sampler_2d, grid_sampler_3d = _declare_sampler(2), _declare_sampler(3)


@primitive(
    meta=lambda grad, input, grid, *rest: [Spec(input.shape, input.dtype), Spec(grid.shape, grid.dtype)],
    kernel=sample_backward,
    returns=("grad_input", "grad_grid"),
    namespace=None,
    method=False,
    out=False,
)
def grid_sampler_backward(
    grad: Tensor, input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool, needs: Any
) -> Tensor:
    """The gradients of the input and of the grid, those that are needed."""


@composite(method=False, notes="once differentiable")
def grid_sampler(input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Tensor:
    """The input at the points of a grid; modes by number, in the order that ``grid_sample`` names them."""
    sampler = grid_sampler_3d if len(input._array.shape) == 5 else grid_sampler_2d
    return sampler(input, grid, interpolation_mode, padding_mode, align_corners)


_MODES = ("bilinear", "nearest", "bicubic")
_PADDINGS = ("zeros", "border", "reflection")


def _aligned(align_corners: bool | None, name: str) -> bool:
    if align_corners is None:
        warnings.warn(f"{name}: align_corners is False unless it is given; before PyTorch 1.3 it was True.", UserWarning, stacklevel=4)
    return bool(align_corners)


@composite(namespace="nn.functional", notes="once differentiable")
def grid_sample(
    input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None
) -> Tensor:
    """The input at points given in coordinates from -1 to 1 (the width's first)."""
    if mode not in _MODES:
        raise ValueRangeError(f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'")
    if padding_mode not in _PADDINGS:
        raise ValueRangeError(
            f"nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: '{padding_mode}'"
        )
    aligned = _aligned(align_corners, "grid_sample")
    return grid_sampler(input, grid, _MODES.index(mode), _PADDINGS.index(padding_mode), aligned)


# -- affine grids ------------------------------------------------------------------------------------------------


def _affine_meta(theta: Any, size: Any, align_corners: bool) -> Spec:
    size = as_ints(size, "affine_grid_generator", "size")
    ndim = len(size) - 2
    if ndim not in (2, 3):
        raise ShapeError("AffineGridGenerator needs 4d (spatial) or 5d (volumetric) inputs.")
    if tuple(theta.shape) != (size[0], ndim, ndim + 1):
        raise ShapeError(
            f"Expected a batch of {size[0]} affine matrices of shape {ndim}x{ndim + 1}, but got theta of shape {list(theta.shape)}"
        )
    return Spec((size[0], *size[2:], ndim), theta.dtype)


def _affine_kernel(xp: Any, theta: Any, size: Any, align_corners: bool) -> Any:
    points = base_grid(xp, size[2:], align_corners, theta.dtype)
    return xp.matmul(points, theta.swapaxes(1, 2)).reshape(size[0], *size[2:], len(size) - 2)


@primitive(
    meta=Checked(_affine_meta),
    kernel=_affine_kernel,
    vjp={"theta": lambda g, size, align_corners: affine_grid_backward(g, size, align_corners)},
    method=False,
    out=False,
    onnx={9: onnx_forms.affine_grid},
)
def affine_grid_generator(theta: Tensor, size: Any, align_corners: bool) -> Tensor:
    """The points of a grid for inputs of ``size``, moved by affine matrices."""


def _affine_backward_kernel(xp: Any, grad: Any, size: Any, align_corners: bool) -> Any:
    points = base_grid(xp, size[2:], align_corners, grad.dtype)
    return xp.matmul(grad.reshape(size[0], -1, len(size) - 2).swapaxes(1, 2), points)


@primitive(
    meta=lambda grad, size, align_corners: Spec((size[0], len(size) - 2, len(size) - 1), grad.dtype),
    kernel=_affine_backward_kernel,
    vjp={"grad": lambda g, size, align_corners: affine_grid_generator(g, size, align_corners)},
    namespace=None,
    method=False,
    out=False,
    onnx={9: onnx_forms.affine_grid_backward},
)
def affine_grid_backward(grad: Tensor, size: Any, align_corners: bool) -> Tensor:
    """The gradient of the matrices of an affine grid."""


@composite(namespace="nn.functional")
def affine_grid(theta: Tensor, size: Any, align_corners: bool | None = None) -> Tensor:
    """The points of a grid for inputs of ``size``, moved by affine matrices: what ``grid_sample`` takes."""
    aligned = _aligned(align_corners, "affine_grid")
    kind, shape = BY_NUMPY[theta._array.dtype], tuple(theta._array.shape)
    size = tuple(size)
    if not kind.is_floating_point:
        raise ValueRangeError(f"Expected theta to have floating point type, but got {kind}")
    if len(size) not in (4, 5):
        raise NotSupported(f"affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got size {size}.")
    ndim = len(size) - 2
    if len(shape) != 3 or shape[1:] != (ndim, ndim + 1):
        raise ValueRangeError(
            f"Expected a batch of {ndim}D affine matrices of shape Nx{ndim}x{ndim + 1} for size {size}. Got {list(shape)}."
        )
    if not all(n > 0 for n in size):
        raise ValueRangeError(f"Expected non-zero, positive output size. Got {size}")
    return affine_grid_generator(theta, size, aligned)


# -- unfolding windows -------------------------------------------------------------------------------------------


def _pair(value: Any, name: str, parameter: str) -> tuple[int, int]:
    values = as_ints(value, name, parameter)
    if not isinstance(value, (tuple, list)):
        values = values * 2
    if len(values) != 2:
        raise ShapeError(f"It is expected {parameter} equals to 2, but got size {len(values)}")
    return values[0], values[1]


def _blocks(name: str, size: Any, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> tuple[Any, ...]:
    """Kernel, dilation, padding, stride and the number of windows, for both dimensions, checked."""
    kernel, apart = _pair(kernel_size, name, "kernel_size"), _pair(dilation, name, "dilation")
    around, step = _pair(padding, name, "padding"), _pair(stride, name, "stride")
    for each, what in ((kernel, "kernel size"), (step, "stride"), (apart, "dilation")):
        if min(each) <= 0:
            raise ShapeError(f"{what} should be greater than zero, but got {each}")
    if min(around) < 0:
        raise ShapeError(f"padding should be non-negative, but got {around}")
    counts = tuple(window_count(n, k, s, p, p, d) for n, k, s, p, d in zip(size, kernel, step, around, apart))
    return kernel, apart, around, step, counts


def _unfold_blocks(input: Any, *options: Any) -> tuple[Any, ...]:
    shape = input.shape
    if len(shape) not in (3, 4) or not all(shape[len(shape) - 3 :]):
        raise ShapeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for "
            f"input, but got: {list(shape)}"
        )
    found = _blocks("unfold", shape[-2:], *options)
    if min(found[4]) < 1:
        raise ShapeError(
            f"Given input with spatial size {tuple(shape[-2:])}, kernel_size={found[0]}, dilation={found[1]}, padding={found[2]}, "
            f"calculated shape of the array of sliding blocks as {found[4]}, but its components must be at least one."
        )
    return found


def _unfold_meta(input: Any, *options: Any) -> Spec:
    kernel, _, _, _, counts = _unfold_blocks(input, *options)
    refuse_types("im2col", input, "iu")
    shape = input.shape
    return Spec((*shape[: len(shape) - 3], shape[-3] * math.prod(kernel), math.prod(counts)), input.dtype)


def _unfold_kernel(xp: Any, input: Any, *options: Any) -> Any:
    kernel, apart, around, step, counts = _unfold_blocks(input, *options)
    windows = window_view(xp, padded(xp, input, [(p, p) for p in around]), kernel, step, apart, counts)
    lead = input.shape[: input.ndim - 3]
    return windows.copy().reshape(*lead, input.shape[-3] * math.prod(kernel), math.prod(counts))


@primitive(
    meta=Checked(_unfold_meta),
    kernel=_unfold_kernel,
    vjp={
        "input": lambda g, input_shape, kernel_size, dilation, padding, stride: fold(
            g, tuple(input_shape[-2:]), kernel_size, dilation, padding, stride
        )
    },
    name="nn_functional_unfold",
    namespace="nn.functional",
    node_name="Im2ColBackward0",
    out=False,
    onnx={9: onnx_forms.unfold},
)
def unfold(input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """The windows of images as columns: ``(N, C, H, W)`` becomes ``(N, C * kernel, windows)``."""


def _fold_blocks(input: Any, output_size: Any, *options: Any) -> tuple[Any, ...]:
    shape = input.shape
    if len(shape) not in (2, 3) or not all(shape[len(shape) - 2 :]):
        raise ShapeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for "
            f"input, but got: {list(shape)}"
        )
    size = _pair(output_size, "fold", "output_size")
    kernel, apart, around, step, counts = found = _blocks("fold", size, *options)
    if shape[-2] % math.prod(kernel):
        raise ShapeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got input.size(1)="
            f"{shape[-2]} and kernel_size={kernel}."
        )
    if min(counts) < 1 or math.prod(counts) != shape[-1]:
        raise ShapeError(
            f"Given output_size={size}, kernel_size={kernel}, dilation={apart}, padding={around}, stride={step}, expected size of "
            f"input's dimension 2 to match the calculated number of sliding blocks {counts[0]} * {counts[1]} = "
            f"{math.prod(counts)}, but got input.size(2)={shape[-1]}."
        )
    return (size, *found)


def _fold_meta(input: Any, output_size: Any, *options: Any) -> Spec:
    size, kernel, *_ = _fold_blocks(input, output_size, *options)
    refuse_types("col2im", input, "iu")
    shape = input.shape
    return Spec((*shape[: len(shape) - 2], shape[-2] // math.prod(kernel), *size), input.dtype)


def _fold_kernel(xp: Any, input: Any, output_size: Any, *options: Any) -> Any:
    size, kernel, apart, around, step, counts = _fold_blocks(input, output_size, *options)
    lead = (*input.shape[: input.ndim - 2], input.shape[-2] // math.prod(kernel))
    blocks = input.reshape(*lead, *kernel, *counts)
    result = xp.zeros((*lead, *(n + 2 * p for n, p in zip(size, around))), input.dtype)
    for i in range(kernel[0]):
        for j in range(kernel[1]):
            target = tuple(slice(d * k, d * k + (count - 1) * s + 1, s) for k, d, s, count in zip((i, j), apart, step, counts))
            result[(..., *target)] += blocks[..., i, j, :, :]
    return result[(..., *(slice(p, p + n) for n, p in zip(size, around)))]


@primitive(
    meta=Checked(_fold_meta),
    kernel=_fold_kernel,
    vjp={"input": lambda g, kernel_size, dilation, padding, stride: unfold(g, kernel_size, dilation, padding, stride)},
    name="nn_functional_fold",
    namespace="nn.functional",
    node_name="Col2ImBackward0",
    out=False,
    onnx={9: onnx_forms.fold},
)
def fold(input: Tensor, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """Columns added up to images at the places of their windows: the transpose of ``unfold``."""


# -- between channels and places ---------------------------------------------------------------------------------


def _factor(name: str, input: Any, factor: Any, parameter: str) -> None:
    if isinstance(factor, (float, bool)) or not hasattr(factor, "__index__"):
        raise ArgumentError(f"{name}(): argument '{parameter}' (position 2) must be int, not {type(factor).__name__}")
    if len(input.shape) < 3:
        raise ShapeError(f"{name} expects input to have at least 3 dimensions, but got input with {len(input.shape)} dimension(s)")
    if factor <= 0:
        raise ShapeError(f"{name} expects a positive {parameter}, but got {factor}")


def _shuffle_meta(input: Any, upscale_factor: int) -> Spec:
    _factor("pixel_shuffle", input, upscale_factor, "upscale_factor")
    *lead, channels, height, width = input.shape
    if channels % upscale_factor**2:
        raise ShapeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, but "
            f"input.size(-3)={channels} is not divisible by {upscale_factor**2}"
        )
    return Spec((*lead, channels // upscale_factor**2, height * upscale_factor, width * upscale_factor), input.dtype)


def _shuffle_kernel(xp: Any, input: Any, upscale_factor: int) -> Any:
    shape = _shuffle_meta(input, upscale_factor).shape
    *_, height, width = input.shape
    parts = input.reshape(*shape[:-2], upscale_factor, upscale_factor, height, width)
    order = (*range(parts.ndim - 4), parts.ndim - 2, parts.ndim - 4, parts.ndim - 1, parts.ndim - 3)
    return parts.transpose(order).copy().reshape(shape)


@primitive(
    layout="channels last",
    meta=_shuffle_meta,
    kernel=_shuffle_kernel,
    vjp={"input": lambda g, upscale_factor: pixel_unshuffle(g, upscale_factor)},
    exact=True,
    method=False,
    out=False,
    aliases=("nn.functional.pixel_shuffle",),
    onnx={9: onnx_forms.pixel_shuffle},
)
def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """Channels spread over places: ``(N, C * r * r, H, W)`` becomes ``(N, C, H * r, W * r)``."""


def _unshuffle_meta(input: Any, downscale_factor: int) -> Spec:
    _factor("pixel_unshuffle", input, downscale_factor, "downscale_factor")
    *lead, channels, height, width = input.shape
    for n, word, dim in ((height, "height", -2), (width, "width", -1)):
        if n % downscale_factor:
            raise ShapeError(
                f"pixel_unshuffle expects {word} to be divisible by downscale_factor, but input.size({dim})={n} is not "
                f"divisible by {downscale_factor}"
            )
    return Spec((*lead, channels * downscale_factor**2, height // downscale_factor, width // downscale_factor), input.dtype)


def _unshuffle_kernel(xp: Any, input: Any, downscale_factor: int) -> Any:
    shape = _unshuffle_meta(input, downscale_factor).shape
    parts = input.reshape(*input.shape[:-2], shape[-2], downscale_factor, shape[-1], downscale_factor)
    order = (*range(parts.ndim - 4), parts.ndim - 3, parts.ndim - 1, parts.ndim - 4, parts.ndim - 2)
    return parts.transpose(order).copy().reshape(shape)


@primitive(
    layout="channels last",
    meta=_unshuffle_meta,
    kernel=_unshuffle_kernel,
    vjp={"input": lambda g, downscale_factor: pixel_shuffle(g, downscale_factor)},
    exact=True,
    method=False,
    out=False,
    aliases=("nn.functional.pixel_unshuffle",),
    onnx={9: onnx_forms.pixel_unshuffle},
)
def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """Places gathered into channels: the inverse of ``pixel_shuffle``."""


def _channel_meta(input: Any, groups: int) -> Spec:
    shape = tuple(input.shape)
    if len(shape) <= 2:
        raise ShapeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(shape)}")
    if groups <= 0:
        raise ShapeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    if shape[1] % groups:
        raise ShapeError(f"Number of channels must be divisible by groups. Got {shape[1]} channels and {groups} groups.")
    return Spec(shape, input.dtype)


def _channel_kernel(xp: Any, input: Any, groups: int) -> Any:
    shape = _channel_meta(input, groups).shape
    return input.reshape(shape[0], groups, shape[1] // groups, *shape[2:]).swapaxes(1, 2).copy().reshape(shape)


@primitive(
    layout="channels last",
    meta=_channel_meta,
    kernel=_channel_kernel,
    vjp={"input": lambda g, input_shape, groups: channel_shuffle(g, input_shape[1] // groups)},
    exact=True,
    method=False,
    out=False,
    aliases=("native_channel_shuffle", "nn.functional.channel_shuffle", "nn.functional.native_channel_shuffle"),
    onnx={9: onnx_forms.channel_shuffle},
)
def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Channels taken from each group in turn."""

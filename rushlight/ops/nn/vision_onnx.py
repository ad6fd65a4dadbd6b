"""ONNX forms of grid sampling, unfolding, and moves between channels and places."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import grid_onnx
from .grid_kernels import base_grid

_INT64 = np.dtype(np.int64)
_PADDINGS = ("zeros", "border", "reflection")


def _fixed(sizes: Any) -> bool:
    return all(type(each) is int for each in sizes)


def grid_sampler(g: Any, input: Any, grid: Any, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Any:
    """GridSample since opset 16, which names its modes anew in opset 20 and takes volumes since."""
    if g.opset < (16 if input.rank == 4 and input.dtype.itemsize < 8 else 20):  # doubles: runtimes have them since 20
        return grid_onnx.sample(g, input, grid, interpolation_mode, padding_mode, align_corners)
    modes = ("linear", "nearest", "cubic") if g.opset >= 20 else ("bilinear", "nearest", "bicubic")
    attributes = {"mode": modes[interpolation_mode], "padding_mode": _PADDINGS[padding_mode]}
    return g.GridSample(input, grid, align_corners=int(align_corners), **attributes)


def _points(g: Any, size: Any, align_corners: bool, kind: Any) -> Any:
    """The points of an unmoved grid, one a row, with a last column of ones."""
    if _fixed(size):
        return g.constant(base_grid(np, size, align_corners, kind))
    ndim = len(size)
    columns: list[Any] = []
    for axis, n in enumerate(size):
        steps, count = g.cast(g.range(0, n), kind), g.number(n, kind)
        if align_corners:  # a lone point is in the middle
            last = g.Sub(count, 1.0)
            places = g.where(g.Greater(last, 0.0), g.Sub(g.Div(g.Mul(steps, 2.0), g.maximum(last, g.constant(1, kind))), 1.0), 0.0)
        else:
            places = g.Sub(g.Div(g.Add(g.Mul(steps, 2.0), 1.0), count), 1.0)
        places.shape = (n,)
        places = g.unsqueeze(places, range(1, ndim - axis))
        columns.insert(0, g.unsqueeze(g.expand(places, size), [ndim]))
    columns.append(g.full((*size, 1), 1, kind))
    return g.reshape(g.concat(columns, ndim), (math.prod(size), ndim + 1))


def affine_grid(g: Any, theta: Any, size: Any, align_corners: bool) -> Any:
    """AffineGrid since opset 20; before that the points of a plain grid times the matrices."""
    lone = align_corners and any(type(each) is int and each == 1 for each in size[2:])  # where runtimes differ from us
    if g.opset >= 20 and not lone and theta.dtype.itemsize >= 4:
        return g.AffineGrid(theta, g.sizes(size), align_corners=int(align_corners))
    made = g.MatMul(_points(g, size[2:], align_corners, theta.dtype), g.transpose(theta, [0, 2, 1]))
    made.shape = (size[0], math.prod(size[2:]), len(size) - 2)
    return g.reshape(made, (size[0], *size[2:], len(size) - 2))


def affine_grid_backward(g: Any, grad: Any, size: Any, align_corners: bool) -> Any:
    """The products of the points of a plain grid and the gradients of where they went."""
    flat = g.reshape(grad, (size[0], math.prod(size[2:]), len(size) - 2))
    return g.MatMul(g.swap(flat, 1, 2), _points(g, size[2:], align_corners, grad.dtype))


def _pair(value: Any) -> list[int]:
    return list(value) if isinstance(value, (tuple, list)) else [value, value]


def unfold(g: Any, input: Any, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    """The rows and columns of all windows, gathered."""
    kernel, apart, around, step = map(_pair, (kernel_size, dilation, padding, stride))
    lead = input.rank - 2
    value = g.cast(input, np.dtype(np.uint8)) if input.dtype.kind == "b" and any(around) else input
    if any(around):
        value = g.pad(value, [*[0] * lead, *around] * 2)
    value.shape = (*input.shape[:lead], *(n + 2 * p for n, p in zip(input.shape[lead:], around)))
    for axis, (n, k, d, s) in enumerate(zip(value.shape[lead:], kernel, apart, step)):
        starts = g.range(0, n - d * (k - 1), s)
        taps = g.constant(np.arange(k)[:, None] * d)
        value = g.gather(value, g.Add(taps, starts), lead + 2 * axis)
    order = [*range(lead), lead, lead + 2, lead + 1, lead + 3]
    return g.reshape(g.Transpose(value, perm=order), g.outputs[0].shape)


def fold(g: Any, input: Any, output_size: Any, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    """Col2Im since opset 18; before that a transposed convolution with a kernel that puts each tap in its place."""
    size, kernel, apart, around, step = map(_pair, (output_size, kernel_size, dilation, padding, stride))
    pads = around + around
    if g.opset >= 18:
        batch = input if input.rank == 3 else g.unsqueeze(input, [0])
        made = g.Col2Im(batch, g.sizes(size), g.constant(kernel, _INT64), dilations=apart, pads=pads, strides=step)
        return made if input.rank == 3 else g.squeeze(made, [0])
    if not _fixed(size):
        raise g.unsupported("folding to sizes that are not fixed", since=18)
    counts = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, d, p, s in zip(size, kernel, apart, around, step)]
    extra = [n - ((count - 1) * s - 2 * p + d * (k - 1) + 1) for n, count, k, d, p, s in zip(size, counts, kernel, apart, around, step)]
    taps = math.prod(kernel)
    planes = g.Reshape(input, g.constant([-1, taps, *counts], _INT64))
    places = g.constant(np.eye(taps, dtype=input.dtype).reshape(taps, 1, *kernel))
    made = g.ConvTranspose(planes, places, dilations=apart, kernel_shape=kernel, output_padding=extra, pads=pads, strides=step)
    made.shape = (None, 1, *size)
    return g.reshape(made, g.outputs[0].shape)


def pixel_shuffle(g: Any, input: Any, upscale_factor: int) -> Any:
    """DepthToSpace for images, in the order of channels that opset 11 brought; else moves of dimensions."""
    if g.opset >= 11 and input.rank == 4:
        return g.DepthToSpace(input, blocksize=upscale_factor, mode="CRD")
    *lead, _, height, width = input.shape
    channels = g.outputs[0].shape[-3]
    parts = g.reshape(input, (*lead, channels, upscale_factor, upscale_factor, height, width))
    n = len(lead)
    moved = g.transpose(parts, [*range(n + 1), n + 3, n + 1, n + 4, n + 2])
    return g.reshape(moved, g.outputs[0].shape)


def pixel_unshuffle(g: Any, input: Any, downscale_factor: int) -> Any:
    """Moves of dimensions: SpaceToDepth has its channels in another order."""
    height, width = g.outputs[0].shape[-2:]
    parts = g.reshape(input, (*input.shape[:-2], height, downscale_factor, width, downscale_factor))
    n = input.rank - 2
    moved = g.transpose(parts, [*range(n), n + 1, n + 3, n, n + 2])
    return g.reshape(moved, g.outputs[0].shape)


def channel_shuffle(g: Any, input: Any, groups: int) -> Any:
    """Channels as a matrix (group, channel of it), transposed."""
    batch, channels, *rest = input.shape
    parts = g.reshape(input, (batch, groups, channels // groups, *rest))
    return g.reshape(g.swap(parts, 1, 2), input.shape)

"""The compiled ops of torchvision, written with ops of ours: `torch.ops.torchvision.nms`, `roi_align`, `roi_pool`, `deform_conv2d`, ...

torchvision asks `torch.ops.load_library` for its binary, which is linked with PyTorch; these take its place.  It registers the gradients itself,
by the ops whose names end in `_backward`: these differentiate the compositions of the others.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import rushlight as torch

from ..core.base import make
from ..library import Library
from ..library.registration import find
from .torchvision_onnx import FORMS

_SCHEMAS = """
nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor
qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor
roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width, int sampling_ratio, bool aligned) -> Tensor
qroi_align(Tensor input, Tensor rois, float spatial_scale, int pooled_height, int pooled_width, int sampling_ratio, bool aligned) -> Tensor
roi_pool(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width) -> (Tensor, Tensor)
ps_roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width, int sampling_ratio) -> (Tensor, Tensor)
ps_roi_pool(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width) -> (Tensor, Tensor)
deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, SymInt stride_h, SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w, SymInt groups, SymInt offset_groups, bool use_mask) -> Tensor
_roi_align_backward(Tensor grad, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width, SymInt batch_size, SymInt channels, SymInt height, SymInt width, int sampling_ratio, bool aligned) -> Tensor
_roi_pool_backward(Tensor grad, Tensor rois, Tensor argmax, float spatial_scale, SymInt pooled_height, SymInt pooled_width, SymInt batch_size, SymInt channels, SymInt height, SymInt width) -> Tensor
_ps_roi_align_backward(Tensor grad, Tensor rois, Tensor channel_mapping, float spatial_scale, SymInt pooled_height, SymInt pooled_width, int sampling_ratio, SymInt batch_size, SymInt channels, SymInt height, SymInt width) -> Tensor
_ps_roi_pool_backward(Tensor grad, Tensor rois, Tensor channel_mapping, float spatial_scale, SymInt pooled_height, SymInt pooled_width, SymInt batch_size, SymInt channels, SymInt height, SymInt width) -> Tensor
_deform_conv2d_backward(Tensor grad, Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, SymInt stride_h, SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w, SymInt groups, SymInt offset_groups, bool use_mask) -> (Tensor, Tensor, Tensor, Tensor, Tensor)
box_iou_rotated(Tensor boxes1, Tensor boxes2) -> Tensor
_cuda_version() -> int
"""

library = Library("torchvision", "DEF")
for _schema in _SCHEMAS.strip().splitlines():
    library.define(_schema)


def nms(dets: Any, scores: Any, iou_threshold: float) -> Any:
    """The boxes that are kept, by falling score: one that overlaps a kept one by more than a threshold is dropped."""
    if dets.dim() != 2 or dets.shape[1] != 4:
        raise RuntimeError(f"boxes should be a 2d tensor with 4 columns, got {tuple(dets.shape)}")
    if scores.dim() != 1 or scores.shape[0] != dets.shape[0]:
        raise RuntimeError(
            f"boxes and scores should have same number of elements in dimension 0, got {dets.shape[0]} and {scores.shape[0]}"
        )
    boxes, order = dets.detach().numpy(), np.argsort(-scores.detach().numpy(), kind="stable")
    left, top, right, bottom = boxes[order].T
    areas = (right - left) * (bottom - top)
    alive = np.ones(len(order), bool)
    kept = []
    for at in range(len(order)):
        if not alive[at]:
            continue
        kept.append(order[at])
        width = np.maximum(np.minimum(right[at], right[at + 1 :]) - np.maximum(left[at], left[at + 1 :]), 0)
        height = np.maximum(np.minimum(bottom[at], bottom[at + 1 :]) - np.maximum(top[at], top[at + 1 :]), 0)
        shared = width * height
        with np.errstate(invalid="ignore", divide="ignore"):
            alive[at + 1 :] &= ~(shared / (areas[at] + areas[at + 1 :] - shared) > iou_threshold)
    return make(np.asarray(kept, np.int64))


def _rotated_corners(box: Any) -> Any:
    """The corners, in order, of a box that is given by its middle, its sizes and an angle in degrees."""
    middle, sizes, angle = box[:2], box[2:4], np.deg2rad(box[4])
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    return middle + (np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]]) * sizes) @ turn


def _polygon_area(points: Any) -> float:
    following = np.roll(points, -1, 0)
    return float(abs((points[:, 0] * following[:, 1] - points[:, 1] * following[:, 0]).sum()) / 2)


def _shared_area(first: Any, second: Any) -> float:
    """The area that two convex polygons, given in the same direction, share: one is cut by the edges of the other."""
    points = first
    for start, end in zip(second, np.roll(second, -1, 0)):
        if not len(points):
            return 0.0
        edge = end - start
        sides = edge[0] * (points[:, 1] - start[1]) - edge[1] * (points[:, 0] - start[0])
        kept = []
        for at in range(len(points)):
            to = (at + 1) % len(points)
            if sides[at] >= 0:
                kept.append(points[at])
            if (sides[at] >= 0) != (sides[to] >= 0):
                kept.append(points[at] + (points[to] - points[at]) * (sides[at] / (sides[at] - sides[to])))
        points = np.array(kept)
    return _polygon_area(points) if len(points) else 0.0


def box_iou_rotated(boxes1: Any, boxes2: Any) -> Any:
    """The shared area of each of some boxes and each of others, divided by that of both."""
    first, second = (each.detach().numpy().astype(np.float64) for each in (boxes1, boxes2))
    found = np.zeros((len(first), len(second)))
    for row, one in enumerate(first):
        for column, other in enumerate(second):
            shared = _shared_area(_rotated_corners(one), _rotated_corners(other))
            union = one[2] * one[3] + other[2] * other[3] - shared
            found[row, column] = shared / union if union > 0 else 0.0
    return make(found.astype(boxes1.detach().numpy().dtype))


def _pixels(image: Any, row: Any, column: Any) -> Any:
    """Pixels of images (..., height, width) at rows and columns, which are inside."""
    flat = image.flatten(-2)
    index = row.long() * image.shape[-1] + column.long()
    return flat.gather(-1, index.expand(*flat.shape[:-1], *index.shape[-1:]))


def _bilinear_on_zeros(image: Any, y: Any, x: Any) -> Any:
    """Values of images (..., height, width) between their pixels, around which there are zeros."""
    height, width = image.shape[-2:]
    y0, x0 = y.floor(), x.floor()
    dy, dx = y - y0, x - x0

    def at(row: Any, column: Any, weight: Any) -> Any:
        inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
        found = _pixels(image, row.clamp(0, height - 1), column.clamp(0, width - 1))
        return found * torch.where(inside, weight, torch.zeros_like(weight))

    return (
        at(y0, x0, (1 - dy) * (1 - dx)) + at(y0, x0 + 1, (1 - dy) * dx) + at(y0 + 1, x0, dy * (1 - dx)) + at(y0 + 1, x0 + 1, dy * dx)
    )  # fmt: skip


def _bilinear(image: Any, y: Any, x: Any) -> Any:
    """Values of images (..., height, width) between their pixels, those at the edge up to one pixel outside; farther outside they are 0."""
    height, width = image.shape[-2:]
    inside = (y >= -1) & (y <= height) & (x >= -1) & (x <= width)
    y, x = y.clamp(min=0), x.clamp(min=0)
    y0, x0 = y.floor().clamp(max=height - 1), x.floor().clamp(max=width - 1)
    y, x = torch.where(y0 >= height - 1, y0, y), torch.where(x0 >= width - 1, x0, x)
    y1, x1 = (y0 + 1).clamp(max=height - 1), (x0 + 1).clamp(max=width - 1)
    dy, dx = y - y0, x - x0
    value = (
        _pixels(image, y0, x0) * ((1 - dy) * (1 - dx)) + _pixels(image, y0, x1) * ((1 - dy) * dx)
        + _pixels(image, y1, x0) * (dy * (1 - dx)) + _pixels(image, y1, x1) * (dy * dx)
    )  # fmt: skip
    return value * inside.to(value.dtype)


def _grid(start: Any, size: Any, bins: int, count: int) -> Any:
    """Where samples are taken along an axis: `count` in each of `bins`."""
    bin_size = size / bins
    steps = (torch.arange(bins, dtype=start.dtype)[:, None] + (torch.arange(count, dtype=start.dtype)[None] + 0.5) / count).reshape(-1)
    return start + steps * bin_size


def _aligned_samples(
    image: Any, roi: Any, scale: float, rows: int, columns: int, ratio: int, offset: float, at_least_one: bool
) -> tuple[Any, int]:
    """The sum of samples in every bin of a region, (channels, rows, columns), and how many samples a bin has: none in a region of no size."""
    left, top, right, bottom = (roi[1 + at] * scale - offset for at in range(4))
    width, height = right - left, bottom - top
    if at_least_one:
        width, height = width.clamp(min=1.0), height.clamp(min=1.0)
    down = ratio if ratio > 0 else int(np.ceil(float(height.detach()) / rows))
    across = ratio if ratio > 0 else int(np.ceil(float(width.detach()) / columns))
    if down <= 0 or across <= 0:
        return image.new_zeros((image.shape[0], rows, columns)), down * across
    y, x = _grid(top, height, rows, down), _grid(left, width, columns, across)
    values = _bilinear(image, y.repeat_interleave(len(x)), x.repeat(len(y)))
    return values.reshape(-1, rows, down, columns, across).sum((2, 4)), down * across


def roi_align(
    input: Any, rois: Any, spatial_scale: float, pooled_height: int, pooled_width: int, sampling_ratio: int, aligned: bool
) -> Any:
    """The mean of samples between pixels in every bin of every region."""
    if rois.dim() != 2 or rois.shape[1] != 5:
        raise RuntimeError("Tensor rois should have shape as Tensor[K, 5]")
    sums = [
        _aligned_samples(
            input[int(roi[0])], roi, spatial_scale, pooled_height, pooled_width, sampling_ratio, 0.5 if aligned else 0.0, not aligned
        )
        for roi in rois
    ]
    found = [total / max(count, 1) for total, count in sums]
    return torch.stack(found) if found else input.new_zeros((0, input.shape[1], pooled_height, pooled_width))


def _own_channels(values: Any, rows: int, columns: int) -> tuple[Any, Any]:
    """Of (channels, rows, columns), the channels that belong to each bin, and which these are."""
    depth = values.shape[0] // (rows * columns)
    mapping = torch.arange(depth * rows * columns).reshape(depth, rows, columns)
    return values.gather(0, mapping), mapping.int()


def ps_roi_align(input: Any, rois: Any, spatial_scale: float, pooled_height: int, pooled_width: int, sampling_ratio: int) -> Any:
    """As `roi_align`; every bin has channels of its own."""
    if input.shape[1] % (pooled_height * pooled_width):
        raise RuntimeError("input channels must be a multiple of pooling height * pooling width")
    depth = input.shape[1] // (pooled_height * pooled_width)
    empty = (0, depth, pooled_height, pooled_width)
    sums = [
        _aligned_samples(input[int(roi[0])], roi, spatial_scale, pooled_height, pooled_width, sampling_ratio, 0.5, False) for roi in rois
    ]
    found = [_own_channels(total / torch.tensor(float(count)), pooled_height, pooled_width) for total, count in sums]
    if not found:
        return input.new_zeros(empty), torch.zeros(empty, dtype=torch.int32)
    return torch.stack([each for each, _ in found]), torch.stack([each for _, each in found])


def _edges(start: int, size: float, bins: int, limit: int, floor: Any = np.floor) -> list[tuple[int, int]]:
    """The pixels of each bin along an axis."""
    step = size / bins
    return [
        (int(np.clip(np.floor(at * step) + start, 0, limit)), int(np.clip(np.ceil((at + 1) * step) + start, 0, limit)))
        for at in range(bins)
    ]


def _rounded(value: float) -> int:
    """Halves away from zero, as C's `round`."""
    return int(np.floor(abs(value) + 0.5) * np.sign(value))


def roi_pool(input: Any, rois: Any, spatial_scale: float, pooled_height: int, pooled_width: int) -> Any:
    """The largest pixel in every bin of every region, and where it is (-1 in an empty bin)."""
    shape = (len(rois), input.shape[1], pooled_height, pooled_width)
    height, width = input.shape[-2:]
    values, places = [], []
    for roi in rois:
        image = input[int(roi[0])]
        left, top, right, bottom = (_rounded(float(each) * spatial_scale) for each in roi[1:])
        rows = _edges(top, max(bottom - top + 1, 1), pooled_height, height)
        columns = _edges(left, max(right - left + 1, 1), pooled_width, width)
        for y0, y1 in rows:
            for x0, x1 in columns:
                if y1 <= y0 or x1 <= x0:
                    values.append(image.new_zeros(image.shape[0]))
                    places.append(torch.full((image.shape[0],), -1, dtype=torch.int32))
                    continue
                largest, index = image[:, y0:y1, x0:x1].flatten(1).max(1)
                values.append(largest)
                places.append(((y0 + index // (x1 - x0)) * width + x0 + index % (x1 - x0)).int())
    if not values:
        return input.new_zeros(shape), torch.zeros(shape, dtype=torch.int32)
    order = (len(rois), pooled_height, pooled_width, input.shape[1])
    return torch.stack(values).reshape(order).permute(0, 3, 1, 2), torch.stack(places).reshape(order).permute(0, 3, 1, 2).contiguous()


def ps_roi_pool(input: Any, rois: Any, spatial_scale: float, pooled_height: int, pooled_width: int) -> Any:
    """The mean of the pixels in every bin; every bin has channels of its own."""
    if input.shape[1] % (pooled_height * pooled_width):
        raise RuntimeError("input channels must be a multiple of pooling height * pooling width")
    height, width = input.shape[-2:]
    depth = input.shape[1] // (pooled_height * pooled_width)
    empty = (0, depth, pooled_height, pooled_width)
    values, mappings = [], []
    for roi in rois:
        image = input[int(roi[0])]
        left, top, right, bottom = (_rounded(float(each) * spatial_scale) for each in roi[1:])
        rows = _edges(top, max(bottom - top, 1), pooled_height, height - 1)
        columns = _edges(left, max(right - left, 1), pooled_width, width - 1)
        bins = [
            image[:, y0:y1, x0:x1].mean((1, 2)) if y1 > y0 and x1 > x0 else image.new_zeros(image.shape[0])
            for y0, y1 in rows for x0, x1 in columns
        ]  # fmt: skip
        own, mapping = _own_channels(torch.stack(bins, 1).reshape(-1, pooled_height, pooled_width), pooled_height, pooled_width)
        values.append(own)
        mappings.append(mapping)
    if not values:
        return input.new_zeros(empty), torch.zeros(empty, dtype=torch.int32)
    return torch.stack(values), torch.stack(mappings)


def deform_conv2d(
    input: Any, weight: Any, offset: Any, mask: Any, bias: Any, stride_h: int, stride_w: int, pad_h: int, pad_w: int, dilation_h: int,
    dilation_w: int, groups: int, offset_groups: int, use_mask: bool,
) -> Any:  # fmt: skip
    """A convolution whose samples are moved by offsets, and weighted by a mask."""
    batch, channels, height, width = input.shape
    outputs, _, rows, columns = weight.shape
    out_h = (height + 2 * pad_h - dilation_h * (rows - 1) - 1) // stride_h + 1
    out_w = (width + 2 * pad_w - dilation_w * (columns - 1) - 1) // stride_w + 1
    taps = rows * columns
    moved = offset.reshape(batch, offset_groups, taps, 2, out_h, out_w)
    kind = input.dtype
    row = (torch.arange(rows, dtype=kind) * dilation_h - pad_h).repeat_interleave(columns)[:, None, None] + (
        torch.arange(out_h, dtype=kind) * stride_h
    )[None, :, None]
    column = (torch.arange(columns, dtype=kind) * dilation_w - pad_w).repeat(rows)[:, None, None] + (
        torch.arange(out_w, dtype=kind) * stride_w
    )[None, None]
    y = (moved[:, :, :, 0] + row).reshape(batch, offset_groups, 1, -1)
    x = (moved[:, :, :, 1] + column).reshape(batch, offset_groups, 1, -1)
    samples = _bilinear_on_zeros(input.reshape(batch, offset_groups, channels // offset_groups, height, width), y, x)
    samples = samples.reshape(batch, offset_groups, channels // offset_groups, taps, out_h * out_w)
    if use_mask:
        samples = samples * mask.reshape(batch, offset_groups, 1, taps, out_h * out_w)
    samples = samples.reshape(batch, groups, channels // groups * taps, out_h * out_w)
    kernel = weight.reshape(groups, outputs // groups, channels // groups * taps)
    return torch.matmul(kernel, samples).reshape(batch, outputs, out_h, out_w) + bias.reshape(1, -1, 1, 1)


def _cuda_version() -> int:
    """-1: not built for CUDA."""
    return -1


def _gradients(grad: Any, function: Any, *inputs: Any) -> tuple[Any, ...]:
    """Gradients of a composition at some inputs."""
    with torch.enable_grad():
        leaves = [each.detach().requires_grad_() for each in inputs]
        found = torch.autograd.grad(function(*leaves), leaves, grad, allow_unused=True)
    return tuple(torch.zeros_like(leaf) if each is None else each for each, leaf in zip(found, leaves))


def _roi_align_backward(
    grad: Any, rois: Any, spatial_scale: float, pooled_height: int, pooled_width: int, batch_size: int, channels: int, height: int, width: int,
    sampling_ratio: int, aligned: bool,
) -> Any:  # fmt: skip
    """The gradient of `roi_align`, which is linear in its input."""
    image = grad.new_zeros((batch_size, channels, height, width))
    return _gradients(
        grad, lambda input: roi_align(input, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio, aligned), image
    )[0]


def _roi_pool_backward(
    grad: Any, rois: Any, argmax: Any, spatial_scale: float, pooled_height: int, pooled_width: int, batch_size: int, channels: int, height: int,
    width: int,
) -> Any:  # fmt: skip
    """The gradient of `roi_pool`: that of each bin goes to its largest pixel."""
    found = grad.new_zeros((batch_size, channels, height * width))
    for roi, part, places in zip(rois, grad, argmax.long()):
        taken = torch.where(places >= 0, part, torch.zeros_like(part)).flatten(1)
        found[int(roi[0])].scatter_add_(1, places.clamp(min=0).flatten(1), taken)
    return found.reshape(batch_size, channels, height, width)


def _ps_roi_align_backward(
    grad: Any, rois: Any, channel_mapping: Any, spatial_scale: float, pooled_height: int, pooled_width: int, sampling_ratio: int, batch_size: int,
    channels: int, height: int, width: int,
) -> Any:  # fmt: skip
    """The gradient of `ps_roi_align`, which is linear in its input."""
    image = grad.new_zeros((batch_size, channels, height, width))
    return _gradients(grad, lambda input: ps_roi_align(input, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio)[0], image)[
        0
    ]


def _ps_roi_pool_backward(
    grad: Any, rois: Any, channel_mapping: Any, spatial_scale: float, pooled_height: int, pooled_width: int, batch_size: int, channels: int,
    height: int, width: int,
) -> Any:  # fmt: skip
    """The gradient of `ps_roi_pool`, which is linear in its input."""
    image = grad.new_zeros((batch_size, channels, height, width))
    return _gradients(grad, lambda input: ps_roi_pool(input, rois, spatial_scale, pooled_height, pooled_width)[0], image)[0]


def _deform_conv2d_backward(grad: Any, input: Any, weight: Any, offset: Any, mask: Any, bias: Any, *sizes: Any) -> Any:
    """The gradients of `deform_conv2d`."""
    return _gradients(grad, lambda *inputs: deform_conv2d(*inputs, *sizes), input, weight, offset, mask, bias)


library.impl("_cuda_version", _cuda_version, "CompositeExplicitAutograd")
for _function in (
    nms, box_iou_rotated, roi_align, roi_pool, ps_roi_align, ps_roi_pool, deform_conv2d, _roi_align_backward, _roi_pool_backward, _ps_roi_align_backward,
    _ps_roi_pool_backward, _deform_conv2d_backward,
):  # fmt: skip
    library.impl(_function.__name__, _function, "CPU")
for _name, (_since, _form) in FORMS.items():
    find(f"torchvision::{_name}").set_onnx({_since: _form})
find("torchvision::nms").op.data_dependent = True

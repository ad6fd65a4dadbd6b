"""Images: regions, boxes, grids and files."""

from __future__ import annotations

import io
import math
from typing import Any

import numpy as np

from ....nn import functional as F
from .. import calls as rl
from ..registry import Float, Int, Ints, NodeContext, importer, ops

GRID_MODES = {"linear": "bilinear", "cubic": "bicubic"}  # since opset 20 -> as before, and as PyTorch says


@importer("GridSample")
def grid_sample(node: NodeContext, x: Any, grid: Any) -> Any:
    mode, padding, aligned = GRID_MODES.get(node["mode"], node["mode"]), node["padding_mode"], bool(node["align_corners"])
    if x.dim() == 3:  # a line is an image of one row
        flat = rl.cat([grid, rl.zeros_like(grid)], -1).unsqueeze(1)
        return grid_sample(node, x.unsqueeze(2), flat).squeeze(2)
    if x.dim() not in (4, 5) or (x.dim() == 5 and mode == "bicubic"):
        raise node.not_supported(f"mode {node['mode']!r} over {x.dim() - 2} spatial dimensions")
    if not x.is_floating_point():
        return F.grid_sample(x.to(grid.dtype), grid, mode, padding, aligned).to(x.dtype)
    return F.grid_sample(x, grid.to(x.dtype), mode, padding, aligned)


@importer("AffineGrid")
def affine_grid(node: NodeContext, theta: Any, size: Ints) -> Any:
    return F.affine_grid(theta, size, bool(node["align_corners"]))


# -- regions of interest ------------------------------------------------------------------------------------------------------------


@importer("RoiAlign")
def roi_align(node: NodeContext, x: Any, rois: Any, batch_indices: Any) -> Any:
    shift = 0.5 if node.get("coordinate_transformation_mode", "output_half_pixel") == "half_pixel" else 0.0
    corners = rois * node["spatial_scale"] - shift
    lengths = corners[:, 2:] - corners[:, :2]
    if not shift:  # regions have at least one pixel
        lengths = rl.clamp(lengths, 1)
    wide, high = (
        samples_along(node, corners[:, axis], lengths[:, axis], out)
        for axis, out in ((0, node["output_width"]), (1, node["output_height"]))
    )
    values = region_samples(x, batch_indices, high, wide, node["mode"] == "max")  # (rois, channels, bins high, samples, bins wide, samples)
    counted = high.counted[:, :, :, None, None] & wide.counted[:, None, None, :, :]
    counted = counted.unsqueeze(1)
    if node["mode"] == "max":
        return rl.amax(rl.where(counted, values, rl.full_like(values, float("-inf"))), (3, 5))
    return rl.sum(rl.where(counted, values, rl.zeros_like(values)), (3, 5)) / rl.clamp(rl.sum(counted, (3, 5)), 1).to(x.dtype)


class Samples:
    """Positions of samples along an axis of all regions, (rois, bins, samples), and which of them count."""

    def __init__(self, positions: Any, counted: Any) -> None:
        self.positions, self.counted = positions, counted


def samples_along(node: NodeContext, start: Any, length: Any, bins: int) -> Samples:
    """The samples of each bin: as many as the node says, or one for each pixel of the region's bins."""
    ratio = node["sampling_ratio"]
    each = length / bins
    counts = rl.full_like(each, ratio) if ratio > 0 else rl.ceil(each)
    most = ratio if ratio > 0 else max(int(rl.amax(counts).item()), 1) if counts.numel() else 1
    index = rl.arange(most).reshape(1, 1, -1)
    inside = rl.clamp(counts, 1).reshape(-1, 1, 1)
    at = rl.arange(bins).reshape(1, -1, 1) + (index + 0.5) / inside
    counted = (index < counts.reshape(-1, 1, 1)).expand(at.shape)
    return Samples(start.reshape(-1, 1, 1) + at * each.reshape(-1, 1, 1), counted)


def region_samples(x: Any, batch_indices: Any, high: Samples, wide: Samples, extreme: bool) -> Any:
    """Values of the images at the samples of each region: interpolated, or the largest of the four weighted neighbours."""
    rows, columns = (clamped_pair(each.positions, size) for each, size in zip((high, wide), x.shape[2:]))
    images = rl.index_select(x, 0, batch_indices)
    regions, channels, _, width = images.shape
    flat = images.reshape(regions, channels, -1)
    shape = (regions, *high.positions.shape[1:], *wide.positions.shape[1:])
    result: Any = None
    for row, row_weight in rows:
        for column, column_weight in columns:
            where = row[:, :, :, None, None] * width + column[:, None, None, :, :]
            index = where.to(rl.int64).reshape(regions, 1, -1).expand(regions, channels, math.prod(shape[1:]))
            weight = row_weight[:, :, :, None, None] * column_weight[:, None, None, :, :]
            part = rl.gather(flat, 2, index).reshape(regions, channels, *shape[1:]) * weight.unsqueeze(1)
            result = part if result is None else rl.maximum(result, part) if extreme else result + part
    return result


def clamped_pair(positions: Any, size: int) -> list[tuple[Any, Any]]:
    """The two neighbours of positions and their weights; beyond the edge by more than a pixel there is nothing."""
    valid = (positions >= -1) & (positions <= size)
    positions = rl.clamp(positions, 0)
    low = rl.clamp(rl.floor(positions), 0, size - 1)
    part = rl.where(low >= size - 1, rl.zeros_like(positions), positions - low)
    zero = rl.zeros_like(part)
    return [(low, rl.where(valid, 1 - part, zero)), (rl.clamp(low + 1, 0, size - 1), rl.where(valid, part, zero))]


@importer("MaxRoiPool")
def max_roi_pool(node: NodeContext, x: Any, rois: Any) -> Any:
    """The largest element of each bin, where bins are whole pixels."""
    batch = rois[:, 0].to(rl.int64)
    scaled = rl.floor(rois[:, 1:] * node["spatial_scale"] + 0.5)
    masks = [
        bin_members(scaled[:, first], scaled[:, first + 2], bins, size)
        for first, bins, size in ((1, node["pooled_shape"][0], x.shape[2]), (0, node["pooled_shape"][1], x.shape[3]))
    ]
    values = rl.index_select(x, 0, batch)
    lowest = rl.full((), float("-inf"), dtype=x.dtype)
    rows = rl.amax(rl.where(masks[0][:, None, :, :, None], values[:, :, None], lowest), 3)  # (rois, channels, bins, width)
    result = rl.amax(rl.where(masks[1][:, None, None], rows[:, :, :, None], lowest), 4)
    return rl.where(result == lowest, rl.zeros_like(result), result)


def bin_members(first: Any, last: Any, bins: int, size: int) -> Any:
    """Which pixels along an axis belong to which bin of each region: (rois, bins, size)."""
    each = rl.clamp(last - first + 1, 1) / bins
    index = rl.arange(bins).reshape(1, -1)
    start = rl.clamp(rl.floor(index * each.reshape(-1, 1)) + first.reshape(-1, 1), 0, size)
    end = rl.clamp(rl.ceil((index + 1) * each.reshape(-1, 1)) + first.reshape(-1, 1), 0, size)
    pixels = rl.arange(size).reshape(1, 1, -1)
    return (pixels >= start.unsqueeze(2)) & (pixels < end.unsqueeze(2))


# -- boxes -------------------------------------------------------------------------------------------------------------------------


@importer("NonMaxSuppression")
def non_max_suppression(
    node: NodeContext,
    boxes: Any,
    scores: Any,
    most: Int | None = None,
    iou_threshold: Float | None = None,
    score_threshold: Float | None = None,
) -> Any:
    return ops.non_max_suppression(boxes, scores, most or 0, iou_threshold or 0.0, score_threshold, bool(node["center_point_box"]))


# -- files -------------------------------------------------------------------------------------------------------------------------


@importer("ImageDecoder")
def image_decoder(node: NodeContext, encoded: Any) -> Any:
    """An image's pixels, as Pillow reads it: the formats are those that it knows."""
    try:
        from PIL import Image  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        raise node.not_supported("decoding images needs the package Pillow") from None
    image = Image.open(io.BytesIO(encoded.numpy().tobytes()))
    match node["pixel_format"]:
        case "RGB":
            pixels = np.array(image.convert("RGB"))
        case "BGR":
            pixels = np.array(image.convert("RGB"))[:, :, ::-1].copy()
        case "Grayscale":
            pixels = np.array(image.convert("L"))[:, :, None]
        case other:
            raise node.error(f"pixel_format is {other!r}")
    return rl.from_numpy(pixels)

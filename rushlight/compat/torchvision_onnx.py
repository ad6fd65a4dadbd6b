"""ONNX forms of torchvision's compiled ops: what `torchvision_ops` declares."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

_INT64, _FLOAT32 = np.dtype(np.int64), np.dtype(np.float32)
_ALL = np.iinfo(np.int64).max


def nms(g: Any, dets: Any, scores: Any, iou_threshold: float) -> Any:
    """``NonMaxSuppression`` of one image and one class: the last column of its rows."""
    boxes = g.unsqueeze(g.cast(dets, _FLOAT32), [0])
    ranked = g.unsqueeze(g.cast(scores, _FLOAT32), [0, 1])
    found = g.NonMaxSuppression(boxes, ranked, g.constant([_ALL], _INT64), g.constant([iou_threshold], _FLOAT32))
    found.dtype, found.shape = _INT64, (g.outputs[0].shape[0], 3)
    return g.gather(found, 2, 1)


def _regions(g: Any, rois: Any) -> tuple[Any, Any]:
    """The corners of regions, and the images that they are in."""
    return g.slice(rois, [1], [5], [1]), g.cast(g.gather(rois, 0, 1), _INT64)


def roi_align(g: Any, input: Any, rois: Any, scale: float, rows: int, columns: int, ratio: int, aligned: bool) -> Any:
    """``RoiAlign``; before opset 16 it has no half pixels."""
    corners, images = _regions(g, rois)
    options = {
        "spatial_scale": float(scale),
        "output_height": rows,
        "output_width": columns,
        "sampling_ratio": max(ratio, 0),
        "mode": "avg",
    }
    if g.opset >= 16:
        options["coordinate_transformation_mode"] = "half_pixel" if aligned else "output_half_pixel"
    elif aligned:
        raise g.unsupported("roi_align with aligned=True", since=16)
    return g.RoiAlign(input, corners, images, **options)


def roi_pool(g: Any, input: Any, rois: Any, scale: float, rows: int, columns: int) -> Any:
    """``MaxRoiPool``; where the largest pixels are, it does not say."""
    return g.MaxRoiPool(input, rois, pooled_shape=[rows, columns], spatial_scale=float(scale)), None


def deform_conv2d(
    g: Any, input: Any, weight: Any, offset: Any, mask: Any, bias: Any, stride_h: int, stride_w: int, pad_h: int, pad_w: int, dilation_h: int,
    dilation_w: int, groups: int, offset_groups: int, use_mask: bool,
) -> Any:  # fmt: skip
    """``DeformConv``."""
    return g.DeformConv(
        input,
        weight,
        offset,
        bias,
        *([mask] if use_mask else []),
        kernel_shape=list(weight.shape[2:]),
        strides=[stride_h, stride_w],
        pads=[pad_h, pad_w, pad_h, pad_w],
        dilations=[dilation_h, dilation_w],
        group=groups,
        offset_group=offset_groups,
    )


FORMS: dict[str, tuple[int, Callable[..., Any]]] = {
    "nms": (10, nms),
    "roi_align": (10, roi_align),
    "roi_pool": (7, roi_pool),
    "deform_conv2d": (19, deform_conv2d),
}

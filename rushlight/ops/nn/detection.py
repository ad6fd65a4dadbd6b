"""Boxes of objects in images: which of them remain where they overlap."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.base import TensorBase as Tensor
from ...core.declare import primitive
from ...core.errors import NotSupported


def _unknown_shape(*arguments: Any) -> Any:
    raise NotSupported("non_max_suppression(): how many boxes remain depends on the data, and meta tensors have none")


def corners_of(xp: Any, boxes: Any, centred: bool) -> Any:
    """Boxes by their smaller and their larger corner."""
    first, second = boxes[..., :2], boxes[..., 2:]
    if centred:
        first, second = first - second / 2, first + second / 2
    return xp.concatenate([xp.minimum(first, second), xp.maximum(first, second)], -1)


def _remaining(corners: Any, scores: Any, most: int, iou_threshold: float, score_threshold: float | None) -> list[int]:
    order = np.argsort(-scores, kind="stable")
    if score_threshold is not None:
        order = order[scores[order] > score_threshold]
    areas = np.prod(corners[:, 2:] - corners[:, :2], -1)
    found: list[int] = []
    while order.size and len(found) < most:
        best, order = order[0], order[1:]
        found.append(int(best))
        sides = np.minimum(corners[best, 2:], corners[order, 2:]) - np.maximum(corners[best, :2], corners[order, :2])
        shared = np.prod(np.maximum(sides, 0), -1)
        union = areas[best] + areas[order] - shared
        order = order[shared <= iou_threshold * np.where(union > 0, union, 1)]
    return found


def _kernel(
    xp: Any, boxes: Any, scores: Any, most: int, iou_threshold: float = 0.0, score_threshold: float | None = None, centred: bool = False
) -> Any:
    corners = corners_of(np, boxes, centred)
    rows = [
        (batch, kind, box)
        for batch in range(scores.shape[0])
        for kind in range(scores.shape[1])
        for box in _remaining(corners[batch], scores[batch, kind], most, iou_threshold, score_threshold)
    ]
    return np.array(rows, np.int64).reshape(-1, 3)


def _onnx(
    g: Any, boxes: Any, scores: Any, most: int, iou_threshold: float = 0.0, score_threshold: float | None = None, centred: bool = False
) -> Any:
    numbers = [g.constant(most, np.int64), g.constant(iou_threshold, np.float32)]
    if score_threshold is not None:
        numbers.append(g.constant(score_threshold, np.float32))
    return g.NonMaxSuppression(boxes, scores, *numbers, center_point_box=int(centred))


@primitive(
    meta=_unknown_shape,
    kernel=_kernel,
    vjp={},
    exact=True,
    namespace=None,
    method=False,
    out=False,
    data_dependent=True,
    onnx={10: _onnx},
)
def non_max_suppression(
    boxes: Tensor, scores: Tensor, most: int, iou_threshold: float = 0.0, score_threshold: float | None = None, centred: bool = False
) -> Tensor:
    """The boxes that remain, a row (batch, class, box) for each: the best ``most`` of each class that overlap no better one by more than a threshold.

    ``boxes`` is (batch, boxes, 4), by two corners or, where they are ``centred``, by middle and size; ``scores`` is (batch, classes, boxes).
    """

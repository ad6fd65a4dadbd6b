"""ONNX forms of the losses of classes."""

from __future__ import annotations

from typing import Any

import numpy as np

_INT64, _BOOL = np.dtype(np.int64), np.dtype(np.bool_)


def _picked(g: Any, input: Any, places: Any, axis: int) -> Any:
    """Elements at places along a dimension, which goes."""
    if input.rank == 1:
        return g.gather(input, places, 0)
    if g.opset >= 11:
        return g.squeeze(g.GatherElements(input, g.unsqueeze(places, [axis]), axis=axis), [axis])
    chosen = g.OneHot(places, g.number(g.size(input, axis), _INT64), g.constant([0, 1], _INT64), axis=axis)
    return g.reduce("ReduceSum", g.where(g.cast(chosen, _BOOL), input, 0.0), [axis])


def nll_forward(g: Any, input: Any, target: Any, weight: Any, reduction: str, ignore_index: int) -> Any:
    """The loss in nodes, and the sum of the weights."""
    target = g.cast(target, _INT64)
    ignored = g.Equal(target, g.constant(ignore_index, _INT64))
    safe = g.where(ignored, g.constant(0, _INT64), target)
    safe.shape = target.shape
    each = g.constant(1, input.dtype) if weight is None else g.gather(weight, safe, 0)
    weights = g.where(ignored, g.constant(0, input.dtype), each)
    loss = g.Neg(g.Mul(_picked(g, input, safe, 1 if input.rank > 1 else 0), weights))
    total = g.reduce("ReduceSum", weights, None)
    if reduction != "none":
        loss = g.reduce("ReduceSum", loss, None)
        loss = g.Div(loss, total) if reduction == "mean" else loss
    return loss, total


def nll_gradient(g: Any, grad: Any, shape: Any, target: Any, weight: Any, reduction: str, ignore_index: int, total: Any) -> Any:
    """The gradient of ``nll_forward``: at each target's class, and 0 elsewhere."""
    axis = 1 if len(shape) > 1 else 0
    target = g.cast(target, _INT64)
    value = g.Neg(g.Div(grad, total) if reduction == "mean" else grad)
    if weight is not None:
        outside = g.Equal(target, g.constant(ignore_index, _INT64))
        value = g.Mul(value, g.gather(weight, g.where(outside, g.constant(0, _INT64), target), 0))
    if value.rank:  # one for each target
        value.shape = target.shape
        value = g.unsqueeze(value, [axis])
    spread = g.unsqueeze(target, [axis])
    classes = g.reshape(g.range(0, shape[axis]), (shape[axis], *[1] * (len(shape) - 1 - axis)))
    chosen = g.Equal(spread, classes)
    if not (isinstance(ignore_index, int) and ignore_index < 0):  # below 0 it is no class, and nothing equals it
        chosen = g.And(chosen, g.Not(g.Equal(spread, g.constant(ignore_index, _INT64))))
    return g.where(chosen, value, g.constant(0, grad.dtype))


def nll_loss(g: Any, input: Any, target: Any, weight: Any, size_average: Any, ignore_index: int, reduce: Any, reduction: str) -> Any:
    """One node since opset 12."""
    if input.rank < 2 or size_average is not None or reduce is not None:
        return NotImplemented
    target = g.cast(target, _INT64)
    return g.NegativeLogLikelihoodLoss(input, target, weight, ignore_index=ignore_index, reduction=reduction)


def cross_entropy(
    g: Any, input: Any, target: Any, weight: Any, size_average: Any, ignore_index: int, reduce: Any, reduction: str,
    label_smoothing: float,
) -> Any:  # fmt: skip
    """One node since opset 12, for targets that are classes."""
    if input.rank < 2 or size_average is not None or reduce is not None or label_smoothing or target.dtype.kind not in "iu":
        return NotImplemented
    target = g.cast(target, _INT64)
    return g.SoftmaxCrossEntropyLoss(input, target, weight, ignore_index=ignore_index, reduction=reduction)

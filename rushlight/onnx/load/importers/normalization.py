"""Normalizations and dropout."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....nn import functional as F
from .. import calls as rl
from ..registry import Bool, Float, NodeContext, dtype_of, importer
from .shapes import padded
from .values import positive_axes, positive_axis


def along_channels(parameter: Any, x: Any) -> Any:
    """A parameter of each channel, with a dimension of size one for each other of a value."""
    return parameter.reshape((1, -1) + (1,) * (x.dim() - 2))


@importer("BatchNormalization")
def batch_normalization(node: NodeContext, x: Any, scale: Any, bias: Any, mean: Any, variance: Any, *, training: bool = False) -> Any:
    """In a model that is in training mode the batch's own statistics count, and the running ones follow them."""
    if node.opset < 9 and not node.get("spatial", 1):  # each element of a sample has statistics of its own
        return normalized(x, mean, variance, scale, bias, node["epsilon"])
    if not trains(node) and not training and (mean.requires_grad or variance.requires_grad):  # for which `batch_norm` has no gradient
        mean, variance, scale, bias = (along_channels(each, x) for each in (mean, variance, scale, bias))
        return normalized(x, mean, variance, scale, bias, node["epsilon"])
    if not trains(node):
        return F.batch_norm(x, mean, variance, scale, bias, training, 1 - node["momentum"] if training else 0.0, node["epsilon"])
    wide = x.to(rl.float32) if x.dtype in (rl.float16, rl.bfloat16) else x
    axes = [axis for axis in range(x.dim()) if axis != 1]
    own_variance, own_mean = rl.var_mean(wide, axes, correction=0)
    y = normalized(
        wide,
        along_channels(own_mean, x),
        along_channels(own_variance, x),
        along_channels(scale, x),
        along_channels(bias, x),
        node["epsilon"],
    )
    momentum = node["momentum"]
    new_mean = mean * momentum + own_mean * (1 - momentum)
    new_variance = variance * momentum + own_variance * (1 - momentum)
    return (y.to(x.dtype), new_mean.to(mean.dtype), new_variance.to(variance.dtype), own_mean, own_variance)[: node.outputs]


def trains(node: NodeContext) -> bool:
    """Whether the batch's own statistics count: what says so differs between versions."""
    if node.opset >= 14:
        return bool(node["training_mode"])
    return node.outputs > 1 if node.opset >= 7 else not node.get("is_test", 0)


def normalized(x: Any, mean: Any, variance: Any, scale: Any, bias: Any, epsilon: float) -> Any:
    """A value less its mean, by its deviation, scaled and moved."""
    return (x - mean) * rl.rsqrt(variance + epsilon) * scale + bias


@importer("InstanceNormalization")
def instance_normalization(node: NodeContext, x: Any, scale: Any, bias: Any) -> Any:
    return F.group_norm(x, x.shape[1], scale, bias, node["epsilon"])


@importer("GroupNormalization")
def group_normalization(node: NodeContext, x: Any, scale: Any, bias: Any) -> Any:
    groups = node["num_groups"]
    if node.opset < 21:  # a scale for each group
        scale, bias = (rl.repeat_interleave(each, x.shape[1] // groups, 0) for each in (scale, bias))
    return F.group_norm(x, groups, scale, bias, node["epsilon"])


def stash(node: NodeContext, x: Any) -> Any:
    """A value in the type in which the statistics are computed."""
    return x.to(dtype_of(node["stash_type"])) if x.dtype in (rl.float16, rl.bfloat16) else x


@importer("LayerNormalization")
def layer_normalization(node: NodeContext, x: Any, scale: Any, bias: Any = None) -> Any:
    axis = positive_axis(node["axis"], x.dim())
    if (
        node.outputs == 1
        and scale.shape == x.shape[axis:]
        and (bias is None or bias.shape == scale.shape)
        and x.dtype not in (rl.float16, rl.bfloat16)
    ):
        return F.layer_norm(x, list(x.shape[axis:]), scale, bias, node["epsilon"])
    axes = list(range(axis, x.dim()))
    wide = stash(node, x)
    variance, mean = rl.var_mean(wide, axes, correction=0, keepdim=True)
    inverse = rl.rsqrt(variance + node["epsilon"])
    y = ((wide - mean) * inverse).to(x.dtype) * scale
    return (y if bias is None else y + bias, mean, inverse)[: node.outputs]


@importer("RMSNormalization")
def rms_normalization(node: NodeContext, x: Any, scale: Any) -> Any:
    axis = positive_axis(node["axis"], x.dim())
    wide = stash(node, x)
    mean_square = rl.mean(rl.square(wide), list(range(axis, x.dim())), True)
    return (wide * rl.rsqrt(mean_square + node["epsilon"])).to(x.dtype) * scale


@importer("MeanVarianceNormalization")
def mean_variance_normalization(node: NodeContext, x: Any) -> Any:
    axes = positive_axes(node.get("axes", [0, 2, 3]), x.dim())
    variance, mean = rl.var_mean(x, axes, correction=0, keepdim=True)
    return (x - mean) / (rl.sqrt(variance) + 1e-9)


@importer("LpNormalization")
def lp_normalization(node: NodeContext, x: Any) -> Any:
    axis = node["axis"]
    norm = rl.sum(rl.abs(x), axis, True) if node["p"] == 1 else rl.sqrt(rl.sum(rl.square(x), axis, True))
    return rl.where(norm == 0, rl.zeros_like(x), x / rl.where(norm == 0, rl.ones_like(norm), norm))


@importer("LRN")
def local_response_normalization(node: NodeContext, x: Any) -> Any:
    size = node["size"]
    before = (size - 1) // 2
    squares = padded(rl.square(x), [(0, 0), (before, size - 1 - before), *[(0, 0)] * (x.dim() - 2)])
    sums = squares.unfold(1, size, 1).sum(-1)
    return x / rl.pow(node["bias"] + node["alpha"] / size * sums, node["beta"])


@importer("Dropout")
def dropout(node: NodeContext, x: Any, ratio: Float | None = None, training_mode: Bool | None = None, *, training: bool = False) -> Any:
    """In a model that is in training mode dropout drops, unless the file says that it does not."""
    if node.opset < 12:
        ratio, active = node["ratio"], training
    else:
        ratio, active = 0.5 if ratio is None else ratio, training if training_mode is None else training_mode
    kept = kept_elements(node, x, ratio) if active and ratio else None
    y = x if kept is None else x * kept.to(x.dtype) * (1 / (1 - ratio) if ratio < 1 else 0.0)
    if node.outputs == 1:
        return y
    mask = rl.ones_like(x, dtype=rl.bool) if kept is None else kept
    return y, mask if node.opset >= 10 else mask.to(x.dtype)


def kept_elements(node: NodeContext, x: Any, ratio: float) -> Any:
    """Which elements stay; with a seed in the file, those that NumPy's generator, which ONNX's reference uses, gives for it."""
    seed = node.get("seed")
    if seed is None:
        return rl.rand_like(x, dtype=rl.float32) >= ratio
    return rl.from_numpy(np.random.RandomState(seed).uniform(0, 1.0, tuple(x.shape)) >= ratio)

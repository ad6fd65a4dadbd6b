"""ONNX forms of normalisation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

_FLOAT64 = np.dtype(np.float64)


def _is_narrow(value: Any) -> bool:
    return bool(value.dtype.itemsize < 4)


def _divided(g: Any, value: Any, power: Any, eps: float, kind: Any) -> Any:
    """A value divided by the root of its mean square and ``eps``; half precision would lose that: see ``_widened``."""
    return g.cast(g.Div(value, g.Sqrt(g.Add(power, float(eps)))), kind)


def _widened(g: Any, value: Any) -> Any:
    """Narrow floats as doubles: a small ``eps`` is nothing to them."""
    return g.cast(value, _FLOAT64) if _is_narrow(value) else value


def standardize(g: Any, input: Any, dims: Any, eps: float) -> Any:
    """Mean and variance in nodes, in the order that runtimes know to fuse."""
    mean = g.reduce("ReduceMean", input, dims, True)
    centred = _widened(g, g.Sub(input, mean))
    variance = g.reduce("ReduceMean", g.Pow(centred, g.constant(2.0, centred.dtype)), dims, True)
    return _divided(g, centred, variance, eps, input.dtype), mean, g.cast(variance, input.dtype)


def _or_full(g: Any, given: Any, shape: Any, number: float, kind: Any) -> Any:
    """A parameter, or one that changes nothing."""
    return g.full(shape, number, kind) if given is None else given


def layer_norm(g: Any, input: Any, normalized_shape: Any, weight: Any, bias: Any, eps: float, cudnn_enable: bool) -> Any:
    """One node, which computes in single precision: doubles are taken apart."""
    if input.dtype == _FLOAT64:
        return NotImplemented
    shape = list(normalized_shape) if isinstance(normalized_shape, (tuple, list)) else [normalized_shape]
    scale = _or_full(g, weight, shape, 1, input.dtype)
    return g.LayerNormalization(input, scale, bias, axis=-len(shape), epsilon=float(eps))


def _smallest_step(kind: Any) -> float:
    return float(np.finfo(_FLOAT64 if kind == _FLOAT64 else np.float32).eps)


def rms_norm(g: Any, input: Any, normalized_shape: Any, weight: Any, eps: float | None) -> Any:
    """Since opset 23 one node (in single precision)."""
    shape = list(normalized_shape) if isinstance(normalized_shape, (tuple, list)) else [normalized_shape]
    eps = _smallest_step(input.dtype) if eps is None else float(eps)
    if g.opset >= 23 and input.dtype != _FLOAT64:
        return g.RMSNormalization(input, _or_full(g, weight, shape, 1, input.dtype), axis=-len(shape), epsilon=eps)
    wide = _widened(g, input)
    power = g.reduce("ReduceMean", g.Pow(wide, g.constant(2.0, wide.dtype)), range(-len(shape), 0), True)
    result = _divided(g, wide, power, eps, input.dtype)
    return result if weight is None else g.Mul(result, weight)


def batch_norm(
    g: Any,
    input: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any,
    bias: Any,
    training: bool,
    momentum: float,
    eps: float,
) -> Any:
    """BatchNormalization by running statistics, or since opset 14 by those of the batch."""
    if running_mean is None or running_var is None or (training and g.opset < 14):
        return NotImplemented  # statistics of the batch alone: in nodes
    channels = [g.size(input, 1)]
    statistics = [running_mean, running_var]
    parameters = [
        _or_full(g, weight, channels, 1, running_mean.dtype),
        _or_full(g, bias, channels, 0, running_mean.dtype),
    ]
    if g.opset < 15:  # one type for all
        parameters = [g.cast(each, input.dtype) for each in parameters]
        statistics = [g.cast(each, input.dtype) for each in statistics]
    options = {"epsilon": float(eps), "momentum": 1 - float(momentum)}  # ONNX's momentum is the share of the old
    if not training:
        mode = {"training_mode": 0} if g.opset >= 14 else {}
        return g.BatchNormalization(input, *parameters, *statistics, **options, **mode)
    return g.BatchNormalization(input, *parameters, *statistics, **options, training_mode=1, outputs=3)[0]


def torch_batch_norm(
    g: Any, input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool, momentum: float,
    eps: float, cudnn_enabled: bool,
) -> Any:  # fmt: skip
    """``batch_norm`` with its arguments in another order."""
    return batch_norm(g, input, running_mean, running_var, weight, bias, training, momentum, eps)


def instance_norm(
    g: Any,
    input: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any,
    bias: Any,
    use_input_stats: bool,
    momentum: float,
    eps: float,
) -> Any:
    """InstanceNormalization, or BatchNormalization by running statistics."""
    if not use_input_stats:
        return batch_norm(g, input, running_mean, running_var, weight, bias, False, momentum, eps)
    if _is_narrow(input):
        return NotImplemented  # in nodes, which keep a small eps
    channels = [g.size(input, 1)]
    scale, shift = _or_full(g, weight, channels, 1, input.dtype), _or_full(g, bias, channels, 0, input.dtype)
    return g.InstanceNormalization(input, scale, shift, epsilon=float(eps))


def group_norm(g: Any, input: Any, num_groups: int, weight: Any, bias: Any, eps: float, cudnn_enabled: bool) -> Any:
    """GroupNormalization since opset 21; before that each group as the one channel of an InstanceNormalization."""
    channels = [g.size(input, 1)]
    if g.opset >= 21 and input.dtype != _FLOAT64:
        scale, shift = _or_full(g, weight, channels, 1, input.dtype), _or_full(g, bias, channels, 0, input.dtype)
        return g.GroupNormalization(input, scale, shift, epsilon=float(eps), num_groups=num_groups)
    grouped = g.Reshape(input, g.sizes([0, num_groups, -1]))
    grouped.shape = (input.shape[0], num_groups, math.prod(input.shape[1:]) // num_groups)
    if _is_narrow(input):
        made = standardize(g, grouped, [2], eps)[0]
    else:
        kind = input.dtype
        made = g.InstanceNormalization(grouped, g.full([num_groups], 1, kind), g.full([num_groups], 0, kind), epsilon=float(eps))
    made = g.Reshape(made, g.shape(input))
    made.shape = input.shape
    spatial = range(1, input.rank - 1)
    made = made if weight is None else g.Mul(made, g.unsqueeze(weight, spatial))
    return made if bias is None else g.Add(made, g.unsqueeze(bias, spatial))


def local_response_norm(g: Any, input: Any, size: int, alpha: float, beta: float, k: float) -> Any:
    """LRN, whose neighbourhood is ours where it is odd; runtimes know it for images."""
    if not size % 2 or input.rank not in (3, 4) or 0 in input.shape:
        return NotImplemented
    images = input if input.rank == 4 else g.unsqueeze(input, [3])
    made = g.LRN(images, alpha=float(alpha), beta=float(beta), bias=float(k), size=size)
    return made if input.rank == 4 else g.squeeze(made, [3])

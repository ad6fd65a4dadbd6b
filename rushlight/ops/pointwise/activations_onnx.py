"""ONNX forms of the activation functions that ONNX has nodes for."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

_FLOAT32 = np.dtype(np.float32)
_FAR = 16.0  # beyond this log(1 + exp(x)) is x to single precision, so that a threshold makes no difference


def relu(g: Any, input: Any) -> Any:
    """Relu takes signed integers since opset 14."""
    return NotImplemented if input.dtype.kind in "iu" and (g.opset < 14 or input.dtype.kind == "u") else g.Relu(input)


def elu(g: Any, input: Any, alpha: float, scale: float, input_scale: float) -> Any:
    """Elu, Selu or Celu, by the scales; of float64, for which runtimes have none of them, by ``Exp``."""
    if input.dtype == np.float64:
        curve = g.Mul(g.Sub(g.Exp(g.Mul(input, float(input_scale))), 1.0), float(alpha * scale))
        return g.where(g.Greater(input, 0.0), g.Mul(input, float(scale)), curve)
    if input_scale == 1:
        return g.Elu(input, alpha=float(alpha)) if scale == 1 else g.Selu(input, alpha=float(alpha), gamma=float(scale))
    if scale != 1 or not math.isclose(alpha * input_scale, 1):
        return NotImplemented
    if g.opset >= 28 or (g.opset >= 12 and input.dtype == _FLOAT32):
        return g.Celu(input, alpha=float(alpha))
    return g.Mul(g.Elu(g.Div(input, float(alpha)), alpha=1.0), float(alpha))


def prelu(g: Any, input: Any, weight: Any) -> Any:
    """PRelu, with the slopes of channels in the place of dimension 1."""
    if input.rank == 0:
        weight = g.reshape(weight, ())
    if input.rank > 2 and weight.rank == 1 and not (type(weight.shape[0]) is int and weight.shape[0] == 1):
        weight = g.unsqueeze(weight, range(1, input.rank - 1))
    return g.PRelu(input, weight)


def gelu(g: Any, input: Any) -> Any:
    """The error function's form, in the nodes that runtimes know to fuse."""
    inner = g.Erf(g.Div(input, math.sqrt(2)))
    return g.Mul(g.Mul(input, g.Add(inner, 1.0)), 0.5)


def softplus(g: Any, input: Any, beta: float, threshold: float) -> Any:
    """Softplus of the scaled input; a threshold that shows takes a Where."""
    scaled = input if beta == 1 else g.Mul(input, float(beta))
    smooth = g.Softplus(scaled)
    smooth = smooth if beta == 1 else g.Div(smooth, float(beta))
    return smooth if threshold >= _FAR else g.where(g.Greater(scaled, float(threshold)), input, smooth)


def halves(g: Any, input: Any, dim: int) -> Any:
    """Two equal parts along a dimension, whose size need not be known."""
    axis = dim % input.rank
    if type(input.shape[axis]) is int:
        return g.split(input, [input.shape[axis] // 2] * 2, axis)
    made = g.Split(input, outputs=2, axis=axis, num_outputs=2 if g.opset >= 18 else None)
    for each in made:
        each.shape = tuple(size // 2 if at == axis else size for at, size in enumerate(input.shape))
    return made


def glu(g: Any, input: Any, dim: int) -> Any:
    """Half of the input times the sigmoid of the other."""
    first, gate = halves(g, input, dim)
    return g.Mul(first, g.Sigmoid(gate))

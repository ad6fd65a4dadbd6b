"""Activations: functions of one element, and those that look along an axis."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ....nn import functional as F
from .. import calls as rl
from ..registry import NodeContext, importer
from .values import positive_axis


def declare(name: str, function: Callable[..., Any], *attributes: str) -> None:
    """An operator that is a function of ours with the attributes as numbers behind its input."""

    @importer(name)
    def activation(node: NodeContext, x: Any) -> Any:
        return function(x, *(node[attribute] for attribute in attributes))


def hard_sigmoid(x: Any, alpha: float, beta: float) -> Any:
    """A line that is cut off at zero and one."""
    return rl.clamp(x * alpha + beta, 0, 1)


def selu(x: Any, alpha: float, gamma: float) -> Any:
    """A scaled exponential linear unit."""
    return gamma * rl.where(x > 0, x, alpha * rl.expm1(rl.minimum(x, rl.zeros_like(x))))


def elu(x: Any, alpha: float) -> Any:
    """An exponential linear unit."""
    return F.elu(x, alpha)


def swish(x: Any, alpha: float) -> Any:
    """x times the sigmoid of a multiple of x."""
    return F.silu(x) if alpha == 1 else x * rl.sigmoid(alpha * x)


def thresholded_relu(x: Any, alpha: float) -> Any:
    """x above a threshold, zero elsewhere."""
    return rl.where(x > alpha, x, rl.zeros_like(x))


def shrink(x: Any, bias: float, lambd: float) -> Any:
    """x moved towards zero by the bias, and zero near zero."""
    moved = rl.where(x > lambd, x - bias, rl.zeros_like(x))
    return rl.where(x < -lambd, x + bias, moved).to(x.dtype)


declare("Celu", F.celu, "alpha")
declare("Elu", elu, "alpha")
declare("HardSigmoid", hard_sigmoid, "alpha", "beta")
declare("HardSwish", F.hardswish)
declare("LeakyRelu", F.leaky_relu, "alpha")
declare("Mish", F.mish)
declare("Relu", rl.relu)
declare("Selu", selu, "alpha", "gamma")
declare("Shrink", shrink, "bias", "lambd")
declare("Sigmoid", rl.sigmoid)
declare("Softplus", F.softplus)
declare("Softsign", F.softsign)
declare("Swish", swish, "alpha")
declare("Tanh", rl.tanh)
declare("ThresholdedRelu", thresholded_relu, "alpha")


@importer("Gelu")
def gelu(node: NodeContext, x: Any) -> Any:
    return F.gelu(x, approximate=node["approximate"])


@importer("PRelu")
def prelu(node: NodeContext, x: Any, slope: Any) -> Any:
    if node.opset < 7 and slope.dim() == 1 and slope.shape[0] == x.shape[1]:  # one slope a channel
        slope = slope.reshape(tuple(slope.shape) + (1,) * (x.dim() - 2))
    return rl.where(x < 0, x * slope, x)


@importer("SwiGLU")
def swiglu(node: NodeContext, gate: Any, value: Any) -> Any:
    return swish(gate, node["alpha"]) * value


def over_rows(node: NodeContext, x: Any, function: Callable[[Any, int], Any]) -> Any:
    """A function along an axis; before opset 13 all dimensions from the axis on count as one."""
    if node.opset >= 13:
        return function(x, node["axis"])
    axis = positive_axis(node["axis"], x.dim())
    rows = x.reshape(math.prod(x.shape[:axis]), -1)
    return function(rows, 1).reshape(x.shape)


def hardmax(x: Any, axis: int) -> Any:
    """One at the first largest element along an axis, zero elsewhere."""
    best = rl.argmax(x, axis, keepdim=True)
    positions = rl.arange(x.shape[axis], device=x.device)
    shape = [1] * x.dim()
    shape[axis] = -1
    return (positions.reshape(shape) == best).to(x.dtype)


@importer("Softmax")
def softmax(node: NodeContext, x: Any) -> Any:
    return over_rows(node, x, rl.softmax)


@importer("LogSoftmax")
def log_softmax(node: NodeContext, x: Any) -> Any:
    return over_rows(node, x, rl.log_softmax)


@importer("Hardmax")
def hardmax_of_node(node: NodeContext, x: Any) -> Any:
    return over_rows(node, x, hardmax)

"""Fake quantization whose scale and zero point learn, or follow the values that are seen."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.base import Spec
from ...core.base import TensorBase as Tensor
from ...core.declare import composite, joint, primitive, table
from ...core.errors import OperationError
from .quantize import choose_parameters, fake_quantize_channel_mask, fake_quantize_mask
from .quantize_onnx import fake_slope


def _whole(xp: Any, zero_point: Any, low: int, high: int) -> Any:
    """Zero points as they are used: whole numbers within the limits."""
    return xp.clip(xp.rint(zero_point), low, high).astype(np.float32)


def _spread(input: Any, parameter: Any, axis: int | None) -> Any:
    """A scale or zero point, shaped so that it meets its channel."""
    if axis is None:
        return parameter.reshape(())
    return parameter.reshape([-1 if dim == axis % input.ndim else 1 for dim in range(input.ndim)])


def _learnable_kernel(xp: Any, input: Any, scale: Any, zero_point: Any, axis: int | None, low: int, high: int) -> Any:
    step, zero = _spread(input, scale, axis), _spread(input, _whole(xp, zero_point, low, high), axis)
    return ((xp.clip(xp.rint(input * (1 / step)) + zero, low, high) - zero) * step).astype(input.dtype)


def _slope_kernel(xp: Any, input: Any, scale: Any, zero_point: Any, axis: int | None, low: int, high: int) -> Any:
    step, zero = _spread(input, scale, axis), _spread(input, _whole(xp, zero_point, low, high), axis)
    exact = input * (1 / step)
    steps = xp.rint(exact) + zero
    inside = (steps >= low) & (steps <= high)
    return xp.where(inside, steps - zero - exact, xp.clip(steps, low, high) - zero).astype(input.dtype)


@primitive(
    meta=lambda input, *rest: Spec(input.shape, input.dtype), kernel=_slope_kernel, vjp={}, namespace=None, method=False, out=False,
    onnx={11: fake_slope},
)  # fmt: skip
def fake_quantize_slope(input: Tensor, scale: Tensor, zero_point: Tensor, axis: Any, quant_min: int, quant_max: int) -> Tensor:
    """How the result of a fake quantization changes with its scale, element by element."""


def _gradients(
    g: Any, input: Any, scale: Any, zero_point: Any, axis: int | None, low: int, high: int, factor: float, needs: Any
) -> tuple[Any, ...]:
    """Gradients of input, scale and zero point."""
    zeros = zero_point.round().clamp(low, high)
    if axis is None:
        mask = fake_quantize_mask(input, scale, zeros, low, high)
    else:
        mask = fake_quantize_channel_mask(input, scale, zeros, axis, low, high)

    def total(values: Any) -> Any:
        dims = [dim for dim in range(input._array.ndim) if axis is None or dim != axis % input._array.ndim]
        return (values.sum(dims) if dims else values).reshape(scale._array.shape) * factor

    for_scale = total(g * fake_quantize_slope(input, scale, zero_point, axis, low, high)) if needs[1] else None
    for_zero = total(g * mask.logical_not()) * -scale if needs[2] else None
    return g * mask if needs[0] else None, for_scale, for_zero


@primitive(
    meta=lambda input, *rest: Spec(input.shape, input.dtype),
    kernel=lambda xp, input, scale, zero_point, quant_min, quant_max, grad_factor: _learnable_kernel(
        xp, input, scale, zero_point, None, quant_min, quant_max
    ),
    vjp=joint("input", "scale", "zero_point")(
        lambda g, input, scale, zero_point, quant_min, quant_max, grad_factor, needs: _gradients(
            g, input, scale, zero_point, None, quant_min, quant_max, grad_factor, needs
        )
    ),
    method=False,
    out=False,
    node_name="FakeQuantizeLearnablePerTensorAffineBackward0",
    notes="once differentiable",
    onnx={9: lambda g, input, scale, zero_point, low, high, factor: table["fake_quantize_per_tensor_affine"].onnx[9](
        g, input, g.reshape(scale, ()), g.reshape(zero_point, ()), low, high
    )},
)  # fmt: skip
def _fake_quantize_learnable_per_tensor_affine(
    input: Tensor, scale: Tensor, zero_point: Tensor, quant_min: int, quant_max: int, grad_factor: float = 1.0
) -> Tensor:
    """Fake quantization with gradients for its scale and zero point too."""


@primitive(
    meta=lambda input, *rest: Spec(input.shape, input.dtype),
    kernel=lambda xp, input, scale, zero_point, axis, quant_min, quant_max, grad_factor: _learnable_kernel(
        xp, input, scale, zero_point, axis, quant_min, quant_max
    ),
    vjp=joint("input", "scale", "zero_point")(
        lambda g, input, scale, zero_point, axis, quant_min, quant_max, grad_factor, needs: _gradients(
            g, input, scale, zero_point, axis, quant_min, quant_max, grad_factor, needs
        )
    ),
    method=False,
    out=False,
    node_name="FakeQuantizeLearnablePerChannelAffineBackward0",
    notes="once differentiable",
    onnx={9: lambda g, input, scale, zero_point, axis, low, high, factor: table["fake_quantize_per_channel_affine"].onnx[9](
        g, input, scale, zero_point, axis, low, high
    )},
)  # fmt: skip
def _fake_quantize_learnable_per_channel_affine(
    input: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int, grad_factor: float = 1.0
) -> Tensor:
    """The same with a scale and a zero point for each index of one dimension."""


# -- following what is seen --------------------------------------------------------------------------------------


def _moved(seen: Any, running: Any, averaging_const: float) -> Any:
    """A running extreme that moves a little towards the one just seen; the first one is taken as it is."""
    return np.where(np.isfinite(running), running + averaging_const * (seen - running), seen).astype(np.float32)


def follow(
    x: Any, running_min: Any, running_max: Any, scale: Any, zero_point: Any, averaging_const: float, low: int, high: int,
    axis: int | None, symmetric: bool,
) -> None:  # fmt: skip
    """Bring the running extremes, and the scale and zero point that follow from them, up to date with new values."""
    array = x._array
    dims = tuple(dim for dim in range(array.ndim) if axis is None or dim != axis)
    channels = 1 if axis is None else array.shape[axis]
    seen = array.min(axis=dims).reshape(-1), array.max(axis=dims).reshape(-1)
    for buffer, new in zip((running_min, running_max), seen):
        if buffer._array.size != channels:  # it was made before the number of channels was known
            start = np.inf if buffer is running_min else -np.inf
            buffer.resize_(channels).fill_(start)
        buffer._array[...] = _moved(new, buffer._array.reshape(-1), averaging_const).reshape(buffer._array.shape)
    for buffer, start in ((scale, 1.0), (zero_point, 0)):
        if buffer._array.size != channels:
            buffer.resize_(channels).fill_(start)
    chosen = []
    for least, most in zip(running_min._array.reshape(-1).tolist(), running_max._array.reshape(-1).tolist()):
        if symmetric:  # the interval that has zero in the middle of the integers
            half = (high - low) // 2
            step = max(-min(least, 0.0) / (half + 1), max(most, 0.0) / half)
            least, most = -step * (half + 1), step * half
        chosen.append(choose_parameters(least, most, (low, high)))
    scale._array[...] = np.array([each[0] for each in chosen]).reshape(scale._array.shape)
    zero_point._array[...] = np.array([each[1] for each in chosen]).reshape(zero_point._array.shape)


@composite(method=False, out=False, notes="writes to its buffers")
def fused_moving_avg_obs_fake_quant(
    input: Tensor, observer_on: Tensor, fake_quant_on: Tensor, running_min: Tensor, running_max: Tensor, scale: Tensor,
    zero_point: Tensor, averaging_const: float, quant_min: int, quant_max: int, ch_axis: int, per_row_fake_quant: bool = False,
    symmetric_quant: bool = False,
) -> Tensor:  # fmt: skip
    """Fake quantization whose limits follow a moving average of the extremes of its inputs; it keeps them in its buffers."""
    if ch_axis >= input._array.ndim:
        raise OperationError("Error in fused_moving_avg_obs_fake_quant_cpu: ch_axis must be < self.dim()")
    axis = ch_axis if per_row_fake_quant else None
    if observer_on.item():
        follow(input, running_min, running_max, scale, zero_point, averaging_const, quant_min, quant_max, axis, symmetric_quant)
    if not fake_quant_on.item():
        return input.clone()
    scale, zero_point = scale.clone(), zero_point.clone()  # the next call writes to the buffers, and gradients need these
    if axis is None:
        return table["fake_quantize_per_tensor_affine"].call(input, scale, zero_point, quant_min, quant_max)
    return table["fake_quantize_per_channel_affine"].call(input, scale, zero_point, axis, quant_min, quant_max)

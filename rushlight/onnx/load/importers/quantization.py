"""Quantized numbers: to and from them, and products of integers."""

from __future__ import annotations

import math
from typing import Any

from ....core.dtypes import iinfo
from ...types import ONNX_NUMBERS
from .. import calls as rl
from ..elements import NARROW_INTEGERS, SMALL_FLOATS, small
from ..registry import NodeContext, dtype_of, importer
from .convolution import CONVOLUTIONS, spatial
from .shapes import padded
from .windows import windows


def spread(parameter: Any, x: Any, axis: int, block: int) -> Any:
    """A scale or zero point beside the elements that it belongs to: one for all, for each place along an axis, or for each block along it."""
    if parameter.dim() == 0 or parameter.numel() == 1:
        return parameter.reshape(())
    axis = axis + x.dim() if axis < 0 else axis
    if parameter.dim() == 1 and not block:
        return parameter.reshape([-1 if each == axis else 1 for each in range(x.dim())])
    return rl.repeat_interleave(parameter, block or -(-x.shape[axis] // parameter.shape[axis]), axis).narrow(axis, 0, x.shape[axis])


def saturated(x: Any, number: int) -> Any:
    """Whole numbers cut off at the limits of an integer type."""
    low, high = NARROW_INTEGERS[number].range if number in NARROW_INTEGERS else (iinfo(dtype_of(number)).min, iinfo(dtype_of(number)).max)
    return rl.clamp(x, low, high).to(dtype_of(number))


def type_number(node: NodeContext, position: int, value: Any) -> int:
    """ONNX's number for the element type of an input."""
    return node.input_type(position) or ONNX_NUMBERS[value.dtype.name]


@importer("QuantizeLinear")
def quantize_linear(node: NodeContext, x: Any, scale: Any, zero_point: Any = None) -> Any:
    number = node.get("output_dtype", 0) or (2 if zero_point is None else type_number(node, 2, zero_point))
    axis, block = node.get("axis", 1), node.get("block_size", 0)
    precision = node.get("precision", 0)
    exact = dtype_of(precision) if precision else scale.dtype if scale.is_floating_point() else rl.float32
    zero = 0 if zero_point is None else spread(zero_point, x, axis, block).to(rl.float32)
    quotient = (x.to(exact) / spread(scale, x, axis, block).to(exact)).to(rl.float32)
    if number in SMALL_FLOATS:
        return small(quotient + zero, number, bool(node.get("saturate", 1)))
    return saturated(rl.round(quotient) + zero, number)


@importer("DequantizeLinear")
def dequantize_linear(node: NodeContext, x: Any, scale: Any, zero_point: Any = None) -> Any:
    axis, block = node.get("axis", 1), node.get("block_size", 0)
    dtype = node.dtype("output_dtype", scale.dtype)
    exact = x.to(rl.float32) if x.is_floating_point() else x.to(rl.int32)
    if zero_point is not None:
        exact = exact - spread(zero_point, x, axis, block).to(exact.dtype)
    return exact.to(dtype) * spread(scale, x, axis, block).to(dtype)


@importer("DynamicQuantizeLinear")
def dynamic_quantize_linear(node: NodeContext, x: Any) -> Any:
    zero = rl.zeros((), dtype=x.dtype)
    low, high = rl.minimum(rl.amin(x), zero), rl.maximum(rl.amax(x), zero)
    scale = (high - low) / 255
    divisor = rl.where(scale == 0, rl.ones_like(scale), scale)
    zero_point = rl.clamp(rl.round(-low / divisor), 0, 255)
    return rl.clamp(rl.round(x / divisor) + zero_point, 0, 255).to(rl.uint8), scale, zero_point.to(rl.uint8)


# -- products of integers -------------------------------------------------------------------------------------------------------------


def centred(x: Any, zero_point: Any, across: bool = False) -> Any:
    """Integers less their zero point, in float64, which holds the sums of their products exactly; ``across``: one for each row."""
    x = x.to(rl.float64)
    if zero_point is None:
        return x
    zero = zero_point.to(rl.float64)
    return x - (zero.unsqueeze(-1) if across and zero.dim() and zero.numel() > 1 and zero.dim() < x.dim() else zero)


def requantized(total: Any, factor: Any, zero_point: Any, number: int) -> Any:
    """Sums of products as quantized numbers of another scale."""
    return saturated(rl.round(total.to(rl.float32) * factor) + zero_point.to(rl.float32), number)


@importer("MatMulInteger")
def matmul_integer(node: NodeContext, a: Any, b: Any, a_zero: Any = None, b_zero: Any = None) -> Any:
    return rl.matmul(centred(a, a_zero, True), centred(b, b_zero)).to(rl.int32)


@importer("QLinearMatMul")
def qlinear_matmul(
    node: NodeContext, a: Any, a_scale: Any, a_zero: Any, b: Any, b_scale: Any, b_zero: Any, y_scale: Any, y_zero: Any
) -> Any:
    total = rl.matmul(centred(a, a_zero, True), centred(b, b_zero))
    rows = a_scale.unsqueeze(-1) if a_scale.dim() and a_scale.numel() > 1 and a_scale.dim() < a.dim() else a_scale
    return requantized(total, rows.to(rl.float32) * b_scale.to(rl.float32) / y_scale.to(rl.float32), y_zero, type_number(node, 7, y_zero))


_EXACT = 1 << 24  # whole numbers that float32 has


def convolved_integers(node: NodeContext, x: Any, w: Any, x_zero: Any, w_zero: Any, b: Any = None) -> Any:
    """A convolution of integers; padding is the zero point.

    Sums are exact: in float32, which other runtimes have convolutions of, where they are short enough, perhaps with the weights in two parts, else in float64.
    """
    over = windows(node, x.shape[2:], w.shape[2:])
    x = padded(centred(x, x_zero), over.pairs())
    w_zero = None if w_zero is None else w_zero.reshape((-1,) + (1,) * (w.dim() - 1)) if w_zero.numel() > 1 else w_zero.reshape(())
    convolution, w = CONVOLUTIONS[spatial(node, x.dim() - 2)], centred(w, w_zero)
    terms, options = math.prod(w.shape[1:]), (None, over.strides, 0, over.dilations, node["group"])
    if terms * 255 * 255 < _EXACT:
        total = convolution(x.to(rl.float32), w.to(rl.float32), *options).to(rl.int32)
    elif terms * 255 * 16 < _EXACT:
        x, high = x.to(rl.float32), rl.floor(w / 16)
        low = (w - high * 16).to(rl.float32)
        total = convolution(x, high.to(rl.float32), *options).to(rl.int32) * 16 + convolution(x, low, *options).to(rl.int32)
    else:
        total = convolution(x, w, *options).to(rl.int32)
    return total if b is None else total + b.reshape((-1,) + (1,) * (x.dim() - 2)).to(rl.int32)


@importer("ConvInteger")
def conv_integer(node: NodeContext, x: Any, w: Any, x_zero: Any = None, w_zero: Any = None) -> Any:
    return convolved_integers(node, x, w, x_zero, w_zero)


@importer("QLinearConv")
def qlinear_conv(
    node: NodeContext, x: Any, x_scale: Any, x_zero: Any, w: Any, w_scale: Any, w_zero: Any, y_scale: Any, y_zero: Any, b: Any = None
) -> Any:
    total = convolved_integers(node, x, w, x_zero, w_zero, b)
    factor = x_scale * w_scale / y_scale
    if factor.numel() > 1:
        factor = factor.reshape((-1,) + (1,) * (x.dim() - 2))
    return requantized(total, factor, y_zero, type_number(node, 7, y_zero))

"""ONNX forms of quantization.

In an exported graph a quantized tensor is the float tensor that it stands for: a QuantizeLinear and DequantizeLinear pair
where values are rounded, and float ops between the pairs.  Back-ends know this form and run it in integers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_FLOAT32 = np.dtype(np.float32)
_BYTES = {np.dtype(np.uint8): (0, 255), np.dtype(np.int8): (-128, 127)}
_HALF_WAY = 1.5 * 2.0**23  # adding and subtracting it rounds a float32 to the nearest integer, halves to even ones


def decline(g: Any, *values: Any) -> Any:
    """No form of its own: the body of the composite has one."""
    return NotImplemented


def _constant(g: Any, value: Any, dtype: Any) -> Any:
    """A scale or zero point as a value: given as a number, as an array, or as a value already."""
    if hasattr(value, "owner"):
        return value if value.dtype == dtype else g.cast(value, dtype)
    return g.constant(np.asarray(value).astype(dtype))


def _along(g: Any, value: Any, rank: int, axis: int | None) -> Any:
    """A scale or zero point in float, shaped so that it meets its channel."""
    value = _constant(g, value, _FLOAT32)
    if axis is None:
        return value if value.shape in ((), None) or not value.shape else g.reshape(value, ())
    return g.reshape(value, [value.shape[0] if dim == axis else 1 for dim in range(rank)])


def rounded(
    g: Any, x: Any, scale: Any, zero_point: Any, integer: Any, axis: int | None = None, limits: tuple[int, int] | None = None
) -> Any:
    """Values rounded to those that integers of a type (between limits, if they are narrower) stand for."""
    integer = np.dtype(integer)
    low, high = limits or (int(np.iinfo(integer).min), int(np.iinfo(integer).max))
    if axis is not None:
        axis %= x.rank
    if integer in _BYTES and g.opset >= (10 if axis is None else 13):
        quantized = _quantize_linear(g, x, scale, zero_point, integer, axis, (low, high))
        return dequantized(g, quantized, scale, zero_point, integer, axis)
    step, zero = _along(g, scale, x.rank, axis), _along(g, zero_point, x.rank, axis)
    x = x if x.dtype == _FLOAT32 else g.cast(x, _FLOAT32)
    lowest, highest = (g.Sub(g.constant(float(each), _FLOAT32), zero) for each in (low, high))
    scaled = g.minimum(g.maximum(g.Div(x, step), lowest), highest)
    if g.opset >= 11:
        scaled = g.Round(scaled)
    elif integer in _BYTES:
        scaled = g.Sub(g.Add(scaled, _HALF_WAY), _HALF_WAY)
    else:
        raise g.unsupported("rounding to 32-bit integers", since=11)
    return g.Mul(scaled, step)


def _quantize_linear(g: Any, x: Any, scale: Any, zero_point: Any, integer: Any, axis: int | None, limits: tuple[int, int]) -> Any:
    """The integers, by QuantizeLinear."""
    if limits != _BYTES[integer]:  # the node knows only the limits of the type
        step, zero = _along(g, scale, x.rank, axis), _along(g, zero_point, x.rank, axis)
        lowest, highest = (g.Mul(g.Sub(g.constant(float(each), _FLOAT32), zero), step) for each in limits)
        x = g.minimum(g.maximum(x, lowest), highest)
    if x.dtype != _FLOAT32:
        x = g.cast(x, _FLOAT32)
    options = {} if axis is None else {"axis_i": axis}
    scale, zero = parameters(g, scale, zero_point, integer, axis)
    quantized = g.op("QuantizeLinear", x, scale, zero, **options)
    quantized.dtype, quantized.shape = integer, x.shape
    return quantized


def parameters(g: Any, scale: Any, zero_point: Any, integer: Any, axis: int | None) -> tuple[Any, Any]:
    """Scale and zero point as inputs of the nodes."""
    scale, zero = _constant(g, scale, _FLOAT32), _constant(g, zero_point, integer)
    if axis is None:
        scale, zero = (each if not each.shape else g.reshape(each, ()) for each in (scale, zero))
    return scale, zero


def is_whole(zero_point: Any) -> bool:
    """Whether zero points are integers, as ONNX's must be."""
    return hasattr(zero_point, "owner") or bool(np.all(np.rint(zero_point) == zero_point))


def dequantized(g: Any, x: Any, scale: Any, zero_point: Any, integer: Any, axis: int | None = None) -> Any:
    """The real numbers of integers."""
    integer = np.dtype(integer)
    if g.opset >= (10 if axis is None else 13) and (is_whole(zero_point) if integer in _BYTES else not np.any(zero_point)):
        scale, zero = parameters(g, scale, zero_point, integer, axis)
        given = (x, scale) if integer not in _BYTES else (x, scale, zero)  # of int32 the zero point must be left out
        made = g.op("DequantizeLinear", *given, **({} if axis is None else {"axis_i": axis}))
        made.dtype, made.shape = _FLOAT32, x.shape
        return made
    shifted = g.Sub(g.cast(x, _FLOAT32), _along(g, zero_point, x.rank, axis))
    return g.Mul(shifted, _along(g, scale, x.rank, axis))


def per_tensor(g: Any, input: Any, scale: Any, zero_point: Any, dtype: Any) -> Any:
    """``quantize_per_tensor``."""
    return rounded(g, input, scale, zero_point, dtype.integer)


def per_channel(g: Any, input: Any, scales: Any, zero_points: Any, axis: int, dtype: Any) -> Any:
    """``quantize_per_channel``."""
    if zero_points.dtype.kind == "f":
        raise g.unsupported("ONNX has no quantization with zero points that are no integers")
    return rounded(g, input, scales, zero_points, dtype.integer, axis)


def _integer_for(low: int, high: int) -> Any:
    """The type whose integers a fake quantization counts in."""
    for kind, (least, most) in _BYTES.items():
        if least <= low and high <= most:
            return kind
    return np.dtype(np.int32)


def fake_per_tensor(g: Any, input: Any, scale: Any, zero_point: Any, quant_min: int, quant_max: int) -> Any:
    """``fake_quantize_per_tensor_affine``: the same pair of nodes."""
    return rounded(g, input, scale, zero_point, _integer_for(quant_min, quant_max), None, (quant_min, quant_max))


def fake_per_channel(g: Any, input: Any, scale: Any, zero_point: Any, axis: int, quant_min: int, quant_max: int) -> Any:
    """``fake_quantize_per_channel_affine``."""
    if zero_point.dtype.kind == "f":  # it is rounded together with the values
        step, zero = _along(g, scale, input.rank, axis % input.rank), _along(g, zero_point, input.rank, axis % input.rank)
        steps = g.clip(g.Round(g.Add(g.Div(input, step), zero)), float(quant_min), float(quant_max))
        return g.Mul(g.Sub(steps, zero), step)
    return rounded(g, input, scale, zero_point, _integer_for(quant_min, quant_max), axis, (quant_min, quant_max))


def integers_of(g: Any, input: Any) -> Any:
    """``int_repr``: back from the real numbers, which lie on the quantizer's grid."""
    quantizer, maker = input.quantizer, input.owner
    if maker is not None and maker.op_type == "DequantizeLinear":
        return maker.inputsAt(0)
    if quantizer is None or quantizer.dtype.integer not in _BYTES or g.opset < (10 if quantizer.axis is None else 13):
        raise g.unsupported("the integers of this quantized tensor can't be had from the exported real numbers", since=13)
    return _quantize_linear(g, input, quantizer.scale, quantizer.zero_point, quantizer.dtype.integer, quantizer.axis, quantizer.limits)


def in_reach(g: Any, x: Any, scale: Any, zero_point: Any, axis: int | None, low: int, high: int) -> tuple[Any, Any]:
    """The integers that values are rounded to, not yet limited, and whether each is within the limits."""
    step, zero = (_along(g, each, x.rank, None if axis is None else axis % x.rank) for each in (scale, zero_point))
    steps = g.Add(g.Round(g.Mul(g.cast(x, _FLOAT32), g.Reciprocal(step))), zero)
    below, above = (g.constant(float(each), _FLOAT32) for each in (low, high))
    return steps, g.Not(g.Or(g.Less(steps, below), g.Greater(steps, above)))


def fake_slope(g: Any, x: Any, scale: Any, zero_point: Any, axis: int | None, low: int, high: int) -> Any:
    """How the result of a fake quantization changes with its scale."""
    whole = g.clip(g.Round(_constant(g, zero_point, _FLOAT32)), float(low), float(high))
    whole.shape = zero_point.shape
    steps, inside = in_reach(g, x, scale, whole, axis, low, high)
    step, zero = (_along(g, each, x.rank, None if axis is None else axis % x.rank) for each in (scale, whole))
    exact = g.Mul(g.cast(x, _FLOAT32), g.Reciprocal(step))
    return g.where(inside, g.Sub(g.Sub(steps, zero), exact), g.Sub(g.clip(steps, float(low), float(high)), zero))

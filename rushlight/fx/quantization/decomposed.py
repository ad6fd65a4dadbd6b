"""``torch.ops.quantized_decomposed``: quantization of plain tensors, with scale and zero point as arguments of the op.

Exported graphs that are quantized hold these ops.  They are registered when this module is imported, as PyTorch registers them with
``torch.ao.quantization.fx._decomposed``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from ... import (
    amax,
    amin,
    aminmax,
    bfloat16,
    clamp,
    empty,
    empty_like,
    finfo,
    float8_e4m3fn,
    float8_e5m2,
    float16,
    float32,
    float64,
    iinfo,
    int8,
    int16,
    int32,
    int64,
    logical_and,
    maximum,
    minimum,
    per_tensor_affine,
    per_tensor_symmetric,
    round,
    tensor,
    uint8,
    uint16,
    where,
    zeros_like,
)
from ...ao.quantization.observer import validate_qmin_qmax
from ...ao.quantization.utils import determine_qparams
from ...autograd import Function
from ...library import Library
from ...ops.overloads import find_overload

_F = TypeVar("_F", bound=Callable[..., Any])
quantized_decomposed_lib = Library("quantized_decomposed", "DEF")

_INTEGER_DTYPES = [uint8, int8, uint16, int16, int32]
_FLOAT_DTYPES = [float8_e5m2, float8_e4m3fn]
_DTYPE_TO_QVALUE_BOUNDS: dict[Any, tuple[int, int]] = {
    **{each: (iinfo(each).min, iinfo(each).max) for each in _INTEGER_DTYPES},
    **{each: (int(finfo(each).min), int(finfo(each).max)) for each in _FLOAT_DTYPES},
}
_RANGE = "int quant_min, int quant_max, ScalarType dtype"
_RANGE_TENSORS = "Tensor quant_min, Tensor quant_max, ScalarType dtype"
_OUT = "*, ScalarType? out_dtype=None"
_PER_TENSOR = "Tensor input, float scale, int zero_point"
_PER_TENSOR_TENSORS = "Tensor input, Tensor scale, Tensor zero_point"
_PER_CHANNEL = "Tensor input, Tensor scales, Tensor zero_points"
_PER_CHANNEL_OPTIONAL = "Tensor input, Tensor scales, Tensor? zero_points"

for _schema in (
    f"quantize_per_tensor({_PER_TENSOR}, {_RANGE}) -> Tensor",
    f"quantize_per_tensor.tensor({_PER_TENSOR_TENSORS}, {_RANGE}) -> Tensor",
    f"quantize_per_tensor.tensor2({_PER_TENSOR_TENSORS}, {_RANGE_TENSORS}) -> Tensor",
    f"dequantize_per_tensor({_PER_TENSOR}, {_RANGE}, {_OUT}) -> Tensor",
    f"dequantize_per_tensor.tensor({_PER_TENSOR_TENSORS}, {_RANGE}, {_OUT}) -> Tensor",
    f"dequantize_per_tensor.tensor2({_PER_TENSOR_TENSORS}, {_RANGE_TENSORS}, {_OUT}) -> Tensor",
    "choose_qparams.tensor(Tensor input, int quant_min, int quant_max, float eps, ScalarType dtype) -> (Tensor, Tensor)",
    "choose_qparams_symmetric.tensor(Tensor input, int quant_min, int quant_max, float eps, ScalarType dtype) -> (Tensor, Tensor)",
    f"quantize_per_channel({_PER_CHANNEL}, int axis, {_RANGE}) -> Tensor",
    f"dequantize_per_channel({_PER_CHANNEL_OPTIONAL}, int axis, {_RANGE}, {_OUT}) -> Tensor",
    "choose_qparams_per_token(Tensor input, ScalarType dtype) -> (Tensor, Tensor)",
    "_choose_qparams_per_token_asymmetric_impl(Tensor input, ScalarType dtype) -> (Tensor, Tensor)",
    "choose_qparams_per_token_asymmetric(Tensor input, ScalarType dtype) -> (Tensor, Tensor)",
    f"quantize_per_token({_PER_CHANNEL}, {_RANGE}) -> Tensor",
    f"dequantize_per_token({_PER_CHANNEL}, {_RANGE}, ScalarType output_dtype) -> Tensor",
    f"quantize_per_channel_group({_PER_CHANNEL}, {_RANGE}, int group_size) -> Tensor",
    f"dequantize_per_channel_group({_PER_CHANNEL_OPTIONAL}, {_RANGE}, int group_size, ScalarType output_dtype) -> Tensor",
    f"fake_quant_per_channel({_PER_CHANNEL}, int axis, int quant_min, int quant_max) -> Tensor",
    "convert_element_type.no_fuse(Tensor input, ScalarType dtype) -> Tensor",
):
    quantized_decomposed_lib.define(_schema)


def _implements(name: str, key: str) -> Callable[[_F], _F]:
    """Register a function for a dispatch key."""

    def register(function: _F) -> _F:
        quantized_decomposed_lib.impl(name, function, key)
        return function

    return register


_composite = partial(_implements, key="CompositeExplicitAutograd")  # a function of ops, for every device
_meta = partial(_implements, key="Meta")  # shapes and dtypes of an op that reads data


def _quant_min_max_bounds_check(quant_min: int, quant_max: int, dtype: Any) -> None:
    if dtype not in _DTYPE_TO_QVALUE_BOUNDS:
        raise ValueError(f"Unsupported dtype: {dtype}")
    lowest, highest = _DTYPE_TO_QVALUE_BOUNDS[dtype]
    if quant_min < lowest:
        raise AssertionError(f"quant_min out of bounds for dtype, quant_min_lower_bound: {lowest} quant_min: {quant_min}")
    if quant_max > highest:
        raise AssertionError(f"quant_max out of bounds for dtype, quant_max_upper_bound: {highest} quant_max: {quant_max}")


def _as_float32(input: Any) -> Any:
    if input.dtype in (float16, bfloat16):
        return input.to(float32)
    if input.dtype != float32:
        raise AssertionError(f"Expecting input to have dtype torch.float32, but got dtype: {input.dtype}")
    return input


def _one_element(scale: Any, zero_point: Any) -> None:
    for name, value in (("zero_point", zero_point), ("scale", scale)):
        if value.numel() != 1:
            raise AssertionError(f"Expecting {name} tensor to be one element, but received : {value.numel()}")


@_composite("quantize_per_tensor")
def quantize_per_tensor(input: Any, scale: float, zero_point: int, quant_min: int, quant_max: int, dtype: Any) -> Any:
    """Values in steps of a scale, of one zero point and within a range, as a tensor of a plain dtype."""
    input = _as_float32(input)
    _quant_min_max_bounds_check(quant_min, quant_max, dtype)
    return clamp(round(input * (1.0 / scale)) + zero_point, quant_min, quant_max).to(dtype)


@_composite("quantize_per_tensor.tensor")
def quantize_per_tensor_tensor(input: Any, scale: Any, zero_point: Any, quant_min: int, quant_max: int, dtype: Any) -> Any:
    """:func:`quantize_per_tensor` with scale and zero point from tensors."""
    _one_element(scale, zero_point)
    return quantize_per_tensor(input, scale.item(), zero_point.item(), quant_min, quant_max, dtype)


@_meta("quantize_per_tensor.tensor")
def quantize_per_tensor_tensor_meta(input: Any, scale: Any, zero_point: Any, quant_min: Any, quant_max: Any, dtype: Any) -> Any:
    """What :func:`quantize_per_tensor_tensor` returns."""
    _one_element(scale, zero_point)
    return empty_like(_as_float32(input), dtype=dtype)


@_composite("quantize_per_tensor.tensor2")
def quantize_per_tensor_tensor2(input: Any, scale: Any, zero_point: Any, quant_min: Any, quant_max: Any, dtype: Any) -> Any:
    """:func:`quantize_per_tensor` with all parameters from tensors."""
    return quantize_per_tensor_tensor(input, scale, zero_point, quant_min.item(), quant_max.item(), dtype)


@_meta("quantize_per_tensor.tensor2")
def quantize_per_tensor_tensor2_meta(input: Any, scale: Any, zero_point: Any, quant_min: Any, quant_max: Any, dtype: Any) -> Any:
    """What :func:`quantize_per_tensor_tensor2` returns."""
    return quantize_per_tensor_tensor_meta(input, scale, zero_point, quant_min, quant_max, dtype)


def _check_dequantized(input: Any, dtype: Any, got: str) -> None:
    if input.dtype != dtype:
        raise AssertionError(f"Expecting input to have dtype: {dtype}, but got {got}{input.dtype}")


@_composite("dequantize_per_tensor")
def dequantize_per_tensor(
    input: Any, scale: float, zero_point: int, quant_min: int, quant_max: int, dtype: Any, *, out_dtype: Any = None
) -> Any:
    """The floating-point values that quantized ones stand for."""
    _check_dequantized(input, dtype, "")
    if dtype not in _DTYPE_TO_QVALUE_BOUNDS:
        raise ValueError(f"Unsupported dtype in dequantize_per_tensor: {dtype}")
    return (input.to(float32 if out_dtype is None else out_dtype) - zero_point) * scale


@_composite("dequantize_per_tensor.tensor")
def dequantize_per_tensor_tensor(
    input: Any, scale: Any, zero_point: Any, quant_min: int, quant_max: int, dtype: Any, *, out_dtype: Any = None
) -> Any:
    """:func:`dequantize_per_tensor` with scale and zero point from tensors."""
    _one_element(scale, zero_point)
    return dequantize_per_tensor(input, scale.item(), zero_point.item(), quant_min, quant_max, dtype, out_dtype=out_dtype)


@_meta("dequantize_per_tensor.tensor")
def dequantize_per_tensor_tensor_meta(
    input: Any, scale: Any, zero_point: Any, quant_min: Any, quant_max: Any, dtype: Any, *, out_dtype: Any = None
) -> Any:
    """What :func:`dequantize_per_tensor_tensor` returns."""
    _one_element(scale, zero_point)
    _check_dequantized(input, dtype, "")
    if dtype not in _DTYPE_TO_QVALUE_BOUNDS:
        raise ValueError(f"Unsupported dtype in dequantize_per_tensor: {dtype}")
    return empty_like(input, dtype=float32 if out_dtype is None else out_dtype)


@_composite("dequantize_per_tensor.tensor2")
def dequantize_per_tensor_tensor2(
    input: Any, scale: Any, zero_point: Any, quant_min: Any, quant_max: Any, dtype: Any, *, out_dtype: Any = None
) -> Any:
    """:func:`dequantize_per_tensor` with all parameters from tensors."""
    return dequantize_per_tensor_tensor(input, scale, zero_point, quant_min.item(), quant_max.item(), dtype, out_dtype=out_dtype)


@_meta("dequantize_per_tensor.tensor2")
def dequantize_per_tensor_tensor2_meta(
    input: Any, scale: Any, zero_point: Any, quant_min: Any, quant_max: Any, dtype: Any, *, out_dtype: Any = None
) -> Any:
    """What :func:`dequantize_per_tensor_tensor2` returns."""
    return dequantize_per_tensor_tensor_meta(input, scale, zero_point, quant_min, quant_max, dtype, out_dtype=out_dtype)


def _check_chosen(input: Any) -> None:
    if input.dtype not in (float32, float16, bfloat16):
        raise AssertionError(f"Expecting input to have dtype torch.float32/16/b16, but got dtype: {input.dtype}")


def _chosen(input: Any, qmin: int, qmax: int, eps: float, dtype: Any, qscheme: Any) -> tuple[Any, Any]:
    _check_chosen(input)
    if dtype not in _DTYPE_TO_QVALUE_BOUNDS:
        raise AssertionError(f"Expecting target dtype to be one of {_DTYPE_TO_QVALUE_BOUNDS.keys()}, but got: {dtype}")
    validate_qmin_qmax(qmin, qmax)
    extremes = aminmax(input)
    return determine_qparams(extremes.min, extremes.max, qmin, qmax, dtype, tensor([eps], dtype=float32), False, qscheme)


@_composite("choose_qparams.tensor")
def choose_qparams_tensor(input: Any, qmin: int, qmax: int, eps: float, dtype: Any) -> tuple[Any, Any]:
    """Scale and zero point that suit the values of a tensor."""
    return _chosen(input, qmin, qmax, eps, dtype, per_tensor_affine)


@_composite("choose_qparams_symmetric.tensor")
def choose_qparams_symmetric_tensor(input: Any, qmin: int, qmax: int, eps: float, dtype: Any) -> tuple[Any, Any]:
    """Scale and zero point of a range that is symmetric about zero."""
    return _chosen(input, qmin, qmax, eps, dtype, per_tensor_symmetric)


@_meta("choose_qparams_symmetric.tensor")
def choose_qparams_symmetric_tensor_meta(input: Any, quant_min: int, quant_max: int, eps: float, dtype: Any) -> tuple[Any, Any]:
    """What :func:`choose_qparams_symmetric_tensor` returns."""
    return empty(1, dtype=float64, device=input.device), empty(1, dtype=int64, device=input.device)


@_meta("choose_qparams.tensor")
def choose_qparams_tensor_meta(input: Any, quant_min: int, quant_max: int, eps: float, dtype: Any) -> tuple[Any, Any]:
    """What :func:`choose_qparams_tensor` returns."""
    _check_chosen(input)
    if quant_min >= quant_max:
        raise AssertionError(f"Expecting quant_min to be smaller than quant_max but received min: {quant_min} max: {quant_max}")
    return choose_qparams_symmetric_tensor_meta(input, quant_min, quant_max, eps, dtype)


def _along(values: Any, axis: int, dims: int) -> Any:
    """A vector of parameters that broadcasts along an axis."""
    return values.view([-1 if dim == axis % dims else 1 for dim in range(dims)])


def _check_axis(input: Any, axis: int, quant_min: int, quant_max: int, dtype: Any) -> None:
    if axis >= input.dim():
        raise AssertionError(f"Expecting axis to be < {input.dim()}")
    _quant_min_max_bounds_check(quant_min, quant_max, dtype)


@_composite("quantize_per_channel")
def quantize_per_channel(input: Any, scales: Any, zero_points: Any, axis: int, quant_min: int, quant_max: int, dtype: Any) -> Any:
    """Quantized values, with a scale and a zero point for each index of an axis."""
    input = _as_float32(input)
    _check_axis(input, axis, quant_min, quant_max, dtype)
    scales, zero_points = _along(scales, axis, input.dim()), _along(zero_points, axis, input.dim())
    return clamp(round(input * (1.0 / scales)) + zero_points, quant_min, quant_max).to(dtype)


@_composite("dequantize_per_channel")
def dequantize_per_channel(
    input: Any, scales: Any, zero_points: Any, axis: int, quant_min: int, quant_max: int, dtype: Any, *, out_dtype: Any = None
) -> Any:
    """The floating-point values that values quantized along an axis stand for."""
    _check_dequantized(input, dtype, "dtype: ")
    _check_axis(input, axis, quant_min, quant_max, dtype)
    shifted = input if zero_points is None else input - _along(zero_points, axis, input.dim())
    return (shifted * _along(scales, axis, input.dim())).to(float32 if out_dtype is None else out_dtype)


@_composite("choose_qparams_per_token")
def choose_qparams_per_token(input: Any, dtype: Any) -> tuple[Any, Any]:
    """Symmetric scales and zero points, one for each row of the last dimension."""
    if dtype != int8:
        raise Exception(f"unsupported dtype in choose_qparams_per_token: {dtype}")
    scales = input.abs().amax(dim=-1, keepdim=True)
    scales = (scales.float() if scales.dtype == float16 else scales).clamp(min=1e-5).div(iinfo(int8).max)
    return scales, zeros_like(scales)


def _per_token_asymmetric(input: Any, dtype: Any) -> tuple[Any, Any]:
    lowest, highest = iinfo(int8).min, iinfo(int8).max
    smallest, largest = amin(input, dim=-1, keepdim=True), amax(input, dim=-1, keepdim=True)
    smallest, largest = minimum(smallest, zeros_like(smallest)), maximum(largest, zeros_like(largest))
    scale = ((largest - smallest) / float(highest - lowest)).clamp(min=finfo(float32).eps)
    from_smallest, from_largest = smallest / scale, largest / scale
    errors = (lowest + from_smallest) + (highest + from_largest)
    zero_point = where(errors > 0, lowest - from_smallest, highest - from_largest)
    return scale.to(float64), clamp(zero_point, lowest, highest).round().to(int64)


@_implements("_choose_qparams_per_token_asymmetric_impl", "CompositeImplicitAutograd")
def _choose_qparams_per_token_asymmetric_impl(input: Any, dtype: Any) -> tuple[Any, Any]:
    """Scales and zero points of eight bits, one for each row of the last dimension."""
    return _per_token_asymmetric(input, dtype)


@_composite("choose_qparams_per_token_asymmetric")
def choose_qparams_per_token_asymmetric(input: Any, dtype: Any) -> tuple[Any, Any]:
    """Scales and zero points of eight bits, one for each row of the last dimension."""
    return _per_token_asymmetric(input, dtype)


def _per_token_quant_qparam_dim_check(input: Any, scales: Any, zero_points: Any) -> None:
    tokens = math.prod(input.shape[:-1])
    for name, value in (("scales", scales), ("zero_points", zero_points)):
        if tokens != value.numel():
            raise AssertionError(f"num_tokens: {tokens} {name}: {value.size()}")


@_composite("quantize_per_token")
def quantize_per_token(input: Any, scales: Any, zero_points: Any, quant_min: int, quant_max: int, dtype: Any) -> Any:
    """Quantized values, with a scale and a zero point for each row of the last dimension."""
    _quant_min_max_bounds_check(quant_min, quant_max, dtype)
    _per_token_quant_qparam_dim_check(input, scales, zero_points)
    return input.mul(1.0 / scales).add(zero_points).round().clamp(quant_min, quant_max).to(dtype)


@_composite("dequantize_per_token")
def dequantize_per_token(
    input: Any, scales: Any, zero_points: Any, quant_min: int, quant_max: int, dtype: Any, output_dtype: Any = float32
) -> Any:
    """The floating-point values that values quantized by rows stand for."""
    return ((input - zero_points) * scales).to(output_dtype)


def _groups(input: Any, scales: Any, group_size: int, name: str) -> Any:
    """The rows of a matrix in groups; a single column of scales makes a row one group at most."""
    if group_size <= 1:
        raise AssertionError("group_size must be > 1")
    if group_size > input.shape[-1] and scales.shape[-1] == 1:
        group_size = input.shape[-1]
    if input.shape[-1] % group_size:
        raise AssertionError(f"{name}.shape[-1] must be divisible by group_size")
    if input.dim() != 2:
        raise AssertionError(f"{name} must be 2-dimensional")
    return input.reshape(-1, group_size)


@_composite("quantize_per_channel_group")
def quantize_per_channel_group(
    input: Any, scales: Any, zero_points: Any, quant_min: int, quant_max: int, dtype: Any, group_size: int = 128
) -> Any:
    """Quantized values of a matrix, with a scale and a zero point for each group of a row."""
    grouped = _groups(input, scales, group_size, "input")
    if grouped.isnan().any():
        raise AssertionError("to_quant must not contain NaNs")
    steps = grouped.mul(1.0 / scales.reshape(-1, 1)).add(zero_points.reshape(-1, 1)).round()
    return steps.clamp(quant_min, quant_max).to(dtype).reshape_as(input)


@_meta("quantize_per_channel_group")
def quantize_per_channel_group_meta(
    input: Any, scales: Any, zero_points: Any, quant_min: int, quant_max: int, dtype: Any, group_size: int = 128
) -> Any:
    """What :func:`quantize_per_channel_group` returns."""
    _groups(input, scales, group_size, "input")
    return empty_like(input, dtype=dtype)


@_composite("dequantize_per_channel_group")
def dequantize_per_channel_group(
    w_int8: Any,
    scales: Any,
    zero_points: Any,
    quant_min: int,
    quant_max: int,
    dtype: Any,
    group_size: int = 128,
    output_dtype: Any = float32,
) -> Any:
    """The floating-point values that values quantized by groups stand for."""
    grouped = _groups(w_int8, scales, group_size, "w_int8")
    shifted = grouped.sub(0 if zero_points is None else zero_points.reshape(-1, 1))
    return shifted.mul(scales.reshape(-1, 1)).reshape_as(w_int8).to(output_dtype)


class FakeQuantPerChannel(Function):
    """Quantization along an axis and back; the gradient of a value within the range passes unchanged."""

    @staticmethod
    def forward(ctx: Any, input: Any, scales: Any, zero_points: Any, axis: int, quant_min: int, quant_max: int) -> Any:
        """Quantized and dequantized values."""
        if input.dtype != float32:
            raise AssertionError(f"Expecting input to have dtype torch.float32, but got dtype: {input.dtype}")
        if axis >= input.dim():
            raise AssertionError(f"Expecting axis to be < {input.dim()}")
        scales, zero_points = (_along(each.to(kind), axis, input.dim()) for each, kind in ((scales, float32), (zero_points, int32)))
        steps = round(input * (1.0 / scales)) + zero_points
        ctx.save_for_backward(logical_and(steps >= quant_min, steps <= quant_max))
        return (clamp(steps, quant_min, quant_max) - zero_points) * scales

    @staticmethod
    def backward(ctx: Any, gy: Any) -> Any:
        """The gradient of the input."""
        (within,) = ctx.saved_tensors
        return gy * within, None, None, None, None, None


@_implements("fake_quant_per_channel", "Autograd")
def fake_quant_per_channel(input: Any, scales: Any, zero_points: Any, axis: int, quant_min: int, quant_max: int) -> Any:
    """Quantization along an axis and back, with a gradient."""
    return FakeQuantPerChannel.apply(input, scales, zero_points, axis, quant_min, quant_max)


@_meta("fake_quant_per_channel")
def fake_quant_per_channel_meta(input: Any, scales: Any, zero_points: Any, axis: int, quant_min: int, quant_max: int) -> Any:
    """What :func:`fake_quant_per_channel` returns."""
    return empty_like(input)


@_composite("convert_element_type.no_fuse")
def convert_element_type(input: Any, dtype: Any) -> Any:
    """A tensor of another dtype, by an op of its own that passes leave alone."""
    return find_overload("prims", "convert_element_type", "default")(input, dtype)

"""Quantization: real numbers as integers with a scale and a zero point, back again, and the pretence of it in training."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.base import Spec
from ...core.base import TensorBase as Tensor
from ...core.declare import exports, primitive
from ...core.dtypes import BY_NUMPY, FLOATING, QUANTIZED, legacy_name
from ...core.dtypes import dtype as dtype_class
from ...core.errors import ArgumentError, DtypeError, NotSupported, OperationError, ShapeError
from ...core.families import normalize_dim
from ...core.quantized import Quantizer
from . import quantize_onnx as onnx_forms

Number = int | float | complex | bool
_FLOAT32 = np.dtype(np.float32)
_SMALLEST_SCALE = float(np.float32(6.1e-5))


# -- quantized tensors -------------------------------------------------------------------------------------------


def _check_quantizable(input: Any, dtype: Any) -> None:
    if not isinstance(dtype, dtype_class):
        raise ArgumentError(f"argument 'dtype' must be torch.dtype, not {type(dtype).__name__}")
    if input.dtype != _FLOAT32:
        raise DtypeError(f"Quantize only works on Float Tensor, got {legacy_name(input.dtype)}")
    if dtype not in QUANTIZED:
        raise DtypeError(f"ScalarType {legacy_name(dtype)} is not supported: quantized tensors are of type quint8, qint8 or qint32")


def _per_tensor_meta(input: Any, scale: Any, zero_point: Any, dtype: Any) -> Spec:
    _check_quantizable(input, dtype)
    return Spec(input.shape, dtype.numpy)


def _one(value: Any) -> Any:
    """The number that a 0-dim (or one-element) array holds, or the number itself."""
    return value.item() if hasattr(value, "item") else value


def _per_tensor_kernel(xp: Any, input: Any, scale: Any, zero_point: Any, dtype: Any) -> Any:
    _check_quantizable(input, dtype)
    return Quantizer(dtype, _one(scale), _one(zero_point)).quantize(input)


@primitive(meta=_per_tensor_meta, kernel=_per_tensor_kernel, vjp={}, method=False, out=False, onnx={9: onnx_forms.per_tensor})
def quantize_per_tensor(input: Tensor, scale: Tensor | Number, zero_point: Tensor | Number, dtype: Any) -> Tensor:
    """A tensor of integers of a quantized type, each of which stands for ``(integer - zero_point) * scale``."""


def _per_channel_meta(input: Any, scales: Any, zero_points: Any, axis: int, dtype: Any) -> Spec:
    _check_quantizable(input, dtype)
    if scales.ndim != 1 or zero_points.ndim != 1 or scales.shape != zero_points.shape:
        raise ShapeError("number of elements in scales and zero_points must match, and both must have one dimension")
    if not 0 <= axis < input.ndim:
        raise OperationError(f"Channel axis out of range in per channel affine quantization. Got: {axis} Expected: [0, {input.ndim})")
    if input.shape[axis] != scales.shape[0]:
        raise ShapeError(f"length of scales must equal to channel, expected {input.shape[axis]} got, {scales.shape[0]}")
    return Spec(input.shape, dtype.numpy)


def _per_channel_kernel(xp: Any, input: Any, scales: Any, zero_points: Any, axis: int, dtype: Any) -> Any:
    _per_channel_meta(input, scales, zero_points, axis, dtype)
    return Quantizer(dtype, scales, zero_points, axis).quantize(input)


@primitive(meta=_per_channel_meta, kernel=_per_channel_kernel, vjp={}, method=False, out=False, onnx={9: onnx_forms.per_channel})
def quantize_per_channel(input: Tensor, scales: Tensor, zero_points: Tensor, axis: int, dtype: Any) -> Tensor:
    """A quantized tensor with a scale and a zero point for each index of one dimension."""


def choose_parameters(low: float, high: float, limits: tuple[int, int]) -> tuple[float, int]:
    """Scale and zero point that cover an interval and have zero among their values."""
    least, most = limits
    low, high = min(float(low), 0.0), max(float(high), 0.0)
    scale = (high - low) / (most - least)
    if scale == 0 or np.isinf(np.float32(1) / np.float32(scale)):
        scale = 0.1
    if scale < _SMALLEST_SCALE:
        low, high, scale = low * (_SMALLEST_SCALE / scale), high * (_SMALLEST_SCALE / scale), _SMALLEST_SCALE
    # Of the two ends the one that the rounding of the zero point moves less decides.
    from_low, from_high = least - low / scale, most - high / scale
    error_low, error_high = abs(least) - abs(low / scale), abs(most) - abs(high / scale)
    zero_point = from_low if error_low < error_high else from_high
    return scale, min(max(round(zero_point), least), most)


def observed_parameters(array: Any, limits: tuple[int, int]) -> tuple[float, int]:
    """Scale and zero point that cover an array's values."""
    if not array.size:
        return choose_parameters(0.0, 0.0, limits)
    return choose_parameters(array.min(), array.max(), limits)


def reduced_limits(dtype: Any, reduce_range: bool) -> tuple[int, int]:
    """The limits of a quantized type; with ``reduce_range`` one bit less is used, so that sums of products do not overflow."""
    limits = np.iinfo(dtype.integer)
    return (int(limits.min) // 2, int(limits.max) // 2) if reduce_range else (int(limits.min), int(limits.max))


def _dynamic_kernel(xp: Any, input: Any, dtype: Any, reduce_range: bool) -> Any:
    _check_quantizable(input, dtype)
    if dtype.itemsize > 1:
        raise DtypeError(f"dtype {legacy_name(dtype)} not supported: quantize_per_tensor_dynamic takes quint8 and qint8")
    return Quantizer(dtype, *observed_parameters(input, reduced_limits(dtype, reduce_range))).quantize(input)


@primitive(
    meta=lambda input, dtype, reduce_range: _per_tensor_meta(input, 1.0, 0, dtype),
    kernel=_dynamic_kernel, vjp={}, method=False, out=False,
    onnx="its scale depends on the data: quantize with a known scale, or export a dynamically quantized module",
)  # fmt: skip
def quantize_per_tensor_dynamic(input: Tensor, dtype: Any, reduce_range: bool) -> Tensor:
    """A quantized tensor whose scale and zero point cover the values of the input."""


@primitive(
    meta=lambda input, reduce_range: [Spec((), np.dtype(np.float64)), Spec((), np.dtype(np.int64))],
    kernel=lambda xp, input, reduce_range: [
        np.asarray(each) for each in observed_parameters(input, (0, 127) if reduce_range else (0, 255))
    ],
    vjp={}, returns=("scale", "zero_point"), namespace=None, method=False, out=False,
)  # fmt: skip
def observed_range(input: Tensor, reduce_range: bool) -> Tensor:
    """Scale and zero point of an unsigned byte that cover a tensor's values."""


def _choose_qparams_per_tensor(input: Any, reduce_range: bool = False) -> tuple[float, int]:
    scale, zero_point = observed_range(input, reduce_range)
    return scale.item(), zero_point.item()


exports["", "_choose_qparams_per_tensor"] = _choose_qparams_per_tensor


@primitive(
    meta=lambda input: Spec(input.shape, _FLOAT32),
    kernel=lambda xp, input: input.astype(np.float32),
    quantized=lambda op, values: values[0].real_numbers,
    vjp={}, out=False, exact=True, onnx={9: lambda g, input: input},
)  # fmt: skip
def dequantize(input: Tensor) -> Tensor:
    """The real numbers that a quantized tensor stands for, in float32."""


def _refuse_plain(name: str) -> Any:
    def kernel(xp: Any, input: Any) -> Any:
        raise NotSupported(f"{name}(): only a quantized tensor has one, and this is of type torch.{BY_NUMPY[input.dtype].name}")

    return kernel


def _integer_meta(input: Any) -> Spec:
    kind = BY_NUMPY[input.dtype].integer
    return Spec(input.shape, input.dtype if kind is None else kind)


@primitive(
    meta=_integer_meta, kernel=_refuse_plain("int_repr"), quantized=lambda op, values: values[0].integers.copy(), vjp={}, out=False,
    exact=True, onnx={9: onnx_forms.integers_of},
)  # fmt: skip
def int_repr(input: Tensor) -> Tensor:
    """The integers of a quantized tensor."""


def _channel_parameter(name: str) -> Any:
    def rule(op: Any, values: Any) -> Any:
        quantizer = values[0].quantizer
        if quantizer.axis is None:
            raise OperationError(f"{op.name}(): the tensor is quantized as a whole ({quantizer.scheme}), not by channel")
        return getattr(quantizer, name).copy()

    return rule


_NO_CHANNELS = "it is not part of a computation: scales and zero points are constants of the exported graph"


@primitive(
    meta=lambda input: Spec((1,), np.dtype(np.float64)), kernel=_refuse_plain("q_per_channel_scales"),
    quantized=_channel_parameter("scale"), vjp={}, out=False, exact=True, onnx=_NO_CHANNELS,
)  # fmt: skip
def q_per_channel_scales(input: Tensor) -> Tensor:
    """The scale of each channel."""


@primitive(
    meta=lambda input: Spec((1,), np.dtype(np.int64)), kernel=_refuse_plain("q_per_channel_zero_points"),
    quantized=_channel_parameter("zero_point"), vjp={}, out=False, exact=True, onnx=_NO_CHANNELS,
)  # fmt: skip
def q_per_channel_zero_points(input: Tensor) -> Tensor:
    """The zero point of each channel."""


def _made_of(integers: Any) -> Any:
    found = next((each for each in QUANTIZED if each.integer == integers.dtype), None)
    if found is None:
        raise DtypeError(f"no quantized type has integers of type torch.{BY_NUMPY[integers.dtype].name}")
    return found


@primitive(
    meta=lambda input, scale, zero_point: Spec(input.shape, _made_of(input).numpy),
    kernel=lambda xp, input, scale, zero_point: Quantizer(_made_of(input), scale, zero_point).over(input.copy()),
    vjp={}, method=False, out=False, exact=True, onnx="it is not part of a computation",
)  # fmt: skip
def _make_per_tensor_quantized_tensor(input: Tensor, scale: float, zero_point: int) -> Tensor:
    """A quantized tensor of given integers."""


@primitive(
    meta=lambda input, scale, zero_point, axis: Spec(input.shape, _made_of(input).numpy),
    kernel=lambda xp, input, scale, zero_point, axis: Quantizer(_made_of(input), scale, zero_point, axis).over(input.copy()),
    vjp={}, method=False, out=False, exact=True, onnx="it is not part of a computation",
)  # fmt: skip
def _make_per_channel_quantized_tensor(input: Tensor, scale: Tensor, zero_point: Tensor, axis: int) -> Tensor:
    """A quantized tensor of given integers, with a scale and a zero point for each channel."""


def _empty_meta(size: Any, scale: Any, zero_point: Any, dtype: Any) -> Spec:
    if not isinstance(dtype, dtype_class) or dtype not in QUANTIZED:
        raise DtypeError("Creation of quantized tensor requires quantized dtype like torch.quint8")
    return Spec(tuple(size), dtype.numpy)


@primitive(
    meta=_empty_meta,
    kernel=lambda xp, size, scale, zero_point, dtype: Quantizer(dtype, scale, zero_point).over(
        xp.empty(_empty_meta(size, scale, zero_point, dtype).shape, dtype.integer)
    ),
    vjp={}, method=False, out=False, exact=True, onnx="its elements are not known",
)  # fmt: skip
def _empty_affine_quantized(size: Any, *, scale: float = 1.0, zero_point: int = 0, dtype: Any = None) -> Tensor:
    """A quantized tensor whose elements are whatever the memory holds."""


# -- fake quantization -------------------------------------------------------------------------------------------


def _check_fake(name: str, input: Any, quant_min: int, quant_max: int) -> None:
    if BY_NUMPY[input.dtype].category != FLOATING:
        raise NotSupported(f"{name}: not implemented for '{legacy_name(input.dtype)}'")
    if quant_min > quant_max:
        raise OperationError(f"`quant_min` should be less than or equal to `quant_max`, got {quant_min} and {quant_max}")


def _check_zero(zero_point: Any, quant_min: int, quant_max: int) -> None:
    outside = (zero_point < quant_min) | (zero_point > quant_max)
    if outside if isinstance(outside, bool) else outside.any():
        raise OperationError("`zero_point` must be between `quant_min` and `quant_max`.")


def _steps(xp: Any, input: Any, scale: Any, zero_point: Any, real: bool) -> Any:
    """The integers that values are rounded to; a zero point that is no integer is rounded with them."""
    return xp.rint(input * (1 / scale) + zero_point) if real else xp.rint(input * (1 / scale)) + zero_point


def _in_reach(xp: Any, input: Any, scale: Any, zero_point: Any, low: int, high: int, real: bool = False) -> tuple[Any, Any]:
    """The integers that values are rounded to, not yet limited, and whether each is within the limits."""
    steps = _steps(xp, input, scale, zero_point, real)
    return steps, (steps >= low) & (steps <= high)


def _pretend(xp: Any, input: Any, scale: Any, zero_point: Any, low: int, high: int, real: bool = False) -> Any:
    steps = xp.maximum(xp.fmin(_steps(xp, input, scale, zero_point, real), high), low)
    return ((steps - zero_point).astype(np.float32) * scale).astype(input.dtype)


def _numbers_of(scale: Any, zero_point: Any) -> tuple[Any, Any]:
    return np.float32(_one(scale)), np.float32(_one(zero_point))  # of float64 inputs too


def _fake_meta(input: Any, scale: Any, zero_point: Any, quant_min: int, quant_max: int) -> Spec:
    _check_fake("fake_quantize_per_tensor_affine", input, quant_min, quant_max)
    return Spec(input.shape, input.dtype)


def _fake_kernel(xp: Any, input: Any, scale: Any, zero_point: Any, quant_min: int, quant_max: int) -> Any:
    _check_fake("fake_quantize_per_tensor_affine", input, quant_min, quant_max)
    _check_zero(zero_point, quant_min, quant_max)
    return _pretend(xp, input, *_numbers_of(scale, zero_point), quant_min, quant_max)


def _mask_kernel(xp: Any, input: Any, scale: Any, zero_point: Any, quant_min: int, quant_max: int) -> Any:
    return _in_reach(xp, input, *_numbers_of(scale, zero_point), quant_min, quant_max)[1]


@primitive(meta=lambda input, *rest: Spec(input.shape, np.dtype(np.bool_)), kernel=_mask_kernel, vjp={}, namespace=None, method=False, out=False,
           onnx={11: lambda g, x, scale, zero, low, high: onnx_forms.in_reach(g, x, scale, zero, None, low, high)[1]})  # fmt: skip
def fake_quantize_mask(input: Tensor, scale: Tensor | Number, zero_point: Tensor | Number, quant_min: int, quant_max: int) -> Tensor:
    """Where a fake quantization rounds and does not limit: there its gradient passes."""


@primitive(
    meta=_fake_meta,
    kernel=_fake_kernel,
    vjp={
        "input": lambda g, input, scale, zero_point, quant_min, quant_max: (
            g * fake_quantize_mask(input, scale, zero_point, quant_min, quant_max)
        )
    },
    method=False,
    out=False,
    node_name="FakeQuantizePerTensorAffineCachemaskBackward0",
    onnx={9: onnx_forms.fake_per_tensor},
)
def fake_quantize_per_tensor_affine(
    input: Tensor, scale: Tensor | Number, zero_point: Tensor | Number, quant_min: int, quant_max: int
) -> Tensor:
    """Values rounded as quantization would round them, and kept real; gradients pass where values were not limited."""


def _channels(input: Any, scale: Any, zero_point: Any, axis: int) -> tuple[Any, Any]:
    """Scales and zero points, shaped so that they meet their channels."""
    shape = [-1 if dim == axis % input.ndim else 1 for dim in range(input.ndim)]
    return scale.astype(np.float32).reshape(shape), zero_point.astype(np.float32).reshape(shape)


def _fake_channel_meta(input: Any, scale: Any, zero_point: Any, axis: int, quant_min: int, quant_max: int) -> Spec:
    _check_fake("fake_quantize_per_channel_affine", input, quant_min, quant_max)
    if scale.dtype != _FLOAT32:
        raise DtypeError(f"Scale must be Float, found {legacy_name(scale.dtype)}")
    if BY_NUMPY[zero_point.dtype].name not in ("int32", "float32", "float16"):
        raise DtypeError(f"Zero-point must be Int32, Float or Half, found {legacy_name(zero_point.dtype)}")
    if scale.ndim != 1 or zero_point.ndim != 1 or scale.shape != zero_point.shape:
        raise ShapeError("scale and zero-point need to have the same dimensions: one, and as many elements")
    normalize_dim(axis, input.ndim)
    if axis < 0:
        raise OperationError(f"`axis` must be between 0 and number of dimensions of input, got {axis}")
    if input.shape[axis] != scale.shape[0]:
        raise ShapeError("dimensions of scale and zero-point are not consistent with input tensor")
    return Spec(input.shape, input.dtype)


def _fake_channel_kernel(xp: Any, input: Any, scale: Any, zero_point: Any, axis: int, quant_min: int, quant_max: int) -> Any:
    _fake_channel_meta(input, scale, zero_point, axis, quant_min, quant_max)
    if zero_point.dtype.kind == "i":
        _check_zero(zero_point, quant_min, quant_max)
    return _pretend(xp, input, *_channels(input, scale, zero_point, axis), quant_min, quant_max, zero_point.dtype.kind == "f")


@primitive(
    meta=lambda input, *rest: Spec(input.shape, np.dtype(np.bool_)),
    kernel=lambda xp, input, scale, zero_point, axis, low, high: _in_reach(
        xp, input, *_channels(input, scale, zero_point, axis), low, high, zero_point.dtype.kind == "f"
    )[1],
    vjp={}, namespace=None, method=False, out=False,
    onnx={11: lambda g, x, scale, zero, axis, low, high: onnx_forms.in_reach(g, x, scale, zero, axis, low, high)[1]},
)  # fmt: skip
def fake_quantize_channel_mask(input: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int) -> Tensor:
    """The same where channels have scales of their own."""


@primitive(
    meta=_fake_channel_meta,
    kernel=_fake_channel_kernel,
    vjp={
        "input": lambda g, input, scale, zero_point, axis, quant_min, quant_max: (
            g * fake_quantize_channel_mask(input, scale, zero_point, axis, quant_min, quant_max)
        )
    },
    method=False,
    out=False,
    node_name="FakeQuantizePerChannelAffineCachemaskBackward0",
    onnx={9: onnx_forms.fake_per_channel},
)
def fake_quantize_per_channel_affine(input: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int) -> Tensor:
    """Fake quantization with a scale and a zero point for each index of one dimension."""

"""Layers on quantized tensors: their integers are multiplied and summed exactly, and the sums are rounded once.

Each is a composite: its body says in real numbers what it means (and is what an exporter writes), its kernel computes it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.base import Spec
from ...core.base import TensorBase as Tensor
from ...core.declare import composite, table
from ...core.dtypes import BY_NUMPY, quint8
from ...core.errors import DtypeError, OperationError, ShapeError
from ...core.kernel_providers import faster_integers, packed_integers
from ...core.quantized import QuantizedArray, Quantizer, per_tensor
from ..nn.convolution import convolution
from . import quantize_onnx as onnx_forms
from .quantize import choose_parameters, dequantize, quantize_per_tensor

Number = int | float | complex | bool
_EXACT = 1 << 24  # integers up to here are exact in float32
CONVOLUTION: Any = table["convolution"]


def _need_quantized(op: str, *arrays: Any) -> None:
    for each in arrays:
        if each.__class__ is not QuantizedArray and BY_NUMPY[each.dtype].integer is None:
            raise DtypeError(f"quantized::{op}: a tensor of torch.{BY_NUMPY[each.dtype].name} was given, and a quantized one is wanted")


def _need_kernel(name: str) -> Any:
    """The kernel for tensors that are not quantized: there is none."""

    def kernel(xp: Any, *values: Any) -> Any:
        raise DtypeError(f"quantized::{name}: the input must be quantized")

    return kernel


def centred(array: QuantizedArray, terms: int) -> Any:
    """The integers less the zero point, in a float type in which sums of so many products of them are exact."""
    quantizer = array.quantizer
    kind = np.float32 if terms * 255 * 255 < _EXACT else np.float64
    return array.integers.astype(kind) - quantizer.spread(quantizer.zero_point, array.ndim, kind)


def channel_scales(weight: QuantizedArray, axis: int = 0) -> Any:
    """The scales of a weight's output channels, one or one for each."""
    quantizer = weight.quantizer
    if quantizer.axis is None:
        return np.float64(quantizer.scale)
    if quantizer.axis != axis:
        raise OperationError(f"the weight is quantized along dimension {quantizer.axis}, and only along {axis} is it supported")
    return quantizer.scale.astype(np.float64)


def _finish(sums: Any, bias: Any, relu: bool) -> Any:
    """Real numbers from sums, with the bias (along the last dimension) added."""
    if bias is not None:
        sums = sums + bias
    return np.maximum(sums, 0) if relu else sums


# -- linear ------------------------------------------------------------------------------------------------------


def _check_linear(input: Any, weight: Any, bias: Any) -> None:
    if input.ndim < 1 or weight.ndim != 2 or input.shape[-1] != weight.shape[1]:
        raise ShapeError(f"quantized linear: an input of shape {list(input.shape)} does not fit a weight of shape {list(weight.shape)}")
    if bias is not None and tuple(bias.shape) != (weight.shape[0],):
        raise ShapeError(f"quantized linear: the bias must have {weight.shape[0]} elements, but it is of shape {list(bias.shape)}")


def _linear_meta(input: Any, weight: Any, bias: Any, scale: Any, zero_point: Any, relu: bool) -> Spec:
    _check_linear(input, weight, bias)
    return Spec((*input.shape[:-1], weight.shape[0]), input.dtype)


def _products(input: QuantizedArray, weight: QuantizedArray) -> Any:
    """The products of rows, in real numbers."""
    terms = weight.shape[1]
    sums = centred(input, terms) @ centred(weight, terms).T
    return sums * (np.float64(per_tensor(input, "linear").scale) * channel_scales(weight))


def _linear_rule(op: Any, values: Any) -> Any:
    input, weight, bias, scale, zero_point, relu = values
    _need_quantized("linear", input, weight)
    _check_linear(input, weight, bias)
    return Quantizer(input.quantizer.dtype, scale, zero_point).quantize(_finish(_products(input, weight), bias, relu).astype(np.float32))


@composite(
    kernel=_need_kernel("linear"), meta=_linear_meta, vjp={}, quantized=_linear_rule, namespace=None, method=False, out=False,
    onnx={9: onnx_forms.decline},
)  # fmt: skip
def quantized_linear(input: Tensor, weight: Tensor, bias: Tensor | None, scale: float, zero_point: int, relu: bool = False) -> Tensor:
    """``input @ weight.T + bias`` of quantized tensors, in a given scale and zero point."""
    result = table["linear"].call(dequantize(input), dequantize(weight), bias)
    return quantize_per_tensor(result.relu() if relu else result, scale, zero_point, BY_NUMPY[input._array.dtype])


def _dynamic_meta(input: Any, weight: Any, bias: Any, reduce_range: bool, relu: bool) -> Spec:
    _check_linear(input, weight, bias)
    return Spec((*input.shape[:-1], weight.shape[0]), input.dtype)


def _dynamic_rule(op: Any, values: Any) -> Any:
    input, weight, bias, reduce_range, relu = values
    _need_quantized("linear_dynamic", weight)
    if input.dtype != np.float32:
        raise DtypeError(f"quantized::linear_dynamic: the input must be of torch.float32, not torch.{BY_NUMPY[input.dtype].name}")
    _check_linear(input, weight, bias)
    low, high = (np.min(input), np.max(input)) if input.size else (0.0, 0.0)
    most = 127 if reduce_range else 255
    scale, zero_point = choose_parameters(low, high, (0, most))
    made = _natively(input, weight, bias, scale, zero_point, most, relu)
    if made is not None:
        return made
    quantized = Quantizer(quint8, scale, zero_point).quantize(input)
    return _finish(_products(quantized, weight), bias, relu).astype(np.float32)


class PackedRows:
    """A weight as native integer products take it: its integers, packed, and of each row the scale and the sum."""

    def __init__(self, weight: QuantizedArray, version: int | None) -> None:
        fits = weight.quantizer.dtype.integer == np.int8 and not np.any(weight.quantizer.zero_point)
        self.integers = packed_integers(weight.integers) if fits else None
        self.scales = np.ascontiguousarray(np.broadcast_to(channel_scales(weight), len(weight)), np.float64)
        self.totals = weight.integers.sum(1, dtype=np.int32)
        self.version = version
        self.places: list[int] | None = None  # addresses, for native code


def keep_rows(weight: Tensor) -> None:
    """Keep a weight packed: a layer asks for it in every call."""
    found = getattr(weight._array, "rows", None)
    if found is None or found.version != weight._version:
        weight._array.rows = PackedRows(weight._array, weight._version)


def _natively(input: Any, weight: Any, bias: Any, scale: float, zero_point: int, most: int, relu: bool) -> Any:
    """The result by native integer products, or None."""
    rows: PackedRows | None = getattr(weight, "rows", None)
    if rows is None or rows.integers is None:
        return None
    if bias is not None and (bias.dtype != np.float32 or not bias.flags.c_contiguous):
        return None
    flat = input if input.ndim == 2 and input.flags.c_contiguous else np.ascontiguousarray(input).reshape(-1, input.shape[-1])
    made = faster_integers(flat, rows, bias, scale, zero_point, most, relu)
    return made if made is None or input.ndim == 2 else made.reshape(*input.shape[:-1], len(rows.scales))


@composite(
    kernel=_need_kernel("linear_dynamic"), meta=_dynamic_meta, vjp={}, quantized=_dynamic_rule, namespace=None, method=False,
    out=False, onnx={9: onnx_forms.decline},
)  # fmt: skip
def quantized_linear_dynamic(input: Tensor, weight: Tensor, bias: Tensor | None, reduce_range: bool = True, relu: bool = False) -> Tensor:
    """``input @ weight.T + bias`` of a float input, quantized on the way by the range of its values, and a quantized weight."""
    most = 127 if reduce_range else 255
    low, high = input.amin().clamp(max=0.0), input.amax().clamp(min=0.0)
    scale = (high - low) / most
    scale = scale + (scale == 0) * 0.1
    zero_point = (-low / scale).round().clamp(0, most)
    rounded = (((input / scale).round() + zero_point).clamp(0, most) - zero_point) * scale
    result = table["linear"].call(rounded, dequantize(weight), bias)
    return result.relu() if relu else result


# -- convolution -------------------------------------------------------------------------------------------------


def _convolution_meta(
    input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: bool, output_padding: Any, groups: int,
    scale: Any, zero_point: Any, relu: bool,
) -> Spec:  # fmt: skip
    plain = [None if each is None else Spec(each.shape, np.dtype(np.float32)) for each in (input, weight, bias)]
    found = CONVOLUTION.meta(CONVOLUTION, [*plain, stride, padding, dilation, transposed, output_padding, groups])
    return Spec(found.shape, input.dtype)


def _convolution_rule(op: Any, values: Any) -> Any:
    input, weight, bias, stride, padding, dilation, transposed, output_padding, groups, scale, zero_point, relu = values
    _need_quantized("conv", input, weight)
    _convolution_meta(*values)
    terms = weight.size // weight.shape[1 if transposed else 0]
    arrays = [centred(input, terms), centred(weight, terms), None]
    sums = CONVOLUTION.kernel(np, *arrays, stride, padding, dilation, transposed, output_padding, groups)
    multiplier = np.float64(per_tensor(input, "conv").scale) * channel_scales(weight, 1 if transposed else 0)
    sums = np.moveaxis(sums, 1, -1) * (np.tile(multiplier, groups) if transposed and np.ndim(multiplier) else multiplier)
    real = np.moveaxis(_finish(sums, bias, relu), -1, 1).astype(np.float32)
    return Quantizer(input.quantizer.dtype, scale, zero_point).quantize(np.ascontiguousarray(real))


@composite(
    kernel=_need_kernel("conv"), meta=_convolution_meta, vjp={}, quantized=_convolution_rule, namespace=None, method=False, out=False,
    onnx={9: onnx_forms.decline},
)  # fmt: skip
def quantized_convolution(
    input: Tensor, weight: Tensor, bias: Tensor | None, stride: Any, padding: Any, dilation: Any, transposed: bool,
    output_padding: Any, groups: int, scale: float, zero_point: int, relu: bool = False,
) -> Tensor:  # fmt: skip
    """A convolution of quantized tensors, in a given scale and zero point."""
    result = convolution(dequantize(input), dequantize(weight), bias, stride, padding, dilation, transposed, output_padding, groups)
    return quantize_per_tensor(result.relu() if relu else result, scale, zero_point, BY_NUMPY[input._array.dtype])


def _embedding_rule(op: Any, values: Any) -> Any:
    indices, weight = values
    _need_quantized("embedding_byte", weight)
    if indices.size and (indices.min() < 0 or indices.max() >= weight.shape[0]):
        raise OperationError(f"embedding: an index is out of range of the {weight.shape[0]} rows")
    quantizer = weight.quantizer
    rows = weight.integers[indices].astype(np.float32)
    if quantizer.axis is None:
        return (rows - np.float32(quantizer.zero_point)) * np.float32(quantizer.scale)
    scale, zero_point = (each.astype(np.float32)[indices][..., None] for each in (quantizer.scale, quantizer.zero_point))
    return (rows - zero_point) * scale


@composite(
    kernel=_need_kernel("embedding_byte"), meta=lambda indices, weight: Spec((*indices.shape, weight.shape[1]), np.dtype(np.float32)),
    vjp={}, quantized=_embedding_rule, namespace=None, method=False, out=False, onnx={9: onnx_forms.decline},
)  # fmt: skip
def quantized_embedding(indices: Tensor, weight: Tensor) -> Tensor:
    """Rows of a quantized table, in real numbers."""
    return table["embedding"].call(dequantize(weight), indices)

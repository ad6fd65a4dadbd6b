"""Functions of ``torch.ops.quantized`` that are computed in real numbers and rounded to a given scale and zero point."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.base import TensorBase as Tensor
from ...core.declare import composite, exports, primitive, table
from ...core.dtypes import BY_NUMPY
from ...core.errors import DtypeError
from ...core.families import same
from ...core.overrides import overridable
from ...core.quantized import Quantizer, per_tensor
from .layers import _need_kernel
from .quantize import dequantize, quantize_per_tensor
from .quantize_onnx import decline
from .rules import Rule

_HERE: dict[str, Any] = {"namespace": "ops.quantized", "method": False, "out": False, "onnx": {9: decline}}


def _rounded(result: Any, like: Any, scale: Any, zero_point: Any) -> Any:
    """A result in a scale and zero point, of the quantized type of an operand."""
    kind = BY_NUMPY[like._array.dtype]
    if kind.integer is None:
        raise DtypeError(f"torch.ops.quantized takes quantized tensors, and one of torch.{kind.name} was given")
    return quantize_per_tensor(result, float(scale), int(zero_point), kind)


def _call(name: str, *args: Any, **kwargs: Any) -> Any:
    return table[name].call(*args, **kwargs)


@composite(public_name="add", **_HERE)
def quantized_add(qa: Tensor, qb: Tensor, scale: float, zero_point: int) -> Tensor:
    """The sum of two quantized tensors."""
    return _rounded(dequantize(qa) + dequantize(qb), qa, scale, zero_point)


@composite(public_name="add_relu", **_HERE)
def quantized_add_relu(qa: Tensor, qb: Tensor, scale: float, zero_point: int) -> Tensor:
    """The sum of two quantized tensors, not below zero."""
    return _rounded((dequantize(qa) + dequantize(qb)).relu(), qa, scale, zero_point)


@composite(public_name="mul", **_HERE)
def quantized_mul(qa: Tensor, qb: Tensor, scale: float, zero_point: int) -> Tensor:
    """The product of two quantized tensors, element by element."""
    return _rounded(dequantize(qa) * dequantize(qb), qa, scale, zero_point)


@composite(public_name="mul_relu", **_HERE)
def quantized_mul_relu(qa: Tensor, qb: Tensor, scale: float, zero_point: int) -> Tensor:
    """The product of two quantized tensors, not below zero."""
    return _rounded((dequantize(qa) * dequantize(qb)).relu(), qa, scale, zero_point)


@composite(public_name="matmul", **_HERE)
def quantized_matmul(qa: Tensor, qb: Tensor, scale: float, zero_point: int) -> Tensor:
    """The matrix product of two quantized tensors."""
    return _rounded(_call("matmul", dequantize(qa), dequantize(qb)), qa, scale, zero_point)


@composite(public_name="cat", **_HERE)
def quantized_cat(qx: list[Tensor], dim: int, scale: float | None = None, zero_point: int | None = None) -> Tensor:
    """Quantized tensors one after the other; without a scale in that of the first."""
    if scale is None or zero_point is None:
        return _call("cat", qx, dim)
    return _rounded(_call("cat", [dequantize(each) for each in qx], dim), qx[0], scale, zero_point)


@composite(public_name="cat_relu", **_HERE)
def quantized_cat_relu(qx: list[Tensor], dim: int, scale: float | None = None, zero_point: int | None = None) -> Tensor:
    """The same, not below zero."""
    return quantized_cat(qx, dim, scale, zero_point).relu()


# -- with a number: the scale and zero point change, and the integers as little as possible ---------------------------


def _add_number(op: Any, values: Any) -> Any:
    array, number = values
    own = per_tensor(array, "add_scalar")
    least, most = own.limits
    zero_point = own.zero_point - round(float(number) / own.scale)
    if least <= zero_point <= most:
        return Quantizer(own.dtype, own.scale, zero_point).over(array.integers.copy())
    reach = most - zero_point if zero_point < least else zero_point - least
    result = Quantizer(own.dtype, own.scale * reach / (most - least), least if zero_point < least else most)
    return result.quantize(array.real_numbers + np.float32(round(float(number) / own.scale) * own.scale))


@primitive(
    meta=same, kernel=_need_kernel("add_scalar"), quantized=Rule(_add_number, True), vjp={}, public_name="add_scalar",
    **{**_HERE, "onnx": {9: lambda g, qa, b: g.Add(qa, float(b))}},
)  # fmt: skip
def quantized_add_scalar(qa: Tensor, b: float) -> Tensor:
    """A quantized tensor and a number, added."""


def _multiply_by_number(op: Any, values: Any) -> Any:
    array, number = values
    own = per_tensor(array, "mul_scalar")
    least, most = own.limits
    number = float(number)
    if number == 0:
        return Quantizer(own.dtype, 1.0, 0).over(np.zeros(array.shape, own.dtype.integer))
    if number > 0:
        return Quantizer(own.dtype, own.scale * number, own.zero_point).over(array.integers.copy())
    negated = (most + least - array.integers.astype(np.int64)).astype(own.dtype.integer)
    return Quantizer(own.dtype, own.scale * -number, most + least - own.zero_point).over(negated)


@primitive(
    meta=same, kernel=_need_kernel("mul_scalar"), quantized=Rule(_multiply_by_number, False), vjp={}, public_name="mul_scalar",
    **{**_HERE, "onnx": {9: lambda g, qa, b: g.Mul(qa, float(b))}},
)  # fmt: skip
def quantized_mul_scalar(qa: Tensor, b: float) -> Tensor:
    """A quantized tensor times a number."""


@composite(public_name="add_scalar_relu", **_HERE)
def quantized_add_scalar_relu(qa: Tensor, b: float) -> Tensor:
    """A quantized tensor and a number, added; not below zero."""
    return quantized_add_scalar(qa, b).relu()


@composite(public_name="mul_scalar_relu", **_HERE)
def quantized_mul_scalar_relu(qa: Tensor, b: float) -> Tensor:
    """A quantized tensor times a number, not below zero."""
    return quantized_mul_scalar(qa, b).relu()


# -- activations -------------------------------------------------------------------------------------------------


@composite(public_name="relu6", **_HERE)
def quantized_relu6(qx: Tensor, inplace: bool = False) -> Tensor:
    """Limited to 0 and 6."""
    return _call("hardtanh", qx, 0.0, 6.0)


@composite(public_name="hardswish", **_HERE)
def quantized_hardswish(input: Tensor, output_scale: float, output_zero_point: int) -> Tensor:
    """``x * relu6(x + 3) / 6``."""
    return _rounded(_call("hardswish", dequantize(input)), input, output_scale, output_zero_point)


@composite(public_name="elu", **_HERE)
def quantized_elu(
    self: Tensor, output_scale: float, output_zero_point: int, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0
) -> Tensor:
    """Exponential linear units."""
    return _rounded(_call("elu", dequantize(self), alpha, scale, input_scale), self, output_scale, output_zero_point)


@composite(public_name="celu", **_HERE)
def quantized_celu(self: Tensor, output_scale: float, output_zero_point: int, alpha: float = 1.0) -> Tensor:
    """Continuously differentiable exponential linear units."""
    return _rounded(_call("celu", dequantize(self), alpha), self, output_scale, output_zero_point)


@composite(public_name="leaky_relu", **_HERE)
def quantized_leaky_relu(qx: Tensor, negative_slope: float, inplace: bool, output_scale: float, output_zero_point: int) -> Tensor:
    """Rectified linear units that leak."""
    return _rounded(_call("leaky_relu", dequantize(qx), negative_slope), qx, output_scale, output_zero_point)


@composite(public_name="prelu", **_HERE)
def quantized_prelu(qx: Tensor, weight: Tensor, output_scale: float, output_zero_point: int) -> Tensor:
    """Rectified linear units with a slope that was learnt."""
    return _rounded(_call("prelu", dequantize(qx), dequantize(weight)), qx, output_scale, output_zero_point)


@composite(public_name="sigmoid", **_HERE)
def quantized_sigmoid(qx: Tensor, output_scale: float, output_zero_point: int) -> Tensor:
    """The logistic function."""
    return _rounded(dequantize(qx).sigmoid(), qx, output_scale, output_zero_point)


@composite(public_name="softmax", **_HERE)
def quantized_softmax(qx: Tensor, dim: int, output_scale: float, output_zero_point: int) -> Tensor:
    """Softmax along a dimension."""
    return _rounded(_call("softmax", dequantize(qx), dim, None), qx, output_scale, output_zero_point)


@composite(public_name="clamp", **_HERE)
def quantized_clamp(qx: Tensor, min: float | None = None, max: float | None = None) -> Tensor:
    """Limited from below, from above, or both."""
    return _call("clamp", qx, min, max)


@composite(public_name="threshold", **_HERE)
def quantized_threshold(qx: Tensor, threshold: float, value: float) -> Tensor:
    """A number in the place of what is not above a threshold."""
    return _call("threshold", qx, threshold, value)


@composite(public_name="dropout", **_HERE)
def quantized_dropout(self: Tensor, output_scale: float, output_zero_point: int, p: float = 0.5, training: bool = False) -> Tensor:
    """A quantized tensor as it is, outside of training; in training elements are left out at random."""
    if not training:
        return self.clone()
    return _rounded(_call("dropout", dequantize(self), p, True), self, output_scale, output_zero_point)


# -- pooling -----------------------------------------------------------------------------------------------------


def _quantized_pool(name: str) -> Any:
    """``torch.quantized_max_pool2d`` and its siblings: pooling that takes nothing but quantized tensors."""

    def pool(input: Any, kernel_size: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False) -> Any:
        """The largest value of each window of a quantized tensor, in its scale and zero point."""
        if not input.is_quantized:
            raise DtypeError(f"quantized_{name}() takes a quantized tensor, and one of {BY_NUMPY[input._array.dtype]} was given")
        return _call(name, input, kernel_size, stride, padding, dilation, ceil_mode)

    pool.__name__ = pool.__qualname__ = f"quantized_{name}"
    return overridable(pool)


for _name in ("max_pool1d", "max_pool2d", "max_pool3d"):
    exports["", f"quantized_{_name}"] = exports["ops.quantized", _name] = _quantized_pool(_name)


# -- normalisation -----------------------------------------------------------------------------------------------


def _normalised(qx: Any, weight: Any, bias: Any, mean: Any, var: Any, eps: float) -> Any:
    return _call("batch_norm", dequantize(qx), weight, bias, mean, var, False, 0.0, eps, False)


@composite(public_name="batch_norm", aliases=("batch_norm1d", "batch_norm2d", "batch_norm3d"), **_HERE)
def quantized_batch_norm(
    qx: Tensor, weight: Tensor | None, bias: Tensor | None, mean: Tensor, var: Tensor, eps: float, output_scale: float,
    output_zero_point: int,
) -> Tensor:  # fmt: skip
    """Channels normalised by a known mean and variance."""
    return _rounded(_normalised(qx, weight, bias, mean, var, eps), qx, output_scale, output_zero_point)


exports["", "quantized_batch_norm"] = exports["ops.quantized", "batch_norm"]


@composite(public_name="batch_norm_relu", aliases=("batch_norm1d_relu", "batch_norm2d_relu", "batch_norm3d_relu"), **_HERE)
def quantized_batch_norm_relu(
    qx: Tensor, weight: Tensor | None, bias: Tensor | None, mean: Tensor, var: Tensor, eps: float, output_scale: float,
    output_zero_point: int,
) -> Tensor:  # fmt: skip
    """The same, not below zero."""
    return _rounded(_normalised(qx, weight, bias, mean, var, eps).relu(), qx, output_scale, output_zero_point)


@composite(public_name="layer_norm", **_HERE)
def quantized_layer_norm(
    input: Tensor, normalized_shape: Any, weight: Tensor | None, bias: Tensor | None, eps: float, output_scale: float,
    output_zero_point: int,
) -> Tensor:  # fmt: skip
    """The last dimensions normalised."""
    result = _call("layer_norm", dequantize(input), normalized_shape, weight, bias, eps)
    return _rounded(result, input, output_scale, output_zero_point)


@composite(public_name="group_norm", **_HERE)
def quantized_group_norm(
    qx: Tensor, num_groups: int, weight: Tensor | None, bias: Tensor | None, eps: float, output_scale: float, output_zero_point: int
) -> Tensor:
    """Groups of channels normalised."""
    return _rounded(_call("group_norm", dequantize(qx), num_groups, weight, bias, eps), qx, output_scale, output_zero_point)


@composite(public_name="instance_norm", **_HERE)
def quantized_instance_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float, output_scale: float, output_zero_point: int
) -> Tensor:
    """Each channel of each image normalised: groups of one channel."""
    result = _call("group_norm", dequantize(input), input._array.shape[1], weight, bias, eps)
    return _rounded(result, input, output_scale, output_zero_point)

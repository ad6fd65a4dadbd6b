"""Activation functions."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ...core.base import TensorBase as Tensor
from ...core.declare import composite, primitive, table
from ...core.devices import sole_accelerator
from ...core.dtypes import LOW_PRECISION, float32, legacy_name
from ...core.errors import OperationError, ShapeError, UnsupportedDtype, ValueRangeError
from ...core.families import elementwise, normalize_dim
from ...core.fast_paths import shortcut
from ...core.recording import dispensable, recomputed
from ...core.upcast import in_single
from . import activations_onnx as onnx_forms

Number = int | float


_ROW = 1 << 14


@functools.cache
def _zeros(dtype: Any) -> Any:
    return np.zeros(_ROW, dtype)


def _rectified(array: Any, out: Any = None) -> Any:
    """``maximum(array, 0)``; NumPy's maximum of two arrays is three times as fast as that of an array and a number."""
    if array.size < 1024 or not array.flags.c_contiguous or (out is not None and not out.flags.c_contiguous):
        return np.maximum(array, array.dtype.type(0), out=out)
    out = np.empty_like(array) if out is None else out
    given, made, zeros = array.reshape(-1), out.reshape(-1), _zeros(array.dtype)
    whole = array.size - array.size % _ROW
    np.maximum(given[:whole].reshape(-1, _ROW), zeros, out=made[:whole].reshape(-1, _ROW))
    np.maximum(given[whole:], zeros[: array.size - whole], out=made[whole:])
    return out


def _relu_gradient(g: Any, result: Any) -> Any:
    made = shortcut("relu_gradient", g, result) if sole_accelerator.kind is not None else None
    return table["where"].call(result <= 0, 0.0, g) if made is None else made


@primitive(
    meta=elementwise(refuse="bool complex", fast=(1, "float")),
    kernel=lambda xp, input: xp.maximum(input, input.dtype.type(0)),
    ufunc=_rectified,
    vjp={"input": _relu_gradient},
    out=False,
    onnx={9: onnx_forms.relu},
)
def relu(input: Tensor) -> Tensor:
    """``max(input, 0)``."""


def _variant(name: str, doc: str) -> Any:
    """The form in ``nn.functional`` of an op: with a switch for working in place."""

    @composite(name=f"nn_functional_{name}", namespace="nn.functional")
    def variant(input: Tensor, inplace: bool = False) -> Tensor:
        return table[name + "_"].call(input) if inplace else table[name].call(input)

    declared: Any = variant
    declared.op.doc = declared.__doc__ = doc
    return declared


functional_relu = _variant("relu", "``max(input, 0)``.")


def unlike_half(input: Any) -> Any:
    """Numbers of half precision as float32, in which the forward pass has compared them: a bound is not rounded to the type of the input."""
    return input.to(float32) if input._array.dtype in LOW_PRECISION else input


def _beyond(input: Any, low: Any, high: Any) -> Any:
    """Where the input is at or outside of two bounds."""
    input = unlike_half(input)
    return (input <= low) | (input >= high)


@primitive(
    meta=elementwise(refuse="bool complex"),
    kernel=lambda xp, input, min_val, max_val: xp.clip(input, input.dtype.type(min_val), input.dtype.type(max_val)),
    vjp={"input": lambda g, input, min_val, max_val: table["where"].call(_beyond(input, min_val, max_val), 0.0, g)},
    namespace=None,
    method=False,
    out=False,
    in_place=True,
    name="hardtanh",
    node_name="HardtanhBackward0",
    onnx={9: lambda g, input, min_val, max_val: g.clip(input, min_val, max_val)},
)
def hardtanh_plain(input: Tensor, min_val: Number = -1.0, max_val: Number = 1.0) -> Tensor:
    """The input held between two bounds."""


@composite(name="nn_functional_hardtanh", namespace="nn.functional")
def hardtanh(input: Tensor, min_val: Number = -1.0, max_val: Number = 1.0, inplace: bool = False) -> Tensor:
    """The input held between two bounds; the gradient is 0 outside."""
    if min_val > max_val:
        raise ValueRangeError("min_val cannot be greater than max_val")
    return table["hardtanh_"].call(input, min_val, max_val) if inplace else hardtanh_plain(input, min_val, max_val)


@composite(name="relu6", namespace="nn.functional")
def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """``min(max(input, 0), 6)``."""
    return hardtanh(input, 0.0, 6.0, inplace)


@primitive(
    meta=elementwise(refuse="bool int complex"),
    kernel=lambda xp, input, negative_slope: xp.where(input > 0, input, input * input.dtype.type(negative_slope)),
    vjp={"input": lambda g, input, negative_slope: table["where"].call(input > 0, g, g * negative_slope)},
    namespace=None,
    method=False,
    out=False,
    in_place=True,
    name="leaky_relu",
    onnx={9: lambda g, input, negative_slope: g.LeakyRelu(input, alpha=float(negative_slope))},
)
def leaky_relu_plain(input: Tensor, negative_slope: Number = 0.01) -> Tensor:
    """The input where it is positive, a fraction of it elsewhere."""


@composite(name="nn_functional_leaky_relu", namespace="nn.functional")
def leaky_relu(input: Tensor, negative_slope: Number = 0.01, inplace: bool = False) -> Tensor:
    """The input where it is positive, a fraction of it elsewhere."""
    return table["leaky_relu_"].call(input, negative_slope) if inplace else leaky_relu_plain(input, negative_slope)


@composite(also=("nn.functional.prelu",), onnx={9: onnx_forms.prelu})
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """A leaky rectifier with a learned slope, one or one for each channel (dimension 1)."""
    if input._array.dtype != weight._array.dtype:
        raise OperationError(
            f"prelu: Type promoting not supported. Got {legacy_name(input._array.dtype)} and {legacy_name(weight._array.dtype)}"
        )
    if weight._array.ndim > 1:
        raise ShapeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight._array.ndim}")
    shape = input._array.shape
    count = weight._array.size
    if not shape:
        weight = weight.reshape(())
    if count != 1:
        channels = shape[1] if len(shape) > 1 else 1
        if count != channels:
            raise ShapeError(
                f"Mismatch of parameter numbers and input channel size. Found parameter numbers = {count} and channel size = {channels}."
            )
        weight = weight.reshape([count if i == 1 else 1 for i in range(len(shape))])
    return input * table["where"].call(input > 0, 1, weight)  # gradients of positive elements do not meet a slope that is infinite


def _elu_kernel(xp: Any, input: Any, alpha: Any, scale: Any, input_scale: Any) -> Any:
    kind = input.dtype.type
    negative = xp.expm1(xp.minimum(input, kind(0)) * kind(input_scale)) * kind(alpha)
    return xp.where(input > 0, input, negative) * kind(scale) if scale != 1 else xp.where(input > 0, input, negative)


@primitive(
    meta=elementwise(refuse="bool int complex"),
    kernel=_elu_kernel,
    vjp={
        "input": lambda g, input, alpha, scale, input_scale: table["where"].call(
            input <= 0, g * (input.clamp(max=0) * input_scale).exp() * (alpha * scale * input_scale), g * scale
        )
    },
    namespace=None,
    method=False,
    out=False,
    in_place=True,
    name="elu",
    onnx={9: onnx_forms.elu},
)
def elu_plain(input: Tensor, alpha: Number = 1.0, scale: Number = 1.0, input_scale: Number = 1.0) -> Tensor:
    """Exponential linear unit with scales."""


def _elu(input: Tensor, alpha: Number, scale: Number, input_scale: Number, inplace: bool) -> Tensor:
    return (table["elu_"].call if inplace else elu_plain)(input, alpha, scale, input_scale)


@composite(name="nn_functional_elu", namespace="nn.functional")
def elu(input: Tensor, alpha: Number = 1.0, inplace: bool = False) -> Tensor:
    """The input where it is positive, ``alpha * (exp(input) - 1)`` elsewhere."""
    return _elu(input, alpha, 1.0, 1.0, inplace)


SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


@composite(in_place=True, onnx={9: lambda g, input: NotImplemented if input.dtype == np.float64 else g.Selu(input)})
def selu(input: Tensor) -> Tensor:
    """Scaled exponential linear unit: keeps mean and variance of its inputs."""
    return elu_plain(input, SELU_ALPHA, SELU_SCALE, 1.0)


functional_selu = _variant("selu", "Scaled exponential linear unit.")


@composite(in_place=True)
def celu(input: Tensor, alpha: Number = 1.0) -> Tensor:
    """The input where it is positive, ``alpha * (exp(input / alpha) - 1)`` elsewhere."""
    if alpha == 0:
        raise OperationError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return elu_plain(input, alpha, 1.0, 1.0 / alpha)


@composite(name="nn_functional_celu", namespace="nn.functional")
def functional_celu(input: Tensor, alpha: Number = 1.0, inplace: bool = False) -> Tensor:
    """The input where it is positive, ``alpha * (exp(input / alpha) - 1)`` elsewhere."""
    return table["celu_"].call(input, alpha) if inplace else celu(input, alpha)


@composite(
    name="gelu",
    namespace="nn.functional",
)
def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """Gaussian error linear unit: the input times the probability that a normal variable is below it."""
    if approximate == "none":
        return gelu_exact(input)
    if approximate == "tanh":
        return gelu_tanh(input)
    raise OperationError("approximate argument must be either none or tanh.")


def _constant(value: Any, number: float) -> Any:
    """A constant in the type of an array."""
    return value.dtype.type(number)


# atanh(erf(x / sqrt(2))) / x as a polynomial in x ** 2, highest power first, for single precision
_ERF_TANH = (
    1.567258857e-09, -1.252567507e-07, 3.873058817e-06, -5.478174016e-05, -3.391121747e-05, 0.03633434812, 0.7978846366,
)  # fmt: skip


def _erf_scaled(xp: Any, input: Any, square: Any, out: Any = None) -> Any:
    """``erf(input / sqrt(2))``; in single precision by way of tanh, which NumPy has a fast loop for."""
    if input.dtype != np.float32:
        return table["erf"].kernel(xp, input * _constant(input, math.sqrt(0.5)))
    highest, *rest, lowest = (_constant(input, each) for each in _ERF_TANH)
    result = square * highest if out is None else xp.multiply(square, highest, out=out)
    for coefficient in rest:
        result += coefficient
        result *= square
    result += lowest
    result *= input
    return xp.tanh(result) if out is None else xp.tanh(result, out=out)


def _gelu_kernel(xp: Any, input: Any, out: Any = None) -> Any:
    result = _erf_scaled(xp, input, input * input, out)
    result += _constant(input, 1)
    result *= input
    result = result * _constant(input, 0.5) if out is None else xp.multiply(result, _constant(input, 0.5), out=out)
    return result


@primitive(
    meta=elementwise(refuse="bool int complex"),
    kernel=_gelu_kernel,
    vjp={"input": lambda g, input, result: gelu_backward(g, input, result if input._array.itemsize > 2 else None)},
    namespace=None,
    method=False,
    out=False,
    in_place=False,
    node_name="GeluBackward0",
    onnx={9: onnx_forms.gelu, 20: lambda g, input: g.Gelu(input, approximate="none")},
)
def gelu_exact(input: Tensor) -> Tensor:
    """``input * Phi(input)`` with the error function."""


def _normal_share_kernel(xp: Any, input: Any) -> Any:
    result = _erf_scaled(xp, input, input * input)
    result += _constant(input, 1)
    result *= _constant(input, 0.5)
    return result


@primitive(
    meta=elementwise(refuse="bool int complex"),
    kernel=_normal_share_kernel,
    vjp={"input": lambda g, input: g * (input * input * -0.5).exp() * (1 / math.sqrt(2 * math.pi))},
    namespace=None,
    method=False,
    out=False,
    in_place=False,
)
def normal_share(input: Tensor) -> Tensor:
    """``Phi(input)``: the cumulative distribution function of the normal distribution."""


def _gelu_backward_kernel(xp: Any, grad: Any, input: Any, result: Any) -> Any:
    square = input * input
    try:
        with np.errstate(invalid="raise"):
            # saves a second error function; only NumPy says where it can't be
            slope = None if result is None or xp is not np else result / input
    except FloatingPointError:  # 0 / 0
        slope = None
    if slope is None:
        slope = _erf_scaled(xp, input, square)
        slope += _constant(input, 1)
        slope *= _constant(input, 0.5)
    square *= _constant(input, -0.5)
    bell = xp.exp(square)
    bell *= input
    bell *= _constant(input, 1 / math.sqrt(2 * math.pi))
    slope += bell
    if slope.shape != grad.shape:
        return slope * grad
    slope *= grad
    return slope


@composite(kernel=_gelu_backward_kernel, meta=elementwise(), namespace=None, method=False, in_place=False)
def gelu_backward(grad: Tensor, input: Tensor, result: Tensor | None) -> Tensor:
    """The gradient of ``gelu_exact``; its result may help.  The body starts from the input, to be differentiated again."""
    inner = (input * math.sqrt(0.5)).erf()
    bell = (input * input * -0.5).exp() * (1 / math.sqrt(2 * math.pi))
    return grad * (0.5 * (1 + inner) + input * bell)


def _gelu_tanh_kernel(xp: Any, input: Any) -> Any:
    kind = input.dtype.type
    inner = input * kind(0.7978845608028654) * (kind(1) + kind(0.044715) * input * input)
    return kind(0.5) * input * (kind(1) + xp.tanh(inner))


def _gelu_tanh_gradient(g: Any, input: Any) -> Any:
    square = input * input
    tangent = (input * 0.7978845608028654 * (1 + 0.044715 * square)).tanh()
    slope = 0.7978845608028654 * (1 + 3 * 0.044715 * square)
    return g * (0.5 * (1 + tangent) + 0.5 * input * (1 - tangent * tangent) * slope)


@primitive(
    meta=elementwise(refuse="bool int complex"),
    kernel=_gelu_tanh_kernel,
    vjp={"input": _gelu_tanh_gradient},
    namespace=None,
    method=False,
    out=False,
    node_name="GeluBackward0",
    onnx={20: lambda g, input: g.Gelu(input, approximate="tanh")},
)
def gelu_tanh(input: Tensor) -> Tensor:
    """``input * Phi(input)`` with a tanh in place of the error function."""


def _logistic(xp: Any, input: Any) -> Any:
    one = input.dtype.type(1)
    return one / (one + xp.exp(-input))


@primitive(
    meta=elementwise(refuse="bool int"),
    kernel=lambda xp, input: input * _logistic(xp, input),
    vjp={"input": lambda g, input: silu_backward(g, input)},
    namespace=None,
    method=False,
    out=False,
    in_place=True,
    onnx={9: lambda g, input: g.Mul(input, g.Sigmoid(input)), 24: lambda g, input: g.Swish(input)},
)
def silu(input: Tensor) -> Tensor:
    """``input * sigmoid(input)``."""


def _silu_backward_kernel(xp: Any, grad: Any, input: Any) -> Any:
    gate = _logistic(xp, input)
    return grad * gate * (_constant(input, 1) + input * (_constant(input, 1) - gate))


@composite(kernel=_silu_backward_kernel, meta=elementwise(), namespace=None, method=False, in_place=False)
def silu_backward(grad: Tensor, input: Tensor) -> Tensor:
    """The gradient of ``silu``."""
    gate = input.sigmoid()
    return grad * gate * (1 + input * (1 - gate))


functional_silu = _variant("silu", "``input * sigmoid(input)``.")


def _softplus_kernel(xp: Any, input: Any, beta: Any, threshold: Any) -> Any:
    kind = input.dtype.type
    scaled = input * kind(beta)
    return xp.where(scaled > kind(threshold), input, xp.log1p(xp.exp(xp.minimum(scaled, kind(threshold)))) / kind(beta))


@primitive(
    meta=elementwise(refuse="bool int complex"),
    kernel=_softplus_kernel,
    vjp={"input": lambda g, input, beta, threshold: table["where"].call(input * beta > threshold, g, g * (input * beta).sigmoid())},
    namespace="nn.functional",
    name="softplus",
    in_place=False,
    node_name="SoftplusBackward0",
    onnx={9: onnx_forms.softplus},
)
def softplus(input: Tensor, beta: Number = 1.0, threshold: Number = 20.0) -> Tensor:
    """``log(1 + exp(beta * input)) / beta``, a smooth ``relu``."""


@composite(namespace=None, method=False, in_place=True, onnx={18: lambda g, input: g.Mish(input)})
def mish(input: Tensor) -> Tensor:
    """``input * tanh(softplus(input))``."""
    return in_single(lambda wide: wide * softplus(wide).tanh(), input)


functional_mish = _variant("mish", "``input * tanh(softplus(input))``.")


@primitive(
    layout="contiguous",
    meta=elementwise(refuse="bool int complex"),
    kernel=lambda xp, input: xp.minimum(input, input.dtype.type(0)) - xp.log1p(xp.exp(-xp.abs(input))),
    vjp={"input": lambda g, input: g * (-input).sigmoid()},
    namespace="nn.functional",
    name="logsigmoid",
    in_place=False,
    node_name="LogSigmoidBackward0",
    onnx={9: lambda g, input: g.Neg(g.Softplus(g.Neg(input)))},
)
def logsigmoid(input: Tensor) -> Tensor:
    """``log(sigmoid(input))``, without overflow."""


@primitive(
    meta=elementwise(refuse="bool int complex"),
    kernel=lambda xp, input: xp.clip(input / input.dtype.type(6) + input.dtype.type(0.5), input.dtype.type(0), input.dtype.type(1)),
    vjp={"input": lambda g, input: g * ((input > -3) & (input < 3)) * (1 / 6)},
    namespace=None,
    method=False,
    out=False,
    in_place=True,
    onnx={9: lambda g, input: g.HardSigmoid(input, alpha=1 / 6, beta=0.5)},
)
def hardsigmoid(input: Tensor) -> Tensor:
    """``sigmoid`` made of straight lines."""


functional_hardsigmoid = _variant("hardsigmoid", "``sigmoid`` made of straight lines.")


def _hardswish_gradient(g: Any, input: Any) -> Any:
    """The slope by where the input lies: what is not on the curved part is not multiplied with anything, so that infinities have one."""
    where = table["where"].call
    return where(input <= -3, 0, where(input < 3, g * (input / 3 + 0.5), g))


@primitive(
    meta=elementwise(refuse="bool int complex"),
    kernel=lambda xp, input: input * xp.clip(input / input.dtype.type(6) + input.dtype.type(0.5), input.dtype.type(0), input.dtype.type(1)),
    vjp={"input": _hardswish_gradient},
    namespace=None,
    method=False,
    out=False,
    in_place=True,
    onnx={
        9: lambda g, input: g.Mul(input, g.HardSigmoid(input, alpha=1 / 6, beta=0.5)),
        14: lambda g, input: g.HardSwish(input),
    },
)
def hardswish(input: Tensor) -> Tensor:
    """``input * hardsigmoid(input)``."""


functional_hardswish = _variant("hardswish", "``input * hardsigmoid(input)``.")


@primitive(
    meta=elementwise(refuse="bool int complex"),
    kernel=lambda xp, input, lambd: xp.where(
        (input >= input.dtype.type(-lambd)) & (input <= input.dtype.type(lambd)), input.dtype.type(0), input
    ),
    vjp={"input": lambda g, input, lambd: table["where"].call(unlike_half(input).abs() <= lambd, 0.0, g)},
    also=("nn.functional.hardshrink",),
)
def hardshrink(input: Tensor, lambd: Number = 0.5) -> Tensor:
    """The input, with 0 for what is within ``lambd`` of 0."""


def _softshrink_kernel(xp: Any, input: Any, lambd: Any) -> Any:
    if lambd < 0:
        raise OperationError(f"lambda must be greater or equal to 0, but found to be {lambd}.")
    return input - xp.clip(input, input.dtype.type(-lambd), input.dtype.type(lambd))


@primitive(
    meta=elementwise(refuse="bool int complex"),
    kernel=_softshrink_kernel,
    vjp={"input": lambda g, input, lambd: table["where"].call(unlike_half(input).abs() <= lambd, 0.0, g)},
    namespace="nn.functional",
    name="softshrink",
    in_place=False,
    node_name="SoftshrinkBackward0",
    onnx={9: lambda g, input, lambd: g.Sub(input, g.clip(input, -lambd, lambd))},
)
def softshrink_plain(input: Tensor, lambd: Number = 0.5) -> Tensor:
    """The input moved towards 0 by ``lambd``, and 0 for what is within it."""


@composite(name="tanhshrink", namespace="nn.functional")
def tanhshrink(input: Tensor) -> Tensor:
    """``input - tanh(input)``."""
    return input - input.tanh()


@composite(name="softsign", namespace="nn.functional", onnx={9: lambda g, input: g.Softsign(input)})
def softsign(input: Tensor) -> Tensor:
    """``input / (1 + |input|)``."""
    return input / (input.abs() + 1)


@primitive(
    meta=elementwise(refuse="bool complex"),
    kernel=lambda xp, input, threshold, value: xp.where(input <= input.dtype.type(threshold), input.dtype.type(value), input),
    vjp={"input": lambda g, input, threshold: table["where"].call(unlike_half(input) <= threshold, 0.0, g)},
    method=False,
)
def threshold(input: Tensor, threshold: Number, value: Number) -> Tensor:
    """The input where it is above a threshold, a value elsewhere."""


@composite(name="nn_functional_threshold", namespace="nn.functional")
def functional_threshold(input: Tensor, threshold: Number, value: Number, inplace: bool = False) -> Tensor:
    """The input where it is above a threshold, a value elsewhere."""
    return (table["threshold_"] if inplace else table["threshold"]).call(input, threshold, value)


@composite(
    name="glu",
    namespace="nn.functional",
    onnx={9: onnx_forms.glu},
)
def glu(input: Tensor, dim: int = -1) -> Tensor:
    """Half of the input (along a dimension) times the sigmoid of the other half."""
    array = input._array
    if array.dtype.kind in "biu":
        raise UnsupportedDtype(f"glu(): not implemented for '{legacy_name(array.dtype)}'")
    if not array.ndim:
        raise ShapeError("glu does not support 0-dimensional tensors")
    size = array.shape[normalize_dim(dim, array.ndim)]
    if size % 2:
        raise ShapeError(f"Halving dimension must be even, but dimension {dim} is size {size}")

    def gated(wide: Any) -> Any:
        first, gate = wide.chunk(2, dim)
        return first * gate.sigmoid()

    return in_single(gated, input)


@composite(name="nn_functional_tanh", namespace="nn.functional")
def functional_tanh(input: Tensor) -> Tensor:
    """Hyperbolic tangent of every element."""
    return input.tanh()


@composite(name="nn_functional_sigmoid", namespace="nn.functional")
def functional_sigmoid(input: Tensor) -> Tensor:
    """Logistic function of every element."""
    return input.sigmoid()


# PyTorch keeps no result of these: programs write to them in place.
recomputed.set(True, "gelu_exact", "gelu_tanh")
dispensable.set(True, "gelu_exact")

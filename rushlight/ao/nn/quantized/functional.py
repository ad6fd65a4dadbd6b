"""Functions on quantized tensors, where their result takes a scale and zero point."""

from __future__ import annotations

from typing import Any

from ....core.errors import ArgumentError
from ....nn import functional as F
from ....nn.modules.utils import _pair, _single, _triple
from ....ops.quantized import functions as ops
from ....ops.quantized.layers import quantized_convolution, quantized_linear


def _require(input: Any, name: str) -> None:
    if not input.is_quantized:
        raise ArgumentError(f"Input to 'quantized.{name}' must be quantized!")


def _output(input: Any, scale: Any, zero_point: Any) -> tuple[float, int]:
    """The scale and zero point of the result; without them, those of the input."""
    return (input.q_scale() if scale is None else float(scale)), (input.q_zero_point() if zero_point is None else int(zero_point))


def linear(input: Any, weight: Any, bias: Any = None, scale: float | None = None, zero_point: int | None = None) -> Any:
    """``input @ weight.T + bias``."""
    return quantized_linear(input, weight, bias, *_output(input, scale, zero_point))


def _conv(sizes: Any) -> Any:
    def conv(
        input: Any, weight: Any, bias: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1,
        padding_mode: str = "zeros", scale: float = 1.0, zero_point: int = 0, dtype: Any = None,
    ) -> Any:  # fmt: skip
        """A convolution."""
        if padding_mode != "zeros":
            raise NotImplementedError("Only zero-padding is supported!")
        return quantized_convolution(
            input, weight, bias, sizes(stride), sizes(padding), sizes(dilation), False, sizes(0), groups, float(scale), int(zero_point)
        )

    return conv


conv1d, conv2d, conv3d = _conv(_single), _conv(_pair), _conv(_triple)


def _same_as_float(name: str) -> Any:
    function = getattr(F, name)

    def call(input: Any, *args: Any, **kwargs: Any) -> Any:
        _require(input, name)
        return function(input, *args, **kwargs)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = function.__doc__
    return call


avg_pool2d, avg_pool3d = _same_as_float("avg_pool2d"), _same_as_float("avg_pool3d")
adaptive_avg_pool2d, adaptive_avg_pool3d = _same_as_float("adaptive_avg_pool2d"), _same_as_float("adaptive_avg_pool3d")
max_pool1d, max_pool2d = _same_as_float("max_pool1d"), _same_as_float("max_pool2d")
interpolate, upsample = _same_as_float("interpolate"), _same_as_float("upsample")
upsample_bilinear, upsample_nearest = _same_as_float("upsample_bilinear"), _same_as_float("upsample_nearest")
hardtanh, hardsigmoid, threshold = _same_as_float("hardtanh"), _same_as_float("hardsigmoid"), _same_as_float("threshold")


def hardswish(input: Any, scale: float, zero_point: int) -> Any:
    """``x * relu6(x + 3) / 6``."""
    _require(input, "hardswish")
    return ops.quantized_hardswish(input, scale, zero_point)


def elu(input: Any, scale: float, zero_point: int, alpha: float = 1.0) -> Any:
    """Exponential linear units."""
    _require(input, "elu")
    return ops.quantized_elu(input, scale, zero_point, alpha)


def celu(input: Any, scale: float, zero_point: int, alpha: float = 1.0) -> Any:
    """Continuously differentiable exponential linear units."""
    _require(input, "celu")
    return ops.quantized_celu(input, scale, zero_point, alpha)


def leaky_relu(
    input: Any, negative_slope: float = 0.01, inplace: bool = False, scale: float | None = None, zero_point: int | None = None
) -> Any:
    """Leaky rectified linear units."""
    _require(input, "leaky_relu")
    return ops.quantized_leaky_relu(input, negative_slope, inplace, *_output(input, scale, zero_point))


def clamp(input: Any, min_: float, max_: float) -> Any:
    """Limited from below and above."""
    _require(input, "clamp")
    return ops.quantized_clamp(input, min_, max_)

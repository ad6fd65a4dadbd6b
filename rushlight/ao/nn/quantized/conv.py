"""Convolutions of quantized tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....core.dtypes import qint8
from ....core.errors import NotSupported
from ....nn import functional as F
from ....nn.modules.utils import _pair, _single, _triple
from ....nn.utils.fusion import fuse_conv_bn_weights
from ....ops.quantized.layers import quantized_convolution
from ....ops.quantized.quantize import _make_per_tensor_quantized_tensor
from ....tensor.construct import tensor
from .. import intrinsic as nni
from ..intrinsic import qat as nniqat
from .quantize import QuantizedModule, observed_output, quantize_weight


class _ConvNd(QuantizedModule):
    """What quantized convolutions have in common."""

    _relu = False
    _sizes: Any = _pair
    transposed = False

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
        groups: int = 1, bias: bool = True, padding_mode: str = "zeros", output_padding: Any = 0,
    ) -> None:  # fmt: skip
        super().__init__()
        if isinstance(padding, str):
            raise NotSupported("quantized convolutions take their padding in numbers, not as a word")
        if padding_mode not in ("zeros", "reflect"):
            raise NotSupported(f"padding mode {padding_mode!r} is not supported by quantized convolutions")
        if in_channels % groups or out_channels % groups:
            raise ValueError("in_channels and out_channels must be divisible by groups")
        sizes = type(self)._sizes
        self.in_channels, self.out_channels, self.groups, self.padding_mode = in_channels, out_channels, groups, padding_mode
        self.kernel_size, self.stride, self.padding = sizes(kernel_size), sizes(stride), sizes(padding)
        self.dilation, self.output_padding = sizes(dilation), sizes(output_padding)
        self.scale, self.zero_point = 1.0, 0
        first, second = (in_channels, out_channels) if self.transposed else (out_channels, in_channels)
        shape = (first, second // groups, *self.kernel_size)
        weight = _make_per_tensor_quantized_tensor(tensor(np.zeros(shape, np.int8)), 1.0, 0)
        self.set_weight_bias(weight, tensor(np.zeros(out_channels, np.float32)) if bias else None)

    def set_weight_bias(self, w: Any, b: Any) -> None:
        """Take a quantized weight and a bias."""
        self._weight, self._bias = w, (None if b is None else b.detach())

    def _weight_bias(self) -> tuple[Any, Any]:
        return self._weight, self._bias

    def weight(self) -> Any:
        """The quantized weight."""
        return self._weight

    def bias(self) -> Any:
        """The bias."""
        return self._bias

    def _packed_state(self) -> dict[str, Any]:
        return {"weight": self._weight, "bias": self._bias}

    def _load_packed_state(self, state: dict[str, Any]) -> None:
        if "weight" in state:
            self.set_weight_bias(state["weight"], state.get("bias"))

    def forward(self, input: Any) -> Any:
        """The quantized result."""
        dims = len(self.kernel_size)
        if input.dim() != dims + 2:
            raise ValueError(f"Input shape must be `(N, C, ...)` with {dims} more sizes, but it has {input.dim()} dimensions")
        padding = self.padding
        if self.padding_mode != "zeros":
            around = [each for size in reversed(padding) for each in (size, size)]
            input, padding = F.pad(input, around, mode=self.padding_mode), (0,) * dims
        return quantized_convolution(
            input, self._weight, self._bias, self.stride, padding, self.dilation, self.transposed, self.output_padding, self.groups,
            self.scale, self.zero_point, self._relu,
        )  # fmt: skip

    def extra_repr(self) -> str:
        """Sizes, and what differs from the usual."""
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}, scale={self.scale}, zero_point={self.zero_point}"
        for name, usual in (("padding", 0), ("dilation", 1), ("output_padding", 0)):
            if any(each != usual for each in getattr(self, name)):
                text += f", {name}={getattr(self, name)}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        return text + (", bias=False" if self._bias is None else "")

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """A quantized convolution from one that was observed, or trained with fake quantization."""
        scale, zero_point = observed_output(mod)
        observer = getattr(mod, "weight_fake_quant", None)
        source = mod[0] if isinstance(mod, nni._FusedModule) else mod
        weight, bias = source.weight, source.bias
        if isinstance(mod, nniqat._WithBatchNorm):
            bn: Any = getattr(mod, "bn")  # noqa: B009 - the subclasses set it
            weight, bias = fuse_conv_bn_weights(weight, bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias)
        if observer is None:
            observer = mod.qconfig.weight()
        if not use_precomputed_fake_quant:
            observer(weight)
        if observer.dtype is not qint8:
            raise AssertionError("Weight observer must have a dtype of qint8")
        options = {
            name: getattr(source, name)
            for name in ("in_channels", "out_channels", "kernel_size", "stride", "padding", "dilation", "groups", "padding_mode")
        }
        if cls.transposed:
            options["output_padding"] = source.output_padding
        made = cls(**options, bias=bias is not None)
        made.set_weight_bias(quantize_weight(weight.float(), observer), bias)
        made.scale, made.zero_point = scale, zero_point
        return made


class Conv1d(_ConvNd):
    """A convolution of quantized signals."""

    _sizes = staticmethod(_single)


class Conv2d(_ConvNd):
    """A convolution of quantized images."""

    _sizes = staticmethod(_pair)


class Conv3d(_ConvNd):
    """A convolution of quantized volumes."""

    _sizes = staticmethod(_triple)


class ConvReLU1d(Conv1d):
    """The same, not below zero."""

    _relu = True


class ConvReLU2d(Conv2d):
    """The same, not below zero."""

    _relu = True


class ConvReLU3d(Conv3d):
    """The same, not below zero."""

    _relu = True


class _ConvTransposeNd(_ConvNd):
    transposed = True

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0, output_padding: Any = 0,
        groups: int = 1, bias: bool = True, dilation: Any = 1, padding_mode: str = "zeros",
    ) -> None:  # fmt: skip
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode, output_padding)


class ConvTranspose1d(_ConvTransposeNd):
    """A transposed convolution of quantized signals."""

    _sizes = staticmethod(_single)


class ConvTranspose2d(_ConvTransposeNd):
    """A transposed convolution of quantized images."""

    _sizes = staticmethod(_pair)


class ConvTranspose3d(_ConvTransposeNd):
    """A transposed convolution of quantized volumes."""

    _sizes = staticmethod(_triple)

"""Convolution layers."""

from __future__ import annotations

import math
from typing import Any

from ...autograd import no_grad
from ...ops.create.factories import empty_like
from ...tensor.layout import contiguous_format
from .. import functional as F
from .. import init
from ..parameter import UninitializedParameter
from .lazy import LazyModuleMixin
from .module import Module
from .utils import _pair, _reverse_repeat_tuple, _single, _triple, new_parameter

_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(Module):
    """What all convolutions have in common: sizes, checks, parameters."""

    __constants__ = [
        "stride", "padding", "dilation", "groups", "padding_mode", "output_padding", "in_channels", "out_channels", "kernel_size",
    ]  # fmt: skip
    weight: Any

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: tuple[int, ...], stride: tuple[int, ...], padding: Any,
        dilation: tuple[int, ...], transposed: bool, output_padding: tuple[int, ...], groups: int, bias: bool, padding_mode: str,
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups != 0:
            raise ValueError("out_channels must be divisible by groups")
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ValueError(f"Invalid padding string {padding!r}, should be one of {{'same', 'valid'}}")
            if padding == "same" and any(step != 1 for step in stride):
                raise ValueError("padding='same' is not supported for strided convolutions")
        if padding_mode not in _PADDING_MODES:
            raise ValueError(f"padding_mode must be one of {_PADDING_MODES}, but got padding_mode='{padding_mode}'")
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.transposed = transposed
        self.output_padding = output_padding
        self.groups = groups
        self.padding_mode = padding_mode
        self._reversed_padding_repeated_twice = self._border()
        self.weight = new_parameter(self._weight_shape(), device, dtype)
        self.register_parameter("bias", new_parameter((out_channels,), device, dtype) if bias else None)
        self.reset_parameters()

    def _border(self) -> Any:
        """The padding as ``pad`` wants it: from the last dimension to the first, both sides."""
        if not isinstance(self.padding, str):
            return _reverse_repeat_tuple(self.padding, 2)
        border = [0] * (2 * len(self.kernel_size))
        if self.padding == "same":
            for position, (step, size) in enumerate(zip(reversed(self.dilation), reversed(self.kernel_size))):
                total = step * (size - 1)
                border[2 * position] = total // 2
                border[2 * position + 1] = total - total // 2
        return border

    def _weight_shape(self) -> tuple[int, ...]:
        if self.transposed:
            return (self.in_channels, self.out_channels // self.groups, *self.kernel_size)
        return (self.out_channels, self.in_channels // self.groups, *self.kernel_size)

    def reset_parameters(self) -> None:
        """Draw new parameters, uniform within one over the square root of the number of inputs of an output."""
        if self.weight.is_contiguous():
            init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        else:  # random numbers are drawn in the order of memory: those of a contiguous weight, whatever the format
            with no_grad():
                self.weight.copy_(init.kaiming_uniform_(empty_like(self.weight, memory_format=contiguous_format), a=math.sqrt(5)))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in != 0:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        """Sizes, and what differs from the defaults."""
        dimensions = len(self.kernel_size)
        shown = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        if self.padding != (0,) * dimensions:
            shown += f", padding={self.padding}"
        if self.dilation != (1,) * dimensions:
            shown += f", dilation={self.dilation}"
        if self.output_padding != (0,) * dimensions:
            shown += f", output_padding={self.output_padding}"
        if self.groups != 1:
            shown += f", groups={self.groups}"
        if self.bias is None:
            shown += ", bias=False"
        if self.padding_mode != "zeros":
            shown += f", padding_mode={self.padding_mode}"
        return shown

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.__dict__.setdefault("padding_mode", "zeros")


def _padded(layer: Any, input: Any) -> tuple[Any, Any]:
    """The input and the padding that is left for the convolution: borders that are not zero are put on first."""
    if layer.padding_mode == "zeros":
        return input, layer.padding
    return F.pad(input, layer._reversed_padding_repeated_twice, mode=layer.padding_mode), 0


class _Convolution(_ConvNd):
    """A convolution of ``kernel_size``, ``stride``, ``padding`` and ``dilation`` that may be single numbers."""

    _sizes: Any  # a number, or one for each dimension, as a tuple
    _function: str

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
        groups: int = 1, bias: bool = True, padding_mode: str = "zeros", device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        sizes = self._sizes
        super().__init__(
            in_channels, out_channels, sizes(kernel_size), sizes(stride), padding if isinstance(padding, str) else sizes(padding),
            sizes(dilation), False, sizes(0), groups, bias, padding_mode, device, dtype,
        )  # fmt: skip

    def _conv_forward(self, input: Any, weight: Any, bias: Any) -> Any:
        input, padding = _padded(self, input)
        return getattr(F, self._function)(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def forward(self, input: Any) -> Any:
        """The convolved input."""
        return self._conv_forward(input, self.weight, self.bias)


class Conv1d(_Convolution):
    """Convolution of signals, (batch, channels, length)."""

    _sizes = staticmethod(_single)
    _function = "conv1d"


class Conv2d(_Convolution):
    """Convolution of images, (batch, channels, height, width)."""

    _sizes = staticmethod(_pair)
    _function = "conv2d"


class Conv3d(_Convolution):
    """Convolution of volumes, (batch, channels, depth, height, width)."""

    _sizes = staticmethod(_triple)
    _function = "conv3d"


# -- transposed --------------------------------------------------------------------------------------------------


class _ConvTransposeNd(_ConvNd):
    """What transposed convolutions have in common: the output's size may be asked for."""

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any, padding: Any, dilation: Any, transposed: bool,
        output_padding: Any, groups: int, bias: bool, padding_mode: str, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, transposed, output_padding, groups, bias,
            padding_mode, device, dtype,
        )  # fmt: skip

    def _output_padding(
        self, input: Any, output_size: Any, stride: Any, padding: Any, kernel_size: Any, num_spatial_dims: int, dilation: Any = None
    ) -> Any:  # fmt: skip
        """The padding of the output that gives it the size asked for."""
        if output_size is None:
            return _single(self.output_padding)
        fixed = input.dim() - num_spatial_dims  # one or two dimensions for channels and batch
        asked, output_size = output_size, list(output_size)
        if len(output_size) == fixed + num_spatial_dims:
            output_size = output_size[fixed:]
        if len(output_size) != num_spatial_dims:
            raise ValueError(
                f"ConvTranspose{num_spatial_dims}D: for {input.dim()}D input, output_size must have {num_spatial_dims} or "
                f"{fixed + num_spatial_dims} elements (got {len(output_size)})"
            )
        least = [
            (input.size(d + fixed) - 1) * stride[d] - 2 * padding[d] + (1 if dilation is None else dilation[d]) * (kernel_size[d] - 1) + 1
            for d in range(num_spatial_dims)
        ]
        most = [low + step - 1 for low, step in zip(least, stride)]
        if any(not low <= size <= high for low, size, high in zip(least, output_size, most)):
            raise ValueError(
                f"requested an output size of {tuple(asked)}, but valid sizes range from {least} to {most} (for an input of "
                f"{input.size()[2:]})"
            )
        return [size - low for size, low in zip(output_size, least)]


class _TransposedConvolution(_ConvTransposeNd):
    """A transposed convolution of sizes that may be single numbers."""

    _sizes: Any
    _function: str

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0, output_padding: Any = 0,
        groups: int = 1, bias: bool = True, dilation: Any = 1, padding_mode: str = "zeros", device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        sizes = self._sizes
        super().__init__(
            in_channels, out_channels, sizes(kernel_size), sizes(stride), sizes(padding), sizes(dilation), True, sizes(output_padding),
            groups, bias, padding_mode, device, dtype,
        )  # fmt: skip

    def forward(self, input: Any, output_size: Any = None) -> Any:
        """The larger output, of a size that may be named."""
        more = self._output_padding(input, output_size, self.stride, self.padding, self.kernel_size, len(self.kernel_size), self.dilation)
        return getattr(F, self._function)(input, self.weight, self.bias, self.stride, self.padding, more, self.groups, self.dilation)


class ConvTranspose1d(_TransposedConvolution):
    """Transposed convolution of signals: the gradient of a convolution, seen as a layer."""

    _sizes = staticmethod(_single)
    _function = "conv_transpose1d"


class ConvTranspose2d(_TransposedConvolution):
    """Transposed convolution of images: the gradient of a convolution, seen as a layer."""

    _sizes = staticmethod(_pair)
    _function = "conv_transpose2d"


class ConvTranspose3d(_TransposedConvolution):
    """Transposed convolution of volumes: the gradient of a convolution, seen as a layer."""

    _sizes = staticmethod(_triple)
    _function = "conv_transpose3d"


# -- lazy --------------------------------------------------------------------------------------------------------


_ConvTransposeMixin = _ConvTransposeNd  # the name of PyTorch before 1.9


class _LazyConvXdMixin(LazyModuleMixin):
    """A convolution that takes ``in_channels`` from its first input."""

    in_channels: int
    out_channels: int
    groups: int
    transposed: bool
    kernel_size: tuple[int, ...]
    weight: Any
    bias: Any

    def _become_lazy(self, out_channels: int, bias: bool, device: Any, dtype: Any) -> None:
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_channels = out_channels
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draw new parameters, once they have shapes."""
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self, input: Any, *args: Any, **kwargs: Any) -> None:  # type: ignore[override]
        """Take the number of channels from the input."""
        if not self.has_uninitialized_params():
            return
        with no_grad():
            self.in_channels = self._get_in_channels(input)
            if self.in_channels % self.groups != 0:
                raise ValueError("in_channels must be divisible by groups")
            self.weight.materialize(self._weight_shape())  # type: ignore[attr-defined]
            if self.bias is not None:
                self.bias.materialize((self.out_channels,))
            self.reset_parameters()

    def _get_in_channels(self, input: Any) -> int:
        spatial = self._get_num_spatial_dims()
        if input.dim() not in (spatial + 1, spatial + 2):
            raise RuntimeError(
                f"Expected {spatial + 1}D (unbatched) or {spatial + 2}D (batched) input to {type(self).__name__}, but got input of "
                f"size: {input.shape}"
            )
        return int(input.shape[-spatial - 1])

    def _get_num_spatial_dims(self) -> int:
        return len(self.kernel_size)


class _LazyConvolution(_LazyConvXdMixin):
    def __init__(
        self, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1,
        bias: bool = True, padding_mode: str = "zeros", device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode, device, dtype)
        self._become_lazy(out_channels, bias, device, dtype)


class _LazyTransposedConvolution(_LazyConvXdMixin):
    def __init__(
        self, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0, output_padding: Any = 0, groups: int = 1,
        bias: bool = True, dilation: Any = 1, padding_mode: str = "zeros", device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation, padding_mode, device, dtype)
        self._become_lazy(out_channels, bias, device, dtype)


class LazyConv1d(_LazyConvolution, Conv1d):
    """A ``Conv1d`` that takes ``in_channels`` from its first input."""

    cls_to_become = Conv1d


class LazyConv2d(_LazyConvolution, Conv2d):
    """A ``Conv2d`` that takes ``in_channels`` from its first input."""

    cls_to_become = Conv2d


class LazyConv3d(_LazyConvolution, Conv3d):
    """A ``Conv3d`` that takes ``in_channels`` from its first input."""

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyTransposedConvolution, ConvTranspose1d):
    """A ``ConvTranspose1d`` that takes ``in_channels`` from its first input."""

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyTransposedConvolution, ConvTranspose2d):
    """A ``ConvTranspose2d`` that takes ``in_channels`` from its first input."""

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyTransposedConvolution, ConvTranspose3d):
    """A ``ConvTranspose3d`` that takes ``in_channels`` from its first input."""

    cls_to_become = ConvTranspose3d


__all__ = [
    "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "LazyConv1d", "LazyConv2d",
    "LazyConv3d", "LazyConvTranspose1d", "LazyConvTranspose2d", "LazyConvTranspose3d",
]  # fmt: skip

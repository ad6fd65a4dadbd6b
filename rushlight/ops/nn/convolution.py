"""Convolution: one primitive with its transpose and the gradient of its weight, and PyTorch's functions over it."""

from __future__ import annotations

import math
from operator import index
from typing import Any

import numpy as np

from ...core.base import Spec
from ...core.base import TensorBase as Tensor
from ...core.declare import composite, primitive, table
from ...core.dtypes import BY_NUMPY, legacy_name
from ...core.errors import ArgumentError, DtypeError, ShapeError
from ...core.kernel_providers import SOON, compiled, faster
from ..pointwise.arithmetic import conjugate
from ..shape.views import slice_dim
from . import convolution_onnx as onnx_forms
from .convolution_kernels import convolve, spread, weight_gradient
from .sliding_windows import Checked, as_ints, expand_ints, refuse_types, window_count

Ints = tuple[int, ...]
LARGE = 1 << 22  # products of two numbers, from which on native code is worth its compilation
FEW = 1 << 10  # elements of an input from which on it is, where the call comes again and again


def _show(sizes: Any) -> str:
    return "(" + " x ".join(map(str, sizes)) + ")"


def _type_name(array: Any) -> str:
    """A type as PyTorch's messages about convolutions name it."""
    kind = BY_NUMPY[array.dtype]
    return {"float32": "float", "float64": "double", "int64": "long", "int32": "int"}.get(kind.name, kind.name)


def _check_types(input: Any, weight: Any, bias: Any) -> None:
    refuse_types("convolution", input, "b")
    if bias is not None and bias.dtype != input.dtype:
        raise DtypeError(f"Input type ({_type_name(input)}) and bias type ({_type_name(bias)}) should be the same")
    if weight.dtype != input.dtype:
        raise DtypeError(
            f"expected scalar type {legacy_name(input.dtype)} but found {legacy_name(weight.dtype)}: input and weight of a "
            "convolution should have the same type"
        )


def _check_shapes(input: Any, weight: Any, bias: Any, transposed: bool, groups: int) -> None:
    shape, size = list(weight.shape), list(input.shape)
    if groups <= 0:
        raise ShapeError("non-positive groups is not supported")
    if input.ndim != weight.ndim:
        raise ShapeError(
            f"Expected {weight.ndim}-dimensional input for {weight.ndim}-dimensional weight {shape}, but got "
            f"{input.ndim}-dimensional input of size {size} instead"
        )
    if shape[0] < groups:
        raise ShapeError(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got weight of size {shape} instead"
        )
    if shape[0] % groups:
        raise ShapeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of size [{shape}] instead"
        )
    given = f"transposed={int(transposed)}" if transposed else f"groups={groups}"
    channels = shape[0] if transposed else shape[1] * groups
    if size[1] != channels:
        raise ShapeError(
            f"Given {given}, weight of size {shape}, expected input{size} to have {channels} channels, but got {size[1]} channels instead"
        )
    produced = shape[1] * groups if transposed else shape[0]
    if bias is not None and tuple(bias.shape) != (produced,):
        given = f"transposed={int(transposed)}, " if transposed else ""
        raise ShapeError(
            f"Given {given}weight of size {shape}, expected bias to be 1-dimensional with {produced} elements, "
            f"but got bias of size {list(bias.shape)} instead"
        )


def _convolution_meta(
    input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: bool, output_padding: Any, groups: int
) -> Spec:
    for name, value in (("stride", stride), ("padding", padding), ("dilation", dilation), ("output_padding", output_padding)):
        if not isinstance(value, (tuple, list)):
            raise ArgumentError(f"convolution(): argument '{name}' must be tuple of ints, not {type(value).__name__}")
    if weight.ndim < 3:
        raise ShapeError(f"weight should have at least three dimensions, but got weight of size {list(weight.shape)}")
    ndim = weight.ndim - 2
    stride, padding, dilation, extra = _expanded(ndim, stride, padding, dilation, output_padding)
    if any(each <= 0 for each in stride):
        raise ShapeError("non-positive stride is not supported")
    if any(each < 0 for each in padding):
        raise ShapeError("negative padding is not supported")
    if any(each < 0 for each in extra):
        raise ShapeError("negative output_padding is not supported")
    if any(each <= 0 for each in dilation):
        raise ShapeError(f"dilation should be greater than zero, but got {list(dilation)}")
    _check_shapes(input, weight, bias, transposed, groups)
    _check_types(input, weight, bias)
    kernel = tuple(weight.shape[2:])
    if any(each == 0 for each in kernel):
        raise ShapeError(f"kernel size should be greater than zero, but got kernel size {_show(kernel)}")
    size = tuple(input.shape[2:])
    if transposed:
        result = _transposed_size(size, kernel, stride, padding, dilation, extra)
        return Spec((input.shape[0], weight.shape[1] * groups, *result), input.dtype)
    around = tuple(n + 2 * p for n, p in zip(size, padding))
    if any(n < d * (k - 1) + 1 for n, d, k in zip(around, dilation, kernel)):
        reach = tuple(d * (k - 1) + 1 for d, k in zip(dilation, kernel))
        raise ShapeError(
            f"Calculated padded input size per channel: {_show(around)}. Kernel size: {_show(reach)}. Kernel size "
            "can't be greater than actual input size"
        )
    counts = (window_count(n, k, s, p, p, d) for n, k, s, p, d in zip(size, kernel, stride, padding, dilation))
    return Spec((input.shape[0], weight.shape[0], *counts), input.dtype)


def _transposed_size(size: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, extra: Ints) -> Ints:
    if any(e >= max(s, d) for e, s, d in zip(extra, stride, dilation)):
        raise ShapeError(
            f"output padding must be smaller than either stride or dilation, but got output_padding: {_show(extra)} stride: "
            f"{_show(stride)} dilation: {_show(dilation)}"
        )
    result = tuple((n - 1) * s - 2 * p + d * (k - 1) + 1 + e for n, k, s, p, d, e in zip(size, kernel, stride, padding, dilation, extra))
    if any(each < 0 for each in result):
        raise ShapeError(
            f"Given input size per channel: {_show(size)}. Calculated output size per channel: {_show(result)}. Output size is too small"
        )
    return result


def _expanded(ndim: int, stride: Any, padding: Any, dilation: Any, extra: Any = 0) -> tuple[Ints, Ints, Ints, Ints]:
    """The options with one int for each dimension."""
    return (
        expand_ints(stride, ndim, "convolution", "stride"), expand_ints(padding, ndim, "convolution", "padding"),
        expand_ints(dilation, ndim, "convolution", "dilation"), expand_ints(extra, ndim, "convolution", "output_padding"),
    )  # fmt: skip


def _convolution_kernel(
    xp: Any, input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: bool, output_padding: Any,
    groups: int,
) -> Any:  # fmt: skip
    stride, padding, dilation, extra = _expanded(weight.ndim - 2, stride, padding, dilation, output_padding)
    if _is_large(xp, input, weight, () if transposed else stride):
        found = faster("convolution", input, weight, bias, stride, padding, dilation, bool(transposed), extra, index(groups))
        if found is not None:
            return found
    return _by_panels(xp, input, weight, bias, stride, padding, dilation, bool(transposed), extra, index(groups))


@compiled("convolution", FEW, SOON)
def _by_panels(
    xp: Any, input: Any, weight: Any, bias: Any, stride: Ints, padding: Ints, dilation: Ints, transposed: bool, extra: Ints, groups: int
) -> Any:
    if not transposed:
        return convolve(xp, input, weight, bias, stride, [(p, p) for p in padding], dilation, groups)
    size = _transposed_size(input.shape[2:], weight.shape[2:], stride, padding, dilation, extra)
    return spread(xp, input, weight, bias, stride, padding, dilation, groups, size)


def _is_large(xp: Any, image: Any, weight: Any, stride: Ints) -> bool:
    """Whether native code may be faster; the stride is that of windows over the image."""
    if xp is not np or image.dtype.char not in "fd" or not image.size:
        return False
    return bool(image.size // image.shape[1] // math.prod(stride) * weight.size >= LARGE)


def _transposed_to(size: Any, input: Any, weight: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
    """The transposed convolution with the output padding that makes its result as large as ``size``."""
    steps, before, apart, _ = _expanded(len(size), stride, padding, dilation)
    small = zip(input._array.shape[2:], weight._array.shape[2:], steps, before, apart)
    extra = tuple(n - ((count - 1) * s - 2 * p + d * (k - 1) + 1) for n, (count, k, s, p, d) in zip(size, small))
    return convolution(input, weight, None, stride, padding, dilation, True, extra, groups)


def _cropped_to(size: Any, result: Any) -> Any:
    """A convolution may find a window more than the transposed one had places, by its output padding: leave it out."""
    for dim, (wanted, found) in enumerate(zip(size, result._array.shape[2:]), 2):
        if wanted != found:
            result = slice_dim(result, dim, 0, wanted)
    return result


def _input_gradient(g: Any, input_shape: Any, weight: Any, stride: Any, padding: Any, dilation: Any, transposed: bool, groups: int) -> Any:
    weight = conjugate(weight)
    if not transposed:
        return _transposed_to(input_shape[2:], g, weight, stride, padding, dilation, groups)
    none = (0,) * len(input_shape[2:])
    return _cropped_to(input_shape[2:], convolution(g, weight, None, stride, padding, dilation, False, none, groups))


def _weight_gradient(g: Any, input: Any, weight_shape: Any, stride: Any, padding: Any, dilation: Any, transposed: bool, groups: int) -> Any:
    large, small = (g, conjugate(input)) if transposed else (conjugate(input), g)
    return convolution_weight_gradient(large, small, tuple(weight_shape[2:]), stride, padding, dilation, groups)


@primitive(
    layout="channels last of either",
    meta=Checked(_convolution_meta),
    kernel=_convolution_kernel,
    vjp={
        "input": _input_gradient,
        "weight": _weight_gradient,
        "bias": lambda g: g.sum((0, *range(2, g._array.ndim))),
    },
    out=False,
    method=False,
    onnx={9: onnx_forms.convolution},
)
def convolution(
    input: Tensor, weight: Tensor, bias: Tensor | None, stride: Any, padding: Any, dilation: Any, transposed: bool,
    output_padding: Any, groups: int,
) -> Tensor:  # fmt: skip
    """A convolution over any number of dimensions, or its transpose: what all functions of this family call."""


def _weight_gradient_meta(input: Any, grad: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Spec:
    return Spec((grad.shape[1], input.shape[1] // groups, *kernel), grad.dtype)


def _weight_gradient_kernel(xp: Any, input: Any, grad: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
    stride, padding, dilation, _ = _expanded(len(kernel), stride, padding, dilation)
    if xp is np and grad.dtype.char in "fd" and grad.size * (input.shape[1] // groups) * math.prod(kernel) >= LARGE:
        found = faster("convolution_weight_gradient", input, grad, tuple(kernel), stride, padding, dilation, index(groups))
        if found is not None:
            return found
    return _weight_gradient_by_panels(xp, input, grad, tuple(kernel), stride, padding, dilation, index(groups))


@compiled("convolution_weight_gradient", FEW, SOON)
def _weight_gradient_by_panels(
    xp: Any, input: Any, grad: Any, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Any:
    return weight_gradient(xp, input, grad, kernel, stride, [(p, p) for p in padding], dilation, groups)


@primitive(
    meta=Checked(_weight_gradient_meta),
    kernel=_weight_gradient_kernel,
    vjp={
        "input": lambda g, input_shape, grad, stride, padding, dilation, groups: _transposed_to(
            input_shape[2:], conjugate(grad), g, stride, padding, dilation, groups
        ),
        "grad": lambda g, input, grad_shape, stride, padding, dilation, groups: _cropped_to(
            grad_shape[2:],
            convolution(conjugate(input), g, None, stride, padding, dilation, False, (0,) * len(grad_shape[2:]), groups),
        ),
    },
    namespace=None,
    method=False,
    out=False,
    onnx={9: onnx_forms.weight_gradient},
)
def convolution_weight_gradient(input: Tensor, grad: Tensor, kernel: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Tensor:
    """The gradient of a convolution's weight, given that of its output."""


def _batched(input: Any, ndim: int, name: str) -> tuple[Any, bool]:
    """The input with a batch dimension, and whether it had one."""
    shape = input._array.shape
    if len(shape) == ndim + 2:
        return input, True
    if len(shape) == ndim + 1:
        return input.unsqueeze(0), False
    raise ShapeError(f"Expected {ndim + 1}D (unbatched) or {ndim + 2}D (batched) input to {name}, but got input of size: {list(shape)}")


def _spatial(value: Any, ndim: int, name: str, parameter: str) -> Ints:
    values = as_ints(value, name, parameter)
    return values * ndim if len(values) == 1 else values


def _same(input: Any, weight: Any, bias: Any, stride: Ints, dilation: Ints, groups: int) -> Any:
    """``padding="same"``: where the padding is odd, one more at the end."""
    if any(each != 1 for each in stride):
        raise ShapeError("padding='same' is not supported for strided convolutions")
    size = input._array.shape[2:]
    kernel = weight._array.shape[2:]
    if len(dilation) == 1:
        dilation = dilation * len(size)
    total = [d * (k - 1) for d, k in zip(dilation, kernel)]
    if any(each % 2 for each in total):
        input = table["constant_pad_nd"].call(input, [part for each in reversed(total) for part in (0, each % 2)])
    return convolution(input, weight, bias, stride, tuple(each // 2 for each in total), dilation, False, (0,) * len(size), groups)


def _convolve(name: str, ndim: int, input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
    stride, dilation = _spatial(stride, ndim, name, "stride"), _spatial(dilation, ndim, name, "dilation")
    input, is_batched = _batched(input, ndim, name)
    if padding == "same":
        result = _same(input, weight, bias, stride, dilation, groups)
    else:
        if isinstance(padding, str) and padding != "valid":
            raise ShapeError(f"Invalid padding string: '{padding}'")
        around = (0,) * ndim if padding == "valid" else _spatial(padding, ndim, name, "padding")
        result = convolution(input, weight, bias, stride, around, dilation, False, (0,) * ndim, groups)
    return result if is_batched else result.squeeze(0)


def _convolve_transposed(
    name: str, ndim: int, input: Any, weight: Any, bias: Any, stride: Any, padding: Any, output_padding: Any, groups: int, dilation: Any
) -> Any:
    options = [
        _spatial(value, ndim, name, parameter) for value, parameter in
        ((stride, "stride"), (padding, "padding"), (dilation, "dilation"), (output_padding, "output_padding"))
    ]  # fmt: skip
    input, is_batched = _batched(input, ndim, name)
    result = convolution(input, weight, bias, *options[:3], True, options[3], groups)
    return result if is_batched else result.squeeze(0)


@composite(method=False, aliases=("nn.functional.conv1d",), onnx={9: onnx_forms.forward(1)})
def conv1d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Tensor:
    """A convolution over the last dimension of ``(N, C, L)`` or ``(C, L)``."""
    return _convolve("conv1d", 1, input, weight, bias, stride, padding, dilation, groups)


@composite(method=False, aliases=("nn.functional.conv2d",), onnx={9: onnx_forms.forward(2)})
def conv2d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Tensor:
    """A convolution over the last two dimensions of ``(N, C, H, W)`` or ``(C, H, W)``."""
    return _convolve("conv2d", 2, input, weight, bias, stride, padding, dilation, groups)


@composite(method=False, aliases=("nn.functional.conv3d",), onnx={9: onnx_forms.forward(3)})
def conv3d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Tensor:
    """A convolution over the last three dimensions of ``(N, C, D, H, W)`` or ``(C, D, H, W)``."""
    return _convolve("conv3d", 3, input, weight, bias, stride, padding, dilation, groups)


@composite(method=False, aliases=("nn.functional.conv_transpose1d",), onnx={9: onnx_forms.transposed(1)})
def conv_transpose1d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0,
    groups: int = 1, dilation: Any = 1,
) -> Tensor:  # fmt: skip
    """The transpose of ``conv1d``: the weight is ``(C, O / groups, L)``."""
    return _convolve_transposed("conv_transpose1d", 1, input, weight, bias, stride, padding, output_padding, groups, dilation)


@composite(method=False, aliases=("nn.functional.conv_transpose2d",), onnx={9: onnx_forms.transposed(2)})
def conv_transpose2d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0,
    groups: int = 1, dilation: Any = 1,
) -> Tensor:  # fmt: skip
    """The transpose of ``conv2d``: the weight is ``(C, O / groups, H, W)``."""
    return _convolve_transposed("conv_transpose2d", 2, input, weight, bias, stride, padding, output_padding, groups, dilation)


@composite(method=False, aliases=("nn.functional.conv_transpose3d",), onnx={9: onnx_forms.transposed(3)})
def conv_transpose3d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0,
    groups: int = 1, dilation: Any = 1,
) -> Tensor:  # fmt: skip
    """The transpose of ``conv3d``: the weight is ``(C, O / groups, D, H, W)``."""
    return _convolve_transposed("conv_transpose3d", 3, input, weight, bias, stride, padding, output_padding, groups, dilation)


@composite(method=False, aliases=("nn.functional.conv_tbc",))
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """A convolution over time of ``(T, N, C)`` with a weight ``(L, C, O)``."""
    time, kernel = input._array.shape, weight._array.shape
    if len(time) != 3:
        raise ShapeError("Input must have 3 dims: time, batch, in_channel")
    if len(kernel) != 3:
        raise ShapeError("Weight tensor must have 3 dims: kernel_width, in_channels, out_channels.")
    if time[2] != kernel[1]:
        raise ShapeError("Input dim 2 (input channels) is not == dim 1 in the weight tensor")
    if tuple(bias._array.shape) != (kernel[2],):
        raise ShapeError("Bias size must equal dim 2 in the weight tensor (output channels).")
    result = conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, 1, pad)
    return result.permute(2, 0, 1)

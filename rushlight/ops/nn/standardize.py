"""Mean 0 and variance 1 over dimensions, a scale and a shift: what the normalisations are made of."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.base import Spec
from ...core.base import TensorBase as Tensor
from ...core.declare import composite, primitive
from ...core.devices import sole_accelerator
from ...core.dtypes import LOW_PRECISION
from ...core.families import elementwise
from ...core.fast_paths import shortcut
from ...core.kernel_providers import compiled, faster
from ...core.parallel import BLOCK, over_rows
from ..reduce.sums import sum_axes, sum_rows
from ..shape.memory import in_memory_format, is_contiguous
from . import normalization_onnx as onnx_forms

_LARGE = 1 << 17  # elements, from which on native code is worth its compilation
_FEW = 1 << 12  # and from which on it is where the call comes again and again
_WIDEST = 4096  # rows that are added up in one go: few enough numbers that rounding errors stay small


def kept_shape(shape: Any, dims: Any) -> tuple[int, ...]:
    return tuple(1 if i in dims else size for i, size in enumerate(shape))


def _standardize_meta(input: Any, dims: Any, eps: float) -> list[Spec]:
    kept = kept_shape(input.shape, dims)
    return [Spec(input.shape, input.dtype), Spec(kept, input.dtype), Spec(kept, input.dtype)]


def _as_rows(array: Any, dims: Any) -> Any:
    """A contiguous array as a matrix with a row for each group of elements to normalise; None where it is not one."""
    kept = array.ndim - len(dims)
    if (
        array.__class__ is not np.ndarray
        or not array.flags.c_contiguous
        or array.dtype.char not in "fd"
        or tuple(dims) != tuple(range(kept, array.ndim))
    ):
        return None
    width = math.prod(array.shape[kept:])
    return array.reshape(-1, width) if 0 < width <= _WIDEST and array.size else None


def _in_row_blocks(work: Any, rows: Any) -> None:
    """``work(rows)``, for slices of rows that stay in the cache, on several threads."""
    step = max(1, BLOCK // rows.shape[1])

    def run(first: int, last: int) -> None:
        for start in range(first, last, step):
            work(slice(start, min(start + step, last)))

    over_rows(run, len(rows), rows.size, 8)


def _in_channels_last(kernel: Any, xp: Any, arrays: list[Any], dims: Any, eps: float) -> Any:
    """A kernel run on arrays whose channels are their last dimension, and its results as they were: they keep the memory format."""
    ndim = arrays[0].ndim
    order, back = (0, *range(2, ndim), 1), (0, ndim - 1, *range(1, ndim - 1))
    found = kernel(xp, *[each.transpose(order) for each in arrays], tuple(sorted(map(order.index, dims))), eps)
    return [each.transpose(back) for each in found] if isinstance(found, list) else found.transpose(back)


@compiled("standardize", _FEW)
def _standardize_axes(xp: Any, input: Any, dims: Any, eps: float) -> list[Any]:
    kind = input.dtype.type
    count = kind(max(1, math.prod(input.shape[i] for i in dims)))
    mean = sum_axes(xp, input, dims, True) / count
    result = input - mean
    variance = sum_axes(xp, result * result, dims, True) / count
    result *= 1 / xp.sqrt(variance + kind(eps))
    return [result, mean, variance]


def standardize_kernel(xp: Any, input: Any, dims: Any, eps: float) -> list[Any]:
    if not is_contiguous(input):
        if dims[0] == 0 and in_memory_format(input):
            return _in_channels_last(standardize_kernel, xp, [input], dims, eps)
        input = xp.ascontiguousarray(input)
    kind = input.dtype.type
    count = kind(max(1, math.prod(input.shape[i] for i in dims)))
    rows = _as_rows(input, dims)
    if rows is None and xp is np and input.size >= _LARGE and input.dtype.char in "fd":
        found = faster("standardize", input, tuple(dims), float(eps))
        if found is not None:
            return list(found)
    if rows is None:
        return list(_standardize_axes(xp, input, tuple(dims), float(eps)))
    result, mean, variance = xp.empty_like(rows), xp.empty((len(rows), 1), rows.dtype), xp.empty((len(rows), 1), rows.dtype)

    def work(part: slice) -> None:
        made = result[part]
        xp.divide(sum_rows(xp, rows[part])[:, None], count, out=mean[part])
        xp.subtract(rows[part], mean[part], out=made)
        xp.divide(xp.einsum("ij,ij->i", made, made)[:, None], count, out=variance[part])
        made *= 1 / xp.sqrt(variance[part] + kind(eps))

    _in_row_blocks(work, rows)
    kept = kept_shape(input.shape, dims)
    return [result.reshape(input.shape), mean.reshape(kept), variance.reshape(kept)]


@primitive(
    meta=_standardize_meta,
    kernel=standardize_kernel,
    vjp={"input": lambda g, input, standard, variance, dims, eps: standardize_backward(g, input, standard, variance, dims, eps)},
    returns=("standard", "mean", "variance"),
    nondifferentiable=("mean", "variance"),
    namespace=None,
    method=False,
    out=False,
    onnx={9: onnx_forms.standardize},
)
def standardize(input: Tensor, dims: Any, eps: float) -> Tensor:
    """The input less its mean over dimensions, divided by its standard deviation; with mean and (biased) variance."""


@compiled("standardize_backward", _FEW)
def _standardize_axes_backward(xp: Any, grad: Any, input: Any, result: Any, variance: Any, dims: Any, eps: float) -> Any:
    kind = grad.dtype.type
    count = kind(max(1, math.prod(grad.shape[i] for i in dims)))
    found = grad * result
    slope = sum_axes(xp, found, dims, True) / count
    xp.multiply(result, slope, out=found)
    xp.subtract(grad, found, out=found)
    found -= sum_axes(xp, grad, dims, True) / count
    found *= 1 / xp.sqrt(variance + kind(eps))
    return found


def standardize_backward_kernel(xp: Any, grad: Any, input: Any, result: Any, variance: Any, dims: Any, eps: float) -> Any:
    if dims[0] == 0 and not is_contiguous(result) and in_memory_format(result):
        return _in_channels_last(standardize_backward_kernel, xp, [grad, input, result, variance], dims, eps)
    rows, given = _as_rows(grad, dims), _as_rows(result, dims)
    if (rows is None or given is None) and xp is np and grad.size >= _LARGE and grad.dtype.char in "fd":
        made = faster("standardize_backward", grad, input, result, variance, tuple(dims), float(eps))
        if made is not None:
            return made
    if rows is None or given is None:
        return _standardize_axes_backward(xp, grad, input, result, variance, tuple(dims), float(eps))
    kind = grad.dtype.type
    count = kind(max(1, math.prod(grad.shape[i] for i in dims)))
    found, scale = xp.empty_like(rows), (1 / xp.sqrt(variance + kind(eps))).reshape(-1, 1)

    def work(part: slice) -> None:
        made = found[part]
        slope = xp.einsum("ij,ij->i", rows[part], given[part]) / count
        xp.multiply(given[part], slope[:, None], out=made)
        xp.subtract(rows[part], made, out=made)
        made -= (sum_rows(xp, rows[part]) / count)[:, None]
        made *= scale[part]

    _in_row_blocks(work, rows)
    return found.reshape(grad.shape)


@composite(
    kernel=standardize_backward_kernel,
    meta=lambda grad, input, result, variance, dims, eps: Spec(grad.shape, grad.dtype),
    namespace=None,
    method=False,
)
def standardize_backward(grad: Tensor, input: Tensor, result: Tensor, variance: Tensor, dims: Any, eps: float) -> Tensor:
    """The gradient of ``standardize``.  The body starts from the input, so that it can be differentiated again."""
    dims = list(dims)
    centred = input - input.mean(dims, True)
    scale = ((centred * centred).mean(dims, True) + eps).rsqrt()
    standard = centred * scale
    return scale * (grad - grad.mean(dims, True) - standard * (grad * standard).mean(dims, True))


def _scale_shift_kernel(xp: Any, input: Any, weight: Any, bias: Any) -> Any:
    result = input * weight
    if result.shape != input.shape or not input.ndim or bias.ndim > result.ndim:
        return result + bias
    try:
        return xp.add(result, bias, out=result)
    except ValueError:  # the bias is larger than the product, as one of a batch may be
        return result + bias


def _scale_gradient(g: Any, input: Any, weight_shape: Any) -> Any:
    made = shortcut("channel_products", g, input, weight_shape) if sole_accelerator.kind is not None else None
    return g * input if made is None else made


@primitive(
    meta=elementwise(),
    kernel=_scale_shift_kernel,
    vjp={"input": lambda g, weight: g * weight, "weight": _scale_gradient, "bias": lambda g: g},
    namespace=None,
    method=False,
    out=False,
    in_place=False,
)
def scale_shift(input: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """``input * weight + bias`` for broadcast weight and bias."""


def affine(value: Any, weight: Any, bias: Any, shape: Any = None) -> Any:
    """A scale and a shift, either of which may be absent."""
    if value._array.dtype in LOW_PRECISION and any(each is not None and each._array.dtype != value._array.dtype for each in (weight, bias)):
        return affine(value.float(), weight, bias, shape).to(value.dtype)
    if weight is not None and shape is not None:
        weight = weight.reshape(shape)
    if bias is not None and shape is not None:
        bias = bias.reshape(shape)
    if weight is not None and bias is not None:
        return scale_shift(value, weight, bias)
    if weight is not None:
        return value * weight
    return value if bias is None else value + bias

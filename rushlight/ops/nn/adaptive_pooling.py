"""Pooling to a given size: adaptive averages and maxima, fractional maxima, and maxima put back in their places."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.argument_checks import alert_not_deterministic
from ...core.base import Spec
from ...core.base import TensorBase as Tensor
from ...core.declare import composite, exports, primitive, table
from ...core.dtypes import BY_NUMPY, legacy_name
from ...core.errors import DtypeError, OperationError, ShapeError, ValueRangeError
from . import adaptive_pooling_onnx as onnx_forms
from .interpolation import resample_backward
from .interpolation_kernels import resample as resample_arrays
from .pooling_kernels import adaptive_max, fractional_max, from_places, to_places
from .sliding_windows import Checked, as_ints, refuse_types

_INT64 = np.dtype(np.int64)


def _output_size(name: str, input: Any, ndim: int, output_size: Any) -> tuple[int, ...]:
    """The size asked for, None standing for that of the input, checked as PyTorch does."""
    shape = input.shape
    if ndim > 1 and isinstance(output_size, (tuple, list)) and len(shape) <= len(output_size):
        raise ValueRangeError(f"Input dimension should be at least {len(output_size) + 1}")
    if len(shape) not in (ndim + 1, ndim + 2):
        raise ShapeError(f"{name}(): Expected {ndim + 1}D or {ndim + 2}D tensor, but got {list(shape)}")
    for dim, n in enumerate(shape):
        if dim > len(shape) - ndim - 2 and dim and n == 0:
            raise ShapeError(
                f"{name}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes "
                f"{list(shape)} with dimension {dim} being empty"
            )
    if not isinstance(output_size, (tuple, list)):
        output_size = (output_size,) * ndim
    if len(output_size) != ndim:
        raise ShapeError(f"{name}: output_size must be {ndim}")
    given = shape[len(shape) - ndim :]
    sizes = tuple(n if wanted is None and ndim > 1 else wanted for wanted, n in zip(output_size, given))
    sizes = as_ints(sizes, name, "output_size")
    if any(each < 0 for each in sizes):
        raise ShapeError(f"{name}: elements of output_size must be greater than or equal to 0 but received {list(sizes)}")
    return sizes


def _with_size(input: Any, sizes: tuple[int, ...]) -> tuple[Any, ...]:
    return (*input.shape[: len(input.shape) - len(sizes)], *sizes)


# -- averages ----------------------------------------------------------------------------------------------------


def _declare_average(ndim: int) -> Any:
    name = f"adaptive_avg_pool{ndim}d"
    nothing = (None,) * ndim

    def meta(input: Any, output_size: Any) -> Spec:
        sizes = _output_size(name, input, ndim, output_size)
        refuse_types(name, input, "biuc")
        return Spec(_with_size(input, sizes), input.dtype)

    def kernel(xp: Any, input: Any, output_size: Any) -> Any:
        sizes = _output_size(name, input, ndim, output_size)
        if not all(_with_size(input, sizes)):
            return xp.empty(_with_size(input, sizes), input.dtype)
        return resample_arrays(xp, input, input.shape[input.ndim - ndim :], sizes, "area", False, nothing, False)

    def backward(g: Any, input_shape: Any) -> Any:
        return resample_backward(g, tuple(input_shape[len(input_shape) - ndim :]), "area", False, nothing, False)

    @primitive(
        layout="channels last" if ndim == 2 else "",
        meta=Checked(meta),
        kernel=kernel,
        vjp={"input": backward},
        name=name,
        node_name=f"AdaptiveAvgPool{max(ndim, 2)}DBackward0",
        namespace="" if ndim == 1 else "nn.functional",
        aliases=("nn.functional.adaptive_avg_pool1d",) if ndim == 1 else (),
        method=False,
        out=False,
        onnx={9: onnx_forms.average(ndim)},
    )
    def adaptive_avg_pool(input: Tensor, output_size: Any) -> Tensor:
        """The mean of windows chosen so that the result has a given size."""

    return adaptive_avg_pool


adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = map(_declare_average, (1, 2, 3))


# -- maxima ------------------------------------------------------------------------------------------------------


@primitive(
    meta=lambda input, indices, size, combine: Spec(_with_size(input, tuple(size)), input.dtype),
    kernel=to_places,
    vjp={"input": lambda g, indices, size: gather_planes(g, indices, len(size))},
    namespace=None,
    method=False,
    out=False,
    onnx={9: onnx_forms.scatter_planes},
)
def scatter_planes(input: Tensor, indices: Tensor, size: Any, combine: bool) -> Tensor:
    """Planes of zeros of a size, with the input's elements at places counted through each plane."""


@primitive(
    meta=lambda input, indices, ndim: Spec(indices.shape, input.dtype),
    kernel=from_places,
    vjp={"input": lambda g, input_shape, indices, ndim: scatter_planes(g, indices, tuple(input_shape[len(input_shape) - ndim :]), True)},
    namespace=None,
    method=False,
    out=False,
    onnx={9: onnx_forms.gather_planes},
)
def gather_planes(input: Tensor, indices: Tensor, ndim: int) -> Tensor:
    """The elements at places counted through each plane of the last ``ndim`` dimensions."""


def _max_gradient(ndim: int) -> Any:
    return lambda g, indices, input_shape: scatter_planes(g, indices, tuple(input_shape[len(input_shape) - ndim :]), True)


def _declare_max(ndim: int) -> tuple[Any, Any]:
    name = f"adaptive_max_pool{ndim}d"

    def meta(input: Any, output_size: Any, return_indices: bool = False) -> list[Spec]:
        sizes = _output_size(name, input, ndim, output_size)
        refuse_types(name, input, "biuc")
        shape = _with_size(input, sizes)
        return [Spec(shape, input.dtype), Spec(shape, _INT64)]

    def kernel(xp: Any, input: Any, output_size: Any, return_indices: bool = False) -> Any:
        sizes = _output_size(name, input, ndim, output_size)
        shape = _with_size(input, sizes)
        return adaptive_max(xp, input, sizes) if all(shape) else (xp.empty(shape, input.dtype), xp.empty(shape, _INT64))

    @primitive(
        layout="channels last" if ndim == 2 else "",
        meta=Checked(meta),
        kernel=kernel,
        vjp={"input": _max_gradient(ndim)},
        returns=("output", "indices"),
        nondifferentiable=("indices",),
        name=f"adaptive_max_pool{ndim}d_with_indices",
        node_name=f"AdaptiveMaxPool{max(ndim, 2)}DBackward0",
        namespace="nn.functional",
        out=False,
        onnx={9: onnx_forms.maximum(ndim)},
    )
    def with_indices(input: Tensor, output_size: Any, return_indices: bool = False) -> Tensor:
        """The largest elements of windows chosen so that the result has a given size, and their indices in the plane."""

    @composite(name=name, namespace="nn.functional")
    def front(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
        """The largest elements of windows chosen so that the result has a given size."""
        found = with_indices(input, output_size)
        return tuple(found) if return_indices else found[0]

    return with_indices, front


adaptive_max_pool1d_with_indices, adaptive_max_pool1d = _declare_max(1)
adaptive_max_pool2d_with_indices, adaptive_max_pool2d = _declare_max(2)
adaptive_max_pool3d_with_indices, adaptive_max_pool3d = _declare_max(3)
exports["", "adaptive_max_pool1d"] = adaptive_max_pool1d_with_indices  # which gives both


# -- fractional maxima -------------------------------------------------------------------------------------------


def _fractional_meta(input: Any, samples: Any, kernel: Any, size: Any) -> list[Spec]:
    ndim = len(kernel)
    name = f"fractional_max_pool{ndim}d"
    shape = input.shape
    if len(shape) not in (ndim + 1, ndim + 2):
        raise ShapeError(f"{name}(): Expected {ndim + 1}D or {ndim + 2}D tensor, but got: {list(shape)}")
    if not all(shape[len(shape) - ndim - 1 :]):
        raise ShapeError(f"{name}(): Expected input to have non-zero size for non-batch dimensions, but got: {list(shape)}")
    refuse_types(name, input, "biuc")
    if samples.dtype != input.dtype:
        raise DtypeError("Expect _random_samples to have the same dtype as input")
    batch = shape[0] if len(shape) == ndim + 2 else 1
    if len(samples.shape) != 3 or samples.shape[0] < batch:
        raise ShapeError(f"Expect _random_samples to be of shape ({batch}, {shape[-ndim - 1]}, {ndim}); got {list(samples.shape)}")
    if samples.shape[1] != shape[-ndim - 1]:
        raise ShapeError("Expect _random_samples.size(1) equals to input channel size.")
    if samples.shape[2] != ndim:
        raise ShapeError(f"Expect _random_samples.size(2) equals to {ndim}; got {samples.shape[2]}.")
    for n, k, count, word in zip(shape[-ndim:], kernel, size, ("time", "height", "width")[-ndim:]):
        if count + k - (1 if ndim == 2 else 0) > n:  # in three dimensions PyTorch asks for one more
            raise ShapeError(f"{name}(): pool {word} {k} too large relative to input {word} {n}")
        if count < 0 or k < 1:
            raise ShapeError(f"{name}(): kernel and output size should be greater than zero")
    result = _with_size(input, tuple(size))
    return [Spec(result, input.dtype), Spec(result, _INT64)]


def _fractional_kernel(xp: Any, input: Any, samples: Any, kernel: Any, size: Any) -> Any:
    batch = input.shape[0] if input.ndim == len(kernel) + 2 else 1
    shape = _with_size(input, tuple(size))
    if 0 in shape:
        return xp.empty(shape, input.dtype), xp.empty(shape, _INT64)
    return fractional_max(xp, input, kernel, size, samples[:batch])


@primitive(
    meta=Checked(_fractional_meta),
    kernel=_fractional_kernel,
    vjp={
        "input": lambda g, indices, input_shape, kernel: scatter_planes(
            g, indices, tuple(input_shape[len(input_shape) - len(kernel) :]), True
        )
    },
    returns=("output", "indices"),
    nondifferentiable=("indices",),
    namespace=None,
    method=False,
    out=False,
    onnx={11: onnx_forms.fractional},
)
def fractional_max_pool(input: Tensor, samples: Tensor, kernel: Any, size: Any) -> Tensor:
    """The largest elements of windows that begin at random places, by the samples given."""


def _fractional_sizes(name: str, ndim: int, spatial: Any, kernel_size: Any, output_size: Any, output_ratio: Any) -> tuple[Any, Any]:
    if output_size is None and output_ratio is None:
        raise ValueRangeError(f"{name} requires specifying either an output_size or an output_ratio")
    if output_size is None:
        if len(output_ratio) != ndim:
            raise ShapeError(f"{name} requires output_ratio to be of length {ndim}")
        output_size = tuple(int(n * ratio) for n, ratio in zip(spatial, output_ratio))
    sizes = []
    for value, parameter in ((kernel_size, "kernel_size"), (output_size, "output_size")):
        values = as_ints(value, name, parameter)
        if isinstance(value, (tuple, list)) and len(values) != ndim:
            raise ShapeError(f"{name}: {parameter} must either be a single Int or tuple of Ints")
        sizes.append(values if len(values) == ndim else values * ndim)
    return sizes[0], sizes[1]


def _declare_fractional(ndim: int) -> tuple[Any, Any]:
    name = f"fractional_max_pool{ndim}d"

    def both(input: Any, kernel_size: Any, output_size: Any, output_ratio: Any, given: Any) -> Any:
        shape = input._array.shape
        kernel, wanted = _fractional_sizes(name, ndim, shape[len(shape) - ndim :], kernel_size, output_size, output_ratio)
        if given is None:
            batch = shape[0] if len(shape) == ndim + 2 else 1
            given = table["rand"].call(batch, shape[-ndim - 1], ndim, dtype=BY_NUMPY[input._array.dtype], device=input.device)
        return fractional_max_pool(input, given, kernel, wanted)

    @composite(name=f"{name}_with_indices", namespace="nn.functional")
    def with_indices(
        input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> Any:  # fmt: skip
        """The largest elements of windows that begin at random places, and their indices in the plane."""
        return tuple(both(input, kernel_size, output_size, output_ratio, _random_samples))

    @composite(name=name, namespace="nn.functional")
    def front(
        input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> Any:  # fmt: skip
        """The largest elements of windows that begin at random places."""
        found = both(input, kernel_size, output_size, output_ratio, _random_samples)
        return tuple(found) if return_indices else found[0]

    return with_indices, front


fractional_max_pool2d_with_indices, fractional_max_pool2d = _declare_fractional(2)
fractional_max_pool3d_with_indices, fractional_max_pool3d = _declare_fractional(3)


# -- maxima back in their places ---------------------------------------------------------------------------------


def _unpool_meta(input: Any, indices: Any, size: Any) -> Spec:
    ndim = len(size)
    if indices.dtype != _INT64:
        raise DtypeError(f"elements in indices should be type int64 but got: {legacy_name(indices.dtype)}")
    if len(input.shape) not in (ndim + 1, ndim + 2):
        raise ShapeError(
            f"Input to max_unpooling{ndim}d should be a {ndim + 1}d or {ndim + 2}d Tensor, but got a tensor with "
            f"{len(input.shape)} dimensions."
        )
    if tuple(indices.shape) != tuple(input.shape):
        raise ShapeError(
            f"Expected shape of indices to be same as that of the input tensor ({list(input.shape)}) but got "
            f"indices tensor with shape: {list(indices.shape)}"
        )
    for dim in range(len(input.shape) - ndim - 1, len(input.shape)):
        if not input.shape[dim]:
            raise ShapeError(
                f"max_unpooling{max(ndim, 2)}d_forward_out_cpu(): Expected input to have non-zero size for non-batch dimensions, but got "
                f"{list(input.shape)} with dimension {dim} being empty."
            )
    refuse_types(f"max_unpool{ndim}d", input, "biuc")
    return Spec(_with_size(input, tuple(size)), input.dtype)


def _unpool_kernel(xp: Any, input: Any, indices: Any, size: Any) -> Any:
    alert_not_deterministic(f"max_unpooling{max(len(size), 2)}d_forward_out")
    if 0 in size:
        return xp.zeros(_with_size(input, tuple(size)), input.dtype)
    wrong = (indices < 0) | (indices >= int(np.prod(size)))
    if xp.any(wrong):
        shown = "x".join(map(str, size))
        raise OperationError(f"Found an invalid max index: {int(indices[wrong][0])} (output volumes are of size {shown})")
    return to_places(xp, input, indices, size, False)


@primitive(
    layout="channels last",
    meta=Checked(_unpool_meta),
    kernel=_unpool_kernel,
    vjp={"input": lambda g, indices, size: gather_planes(g, indices, len(size))},
    namespace=None,
    method=False,
    out=False,
    onnx={9: onnx_forms.unpool},
)
def max_unpool(input: Tensor, indices: Tensor, size: Any) -> Tensor:
    """Zeros of a size, with the input's elements at the indices that max pooling gave."""


def _unpool_size(ndim: int, spatial: Any, kernel_size: Any, stride: Any, padding: Any, output_size: Any) -> tuple[int, ...]:
    options = [as_ints(value, f"max_unpool{ndim}d", "kernel_size") for value in
               (kernel_size, kernel_size if stride is None else stride, padding)]  # fmt: skip
    kernel, step, around = (each * ndim if len(each) == 1 else each for each in options)
    natural = tuple((n - 1) * s + k - 2 * p for n, k, s, p in zip(spatial, kernel, step, around))
    if output_size is None:
        for dim, size in enumerate(natural):
            if size < 0:
                raise ValueRangeError(
                    f"max_unpooling: output_size must contain non-negative spatial dimensions, but got output_size[{dim}]={size}"
                )
        return natural
    sizes = tuple(output_size)[-ndim:] if len(output_size) == ndim + 2 else tuple(output_size)
    if len(sizes) != ndim:
        raise ValueRangeError(
            f"output_size should be a sequence containing {ndim} or {ndim + 2} elements, but it has a length of '{len(sizes)}'"
        )
    for dim, (wanted, usual, s) in enumerate(zip(sizes, natural, step)):
        if not usual - s < wanted < usual + s:
            raise ValueRangeError(f'invalid output_size "{sizes}" (dim {dim} must be between {usual - s} and {usual + s})')
    return sizes


def _declare_unpool(ndim: int) -> Any:
    @composite(name=f"max_unpool{ndim}d", namespace="nn.functional")
    def front(input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None) -> Tensor:
        """The inverse of max pooling as far as there is one: values back at their indices, zeros elsewhere."""
        shape = input._array.shape
        spatial = shape[len(shape) - ndim :]
        return max_unpool(input, indices, _unpool_size(ndim, spatial, kernel_size, stride, padding, output_size))

    return front


max_unpool1d, max_unpool2d, max_unpool3d = map(_declare_unpool, (1, 2, 3))

"""Pooling over sliding windows: maximum, mean, p-norm."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.base import Spec
from ...core.base import TensorBase as Tensor
from ...core.declare import composite, primitive, table
from ...core.dtypes import legacy_name
from ...core.errors import NotSupported, ShapeError
from ...core.kernel_providers import faster
from ...core.recording import recomputed
from . import pooling_onnx as onnx_forms
from .pooling_kernels import Pool, average, average_backward, max_backward, max_select, max_values, max_with_indices
from .sliding_windows import Checked, as_ints, refuse_types, window_count

_COUNT = {1: "one int", 2: "two ints", 3: "three ints"}
LARGE = 1 << 17  # elements, from which on native code is worth its compilation


def _natively(name: str, kernel: Any) -> Any:
    """A kernel that leaves large arrays to the native code of an op."""

    def run(xp: Any, *args: Any) -> Any:
        arrays = [each for each in args if isinstance(each, np.ndarray)]
        if xp is np and sum(each.size for each in arrays) >= LARGE and all(each.dtype.char in "fd" for each in arrays):
            found = faster(name, *[tuple(each) if isinstance(each, list) else each for each in args])
            if found is not None:
                return found
        return kernel(xp, *args)

    return run


def _numbers(value: Any, ndim: int, name: str, parameter: str) -> tuple[int, ...]:
    values = as_ints(value, name, parameter)
    if len(values) == 1:
        return values * ndim
    if len(values) != ndim:
        omitted = "be omitted, " if parameter == "stride" else ""
        raise ShapeError(f"{name}: {parameter} must either {omitted}be a single int, or a tuple of {_COUNT[ndim]}")
    return values


def make_pool(name: str, shape: Any, ndim: int, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool) -> Pool:
    """The windows over the last dimensions of a shape, or the error that says why there are none."""
    if len(shape) not in (ndim + 1, ndim + 2) or not all(shape[1:]):
        raise ShapeError(
            f"{name}: Expected {ndim + 1}D or {ndim + 2}D (batch mode) tensor with optional 0 dim batch size for input, but "
            f"got:{list(shape)}"
        )
    kernel = _numbers(kernel_size, ndim, name, "kernel_size")
    step = kernel if stride is None or (isinstance(stride, (tuple, list)) and not stride) else _numbers(stride, ndim, name, "stride")
    around, apart = _numbers(padding, ndim, name, "padding"), _numbers(dilation, ndim, name, "dilation")
    for each, what in ((step, "stride"), (kernel, "kernel size"), (apart, "dilation")):
        if any(number == 0 for number in each) and what == "stride":
            raise ShapeError("stride should not be zero")
        if any(number <= 0 for number in each):
            raise ShapeError(f"{name}: {what} should be greater than zero, but got {list(each)}")
    for p, k in zip(around, kernel):
        if p < 0:
            raise ShapeError(f"pad must be non-negative, but got pad: {p}")
        if 2 * p > k:
            raise ShapeError(f"{name}: pad should be at most half of kernel size, but got pad={p} and kernel_size={k}")
    size = tuple(shape[-ndim:])
    counts = tuple(window_count(n, k, s, p, p, d, ceil_mode) for n, k, s, p, d in zip(size, kernel, step, around, apart))
    if any(count < 1 for count in counts):
        channels = shape[-ndim - 1]
        given, made = ("x".join(map(str, (channels, *each))) for each in (size, counts))
        raise ShapeError(f"Given input size: ({given}). Calculated output size: ({made}). Output size is too small")
    return Pool(size, kernel, step, around, apart, counts)


# -- maximum -----------------------------------------------------------------------------------------------------


def _max_pool(input: Any, ndim: int, options: Any) -> Pool:
    name = f"max_pool{ndim}d"
    refuse_types(name, input, "bc")
    return make_pool(name, input.shape, ndim, *options)


def _pooled(input: Any, pool: Pool) -> tuple[Any, ...]:
    return (*input.shape[: len(input.shape) - len(pool.counts)], *pool.counts)


def _declare_max_pool(ndim: int) -> tuple[Any, Any, Any]:
    """max_pool1d, 2d or 3d: the values alone, with indices, and the front in nn.functional that gives either."""

    def backward(g: Any, input: Any, result: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool) -> Any:
        return max_pool_backward(g, input, result, ndim, kernel_size, stride, padding, dilation, ceil_mode)

    def backward_of_first(  # the indices are saved so that a write to them is noticed
        g: Any, input: Any, output: Any, indices: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
    ) -> Any:
        return max_pool_backward(g, input, output, ndim, kernel_size, stride, padding, dilation, ceil_mode)

    def meta(input: Any, *options: Any) -> Spec:
        if ndim == 1:
            refuse_types("max_pool1d", input, "iu")
        return Spec(_pooled(input, _max_pool(input, ndim, options)), input.dtype)

    def both(input: Any, *options: Any) -> list[Spec]:
        shape = _pooled(input, _max_pool(input, ndim, options[:5]))
        return [Spec(shape, input.dtype), Spec(shape, np.dtype(np.int64))]

    @primitive(
        layout="" if ndim == 1 else "channels last",
        meta=Checked(meta),
        kernel=_natively(f"max_pool{ndim}d", lambda xp, input, *options: max_values(xp, input, _max_pool(input, ndim, options))),
        vjp={"input": backward},
        name=f"max_pool{ndim}d",
        node_name=f"MaxPool{max(ndim, 2)}DWithIndicesBackward0",
        method=False,
        out=False,
        onnx={9: onnx_forms.max_values(ndim)},
    )
    def values(input: Tensor, kernel_size: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False) -> Tensor:
        """The largest element of each window of the last dimensions."""

    @primitive(
        layout="" if ndim == 1 else "channels last",
        meta=Checked(both),
        kernel=_natively(
            f"max_pool{ndim}d_with_indices",
            lambda xp, input, *options: max_with_indices(xp, input, _max_pool(input, ndim, options[:5])),
        ),
        vjp={"input": backward_of_first},
        returns=("output", "indices"),
        nondifferentiable=("indices",),
        name=f"max_pool{ndim}d_with_indices",
        node_name=f"MaxPool{max(ndim, 2)}DWithIndicesBackward0",
        namespace="" if ndim == 1 else "nn.functional",
        aliases=("nn.functional.max_pool1d_with_indices",) if ndim == 1 else (),
        method=False,
        out=False,
        onnx={9: onnx_forms.max_with_indices(ndim)},
    )
    def with_indices(
        input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Tensor:  # fmt: skip
        """The largest element of each window, and its index in the plane that the window slides over."""

    @composite(name=f"nn_functional_max_pool{ndim}d", namespace="nn.functional")
    def front(
        input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:  # fmt: skip
        """The largest element of each window of the last dimensions; with ``return_indices``, where it was too."""
        if return_indices:
            return tuple(with_indices(input, kernel_size, stride, padding, dilation, ceil_mode))
        return values(input, kernel_size, stride, padding, dilation, ceil_mode)

    return values, with_indices, front


def _backward_kernel(xp: Any, grad: Any, input: Any, result: Any, ndim: int, *options: Any) -> Any:
    return max_backward(xp, grad, input, result, make_pool("max_pool", input.shape, ndim, *options))


@primitive(
    meta=lambda grad, input, *rest: Spec(input.shape, grad.dtype),
    kernel=_natively("max_pool_backward", _backward_kernel),
    vjp={
        "grad": lambda g, input, result, ndim, kernel_size, stride, padding, dilation, ceil_mode: max_pool_select(
            g, input, result, ndim, kernel_size, stride, padding, dilation, ceil_mode
        )
    },
    namespace=None,
    method=False,
    out=False,
    onnx={9: onnx_forms.max_backward},
)
def max_pool_backward(
    grad: Tensor, input: Tensor, result: Tensor, ndim: int, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
) -> Tensor:
    """The gradient of the maximum of windows: each goes to the element that was the maximum."""


def _select_kernel(xp: Any, other: Any, input: Any, result: Any, ndim: int, *options: Any) -> Any:
    return max_select(xp, other, input, result, make_pool("max_pool", input.shape, ndim, *options))


@primitive(
    meta=lambda other, input, result, *rest: Spec(result.shape, other.dtype),
    kernel=_natively("max_pool_select", _select_kernel),
    vjp={
        "other": lambda g, input, result, ndim, kernel_size, stride, padding, dilation, ceil_mode: max_pool_backward(
            g, input, result, ndim, kernel_size, stride, padding, dilation, ceil_mode
        )
    },
    namespace=None,
    method=False,
    out=False,
    onnx={9: onnx_forms.max_select},
)
def max_pool_select(
    other: Tensor, input: Tensor, result: Tensor, ndim: int, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
) -> Tensor:
    """Of each window, the element of ``other`` where ``input`` has its maximum."""


max_pool1d, max_pool1d_with_indices, functional_max_pool1d = _declare_max_pool(1)
max_pool2d, max_pool2d_with_indices, functional_max_pool2d = _declare_max_pool(2)
max_pool3d, max_pool3d_with_indices, functional_max_pool3d = _declare_max_pool(3)


# -- mean --------------------------------------------------------------------------------------------------------


def _average_pool(name: str, shape: Any, ndim: int, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool, override: Any) -> Pool:
    if override == 0:
        raise ShapeError("divisor must be not zero")
    return make_pool(name, shape, ndim, kernel_size, stride, padding, 1, ceil_mode)


def _average_meta(ndim: int) -> Any:
    name = f"avg_pool{ndim}d"

    def meta(
        input: Any, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool, count_include_pad: bool, divisor_override: Any = None
    ) -> Spec:
        if input.dtype.kind != "f" and input.dtype != np.int64 and input.dtype.kind != "V":
            raise NotSupported(f"\"{name}\" not implemented for '{legacy_name(input.dtype)}'")
        pool = _average_pool(name, input.shape, ndim, kernel_size, stride, padding, ceil_mode, divisor_override)
        if ndim == 3 and any(n < k for n, k in zip(pool.size, pool.kernel)):
            raise ShapeError(f"input image {tuple(pool.size)} smaller than kernel size {tuple(pool.kernel)}")
        return Spec(_pooled(input, pool), input.dtype)

    return Checked(meta)


def _average_kernel(ndim: int) -> Any:
    def kernel(
        xp: Any, input: Any, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool, count_include_pad: bool,
        divisor_override: Any = None,
    ) -> Any:  # fmt: skip
        pool = _average_pool("avg_pool", input.shape, ndim, kernel_size, stride, padding, ceil_mode, divisor_override)
        return average(xp, input, pool, count_include_pad, divisor_override)

    return _natively(f"avg_pool{ndim}d", kernel)


@primitive(
    meta=_average_meta(1),
    kernel=_average_kernel(1),
    vjp={
        "input": lambda g, input_shape, kernel_size, stride, padding, ceil_mode, count_include_pad: avg_pool_backward(
            g, tuple(input_shape), 1, kernel_size, stride, padding, ceil_mode, count_include_pad, None
        )
    },
    node_name="AvgPool2DBackward0",
    aliases=("nn.functional.avg_pool1d",),
    method=False,
    out=False,
    onnx={9: onnx_forms.average(1)},
)
def avg_pool1d(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False, count_include_pad: bool = True
) -> Tensor:
    """The mean of each window of the last dimension."""


def _declare_average(ndim: int) -> Any:
    def backward(
        g: Any, input_shape: Any, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool, count_include_pad: bool,
        divisor_override: Any,
    ) -> Any:  # fmt: skip
        options = (kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
        return avg_pool_backward(g, tuple(input_shape), ndim, *options)

    @primitive(
        layout="channels last" if ndim == 2 else "",
        meta=_average_meta(ndim),
        kernel=_average_kernel(ndim),
        vjp={"input": backward},
        name=f"avg_pool{ndim}d",
        node_name=f"AvgPool{ndim}DBackward0",
        namespace="nn.functional",
        out=False,
        onnx={9: onnx_forms.average(ndim)},
    )
    def avg_pool(
        input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
        count_include_pad: bool = True, divisor_override: int | None = None,
    ) -> Tensor:  # fmt: skip
        """The mean of each window of the last dimensions."""

    return avg_pool


avg_pool2d = _declare_average(2)
avg_pool3d = _declare_average(3)


def _average_backward_kernel(
    xp: Any, grad: Any, shape: Any, ndim: int, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool, *counting: Any
) -> Any:
    pool = make_pool("avg_pool", shape, ndim, kernel_size, stride, padding, 1, ceil_mode)
    return average_backward(xp, grad, pool, *counting)


def _average_again(
    g: Any, ndim: int, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool, count_include_pad: bool, divisor_override: Any
) -> Any:
    options = (kernel_size, stride, padding, ceil_mode, count_include_pad)
    return avg_pool1d(g, *options) if ndim == 1 else table[f"avg_pool{ndim}d"].call(g, *options, divisor_override)


@primitive(
    meta=lambda grad, shape, *rest: Spec(shape, grad.dtype),
    kernel=_natively("avg_pool_backward", _average_backward_kernel),
    vjp={"grad": _average_again},
    namespace=None,
    method=False,
    out=False,
    onnx={9: onnx_forms.average_backward},
)
def avg_pool_backward(
    grad: Tensor, shape: Any, ndim: int, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool, count_include_pad: bool,
    divisor_override: Any,
) -> Tensor:  # fmt: skip
    """The gradient of the mean of windows: each is shared among its elements."""


# -- p-norm ------------------------------------------------------------------------------------------------------


def _declare_norm(ndim: int) -> Any:
    @composite(name=f"lp_pool{ndim}d", namespace="nn.functional", onnx={9: onnx_forms.norms(ndim)})
    def lp_pool(input: Tensor, norm_type: Any, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
        """The ``norm_type``-norm of each window: the root of the sum of powers."""
        kernel = _numbers(kernel_size, ndim, f"lp_pool{ndim}d", "kernel_size")
        mean = table[f"avg_pool{ndim}d"].call(input**norm_type, kernel, stride, 0, ceil_mode)
        return (mean * math.prod(kernel)) ** (1.0 / norm_type)

    return lp_pool


lp_pool1d, lp_pool2d, lp_pool3d = map(_declare_norm, (1, 2, 3))


# PyTorch keeps no result of these: programs write to them in place.
recomputed.set(True, *(f"max_pool{ndim}d{form}" for ndim in (1, 2, 3) for form in ("", "_with_indices")))

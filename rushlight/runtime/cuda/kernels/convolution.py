"""Convolutions by cuDNN: forward, transposed and the gradient of the weight, in one to three dimensions.

Plans are made once per shapes, layouts and options.  ``torch.backends.cudnn`` has the settings: ``enabled``, ``benchmark`` (plans are
measured, the fastest is kept), ``deterministic`` (only deterministic engines), ``allow_tf32``.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np

from ....codegen.cuda.scalar_text import PRELUDE, STORED, rounded
from ....core.errors import AcceleratorError, DeviceError
from ....ops.nn.convolution import _convolution_meta, _expanded
from .. import cudnn, measured_convolutions, measured_products
from ..launch import CudaKernel
from ..launch_replay import replayed
from .copies import contiguous

_X, _W, _Y = 1, 2, 3  # the numbers of tensors in a graph
# Operation -> its descriptor, and the attributes alpha, beta, convolution, filter, image and result
_OPERATIONS = {
    "forward": (cudnn.FORWARD, 700, 701, 702, 703, 704, 705), "data": (cudnn.BACKWARD_DATA, 706, 707, 708, 709, 710, 711),
    "filter": (cudnn.BACKWARD_FILTER, 712, 713, 714, 715, 716, 717),
}  # fmt: skip

_BIAS = """
typedef @T@ T;
// Adds to each element the bias of its channel; for channels-last, inner is 1.
extern "C" __global__ void add_bias(T* x, const T* bias, @INDEX@ n, @INDEX@ channels, @INDEX@ inner) {
    for (@INDEX@ i = (@INDEX@)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (@INDEX@)gridDim.x * blockDim.x) {
        @A@ made = (@A@)value(x[i]) + (@A@)value(bias[(i / inner) % channels]);
        x[i] = @MADE@;
    }
}
"""
_bias_kernels: dict[Any, CudaKernel] = {}


class Prepared(NamedTuple):
    """The plan of a call of given shapes, layouts and options."""

    shape: tuple[int, ...]  # of the result
    last: bool  # whether channels are last in memory
    plan: cudnn.ExecutionPlan


_prepared: dict[Any, Prepared | None] = {}


def bias_source(dtype: np.dtype[Any], wide: bool) -> str:
    """The source of the kernel that adds a bias; ``wide`` counts in 64 bits."""
    source = PRELUDE + _BIAS
    marks = {
        "T": STORED[dtype], "A": "double" if dtype == np.float64 else "float", "MADE": rounded("made", dtype),
        "INDEX": "long long" if wide else "unsigned int",
    }  # fmt: skip
    for mark, text in marks.items():
        source = source.replace(f"@{mark}@", text)
    return source


def add_bias(cupy: Any, made: Any, bias: Any, inner: int) -> None:
    """Add a bias to a dense array; ``inner`` is the channel stride in elements."""
    dtype, wide = made.dtype, made.size >= 1 << 31
    kernel = _bias_kernels.get((dtype, wide))
    if kernel is None:
        kernel = _bias_kernels[dtype, wide] = CudaKernel(cupy, bias_source(dtype, wide), "add_bias", "PPqqq" if wide else "PPIII")
    if not bias.flags.c_contiguous:
        bias = contiguous(cupy, bias)
    kernel(min(-(-made.size // 256), 132 * 32), 256, made.data.ptr, bias.data.ptr, made.size, bias.size, inner)


def _settings() -> tuple[Any, ...]:
    """The settings of ``torch.backends.cudnn``; those of a module that is not loaded are the defaults."""
    module = sys.modules.get("rushlight.backends.cudnn")
    return (True, False, False, True) if module is None else (module.enabled, module.benchmark, module.deterministic, module.allow_tf32)


def _usable(*arrays: Any) -> bool:
    return all(each.dtype in cudnn.TYPES and 3 <= each.ndim <= 5 and each.size for each in arrays)


def _is_last(array: Any) -> bool:
    """Whether an array is channels-last."""
    if array.ndim < 4 or array.shape[1] == 1:
        return False
    return bool(array.transpose(0, *range(2, array.ndim), 1).flags.c_contiguous) and not array.flags.c_contiguous


def _dense(cupy: Any, array: Any, last: bool) -> Any:
    """The array in row-major order, or with its channels last."""
    if not last:
        return array if array.flags.c_contiguous else contiguous(cupy, array)
    transposed = contiguous(cupy, array.transpose(0, *range(2, array.ndim), 1))
    return transposed.transpose(0, array.ndim - 1, *range(1, array.ndim - 1))


def _empty(cupy: Any, shape: tuple[int, ...], dtype: Any, last: bool) -> Any:
    if not last:
        return cupy.ndarray(shape, dtype)
    return cupy.ndarray((shape[0], *shape[2:], shape[1]), dtype).transpose(0, len(shape) - 1, *range(1, len(shape) - 1))


def dense_strides(shape: tuple[int, ...], last: bool) -> tuple[int, ...]:
    """The strides, in elements, of a dense array; with ``last`` channels-last."""
    strides, step = [0] * len(shape), 1
    for dim in (1, *range(len(shape) - 1, 1, -1), 0) if last else range(len(shape) - 1, -1, -1):
        strides[dim] = step
        step *= shape[dim]
    return tuple(strides)


def _plan(
    cupy: Any, what: str, shapes: tuple[Any, Any, Any], dtype: np.dtype[Any], stride: Any, padding: Any, dilation: Any, last: bool,
    alignment: int, settings: tuple[Any, ...],
) -> cudnn.ExecutionPlan:  # fmt: skip
    """The plan of a convolution with image, filter and result of given shapes."""
    if len(shapes[0]) == 3:  # cuDNN has no convolutions in one dimension
        shapes = tuple((*each[:2], 1, each[2]) for each in shapes)  # type: ignore[assignment]
        stride, padding, dilation = (1, *stride), (0, *padding), (1, *dilation)
    dnn = cudnn.handle(cupy)
    _, benchmark, deterministic, allow_tf32 = settings
    x, w, y = (cudnn.tensor(dnn, uid, shape, dense_strides(shape, last), dtype, alignment) for uid, shape in zip((_X, _W, _Y), shapes))
    double = dtype == np.float64
    convolution = dnn.descriptor(
        cudnn.CONVOLUTION, (100, cudnn.DATA_TYPE, 1 if double else 0), (101, cudnn.CONVOLUTION_MODE, 1), (106, cudnn.INT64, len(stride)),
        (102, cudnn.INT64, tuple(dilation)), (103, cudnn.INT64, tuple(stride)), (105, cudnn.INT64, tuple(padding)), (104, cudnn.INT64, tuple(padding)),
    )  # fmt: skip
    kind, alpha, beta, options, filter, image, result = _OPERATIONS[what]
    number = cudnn.DOUBLE if double else cudnn.FLOAT
    operation = dnn.descriptor(
        kind, (options, cudnn.DESCRIPTOR, convolution), (filter, cudnn.DESCRIPTOR, w), (image, cudnn.DESCRIPTOR, x), (result, cudnn.DESCRIPTOR, y),
        (alpha, number, 1.0), (beta, number, 0.0),
    )  # fmt: skip
    measured = benchmark and not deterministic and not cupy.cuda.get_current_stream().is_capturing()
    return cudnn.ExecutionPlan(dnn, operation, (_X, _W, _Y), dtype == np.float32 and not allow_tf32, deterministic, measured)


def _alignment(*addresses: int) -> int:
    together = 0
    for each in addresses:
        together |= each
    return 16 if not together % 16 else 4 if not together % 4 else 2


def _run(plan: cudnn.ExecutionPlan, x: Any, w: Any, y: Any) -> None:
    addresses = (x.data.ptr, w.data.ptr, y.data.ptr)
    if plan.choices:
        plan.measure(*addresses)
    plan.run(*addresses)


def convolution(
    cupy: Any,
    input: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
) -> Any:
    """A convolution or its transpose."""
    values = (input, weight, bias, stride, padding, dilation, transposed, output_padding, groups, _settings())
    return _convolve_measured(cupy, *values) if measured_products.measuring else _convolve(cupy, *values)


@replayed
def _convolve(
    cupy: Any, input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: bool, output_padding: Any, groups: int,
    settings: tuple[Any, ...],
) -> Any:  # fmt: skip
    return _convolve_now(cupy, False, input, weight, bias, stride, padding, dilation, transposed, output_padding, groups, settings)


def _convolve_measured(cupy: Any, *values: Any) -> Any:
    """A convolution of a compiled program, by the algorithm that was measured to be faster."""
    return _convolve_now(cupy, True, *values)


def _convolve_now(
    cupy: Any, measuring: bool, input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: bool, output_padding: Any, groups: int,
    settings: tuple[Any, ...],
) -> Any:  # fmt: skip
    aligned = _alignment(input.data.ptr, weight.data.ptr)
    try:
        key = (
            input.shape, input.strides, weight.shape, weight.strides, input.dtype, weight.dtype, tuple(stride), tuple(padding), tuple(dilation),
            transposed, tuple(output_padding), groups, None if bias is None else (bias.shape, bias.dtype), aligned, settings,
            cupy.cuda.runtime.getDevice(),
        )  # fmt: skip
        prepared = _prepared[key]
    except KeyError:
        prepared = _prepared[key] = _prepare(
            cupy, input, weight, bias, stride, padding, dilation, transposed, output_padding, groups, aligned, settings
        )
    except TypeError:  # an option that is no sequence: the op's own kernel words the error
        return NotImplemented
    if prepared is None:
        return NotImplemented
    shape, last, plan = prepared
    if (
        measuring
        and not (transposed or last or settings[2])
        and measured_convolutions.takes(input, weight, bias, shape, groups, not settings[3])
    ):
        options = _expanded(2, stride, padding, dilation, output_padding)[:3]

        def by_cudnn(image: Any, filters: Any, added: Any, result: Any) -> None:
            _run(plan, image, filters, result)
            if added is not None:
                add_bias(cupy, result, added, result.size // (shape[0] * shape[1]))

        own = measured_convolutions.chosen(cupy, key, input, weight, bias, shape, options, by_cudnn)
        if own is not None:
            made = cupy.ndarray(shape, input.dtype)
            own.run(input, weight, bias, made)
            return made
    input, weight = _dense(cupy, input, last), _dense(cupy, weight, last)
    made = _empty(cupy, shape, input.dtype, last)
    _run(plan, *((made, weight, input) if transposed else (input, weight, made)))
    if bias is not None:
        add_bias(cupy, made, bias, 1 if last else made.size // (shape[0] * shape[1]))
    return made


def _prepare(
    cupy: Any, input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: bool, output_padding: Any, groups: int,
    alignment: int, settings: tuple[Any, ...],
) -> Prepared | None:  # fmt: skip
    if not settings[0] or not _usable(input, weight):
        return None
    spec = _convolution_meta(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)
    if 0 in spec.shape or not has_cudnn(cupy):
        return None
    stride, padding, dilation, _ = _expanded(weight.ndim - 2, stride, padding, dilation, output_padding)
    last = _is_last(input) or _is_last(weight)
    shapes = (spec.shape, weight.shape, input.shape) if transposed else (input.shape, weight.shape, spec.shape)
    try:
        plan = _plan(cupy, "data" if transposed else "forward", shapes, input.dtype, stride, padding, dilation, last, alignment, settings)
    except AcceleratorError:  # a combination that cuDNN does not have: the op's own kernel has it
        return None
    return Prepared(spec.shape, last, plan)


def convolution_weight_gradient(
    cupy: Any, input: Any, grad: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, groups: int
) -> Any:
    """The gradient of a convolution's weight."""
    return _weight_gradient(cupy, input, grad, kernel, stride, padding, dilation, groups, _settings())


@replayed
def _weight_gradient(
    cupy: Any, input: Any, grad: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, groups: int, settings: tuple[Any, ...]
) -> Any:
    aligned = _alignment(input.data.ptr, grad.data.ptr)
    key = (
        input.shape, input.strides, grad.shape, grad.strides, input.dtype, grad.dtype, tuple(kernel), tuple(stride), tuple(padding), tuple(dilation),
        groups, aligned, settings, cupy.cuda.runtime.getDevice(),
    )  # fmt: skip
    try:
        prepared = _prepared[key]
    except KeyError:
        prepared = _prepared[key] = _prepare_gradient(
            cupy, input, grad, tuple(kernel), stride, padding, dilation, groups, aligned, settings
        )
    if prepared is None:
        return NotImplemented
    shape, last, plan = prepared
    made = _empty(cupy, shape, grad.dtype, last)
    _run(plan, _dense(cupy, input, last), made, _dense(cupy, grad, last))
    return made


def _prepare_gradient(
    cupy: Any,
    input: Any,
    grad: Any,
    kernel: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
    alignment: int,
    settings: tuple[Any, ...],
) -> Prepared | None:
    if not settings[0] or not _usable(input, grad) or input.dtype != grad.dtype or not has_cudnn(cupy):
        return None
    stride, padding, dilation, _ = _expanded(len(kernel), stride, padding, dilation)
    last = _is_last(input) or _is_last(grad)
    shape = (grad.shape[1], input.shape[1] // groups, *kernel)
    try:
        plan = _plan(cupy, "filter", (input.shape, shape, grad.shape), grad.dtype, stride, padding, dilation, last, alignment, settings)
    except AcceleratorError:
        return None
    return Prepared(shape, last, plan)


def has_cudnn(cupy: Any) -> bool:
    """Whether the library is available."""
    try:
        cudnn.handle(cupy)
    except DeviceError:
        return False
    return True


KERNELS: dict[str, Any] = {"convolution": convolution, "convolution_weight_gradient": convolution_weight_gradient}

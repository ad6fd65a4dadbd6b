"""Normalisation: by batch, layer, group, instance, root mean square, neighbourhood and norm."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.argument_checks import refuse_gradient
from ...core.base import Spec, storage_of
from ...core.base import TensorBase as Tensor
from ...core.declare import composite, joint, table
from ...core.devices import sole_accelerator
from ...core.dtypes import BY_NUMPY, LOW_PRECISION
from ...core.errors import DtypeError, OperationError, ShapeError, UnsupportedDtype, ValueRangeError
from ...core.families import broadcast_shapes, promoted
from ...core.fast_paths import shortcut, shortcuts
from ...core.kernel_providers import compiled
from ...core.recording import recomputed
from ...core.state import flags, state
from ...core.upcast import computed_in_single, in_single
from ..pointwise.where_clamp import at_least
from ..reduce.sums import sum_axes
from ..shape.memory import in_memory_format, like_layout
from . import normalization_onnx as onnx_forms
from .standardize import affine, kept_shape, scale_shift, standardize, standardize_backward, standardize_backward_kernel, standardize_kernel

# -- layers ------------------------------------------------------------------------------------------------------


def _layer_meta(input: Any, weight: Any, bias: Any, dims: Any, eps: float) -> list[Spec]:
    return [Spec(input.shape, input.dtype), Spec(input.shape, input.dtype), Spec(kept_shape(input.shape, dims), input.dtype)]


def _beside(each: Any, dims: Any, ndim: int) -> Any:
    """A scale or a shift (an array or a tensor) in the shape in which it broadcasts: one of channels may be a vector."""
    shape: tuple[int, ...] = () if each is None else getattr(each, "_array", each).shape
    return each.reshape((1, shape[0]) + (1,) * (ndim - 2)) if len(shape) == 1 < ndim and dims[0] == 0 else each


@compiled("layer_standardize")
def _layer_kernel(xp: Any, input: Any, weight: Any, bias: Any, dims: Any, eps: float) -> list[Any]:
    standard, _, variance = standardize_kernel(xp, input, dims, eps)
    weight, bias = (_beside(each, dims, input.ndim) for each in (weight, bias))
    result = standard.copy() if weight is None else standard * weight
    if bias is not None:
        result += bias
    return [result, standard, variance]


def _layer_backward_meta(grad: Any, input: Any, weight: Any, standard: Any, variance: Any, dims: Any, eps: float) -> list[Spec]:
    shape = tuple(grad.shape[i] for i in dims) if weight is None else weight.shape
    return [Spec(grad.shape, grad.dtype), Spec(shape, grad.dtype), Spec(shape, grad.dtype)]


@compiled("layer_standardize_backward")
def _layer_backward_kernel(xp: Any, grad: Any, input: Any, weight: Any, standard: Any, variance: Any, dims: Any, eps: float) -> list[Any]:
    of_weight, of_bias, given = grad * standard, grad, weight
    weight = _beside(weight, dims, grad.ndim)
    if weight is not None and weight.ndim == grad.ndim:  # a factor of each channel: all other dimensions are of size 1
        others = tuple([dim for dim in range(grad.ndim) if weight.shape[dim] == 1])
        of_weight, of_bias = (sum_axes(xp, each, others, True).reshape(given.shape) for each in (of_weight, of_bias))
    else:
        before = tuple(range(grad.ndim - len(dims)))
        of_weight, of_bias = sum_axes(xp, of_weight, before), sum_axes(xp, of_bias, before)
    if weight is not None:
        grad = grad * weight
    return [standardize_backward_kernel(xp, grad, input, standard, variance, dims, eps), of_weight, of_bias]


@composite(
    kernel=_layer_backward_kernel,
    meta=_layer_backward_meta,
    returns=("of_input", "of_weight", "of_bias"),
    namespace=None,
    method=False,
)
def layer_standardize_backward(
    grad: Tensor, input: Tensor, weight: Tensor | None, standard: Tensor, variance: Tensor, dims: Any, eps: float
) -> Any:
    """The gradients of ``layer_standardize``."""
    before, given = list(range(grad._array.ndim - len(dims))), weight
    weight = _beside(weight, dims, grad._array.ndim)
    scaled: Any = grad if weight is None else grad * weight
    of_weight: Any = grad * standardize(input, dims, eps)[0]
    found = standardize_backward(scaled, input, standard, variance, dims, eps)
    if weight is not None and weight._array.ndim == grad._array.ndim:
        shape, kept = weight._array.shape, given._array.shape  # type: ignore[union-attr]
        return found, of_weight.sum_to_size(shape).reshape(kept), grad.sum_to_size(shape).reshape(kept)
    return (found, of_weight.sum(before), grad.sum(before)) if before else (found, of_weight, grad)


def _layer_gradients(g: Any, input: Any, weight: Any, standard: Any, variance: Any, dims: Any, eps: float) -> Any:
    made = None if sole_accelerator.array_type is None else shortcuts("layer_gradients", g, input, weight, standard, variance, dims, eps)
    return layer_standardize_backward(g, input, weight, standard, variance, dims, eps) if made is None else made


@composite(
    kernel=_layer_kernel,
    meta=_layer_meta,
    vjp=joint("input", "weight", "bias")(_layer_gradients),
    returns=("output", "standard", "variance"),
    nondifferentiable=("standard", "variance"),
    namespace=None,
    method=False,
)
def layer_standardize(input: Tensor, weight: Tensor | None, bias: Tensor | None, dims: Any, eps: float) -> Any:
    """``standardize`` over the last dimensions with a scale and a shift, either of which may be absent; or over others, with a scale and a shift of as
    many dimensions as the input, or of its channels."""
    standard, _, variance = standardize(input, dims, eps)  # type: ignore[misc]
    weight, bias = (_beside(each, dims, input._array.ndim) for each in (weight, bias))
    return affine(standard, weight, bias), standard, variance


def _check_normalized(input: Any, normalized_shape: Any, *parameters: Any) -> tuple[int, ...]:
    shape = tuple(normalized_shape) if isinstance(normalized_shape, (tuple, list)) else (normalized_shape,)
    if not shape:
        raise OperationError("Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element")
    have = tuple(input._array.shape)
    if have[-len(shape) :] != shape or len(have) < len(shape):
        wanted = ", ".join(map(str, shape))
        raise ShapeError(
            f"Given normalized_shape={list(shape)}, expected input with shape [*, {wanted}], but got input of size{list(have)}"
        )
    for name, each in zip(("weight", "bias"), parameters):
        if each is not None and tuple(each._array.shape) != shape:
            raise ShapeError(
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape {list(each._array.shape)} and "
                f"normalized_shape = {list(shape)}"
            )
    return tuple(range(len(have) - len(shape), len(have)))


@composite(also=("nn.functional.layer_norm",), method=False, onnx={17: onnx_forms.layer_norm})
def layer_norm(
    input: Tensor, normalized_shape: Any, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-05,
    cudnn_enable: bool = True,
) -> Tensor:  # fmt: skip
    """Normalise over the last dimensions, then scale and shift."""
    dims = _check_normalized(input, normalized_shape, weight, bias)
    _refuse_whole_numbers("layer_norm", input)
    _check_types(input, weight, bias)
    return (standardize(input, dims, eps) if weight is None is bias else layer_standardize(input, weight, bias, dims, eps))[0]


@composite(also=("nn.functional.rms_norm",), method=False, onnx={9: onnx_forms.rms_norm})
def rms_norm(input: Tensor, normalized_shape: Any, weight: Tensor | None = None, eps: float | None = None) -> Tensor:
    """Divide by the root of the mean square over the last dimensions, then scale."""
    dims = _check_normalized(input, normalized_shape, weight)
    kind = input._array.dtype
    if kind.kind != "c":
        _refuse_whole_numbers("rms_norm", input)
    if eps is None:
        eps = float(np.finfo(np.float64 if kind.itemsize == 8 and kind.kind == "f" or kind.itemsize == 16 else np.float32).eps)
    wide = _dense(input.float() if BY_NUMPY[kind].is_floating_point and kind.itemsize < 4 else input)
    scale = ((wide * wide).mean(list(dims), True) + eps).rsqrt()
    result = wide * scale
    return (result if weight is None else result * weight).to(input.dtype)


def _check_types(input: Any, *parameters: Any) -> None:
    """Refuse parameters of another type than the input's, unless they are float32 beside a narrow input."""
    dtype = input._array.dtype
    for each in parameters:
        if each is None or each._array.dtype == dtype:
            continue
        if each._array.dtype != np.float32:
            raise DtypeError("mixed dtype (CPU): expect parameter to have scalar type of Float")
        if dtype not in LOW_PRECISION:
            raise DtypeError("mixed dtype (CPU): all inputs must share same datatype.")


def _dense(each: Any) -> Any:
    """A tensor in row-major order or channels last, as results of normalisations are, whatever the strides of the input."""
    return each if in_memory_format(each._array) else each.contiguous()


def _wide(each: Any) -> Any:
    return each.float() if each._array.dtype in LOW_PRECISION else each


def _update_running(running: Any, found: Any, momentum: float, factor: float = 1.0) -> None:
    """``running = (1 - momentum) * running + momentum * factor * found``, in place and unrecorded."""
    array, value = running._array, found._array
    if not flags.special and running.__class__ is found.__class__ and array.__class__ is value.__class__ is np.ndarray:
        plain = array.flags.c_contiguous and array.flags.writeable and running._view is None and not running._inference
        if plain and array.dtype is value.dtype and array.dtype.char in "fd":
            kind = array.dtype.type
            value = value.reshape(array.shape) if factor == 1 else value.reshape(array.shape) * kind(factor)
            array *= kind(1 - momentum)
            array += value * kind(momentum)
            storage_of(running).version += 1
            return
    enabled = state.grad_enabled
    state.grad_enabled = False
    try:
        if sole_accelerator.kind is not None and shortcut("update_running", running, found, momentum, factor) is not None:
            storage_of(running).version += 1
            return
        found = found if factor == 1 else found * factor
        if running._array.dtype in LOW_PRECISION and found._array.dtype == np.float32:
            running.copy_(_wide(running) * (1 - momentum) + found.reshape(running._array.shape) * momentum)
            return
        running.mul_(1 - momentum).add_(found.reshape(running._array.shape).to(running.dtype), alpha=momentum)
    finally:
        state.grad_enabled = enabled


def _update_both(means: Any, variances: Any, kept: Any, found: Any, momentum: float, factor: float) -> bool:
    """Update running means and variances at once, where the accelerator there is can."""
    enabled, state.grad_enabled = state.grad_enabled, False
    try:
        done = shortcut("update_both", means, variances, kept, found, momentum, factor) is not None
    finally:
        state.grad_enabled = enabled
    if done:
        storage_of(means).version += 1
        storage_of(variances).version += 1
    return done


def _refuse_whole_numbers(name: str, input: Any) -> None:
    """A mean of integers is none, and complex numbers have no variance of this kind."""
    if input._array.dtype.kind in "biuc":
        kind = BY_NUMPY[input._array.dtype].name
        raise UnsupportedDtype(f"{name}(): not implemented for '{kind.capitalize()}' (torch.{kind}): convert the input with .float() first")


def _by_one_kernel(input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any) -> bool:
    """Whether the accelerator there is has one kernel for a batch normalisation: of dense images with all that they can have."""
    array = input._array
    if (
        array.__class__ is not sole_accelerator.array_type
        or weight is None
        or bias is None
        or (running_mean is None) != (running_var is None)
    ):
        return False
    if not array.size or not array.flags.c_contiguous or "channel_statistics" not in sole_accelerator.kind.shortcuts:
        return False
    others = (weight, bias) if running_mean is None else (weight, bias, running_mean, running_var)
    return all(each._array.__class__ is sole_accelerator.array_type and each._array.dtype == array.dtype for each in others)


def _batch_norm(
    input: Any, running_mean: Any, running_var: Any, weight: Any, bias: Any, training: bool, momentum: float, eps: float
) -> Any:
    shape = tuple(input._array.shape)
    if not input._array.size and len(shape) == 1:
        return input.clone()
    if len(shape) < 2:
        raise ShapeError(f"batch_norm expects an input of at least 2 dimensions, got shape {list(shape)}")
    for name, each in (("running_mean", running_mean), ("running_var", running_var), ("weight", weight), ("bias", bias)):
        if each is not None and each._array.size != shape[1]:
            raise ShapeError(f"{name} should contain {shape[1]} elements not {each._array.size}")
    _refuse_whole_numbers("batch_norm", input)
    _check_types(input, weight, bias, running_mean, running_var)
    refuse_gradient("native_batch_norm", running_mean=running_mean, running_var=running_var)
    input = _dense(input)
    if computed_in_single(input):
        return in_single(
            lambda input, weight, bias: _batch_norm_of(input, running_mean, running_var, weight, bias, training, momentum, eps),
            input, weight, bias,
        )  # fmt: skip
    return _batch_norm_of(input, running_mean, running_var, weight, bias, training, momentum, eps)


def _batch_norm_of(
    input: Any, running_mean: Any, running_var: Any, weight: Any, bias: Any, training: bool, momentum: float, eps: float
) -> Any:
    """A batch normalisation of checked arguments; running statistics of half precision beside a float32 input are widened."""
    shape = tuple(input._array.shape)
    channels = (1, shape[1]) + (1,) * (len(shape) - 2)
    if not training:
        if running_mean is None or running_var is None:
            raise OperationError("Expected running_mean and running_var to be defined when training=False")
        running_mean, running_var = (_wide(each) if input._array.dtype == np.float32 else each for each in (running_mean, running_var))
        scale = (running_var + eps).rsqrt()
        scale = scale if weight is None else scale * weight
        shift = -running_mean * scale
        shift = shift if bias is None else shift + bias
        return scale_shift(input, scale.reshape(channels), shift.reshape(channels)).to(input.dtype)
    dims = (0, *range(2, len(shape)))
    if sole_accelerator.kind is not None and not flags.special and _by_one_kernel(input, weight, bias, running_mean, running_var):
        result, kept, variance = layer_standardize(input, weight, bias, dims, eps)
        if running_mean is not None:
            count = math.prod(shape) // shape[1]
            factor = count / max(count - 1, 1)
            if not _update_both(running_mean, running_var, kept, variance, momentum, factor):
                _update_running(running_mean, kept, momentum)  # which begins with the means
                _update_running(running_var, variance, momentum, factor)
        return result
    result, mean, variance = standardize(input, dims, eps)
    empty = 0 in shape  # has no statistics
    if running_mean is not None and not empty:
        _update_running(running_mean, mean, momentum)
    if running_var is not None and not empty:
        count = math.prod(shape) // max(shape[1], 1)
        _update_running(running_var, variance, momentum, count / max(count - 1, 1))
    return affine(result, weight, bias, channels)


@composite(namespace="nn.functional", name="nn_functional_batch_norm", onnx={9: onnx_forms.batch_norm})
def batch_norm(
    input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None = None, bias: Tensor | None = None,
    training: bool = False, momentum: float = 0.1, eps: float = 1e-05,
) -> Tensor:  # fmt: skip
    """Normalise every channel (dimension 1) over the batch, or by running statistics; then scale and shift."""
    shape = input._array.shape
    if training and len(shape) > 1 and math.prod((shape[0], *shape[2:])) == 1:
        raise ValueRangeError(f"Expected more than 1 value per channel when training, got input size torch.Size({list(shape)})")
    if training and eps <= 0:
        raise ValueRangeError(f"batch_norm eps must be positive during training, but got {eps}")
    return _batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


@composite(name="batch_norm", method=False, onnx={9: onnx_forms.torch_batch_norm})
def torch_batch_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None,
    training: bool, momentum: float, eps: float, cudnn_enabled: bool,
) -> Tensor:  # fmt: skip
    """``nn.functional.batch_norm`` with its arguments in another order."""
    return _batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


@composite(namespace="nn.functional", name="instance_norm", onnx={9: onnx_forms.instance_norm})
def instance_norm(
    input: Tensor, running_mean: Tensor | None = None, running_var: Tensor | None = None, weight: Tensor | None = None,
    bias: Tensor | None = None, use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-05,
) -> Tensor:  # fmt: skip
    """Normalise every channel of every sample over its spatial dimensions."""
    shape = tuple(input._array.shape)
    if (running_mean is None) != (running_var is None):
        raise ValueRangeError("running_mean and running_var must either both be None or neither be None")
    if use_input_stats and math.prod(shape[2:]) == 1:
        raise ValueRangeError(f"Expected more than 1 spatial element when training, got input size torch.Size({list(shape)})")
    if not use_input_stats:
        return _batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    _refuse_whole_numbers("instance_norm", input)
    _check_types(input, weight, bias)

    def body(input: Any, weight: Any, bias: Any) -> Any:
        result, mean, variance = standardize(input, tuple(range(2, len(shape))), eps)
        if running_mean is not None:
            _update_running(running_mean, mean.mean(0), momentum)
        if running_var is not None:
            _update_running(running_var, variance.mean(0), momentum, (count := math.prod(shape[2:])) / max(count - 1, 1))
        return affine(result, weight, bias, (1, shape[1]) + (1,) * (len(shape) - 2))

    return in_single(body, input, weight, bias) if computed_in_single(input) else body(input, weight, bias)


@composite(also=("nn.functional.group_norm",), method=False, onnx={9: onnx_forms.group_norm})
def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-05,
    cudnn_enabled: bool = True,
) -> Tensor:  # fmt: skip
    """Normalise groups of channels of every sample, then scale and shift every channel."""
    shape = tuple(input._array.shape)
    if len(shape) < 2:
        raise ShapeError(f"Expected at least 2 dimensions for input tensor but received {len(shape)}")
    if num_groups <= 0:
        raise ShapeError(f"Expected num groups to be greater than 0, got {num_groups}")
    if shape[1] % num_groups:
        raise ShapeError(
            f"Expected number of channels in input to be divisible by num_groups, but got input of shape {list(shape)} and "
            f"num_groups={num_groups}"
        )
    _refuse_whole_numbers("group_norm", input)
    _check_types(input, weight, bias)
    if shape[0] * math.prod(shape[1:]) == num_groups:
        raise ValueRangeError(f"Expected more than 1 value per channel when training, got input size {list(shape)}")

    def body(input: Any, weight: Any, bias: Any) -> Any:
        grouped = input.reshape(shape[0], num_groups, math.prod(shape[1:]) // num_groups)
        result = like_layout(standardize(grouped, (2,), eps)[0].reshape(shape), input)
        return affine(result, weight, bias, (1, shape[1]) + (1,) * (len(shape) - 2))

    return in_single(body, input, weight, bias) if computed_in_single(input) else body(input, weight, bias)


@composite(namespace="nn.functional", name="local_response_norm", onnx={9: onnx_forms.local_response_norm})
def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """Divide by a power of the mean square over neighbouring channels."""
    shape = tuple(input._array.shape)
    if len(shape) < 3:
        raise ValueRangeError(f"Expected 3D or higher dimensionality input (got {len(shape)} dimensions)")
    if not input._array.size:
        return input
    if size <= 0:
        raise OperationError(f"kernel size should be greater than zero, but got kH: {size} kW: 1")
    square = (input * input).reshape(shape[0], shape[1], -1)
    padded = table["pad"].call(square, (0, 0, size // 2, (size - 1) // 2))
    total = sum(padded.narrow(1, offset, shape[1]) for offset in range(size))
    return input / (total.reshape(shape) * (alpha / size) + k) ** beta


# -- norms and angles --------------------------------------------------------------------------------------------


@composite(namespace="nn.functional", name="normalize", out=True)
def normalize(input: Tensor, p: float = 2.0, dim: Any = 1, eps: float = 1e-12) -> Tensor:
    """Divide by the norm along a dimension (but not by less than ``eps``)."""
    return input / table["linalg_vector_norm"].call(input, p, dim, True).clamp_min(eps).expand(input._array.shape)


@composite(also=("nn.functional.cosine_similarity",), method=False)
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between vectors along a dimension."""
    if eps < 0:
        raise OperationError(f"eps must be non-negative, got: {eps}")
    shape = broadcast_shapes([tuple(x1._array.shape), tuple(x2._array.shape)])
    if x1._array.dtype != x2._array.dtype:
        common = BY_NUMPY[promoted([x1._array, x2._array])]
        x1, x2 = x1.to(common), x2.to(common)
    x1, x2 = x1.expand(shape), x2.expand(shape)
    norm = table["linalg_vector_norm"].call
    first = x1 / at_least(norm(x1, 2, dim, True), eps)
    second = x2 / at_least(norm(x2, 2, dim, True), eps)
    return (first * second).sum(dim)


@composite(also=("nn.functional.pairwise_distance",), method=False)
def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """The norm of the difference of two vectors along the last dimension."""
    return table["linalg_vector_norm"].call(x1 - x2 + eps, p, -1, keepdim)


# PyTorch keeps no result of these: programs write to them in place.
recomputed.set(True, "standardize")

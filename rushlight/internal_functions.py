"""Functions that PyTorch has under ``torch`` for the insides of its own layers: statistics of batch norms over several processes, copies of the
parts of sparse tensors, autocast on devices by their names, and others that few programs call.

>>> import rushlight as torch
>>> mean, inverse = torch.batch_norm_stats(torch.tensor([[1.0, 2.0], [3.0, 2.0]]), 0.0)
>>> mean
tensor([2., 2.])
"""

from __future__ import annotations

import warnings
from typing import Any

from .amp import autocast_mode
from .autograd.anomaly_mode import set_detect_anomaly
from .core.declare import exports
from .core.errors import ShapeError
from .core.missing import absents
from .core.schema import parse_schema
from .jit import fork, wait
from .random import thread_safe_generator

__all__ = ["fork", "parse_schema", "thread_safe_generator", "wait"]

# -- batch norms over several processes ---------------------------------------------------------------------------


def _channels(input: Any) -> list[int]:
    """The dimensions that statistics of channels go over."""
    return [axis for axis in range(input.dim()) if axis != 1]


def _shaped(value: Any, input: Any) -> Any:
    """A value for each channel, as it stands beside the input."""
    return value.reshape([1, -1] + [1] * (input.dim() - 2))


def batch_norm_stats(input: Any, eps: float) -> tuple[Any, Any]:
    """The mean of each channel, and one over its standard deviation."""
    wide = input.float() if input.element_size() < 4 else input
    mean = wide.mean(_channels(input))
    return mean, (wide.var(_channels(input), unbiased=False) + eps).rsqrt()


def batch_norm_elemt(input: Any, weight: Any, bias: Any, mean: Any, invstd: Any, eps: float) -> Any:
    """The normalized input, by statistics that are given."""
    scale = invstd if weight is None else invstd * weight
    made = (input - _shaped(mean, input)) * _shaped(scale, input)
    return (made if bias is None else made + _shaped(bias, input)).to(input.dtype)


def batch_norm_gather_stats_with_counts(
    input: Any, mean: Any, invstd: Any, running_mean: Any, running_var: Any, momentum: float, eps: float, counts: Any
) -> tuple[Any, Any]:
    """The statistics of all processes' batches together, from those of each; running ones are updated."""
    counts = counts.reshape(-1, 1).to(mean.dtype)
    total = counts.sum()
    all_mean = (mean * counts).sum(0) / total
    variances = invstd.pow(-2) - eps
    variance = ((variances + (mean - all_mean) ** 2) * counts).sum(0) / total
    if running_mean is not None:
        running_mean.mul_(1 - momentum).add_(momentum * all_mean.to(running_mean.dtype))
    if running_var is not None:
        running_var.mul_(1 - momentum).add_(momentum * (variance * (total / (total - 1))).to(running_var.dtype))
    return all_mean, (variance + eps).rsqrt()


def batch_norm_gather_stats(
    input: Any, mean: Any, invstd: Any, running_mean: Any, running_var: Any, momentum: float, eps: float, count: int
) -> tuple[Any, Any]:
    """The statistics of all processes' batches together, where each has as many elements."""
    counts = mean.new_full((mean.shape[0],), count)
    return batch_norm_gather_stats_with_counts(input, mean, invstd, running_mean, running_var, momentum, eps, counts)


def batch_norm_backward_reduce(
    grad_out: Any, input: Any, mean: Any, invstd: Any, weight: Any, input_g: bool, weight_g: bool, bias_g: bool
) -> tuple[Any, Any, Any, Any]:
    """The sums that the gradients of a batch norm need of all processes, and the gradients of weight and bias."""
    sum_dy = grad_out.sum(_channels(input))
    sum_dy_xmu = (grad_out * (input - _shaped(mean, input))).sum(_channels(input))
    return sum_dy, sum_dy_xmu, sum_dy_xmu * invstd if weight_g else None, sum_dy if bias_g else None


def batch_norm_backward_elemt(
    grad_out: Any, input: Any, mean: Any, invstd: Any, weight: Any, sum_dy: Any, sum_dy_xmu: Any, count: Any
) -> Any:
    """The gradient of a batch norm with respect to its input, by the sums of all processes."""
    total = count.sum()
    scale = invstd if weight is None else invstd * weight
    centred = (input - _shaped(mean, input)) * _shaped(invstd.square() * sum_dy_xmu / total, input)
    return ((grad_out - _shaped(sum_dy / total, input) - centred) * _shaped(scale, input)).to(grad_out.dtype)


def batch_norm_update_stats(input: Any, running_mean: Any, running_var: Any, momentum: float) -> tuple[Any, Any]:
    """The mean and the variance of each channel; running ones are updated."""
    if not input.numel():
        raise ShapeError(f"input tensor must have at least one element, but got input_sizes = {list(input.shape)}")
    mean, variance = input.mean(_channels(input)), input.var(_channels(input), unbiased=False)
    count = input.numel() // input.shape[1]
    if running_mean is not None:
        running_mean.mul_(1 - momentum).add_(momentum * mean)
    if running_var is not None:
        running_var.mul_(1 - momentum).add_(momentum * variance * count / max(count - 1, 1))
    return mean, variance


# -- copies of the parts of sparse tensors --------------------------------------------------------------------------


def indices_copy(input: Any) -> Any:
    """A copy of the indices of a sparse tensor."""
    return input.indices().clone()


def values_copy(input: Any) -> Any:
    """A copy of the values of a sparse tensor."""
    return input.values().clone()


def crow_indices_copy(input: Any) -> Any:
    """A copy of where the rows of a sparse tensor begin."""
    return input.crow_indices().clone()


def col_indices_copy(input: Any) -> Any:
    """A copy of the columns of a sparse tensor's values."""
    return input.col_indices().clone()


def ccol_indices_copy(input: Any) -> Any:
    """A copy of where the columns of a sparse tensor begin."""
    return input.ccol_indices().clone()


def row_indices_copy(input: Any) -> Any:
    """A copy of the rows of a sparse tensor's values."""
    return input.row_indices().clone()


def resize_as_sparse_(input: Any, the_template: Any) -> Any:
    """Give an empty sparse tensor the sizes of another."""
    return input.sparse_resize_(the_template.shape, the_template.sparse_dim(), the_template.dense_dim())


def saddmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """A matrix plus the product of two, as ``addmm``: the older name for sparse ones."""
    return exports["", "addmm"](input, mat1, mat2, beta=beta, alpha=alpha)


def native_norm(input: Any, p: Any = 2, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    """The norm of a sparse tensor's values, or of a dense tensor."""
    dense = input.coalesce().values() if input.is_sparse else input
    return exports["", "norm"](dense, p) if dim is None else exports["", "norm"](dense, p, dim, keepdim, dtype=dtype)


# -- other devices, modes, generators ---------------------------------------------------------------------------------


def get_autocast_ipu_dtype() -> Any:
    """The narrow type of autocast on IPUs."""
    return autocast_mode.get_autocast_dtype("ipu")


def get_autocast_xla_dtype() -> Any:
    """The narrow type of autocast on XLA devices."""
    return autocast_mode.get_autocast_dtype("xla")


def set_autocast_ipu_dtype(dtype: Any) -> None:
    """Set the narrow type of autocast on IPUs."""
    autocast_mode.set_autocast_dtype("ipu", dtype)


def set_autocast_xla_dtype(dtype: Any) -> None:
    """Set the narrow type of autocast on XLA devices."""
    autocast_mode.set_autocast_dtype("xla", dtype)


def is_autocast_ipu_enabled() -> bool:
    """Whether autocast is on for IPUs."""
    return bool(autocast_mode.is_autocast_enabled("ipu"))


def is_autocast_xla_enabled() -> bool:
    """Whether autocast is on for XLA devices."""
    return bool(autocast_mode.is_autocast_enabled("xla"))


def set_autocast_ipu_enabled(enabled: bool) -> None:
    """Switch autocast for IPUs."""
    autocast_mode.set_autocast_enabled("ipu", enabled)


def set_autocast_xla_enabled(enabled: bool) -> None:
    """Switch autocast for XLA devices."""
    autocast_mode.set_autocast_enabled("xla", enabled)


def is_vulkan_available() -> bool:
    """False: there is no such device."""
    return False


def cudnn_is_acceptable(tensor: Any) -> bool:
    """Whether cuDNN may compute with a tensor: one on a GPU, of a type that it has."""
    return bool(tensor.is_cuda and tensor.is_floating_point())


def set_anomaly_enabled(enabled: bool, check_nan: bool = True) -> None:
    """Have backward passes say which operation failed, and refuse nan: see ``autograd.set_detect_anomaly``."""
    set_detect_anomaly(enabled, check_nan)


def init_num_threads() -> None:
    """Prepare this thread for parallel work: threads need no preparation here."""


def slice_inverse(input: Any, src: Any, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Any:
    """The tensor that ``input`` is a slice of, by ``src``, whose sizes and strides it has."""
    offset = input.storage_offset() - (0 if start is None else start % max(src.shape[dim], 1)) * src.stride(dim)
    return input.as_strided(src.shape, src.stride(), offset)


# -- old names ---------------------------------------------------------------------------------------------------


def set_vital(*args: Any, **kwargs: Any) -> None:
    """Recorded a fact about a run in older versions; it warns that it is deprecated, and records nothing, as PyTorch's own does now."""
    warnings.warn("'set_vital' is deprecated, please do not call", UserWarning, stacklevel=2)


# -- kernels of libraries that are not here: imported, they say when they are called what to call instead -----------------

_OWN = "convolutions, norms, pools and recurrent layers of torch.nn.functional and torch.nn compute the same"
absents(
    globals(),
    f"it is a kernel of cuDNN, MIOpen or oneDNN; {_OWN}",
    functions="cudnn_affine_grid_generator cudnn_batch_norm cudnn_convolution cudnn_convolution_add_relu cudnn_convolution_relu "
    "cudnn_convolution_transpose cudnn_grid_sampler miopen_batch_norm miopen_convolution miopen_convolution_add_relu miopen_convolution_relu "
    "miopen_convolution_transpose miopen_ctc_loss miopen_depthwise_convolution miopen_rnn mkldnn_adaptive_avg_pool2d mkldnn_convolution "
    "mkldnn_linear_backward_weights mkldnn_max_pool2d mkldnn_max_pool3d mkldnn_rnn_layer",
)
absents(
    globals(),
    "it is a kernel of FBGEMM with weights in its own order; torch.ao.nn.quantized has the layers",
    functions="fbgemm_linear_fp16_weight fbgemm_linear_fp16_weight_fp32_activation fbgemm_linear_int8_weight fbgemm_linear_int8_weight_fp32_activation "
    "fbgemm_linear_quantize_weight fbgemm_pack_gemm_matrix_fp16 fbgemm_pack_quantized_matrix quantized_gru_cell "
    "quantized_lstm_cell quantized_rnn_relu_cell quantized_rnn_tanh_cell "
    "empty_quantized choose_qparams_optimized",
)
absents(
    globals(),
    "it reads or makes PyTorch's own graphs of scripts; torch.jit.script, trace, save and load take their place",
    functions="import_ir_module import_ir_module_from_buffer parse_ir parse_type_comment merge_type_from_type_comment unify_type_list",
)

"""rushlight: a deep-learning system in plain Python that speaks PyTorch's language.

>>> import rushlight as torch
>>> x = torch.tensor([1.0, 2.0], requires_grad=True)
>>> (x * x).sum().backward()
>>> x.grad
tensor([2., 4.])
"""

from __future__ import annotations

import math as _math
import pickle as _pickle
import warnings
from typing import Any as _Any

from . import autograd, core, ops, settings
from .amp.autocast_mode import FACE as _AUTOCAST
from .amp.grad_scaler import GradScaler
from .autograd import enable_grad, inference_mode, is_anomaly_enabled, is_grad_enabled, is_inference_mode_enabled, no_grad, set_grad_enabled
from .autograd.anomaly_mode import is_anomaly_check_nan_enabled
from .core.devices import device, get_default_device, set_default_device
from .core.dtypes import BY_NAME as _BY_NAME
from .core.dtypes import can_cast, dtype, finfo, get_default_dtype, iinfo, promote_types, set_default_dtype
from .core.errors import NotSupported, RushlightError
from .core.import_hook import when_imported as _when_imported
from .core.missing import listing as _listing
from .core.missing import missing as _missing
from .core.overrides import ask_or_refuse as _ask_or_refuse
from .core.overrides import overridable as _overridable
from .core.quantized import SCHEMES as _SCHEMES
from .core.quantized import qscheme
from .core.release import VERSION as _VERSION
from .core.size import Size
from .random import default_generator, get_rng_state, initial_seed, manual_seed, seed, set_rng_state
from .settings import (
    are_deterministic_algorithms_enabled,
    get_deterministic_debug_mode,
    get_float32_matmul_precision,
    get_num_interop_threads,
    get_num_threads,
    is_deterministic_algorithms_warn_only_enabled,
    set_deterministic_debug_mode,
    set_float32_matmul_precision,
    set_flush_denormal,
    set_num_interop_threads,
    set_num_threads,
    use_deterministic_algorithms,
)
from .tensor import Tensor
from .tensor.construct import as_tensor, asarray, from_dlpack, from_numpy, frombuffer, is_tensor, numel, result_type, tensor
from .tensor.conversion import is_same_size
from .tensor.generator import Generator
from .tensor.layout import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    jagged,
    layout,
    memory_format,
    preserve_format,
    sparse_bsc,
    sparse_bsr,
    sparse_coo,
    sparse_csc,
    sparse_csr,
    strided,
)
from .tensor.legacy import TENSOR_TYPES as _TENSOR_TYPES
from .tensor.legacy import set_default_tensor_type, typename
from .tensor.printing import set_printoptions
from .tensor.quantized import FUNCTIONS as _QUANTIZED
from .tensor.storage import STORAGE_TYPES as _STORAGE_TYPES
from .tensor.storage import TypedStorage, UntypedStorage, is_storage

# NumPy warns where PyTorch silently gives inf or nan.  Only warnings raised from this package's own files are silenced.
warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"rushlight(\.|$)")

__version__ = _VERSION
pi, e, inf, nan, newaxis = _math.pi, _math.e, _math.inf, _math.nan, None

globals().update(_BY_NAME)
globals().update(_TENSOR_TYPES)
globals().update(_STORAGE_TYPES)
Storage = _STORAGE_TYPES["FloatStorage"]
globals().update(_AUTOCAST)
globals().update(_SCHEMES)
globals().update(_QUANTIZED)


@_overridable
def is_floating_point(input: Tensor) -> bool:
    """Whether the elements are (real) floating-point numbers."""
    return input.is_floating_point() if isinstance(input, Tensor) else _ask_or_refuse(is_floating_point, input)


@_overridable
def is_complex(input: Tensor) -> bool:
    """Whether the elements are complex numbers."""
    return input.is_complex() if isinstance(input, Tensor) else _ask_or_refuse(is_complex, input)


@_overridable
def is_inference(input: Tensor) -> bool:
    """Whether a tensor was made in inference mode."""
    return input.is_inference() if isinstance(input, Tensor) else _ask_or_refuse(is_inference, input)


def _assert(condition: _Any, message: str) -> None:
    """Raise where a condition does not hold; one that is traced symbolically is recorded."""
    if not isinstance(condition, Tensor) and hasattr(type(condition), "__torch_function__"):
        type(condition).__torch_function__(_assert, (type(condition),), (condition, message), {})
    elif not condition:
        raise AssertionError(message)


def vmap(func: _Any, in_dims: _Any = 0, out_dims: _Any = 0, randomness: str = "error", *, chunk_size: int | None = None) -> _Any:
    """Map a function over a dimension of its inputs: see :func:`rushlight.func.vmap`."""
    return __getattr__("func").vmap(func, in_dims, out_dims, randomness, chunk_size=chunk_size)


def compile(
    model: _Any = None, *, fullgraph: bool = False, dynamic: bool | None = None, backend: _Any = None, mode: str | None = None,
    options: dict[str, _Any] | None = None, name: str | None = None, disable: bool = False, recompile_limit: int | None = None,
    isolate_recompiles: bool = False, shapes_spec: _Any = None, check: bool = False, target: str | None = None,
) -> _Any:  # fmt: skip
    """Compile a function or Module: see :func:`rushlight.compiler.compile`."""
    return __getattr__("compiler").compile(
        model, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode, options=options, name=name, disable=disable,
        recompile_limit=recompile_limit, isolate_recompiles=isolate_recompiles, shapes_spec=shapes_spec, check=check, target=target,
    )  # fmt: skip


def cond(pred: _Any, true_fn: _Any, false_fn: _Any, operands: _Any = ()) -> _Any:
    """Apply one of two functions to the operands, depending on ``pred``: see :func:`rushlight.capture.control.operators.cond`."""
    return __getattr__("compiler").cond(pred, true_fn, false_fn, operands)


def while_loop(cond_fn: _Any, body_fn: _Any, carried_inputs: _Any) -> _Any:
    """Apply a function repeatedly while a condition holds: see :func:`rushlight.capture.control.operators.while_loop`."""
    return __getattr__("compiler").while_loop(cond_fn, body_fn, carried_inputs)


def check(function: _Any, *args: _Any, skip: _Any = ()) -> _Any:
    """Check a custom Function: gradients, marked tensors, memory, and equal results in every mode; see :func:`rushlight.checks.check`."""
    return __getattr__("checks").check(function, *args, skip=skip)


def save(
    obj: _Any, f: _Any, pickle_module: _Any = _pickle, pickle_protocol: int = 2, _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:  # fmt: skip
    """Write an object with its tensors to a file: see :func:`rushlight.serialization.save`."""
    __getattr__("serialization").save(obj, f, pickle_module, pickle_protocol, _use_new_zipfile_serialization, _disable_byteorder_record)


def load(
    f: _Any, map_location: _Any = None, pickle_module: _Any = None, *, weights_only: bool | None = None,
    mmap: bool | None = None, **pickle_load_args: _Any,
) -> _Any:  # fmt: skip
    """Read a file written by ``save`` or by PyTorch: see :func:`rushlight.serialization.load`."""
    return __getattr__("serialization").load(f, map_location, pickle_module, weights_only=weights_only, mmap=mmap, **pickle_load_args)


# Submodules and the names that they declare, loaded when one is asked for.
_LATE = {
    "native_functions": "binary_cross_entropy_with_logits cosine_embedding_loss ctc_loss detach_ embedding_bag embedding_renorm_ "
    "frobenius_norm from_file get_device hash_tensor hinge_embedding_loss instance_norm is_distributed kl_div margin_ranking_loss "
    "native_batch_norm native_dropout native_group_norm native_layer_norm poisson_nll_loss triplet_margin_loss view_as_complex_copy "
    "view_as_real_copy",
    "internal_functions": "batch_norm_backward_elemt batch_norm_backward_reduce batch_norm_elemt batch_norm_gather_stats "
    "batch_norm_gather_stats_with_counts batch_norm_stats batch_norm_update_stats ccol_indices_copy "
    "choose_qparams_optimized col_indices_copy crow_indices_copy cudnn_affine_grid_generator cudnn_batch_norm "
    "cudnn_convolution cudnn_convolution_add_relu cudnn_convolution_relu cudnn_convolution_transpose cudnn_grid_sampler "
    "cudnn_is_acceptable empty_quantized fbgemm_linear_fp16_weight fbgemm_linear_fp16_weight_fp32_activation "
    "fbgemm_linear_int8_weight fbgemm_linear_int8_weight_fp32_activation fbgemm_linear_quantize_weight "
    "fbgemm_pack_gemm_matrix_fp16 fbgemm_pack_quantized_matrix fork get_autocast_ipu_dtype get_autocast_xla_dtype "
    "import_ir_module import_ir_module_from_buffer indices_copy init_num_threads is_autocast_ipu_enabled "
    "is_autocast_xla_enabled is_vulkan_available merge_type_from_type_comment miopen_batch_norm miopen_convolution "
    "miopen_convolution_add_relu miopen_convolution_relu miopen_convolution_transpose miopen_ctc_loss "
    "miopen_depthwise_convolution miopen_rnn mkldnn_adaptive_avg_pool2d mkldnn_convolution mkldnn_linear_backward_weights "
    "mkldnn_max_pool2d mkldnn_max_pool3d mkldnn_rnn_layer native_norm parse_ir parse_schema parse_type_comment "
    "quantized_batch_norm quantized_gru_cell quantized_lstm_cell quantized_max_pool1d quantized_max_pool2d "
    "quantized_max_pool3d quantized_rnn_relu_cell quantized_rnn_tanh_cell resize_as_sparse_ row_indices_copy saddmm "
    "set_anomaly_enabled set_autocast_ipu_dtype set_autocast_ipu_enabled set_autocast_xla_dtype set_autocast_xla_enabled "
    "set_vital slice_inverse thread_safe_generator unify_type_list values_copy wait",
    "futures": "Future",
    "settings": "is_warn_always_enabled set_warn_always",
    "streams": "AcceleratorError Event OutOfMemoryError Stream get_device_module",
    "symbols": "SymBool SymFloat SymInt sym_constrain_range sym_constrain_range_for_size sym_float sym_fresh_size sym_int sym_ite sym_max "
    "sym_min sym_not sym_sqrt sym_sum",
}

# Submodules that load when one is asked for.
_ROOMS = (
    "__config__", "__future__", "accelerator", "amp", "ao", "backends", "checks", "cli", "compat", "compiler", "cpu", "cuda", "distributed",
    "distributions", "export", "fft", "func", "functional", "futures", "fx", "hub", "jit", "library", "linalg", "masked", "monitor", "mps",
    "mtia", "multiprocessing", "nested", "nn", "onnx", "optim", "overrides", "package", "profiler", "quantization", "quasirandom", "random",
    "return_types", "serialization", "signal", "sparse", "special", "testing", "types", "utils", "version", "viewer", "xpu",
)  # fmt: skip

__getattr__ = _missing(__name__, lazy=_ROOMS, names=_LATE, namespace="")
__dir__ = _listing(__name__, "", [*_ROOMS, *(name for declared in _LATE.values() for name in declared.split())])

_when_imported("triton.runtime", f"{__name__}.library.triton_kernels")

"""rushlight: a deep-learning system in plain Python that speaks PyTorch's language.

Written by tools/generate_stubs.py from the op table: run `make generate` after changing an op's signature.
"""

from builtins import bool as _bool, dict as _dict, float as _float, int as _int, str as _str, tuple as _tuple
from collections.abc import Callable, Sequence
from rushlight import __config__ as __config__, __future__ as __future__, accelerator as accelerator, amp as amp, ao as ao, autograd as autograd, backends as backends, checks as checks, cli as cli, compat as compat, compiler as compiler, core as core, cpu as cpu, cuda as cuda, distributed as distributed, distributions as distributions, export as export, fft as fft, func as func, functional as functional, futures as futures, fx as fx, hub as hub, jit as jit, library as library, linalg as linalg, masked as masked, monitor as monitor, mps as mps, mtia as mtia, multiprocessing as multiprocessing, nested as nested, nn as nn, onnx as onnx, ops as ops, optim as optim, overrides as overrides, package as package, profiler as profiler, quantization as quantization, quasirandom as quasirandom, random as random, return_types as return_types, serialization as serialization, settings as settings, signal as signal, sparse as sparse, special as special, testing as testing, types as types, utils as utils, version as version, viewer as viewer, xpu as xpu
from rushlight.amp.autocast_mode import autocast as autocast
from rushlight.amp.grad_scaler import GradScaler as GradScaler
from rushlight.autograd import enable_grad as enable_grad, inference_mode as inference_mode, is_anomaly_enabled as is_anomaly_enabled, is_grad_enabled as is_grad_enabled, is_inference_mode_enabled as is_inference_mode_enabled, no_grad as no_grad, set_grad_enabled as set_grad_enabled
from rushlight.autograd.anomaly_mode import is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled
from rushlight.capture.trace.fork import Future as _Future
from rushlight.core.devices import device as device, get_default_device as get_default_device, set_default_device as set_default_device
from rushlight.core.dtypes import can_cast as can_cast, dtype as _dtype, dtype as dtype, finfo as finfo, get_default_dtype as get_default_dtype, iinfo as iinfo, promote_types as promote_types, set_default_dtype as set_default_dtype
from rushlight.core.errors import NotSupported as NotSupported, RushlightError as RushlightError
from rushlight.core.quantized import qscheme as _qscheme, qscheme as qscheme
from rushlight.core.schema import FunctionSchema as _FunctionSchema
from rushlight.core.size import Size as Size, Size as _Size
from rushlight.futures import Future as Future
from rushlight.random import default_generator as default_generator, get_rng_state as get_rng_state, initial_seed as initial_seed, manual_seed as manual_seed, seed as seed, set_rng_state as set_rng_state
from rushlight.settings import are_deterministic_algorithms_enabled as are_deterministic_algorithms_enabled, get_deterministic_debug_mode as get_deterministic_debug_mode, get_float32_matmul_precision as get_float32_matmul_precision, get_num_interop_threads as get_num_interop_threads, get_num_threads as get_num_threads, is_deterministic_algorithms_warn_only_enabled as is_deterministic_algorithms_warn_only_enabled, set_deterministic_debug_mode as set_deterministic_debug_mode, set_float32_matmul_precision as set_float32_matmul_precision, set_flush_denormal as set_flush_denormal, set_num_interop_threads as set_num_interop_threads, set_num_threads as set_num_threads, use_deterministic_algorithms as use_deterministic_algorithms
from rushlight.streams import AcceleratorError as AcceleratorError, Event as Event, OutOfMemoryError as OutOfMemoryError, Stream as Stream
from rushlight.symbols import SymBool as SymBool, SymFloat as SymFloat, SymInt as SymInt
from rushlight.tensor import Tensor as Tensor, op_results as _results
from rushlight.tensor.construct import as_tensor as as_tensor, asarray as asarray, from_dlpack as from_dlpack, from_numpy as from_numpy, frombuffer as frombuffer, is_tensor as is_tensor, numel as numel, result_type as result_type, tensor as tensor
from rushlight.tensor.conversion import is_same_size as is_same_size
from rushlight.tensor.generator import Generator as Generator, Generator as _Generator
from rushlight.tensor.layout import channels_last as channels_last, channels_last_3d as channels_last_3d, contiguous_format as contiguous_format, jagged as jagged, layout as layout, memory_format as memory_format, preserve_format as preserve_format, sparse_bsc as sparse_bsc, sparse_bsr as sparse_bsr, sparse_coo as sparse_coo, sparse_csc as sparse_csc, sparse_csr as sparse_csr, strided as strided
from rushlight.tensor.legacy import set_default_tensor_type as set_default_tensor_type, tensortype as _tensortype, typename as typename
from rushlight.tensor.op_results import Number as _Number
from rushlight.tensor.printing import set_printoptions as set_printoptions
from rushlight.tensor.storage import TypedStorage as TypedStorage, UntypedStorage as UntypedStorage, _LegacyStorageType as __LegacyStorageType, is_storage as is_storage
from typing import Any

def is_floating_point(input: Tensor) -> _bool:
    """Whether the elements are (real) floating-point numbers."""
def is_complex(input: Tensor) -> _bool:
    """Whether the elements are complex numbers."""
def is_inference(input: Tensor) -> _bool:
    """Whether a tensor was made in inference mode."""
def _assert(condition: Any, message: _str) -> None:
    """Raise where a condition does not hold; one that is traced symbolically is recorded."""
def vmap(func: Any, in_dims: Any = 0, out_dims: Any = 0, randomness: _str = 'error', *, chunk_size: _int | None = None) -> Any:
    """Map a function over a dimension of its inputs: see :func:`rushlight.func.vmap`."""
def compile(model: Any = None, *, fullgraph: _bool = False, dynamic: _bool | None = None, backend: Any = None, mode: _str | None = None, options: _dict[_str, Any] | None = None, name: _str | None = None, disable: _bool = False, recompile_limit: _int | None = None, isolate_recompiles: _bool = False, shapes_spec: Any = None, check: _bool = False, target: _str | None = None) -> Any:
    """Compile a function or Module: see :func:`rushlight.compiler.compile`."""
def cond(pred: Any, true_fn: Any, false_fn: Any, operands: Any = ...) -> Any:
    """Apply one of two functions to the operands, depending on ``pred``: see :func:`rushlight.capture.control.operators.cond`."""
def while_loop(cond_fn: Any, body_fn: Any, carried_inputs: Any) -> Any:
    """Apply a function repeatedly while a condition holds: see :func:`rushlight.capture.control.operators.while_loop`."""
def check(function: Any, *args: Any, skip: Any = ...) -> Any:
    """Check a custom Function: gradients, marked tensors, memory, and equal results in every mode; see :func:`rushlight.checks.check`."""
def save(obj: Any, f: Any, pickle_module: Any = ..., pickle_protocol: _int = 2, _use_new_zipfile_serialization: _bool = True, _disable_byteorder_record: _bool = False) -> None:
    """Write an object with its tensors to a file: see :func:`rushlight.serialization.save`."""
def load(f: Any, map_location: Any = None, pickle_module: Any = None, *, weights_only: _bool | None = None, mmap: _bool | None = None, **pickle_load_args: Any) -> Any:
    """Read a file written by ``save`` or by PyTorch: see :func:`rushlight.serialization.load`."""
BFloat16Storage: __LegacyStorageType
BFloat16Tensor: _tensortype
BoolStorage: __LegacyStorageType
BoolTensor: _tensortype
ByteStorage: __LegacyStorageType
ByteTensor: _tensortype
CharStorage: __LegacyStorageType
CharTensor: _tensortype
ComplexDoubleStorage: __LegacyStorageType
ComplexFloatStorage: __LegacyStorageType
DoubleStorage: __LegacyStorageType
DoubleTensor: _tensortype
Float8_e4m3fnStorage: __LegacyStorageType
Float8_e5m2Storage: __LegacyStorageType
FloatStorage: __LegacyStorageType
FloatTensor: _tensortype
HalfStorage: __LegacyStorageType
HalfTensor: _tensortype
IntStorage: __LegacyStorageType
IntTensor: _tensortype
LongStorage: __LegacyStorageType
LongTensor: _tensortype
QInt32Storage: __LegacyStorageType
QInt8Storage: __LegacyStorageType
QUInt8Storage: __LegacyStorageType
ShortStorage: __LegacyStorageType
ShortTensor: _tensortype
Storage: __LegacyStorageType
UInt16Storage: __LegacyStorageType
UInt32Storage: __LegacyStorageType
UInt64Storage: __LegacyStorageType
__version__: _str
def _convert_indices_from_coo_to_csr(input: Tensor, size: _int, *, out_int32: _bool = False) -> Tensor:
    """Where each of ``size`` rows begins, from sorted row numbers."""
def _convert_indices_from_csr_to_coo(crow_indices: Tensor, col_indices: Tensor, *, out_int32: _bool = False, transpose: _bool = False) -> Tensor:
    """Row and column numbers (with ``transpose`` exchanged), from where rows begin and the columns."""
def _dirichlet_grad(x: Tensor, alpha: Tensor, total: Tensor) -> Tensor:
    """The derivative of Dirichlet probabilities by their concentrations, each over 1 less the probability."""
def _empty_affine_quantized(size: Any, *, scale: _float = 1.0, zero_point: _int = 0, dtype: Any = None) -> Tensor:
    """A quantized tensor whose elements are whatever the memory holds."""
def _fake_quantize_learnable_per_channel_affine(input: Tensor, scale: Tensor, zero_point: Tensor, axis: _int, quant_min: _int, quant_max: _int, grad_factor: _float = 1.0) -> Tensor:
    """The same with a scale and a zero point for each index of one dimension."""
def _fake_quantize_learnable_per_tensor_affine(input: Tensor, scale: Tensor, zero_point: Tensor, quant_min: _int, quant_max: _int, grad_factor: _float = 1.0) -> Tensor:
    """Fake quantization with gradients for its scale and zero point too."""
def _make_per_channel_quantized_tensor(input: Tensor, scale: Tensor, zero_point: Tensor, axis: _int) -> Tensor:
    """A quantized tensor of given integers, with a scale and a zero point for each channel."""
def _make_per_tensor_quantized_tensor(input: Tensor, scale: _float, zero_point: _int) -> Tensor:
    """A quantized tensor of given integers."""
def _pack_padded_sequence(input: Tensor, lengths: Tensor, batch_first: _bool) -> _results._pack_padded_sequence:
    """A padded batch without its padding, and how many sequences run at each time; the lengths fall."""
def _pad_packed_sequence(data: Tensor, batch_sizes: Tensor, batch_first: _bool, padding_value: Any, total_length: _int) -> _results._pad_packed_sequence:
    """A packed batch with padding, to the longest sequence or to ``total_length`` where that is positive, and the lengths."""
def _sample_dirichlet(input: Tensor, generator: Any = None) -> Tensor:
    """Probabilities drawn for each row of concentrations."""
def _standard_gamma(input: Tensor, generator: Any = None) -> Tensor:
    """A gamma number of scale 1 for each concentration."""
def _standard_gamma_grad(input: Tensor, output: Tensor) -> Tensor:
    """The derivative of gamma numbers by their concentration: how ``_standard_gamma`` passes gradients on."""
def abs(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The absolute value of every element."""
def abs_(input: Tensor) -> Tensor:
    """The absolute value of every element."""
def absolute(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The absolute value of every element."""
def absolute_(input: Tensor) -> Tensor:
    """The absolute value of every element."""
def acos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle whose cosine each element is, between 0 and pi."""
def acos_(input: Tensor) -> Tensor:
    """The angle whose cosine each element is, between 0 and pi."""
def acosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The number, not negative, whose hyperbolic cosine each element is."""
def acosh_(input: Tensor) -> Tensor:
    """The number, not negative, whose hyperbolic cosine each element is."""
def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """The mean of windows chosen so that the result has a given size."""
def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: _bool = False) -> _results.adaptive_max_pool1d_with_indices:
    """The largest elements of windows chosen so that the result has a given size, and their indices in the plane."""
def add(input: Tensor | _Number, other: Tensor | _Number, *, alpha: _Number = 1, out: Tensor | None = None) -> Tensor:
    """``input + alpha * other``, element by element."""
def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: _Number = 1, alpha: _Number = 1, out: Tensor | None = None) -> Tensor:
    """``beta * input + alpha *`` the sum over a batch of products of matrices."""
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: _Number = 1, out: Tensor | None = None) -> Tensor:
    """``input + value * tensor1 / tensor2``."""
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: _Number = 1, out: Tensor | None = None) -> Tensor:
    """``input + value * tensor1 * tensor2``."""
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: _Number = 1, alpha: _Number = 1, out: Tensor | None = None) -> Tensor:
    """``beta * input + alpha * (mat1 @ mat2)`` for matrices."""
def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: _Number = 1, alpha: _Number = 1, out: Tensor | None = None) -> Tensor:
    """``beta * input + alpha * (mat @ vec)`` for a matrix and a vector."""
def addmv_(input: Tensor, mat: Tensor, vec: Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> Tensor:
    """``beta * input + alpha * (mat @ vec)`` for a matrix and a vector."""
def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: _Number = 1, alpha: _Number = 1, out: Tensor | None = None) -> Tensor:
    """``beta * input + alpha *`` the outer product of two vectors."""
def adjoint(input: Tensor) -> Tensor:
    """The last two dimensions exchanged, of complex tensors conjugated too."""
def affine_grid_generator(theta: Tensor, size: Any, align_corners: _bool) -> Tensor:
    """The points of a grid for inputs of ``size``, moved by affine matrices."""
def alias_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A view of the whole tensor.  A copy, not a view."""
def all(input: Tensor, dim: Any = None, keepdim: _bool = False, *, axis: Any = ..., keepdims: _bool = ..., out: Tensor | None = None) -> Tensor:
    """Whether all elements are true (not zero), altogether or along dimensions."""
def allclose(input: Tensor, other: Tensor, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False) -> _bool:
    """Whether all elements are close; see :func:`isclose`."""
def alpha_dropout(input: Tensor, p: _float, train: _bool) -> Tensor:
    """Elements set to a self-normalising network's saturation with probability ``p``; mean and variance are kept."""
def alpha_dropout_(input: Tensor, p: _float, train: _bool) -> Tensor:
    """:func:`alpha_dropout` in place."""
def amax(input: Tensor, dim: Any = ..., keepdim: _bool = False, *, axis: Any = ..., keepdims: _bool = ..., out: Tensor | None = None) -> Tensor:
    """The largest element, of all or along dimensions; the gradient is shared evenly by equals."""
def amin(input: Tensor, dim: Any = ..., keepdim: _bool = False, *, axis: Any = ..., keepdims: _bool = ..., out: Tensor | None = None) -> Tensor:
    """The smallest element, of all or along dimensions; the gradient is shared evenly by equals."""
def aminmax(input: Tensor, *, dim: _int | None = None, keepdim: _bool = False, axis: _int | None = ..., keepdims: _bool = ..., out: Any = None) -> _results.aminmax:
    """The smallest and the largest element, of all or along a dimension."""
def angle(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle of a complex number with the positive real axis; of a real number 0 or pi."""
def any(input: Tensor, dim: Any = None, keepdim: _bool = False, *, axis: Any = ..., keepdims: _bool = ..., out: Tensor | None = None) -> Tensor:
    """Whether any element is true (not zero), altogether or along dimensions."""
def arange(start: _Number | None = None, end: _Number | None = None, step: _Number = 1, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: _bool = False, pin_memory: _bool = False, out: Tensor | None = None) -> Tensor:
    """Numbers from ``start`` (0) up to, but not including, ``end``; int64 where all arguments are integers."""
def arccos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle whose cosine each element is, between 0 and pi."""
def arccos_(input: Tensor) -> Tensor:
    """The angle whose cosine each element is, between 0 and pi."""
def arccosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The number, not negative, whose hyperbolic cosine each element is."""
def arccosh_(input: Tensor) -> Tensor:
    """The number, not negative, whose hyperbolic cosine each element is."""
def arcsin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle whose sine each element is, between -pi/2 and pi/2."""
def arcsin_(input: Tensor) -> Tensor:
    """The angle whose sine each element is, between -pi/2 and pi/2."""
def arcsinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The number whose hyperbolic sine each element is."""
def arcsinh_(input: Tensor) -> Tensor:
    """The number whose hyperbolic sine each element is."""
def arctan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle whose tangent each element is, between -pi/2 and pi/2."""
def arctan2(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle of the point ``(other, input)``, between -pi and pi."""
def arctan_(input: Tensor) -> Tensor:
    """The angle whose tangent each element is, between -pi/2 and pi/2."""
def arctanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The number whose hyperbolic tangent each element is."""
def arctanh_(input: Tensor) -> Tensor:
    """The number whose hyperbolic tangent each element is."""
def argmax(input: Tensor, dim: _int | None = None, keepdim: _bool = False, *, axis: _int | None = ..., keepdims: _bool = ..., out: Tensor | None = None) -> Tensor:
    """The index of the largest element (the first of equals), of all in row-major order or along a dimension."""
def argmin(input: Tensor, dim: _int | None = None, keepdim: _bool = False, *, axis: _int | None = ..., keepdims: _bool = ..., out: Tensor | None = None) -> Tensor:
    """The index of the smallest element (the first of equals), of all in row-major order or along a dimension."""
def argsort(input: Tensor, dim: _int = -1, descending: _bool = False, *, stable: _bool = False, axis: _int = ...) -> Tensor:
    """The indices that sort a tensor along a dimension."""
def argwhere(input: Tensor) -> Tensor:
    """Where elements are not zero, a position in each row."""
def as_strided(input: Tensor, size: Any, stride: Any, storage_offset: _int | None = None) -> Tensor:
    """A view by size, strides and offset (in elements) over the tensor's whole storage."""
def as_strided_(input: Tensor, size: Any, stride: Any, storage_offset: _int | None = None) -> Tensor:
    """Give this tensor another size, strides and offset in its memory."""
def as_strided_copy(input: Tensor, size: Any, stride: Any, storage_offset: _int | None = None) -> Tensor:
    """A copy of a view by size, strides and offset."""
def as_strided_scatter(input: Tensor, src: Tensor, size: Any, stride: Any, storage_offset: _int | None = None) -> Tensor:
    """A copy of ``input`` with ``src`` in the place of ``input.as_strided(size, stride, storage_offset)``."""
def asin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle whose sine each element is, between -pi/2 and pi/2."""
def asin_(input: Tensor) -> Tensor:
    """The angle whose sine each element is, between -pi/2 and pi/2."""
def asinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The number whose hyperbolic sine each element is."""
def asinh_(input: Tensor) -> Tensor:
    """The number whose hyperbolic sine each element is."""
def atan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle whose tangent each element is, between -pi/2 and pi/2."""
def atan2(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle of the point ``(other, input)``, between -pi and pi."""
def atan_(input: Tensor) -> Tensor:
    """The angle whose tangent each element is, between -pi/2 and pi/2."""
def atanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The number whose hyperbolic tangent each element is."""
def atanh_(input: Tensor) -> Tensor:
    """The number whose hyperbolic tangent each element is."""
def atleast_1d(*tensors_: Sequence[Tensor] | Sequence[Sequence[Tensor]], tensors: Sequence[Sequence[Tensor]] = ...) -> Any:
    """Tensors with at least one dimension."""
def atleast_2d(*tensors_: Sequence[Tensor] | Sequence[Sequence[Tensor]], tensors: Sequence[Sequence[Tensor]] = ...) -> Any:
    """Tensors with at least two dimensions: a vector becomes a row."""
def atleast_3d(*tensors_: Sequence[Tensor] | Sequence[Sequence[Tensor]], tensors: Sequence[Sequence[Tensor]] = ...) -> Any:
    """Tensors with at least three dimensions: a vector becomes (1, n, 1), a matrix (m, n, 1)."""
def autocast_decrement_nesting() -> _int:
    """Count one less autocast that has been entered."""
def autocast_increment_nesting() -> _int:
    """Count one more autocast that has been entered."""
def avg_pool1d(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: _bool = False, count_include_pad: _bool = True) -> Tensor:
    """The mean of each window of the last dimension."""
def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: _Number = 1, alpha: _Number = 1, out: Tensor | None = None) -> Tensor:
    """``beta * input + alpha * (batch1 @ batch2)`` for batches of matrices."""
def bartlett_window(window_length: _int, periodic: _bool = True, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """The Bartlett window: a triangle that begins and ends at zero."""
def batch_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None, training: _bool, momentum: _float, eps: _float, cudnn_enabled: _bool) -> Tensor:
    """``nn.functional.batch_norm`` with its arguments in another order."""
def batch_norm_backward_elemt(grad_out: Any, input: Any, mean: Any, invstd: Any, weight: Any, sum_dy: Any, sum_dy_xmu: Any, count: Any) -> Any:
    """The gradient of a batch norm with respect to its input, by the sums of all processes."""
def batch_norm_backward_reduce(grad_out: Any, input: Any, mean: Any, invstd: Any, weight: Any, input_g: _bool, weight_g: _bool, bias_g: _bool) -> _tuple[Any, Any, Any, Any]:
    """The sums that the gradients of a batch norm need of all processes, and the gradients of weight and bias."""
def batch_norm_elemt(input: Any, weight: Any, bias: Any, mean: Any, invstd: Any, eps: _float) -> Any:
    """The normalized input, by statistics that are given."""
def batch_norm_gather_stats(input: Any, mean: Any, invstd: Any, running_mean: Any, running_var: Any, momentum: _float, eps: _float, count: _int) -> _tuple[Any, Any]:
    """The statistics of all processes' batches together, where each has as many elements."""
def batch_norm_gather_stats_with_counts(input: Any, mean: Any, invstd: Any, running_mean: Any, running_var: Any, momentum: _float, eps: _float, counts: Any) -> _tuple[Any, Any]:
    """The statistics of all processes' batches together, from those of each; running ones are updated."""
def batch_norm_stats(input: Any, eps: _float) -> _tuple[Any, Any]:
    """The mean of each channel, and one over its standard deviation."""
def batch_norm_update_stats(input: Any, running_mean: Any, running_var: Any, momentum: _float) -> _tuple[Any, Any]:
    """The mean and the variance of each channel; running ones are updated."""
def bernoulli(input: Tensor, p: _float | None = None, *, generator: Any = None, out: Tensor | None = None) -> Tensor:
    """Ones with the probabilities in ``input`` (or with probability ``p``), else zeros."""
bfloat16: _dtype
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input1 @ weight[k] @ input2 + bias[k]`` for every output k."""
def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Tensor | None = None, pos_weight: Tensor | None = None, reduction: _int = 0) -> Tensor:
    """:func:`nn.functional.binary_cross_entropy_with_logits`, with the reduction as a number."""
def bincount(input: Tensor, weights: Tensor | None = None, minlength: _int = 0) -> Tensor:
    """How often each non-negative integer is there, or the sum of the weights of its occurrences."""
def binomial(count: Tensor, prob: Tensor, generator: Any = None) -> Tensor:
    """A binomial number for each count of trials and probability of success."""
bits16: _dtype
bits1x8: _dtype
bits2x4: _dtype
bits4x2: _dtype
bits8: _dtype
def bitwise_and(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """The bits that two integers have in common; of truth values, the logical and."""
def bitwise_left_shift(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """``input << other``, element by element; shifted by less than 0, or by all its bits, a number becomes 0."""
def bitwise_not(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The bitwise complement of integers; of booleans, the logical not."""
def bitwise_or(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """The bits that at least one of two integers has; of truth values, the logical or."""
def bitwise_right_shift(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """``input >> other``, element by element, with the sign kept; a shift below 0 counts as one by all bits."""
def bitwise_xor(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """The bits that just one of two integers has; of truth values, the logical exclusive or."""
def blackman_window(window_length: _int, periodic: _bool = True, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """The Blackman window: a sum of three cosines."""
def block_diag(*tensors_: Sequence[Tensor] | Sequence[Sequence[Tensor]], tensors: Sequence[Sequence[Tensor]] = ...) -> Tensor:
    """A matrix of zeros with the given matrices along its diagonal."""
def bmm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The products of two batches of matrices."""
bool: _dtype
def broadcast_shapes(*shapes: Any) -> _Size:
    """The shape that shapes broadcast to; a number counts as a shape of one dimension."""
def broadcast_tensors(*tensors_: Sequence[Tensor] | Sequence[Sequence[Tensor]], tensors: Sequence[Sequence[Tensor]] = ...) -> Any:
    """Tensors expanded to the shape that they broadcast to: a tuple of views."""
def broadcast_to(input: Tensor, size: Any) -> Tensor:
    """A view expanded to a shape."""
def bucketize(input: Tensor | _Number, boundaries: Tensor, *, out_int32: _bool = False, right: _bool = False, out: Tensor | None = None) -> Tensor:
    """The bucket of each value, between sorted boundaries; a boundary belongs to the bucket below unless ``right``."""
def cartesian_prod(*tensors_: Sequence[Tensor] | Sequence[Sequence[Tensor]], tensors: Sequence[Sequence[Tensor]] = ...) -> Any:
    """All tuples with one element of each vector, as rows."""
def cat(tensors: Sequence[Tensor], dim: _int = 0, *, axis: _int = ..., out: Tensor | None = None) -> Tensor:
    """Tensors joined along a dimension that they have."""
def ccol_indices_copy(input: Any) -> Any:
    """A copy of where the columns of a sparse tensor begin."""
def cdist(x1: Tensor, x2: Tensor, p: _float = 2.0, compute_mode: _str | None = 'use_mm_for_euclid_dist_if_necessary') -> Tensor:
    """The p-norm distances of every row of ``x1`` from every row of ``x2``."""
cdouble: _dtype
def ceil(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The smallest whole number that is not less than each element."""
def ceil_(input: Tensor) -> Tensor:
    """The smallest whole number that is not less than each element."""
def celu(input: Tensor, alpha: _int | _float = 1.0) -> Tensor:
    """The input where it is positive, ``alpha * (exp(input / alpha) - 1)`` elsewhere."""
def celu_(input: Tensor, alpha: _int | _float = 1.0) -> Tensor:
    """The input where it is positive, ``alpha * (exp(input / alpha) - 1)`` elsewhere."""
cfloat: _dtype
def chain_matmul(*matrices_: Sequence[Tensor] | Sequence[Sequence[Tensor]], matrices: Sequence[Sequence[Tensor]] = ..., out: Tensor | None = None) -> Tensor:
    """The product of a chain of matrices in the cheapest order."""
chalf: _dtype
def channel_shuffle(input: Tensor, groups: _int) -> Tensor:
    """Channels taken from each group in turn."""
def cholesky(input: Tensor, upper: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The Cholesky factor of positive-definite matrices."""
def cholesky_inverse(input: Tensor, upper: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The inverse of a matrix from its Cholesky factor."""
def cholesky_solve(input: Tensor, input2: Tensor, upper: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The solution X of ``A X = input`` from the Cholesky factor ``input2`` of A."""
def choose_qparams_optimized(*args: Any, **kwargs: Any) -> Any:
    """Not here: it is a kernel of FBGEMM with weights in its own order; torch.ao.nn.quantized has the layers"""
def chunk(input: Tensor, chunks: _int, dim: _int = 0, *, axis: _int = ...) -> Any:
    """At most so many parts of one size (the last may be smaller) along a dimension: a tuple of views."""
def clamp(input: Tensor, min: Tensor | _Number | None = None, max: Tensor | _Number | None = None, *, out: Tensor | None = None) -> Tensor:
    """Every element no smaller than ``min`` and no larger than ``max``; where they contradict, ``max`` holds."""
def clamp_(input: Tensor, min: Tensor | _Number | None = None, max: Tensor | _Number | None = None) -> Tensor:
    """Every element no smaller than ``min`` and no larger than ``max``; where they contradict, ``max`` holds."""
def clamp_max(input: Tensor, max: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Every element no larger than ``max``."""
def clamp_max_(input: Tensor, max: Tensor | _Number) -> Tensor:
    """Every element no larger than ``max``."""
def clamp_min(input: Tensor, min: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Every element no smaller than ``min``."""
def clamp_min_(input: Tensor, min: Tensor | _Number) -> Tensor:
    """Every element no smaller than ``min``."""
def clear_autocast_cache() -> None:
    """Forget the casts of parameters."""
def clip(input: Tensor, min: Tensor | _Number | None = None, max: Tensor | _Number | None = None, *, out: Tensor | None = None) -> Tensor:
    """Every element no smaller than ``min`` and no larger than ``max``; where they contradict, ``max`` holds."""
def clip_(input: Tensor, min: Tensor | _Number | None = None, max: Tensor | _Number | None = None) -> Tensor:
    """Every element no smaller than ``min`` and no larger than ``max``; where they contradict, ``max`` holds."""
def clone(input: Tensor, *, memory_format: Any = None) -> Tensor:
    """A copy that shares no memory with the input and is differentiable."""
def col_indices_copy(input: Any) -> Any:
    """A copy of the columns of a sparse tensor's values."""
def column_stack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Tensors concatenated along dimension 1, numbers and vectors as columns."""
def combinations(input: Tensor, r: _int = 2, with_replacement: _bool = False) -> Tensor:
    """All choices of ``r`` elements of a vector, one a row."""
def complex(real: Tensor, imag: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Complex numbers from their real and imaginary parts."""
complex128: _dtype
complex32: _dtype
complex64: _dtype
def concat(tensors: Sequence[Tensor], dim: _int = 0, *, axis: _int = ..., out: Tensor | None = None) -> Tensor:
    """Tensors joined along a dimension that they have."""
def concatenate(tensors: Sequence[Tensor], dim: _int = 0, *, axis: _int = ..., out: Tensor | None = None) -> Tensor:
    """Tensors joined along a dimension that they have."""
def conj(input: Tensor) -> Tensor:
    """The complex conjugate, as a view that shares the memory; a real tensor is returned itself."""
def conj_physical(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The complex conjugate, computed at once."""
def conj_physical_(input: Tensor) -> Tensor:
    """The complex conjugate, computed at once."""
def constant_pad_nd(input: Tensor, pad: Any, value: Any = 0) -> Tensor:
    """A border of one value; negative padding cuts off."""
def conv1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: _int = 1) -> Tensor:
    """A convolution over the last dimension of ``(N, C, L)`` or ``(C, L)``."""
def conv2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: _int = 1) -> Tensor:
    """A convolution over the last two dimensions of ``(N, C, H, W)`` or ``(C, H, W)``."""
def conv3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: _int = 1) -> Tensor:
    """A convolution over the last three dimensions of ``(N, C, D, H, W)`` or ``(C, D, H, W)``."""
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: _int = 0) -> Tensor:
    """A convolution over time of ``(T, N, C)`` with a weight ``(L, C, O)``."""
def conv_transpose1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0, groups: _int = 1, dilation: Any = 1) -> Tensor:
    """The transpose of ``conv1d``: the weight is ``(C, O / groups, L)``."""
def conv_transpose2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0, groups: _int = 1, dilation: Any = 1) -> Tensor:
    """The transpose of ``conv2d``: the weight is ``(C, O / groups, H, W)``."""
def conv_transpose3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0, groups: _int = 1, dilation: Any = 1) -> Tensor:
    """The transpose of ``conv3d``: the weight is ``(C, O / groups, D, H, W)``."""
def convolution(input: Tensor, weight: Tensor, bias: Tensor | None, stride: Any, padding: Any, dilation: Any, transposed: _bool, output_padding: Any, groups: _int) -> Tensor:
    """A convolution over any number of dimensions, or its transpose: what all functions of this family call."""
def copysign(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """The size of ``input`` with the sign of ``other``."""
def corrcoef(input: Tensor) -> Tensor:
    """The correlation matrix of variables (rows) from observations (columns)."""
def cos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The cosine of every element."""
def cos_(input: Tensor) -> Tensor:
    """The cosine of every element."""
def cosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The hyperbolic cosine of every element."""
def cosh_(input: Tensor) -> Tensor:
    """The hyperbolic cosine of every element."""
def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: _float = 0.0, reduction: _int = 0) -> Tensor:
    """:func:`nn.functional.cosine_embedding_loss`, with the reduction as a number."""
def cosine_similarity(x1: Tensor, x2: Tensor, dim: _int = 1, eps: _float = 1e-08, *, axis: _int = ...) -> Tensor:
    """The cosine of the angle between vectors along a dimension."""
def count_nonzero(input: Tensor, dim: Any = None, *, axis: Any = ...) -> Tensor:
    """How many elements are not zero, of all or along dimensions."""
def cov(input: Tensor, *, correction: _int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None) -> Tensor:
    """The covariance matrix of variables (rows) from observations (columns), which may be repeated and weighted."""
def cross(input: Tensor, other: Tensor, dim: _int | None = None, *, axis: _int | None = ..., out: Tensor | None = None) -> Tensor:
    """The cross product along a dimension: by default the first of size 3."""
def crow_indices_copy(input: Any) -> Any:
    """A copy of where the rows of a sparse tensor begin."""
def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: _int = 0, reduction: _int = 0, zero_infinity: _bool = False) -> Tensor:
    """:func:`nn.functional.ctc_loss`, with the reduction as a number."""
def cudnn_affine_grid_generator(*args: Any, **kwargs: Any) -> Any:
    """Not here: it is a kernel of cuDNN, MIOpen or oneDNN; convolutions, norms, pools and recurrent layers of torch.nn.functional and torch.nn compute the same"""
def cudnn_batch_norm(*args: Any, **kwargs: Any) -> Any:
    """Not here: it is a kernel of cuDNN, MIOpen or oneDNN; convolutions, norms, pools and recurrent layers of torch.nn.functional and torch.nn compute the same"""
def cudnn_convolution(*args: Any, **kwargs: Any) -> Any:
    """Not here: it is a kernel of cuDNN, MIOpen or oneDNN; convolutions, norms, pools and recurrent layers of torch.nn.functional and torch.nn compute the same"""
def cudnn_convolution_add_relu(*args: Any, **kwargs: Any) -> Any:
    """Not here: it is a kernel of cuDNN, MIOpen or oneDNN; convolutions, norms, pools and recurrent layers of torch.nn.functional and torch.nn compute the same"""
def cudnn_convolution_relu(*args: Any, **kwargs: Any) -> Any:
    """Not here: it is a kernel of cuDNN, MIOpen or oneDNN; convolutions, norms, pools and recurrent layers of torch.nn.functional and torch.nn compute the same"""
def cudnn_convolution_transpose(*args: Any, **kwargs: Any) -> Any:
    """Not here: it is a kernel of cuDNN, MIOpen or oneDNN; convolutions, norms, pools and recurrent layers of torch.nn.functional and torch.nn compute the same"""
def cudnn_grid_sampler(*args: Any, **kwargs: Any) -> Any:
    """Not here: it is a kernel of cuDNN, MIOpen or oneDNN; convolutions, norms, pools and recurrent layers of torch.nn.functional and torch.nn compute the same"""
def cudnn_is_acceptable(tensor: Any) -> _bool:
    """Whether cuDNN may compute with a tensor: one on a GPU, of a type that it has."""
def cummax(input: Tensor, dim: _int = ..., *, axis: _int = ..., out: Any = None) -> _results.cummax:
    """The largest element up to each one along a dimension, and where it is."""
def cummin(input: Tensor, dim: _int = ..., *, axis: _int = ..., out: Any = None) -> _results.cummin:
    """The smallest element up to each one along a dimension, and where it is."""
def cumprod(input: Tensor, dim: _int = ..., *, dtype: Any = None, axis: _int = ..., out: Tensor | None = None) -> Tensor:
    """The product of all elements up to each one, along a dimension."""
def cumsum(input: Tensor, dim: _int = ..., *, dtype: Any = None, axis: _int = ..., out: Tensor | None = None) -> Tensor:
    """The sum of all elements up to each one, along a dimension."""
def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Any = None, dim: _int = -1, axis: _int = ...) -> Tensor:
    """The running integral of ``y`` along a dimension by the trapezoidal rule."""
def deg2rad(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Angles in radians from angles in degrees."""
def deg2rad_(input: Tensor) -> Tensor:
    """Angles in radians from angles in degrees."""
def dequantize(input: Tensor) -> Tensor:
    """The real numbers that a quantized tensor stands for, in float32."""
def det(input: Tensor) -> Tensor:
    """The determinant of square matrices."""
def detach(input: Tensor) -> Tensor:
    """The same memory, outside the gradient graph; writes through either are counted for both."""
def detach_(input: Any) -> Any:
    """Take a tensor out of the gradient graph, in place."""
def detach_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The same memory, outside the gradient graph; writes through either are counted for both.  A copy, not a view."""
def diag(input: Tensor, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """Of a vector, the matrix with it as a diagonal; of a matrix, a copy of a diagonal."""
def diag_embed(input: Tensor, offset: _int = 0, dim1: _int = -2, dim2: _int = -1) -> Tensor:
    """Matrices of zeros with the last dimension as a diagonal."""
def diagflat(input: Tensor, offset: _int = 0) -> Tensor:
    """The matrix with all elements as a diagonal."""
def diagonal(input: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
    """A diagonal of the matrices that two dimensions span, as a last dimension."""
def diagonal_copy(input: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1, *, out: Tensor | None = None) -> Tensor:
    """A diagonal of the matrices that two dimensions span, as a last dimension.  A copy, not a view."""
def diagonal_scatter(input: Tensor, src: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
    """A copy of ``input`` with ``src`` as a diagonal."""
def diff(input: Tensor, n: _int = 1, dim: _int = -1, prepend: Tensor | None = None, append: Tensor | None = None, *, axis: _int = ..., out: Tensor | None = None) -> Tensor:
    """The differences of neighbours along a dimension, ``n`` times over."""
def digamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The derivative of the logarithm of the gamma function."""
def dist(input: Tensor, other: Tensor, p: _float = 2) -> Tensor:
    """The p-norm of ``input - other``."""
def div(input: Tensor | _Number, other: Tensor | _Number, *, rounding_mode: _str | None = None, out: Tensor | None = None) -> Tensor:
    """``input / other``, element by element; ``rounding_mode`` is None, ``"trunc"`` or ``"floor"``."""
def divide(input: Tensor | _Number, other: Tensor | _Number, *, rounding_mode: _str | None = None, out: Tensor | None = None) -> Tensor:
    """``input / other``, element by element; ``rounding_mode`` is None, ``"trunc"`` or ``"floor"``."""
def dot(input: Tensor, tensor: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sum of the products of two vectors' elements."""
double: _dtype
def dropout(input: Tensor, p: _float, train: _bool) -> Tensor:
    """Elements zeroed with probability ``p``, the others scaled by ``1 / (1 - p)``."""
def dropout_(input: Tensor, p: _float, train: _bool) -> Tensor:
    """:func:`dropout` in place."""
def dsmm(input: Tensor, mat2: Tensor) -> Tensor:
    """The product of a dense and a sparse matrix."""
def dsplit(input: Tensor, indices_or_sections: Any) -> Any:
    """Split along the third dimension."""
def dstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Tensors joined in depth: along dimension 2."""
e: _float
def einsum(*args_: Sequence[Tensor] | Sequence[Sequence[Tensor]], args: Sequence[Sequence[Tensor]] = ...) -> Tensor:
    """Sums of products, with the dimensions of every operand named by letters: ``einsum("bij,bjk->bik", a, b)``."""
def embedding(weight: Tensor, input: Tensor, padding_idx: _int = -1, scale_grad_by_freq: _bool = False) -> Tensor:
    """The rows of a table that indices name."""
def embedding_bag(weight: Tensor, indices: Tensor, offsets: Tensor, scale_grad_by_freq: _bool = False, mode: _int = 0, sparse: _bool = False, per_sample_weights: Tensor | None = None, include_last_offset: _bool = False, padding_idx: _int | None = None) -> _tuple[Tensor, Tensor, Tensor, Tensor]:
    """The sum (0), mean (1) or maximum (2) of each bag; the bag of every index, the sizes of bags, and the rows that the maxima come from."""
def embedding_renorm_(input: Tensor, indices: Tensor, max_norm: _float, norm_type: _float) -> Tensor:
    """Shrink, in place, the rows that are named to a largest norm."""
def empty(*size_: _int | Sequence[_int], dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: _bool = False, pin_memory: _bool = False, memory_format: Any = None, size: Sequence[_int] = ..., out: Tensor | None = None) -> Tensor:
    """A tensor whose elements are whatever was in memory."""
def empty_like(input: Tensor, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: _bool = False, pin_memory: _bool = False, memory_format: Any = None) -> Tensor:
    """A tensor in the shape of another whose elements are whatever was in memory."""
def empty_permuted(size: Any, physical_layout: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: _bool = False, pin_memory: _bool = False, out: Tensor | None = None) -> Tensor:
    """A dense tensor whose dimensions are in a given memory order, outermost first; its elements are undefined."""
def empty_quantized(*args: Any, **kwargs: Any) -> Any:
    """Not here: it is a kernel of FBGEMM with weights in its own order; torch.ao.nn.quantized has the layers"""
def empty_strided(size: Any, stride: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """A tensor of given strides whose elements are whatever was in memory."""
def eq(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """``input == other``, element by element."""
def equal(input: Tensor, other: Tensor) -> _bool:
    """Whether two tensors have the same shape and the same elements."""
def erf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The error function of every element."""
def erf_(input: Tensor) -> Tensor:
    """The error function of every element."""
def erfc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``1 - erf(input)``, exact where ``erf`` is near 1."""
def erfc_(input: Tensor) -> Tensor:
    """``1 - erf(input)``, exact where ``erf`` is near 1."""
def erfinv(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The number whose error function each element is."""
def exp(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """e to the power of every element."""
def exp2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """2 to the power of every element."""
def exp2_(input: Tensor) -> Tensor:
    """2 to the power of every element."""
def exp_(input: Tensor) -> Tensor:
    """e to the power of every element."""
def expand_copy(input: Tensor, *size_: _int | Sequence[_int], size: Sequence[_int] = ..., out: Tensor | None = None) -> Tensor:
    """A view in which dimensions of size 1 (and new leading ones) are repeated without copying.  A copy, not a view."""
def expm1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``exp(input) - 1``, exact near 0."""
def expm1_(input: Tensor) -> Tensor:
    """``exp(input) - 1``, exact near 0."""
def eye(n: _int, m: _int | None = None, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: _bool = False, pin_memory: _bool = False, out: Tensor | None = None) -> Tensor:
    """A matrix with ones on the diagonal and zeros elsewhere."""
def fake_quantize_per_channel_affine(input: Tensor, scale: Tensor, zero_point: Tensor, axis: _int, quant_min: _int, quant_max: _int) -> Tensor:
    """Fake quantization with a scale and a zero point for each index of one dimension."""
def fake_quantize_per_tensor_affine(input: Tensor, scale: Tensor | _Number, zero_point: Tensor | _Number, quant_min: _int, quant_max: _int) -> Tensor:
    """Values rounded as quantization would round them, and kept real; gradients pass where values were not limited."""
def fbgemm_linear_fp16_weight(*args: Any, **kwargs: Any) -> Any:
    """Not here: it is a kernel of FBGEMM with weights in its own order; torch.ao.nn.quantized has the layers"""
def fbgemm_linear_fp16_weight_fp32_activation(*args: Any, **kwargs: Any) -> Any:
    """Not here: it is a kernel of FBGEMM with weights in its own order; torch.ao.nn.quantized has the layers"""
def fbgemm_linear_int8_weight(*args: Any, **kwargs: Any) -> Any:
    """Not here: it is a kernel of FBGEMM with weights in its own order; torch.ao.nn.quantized has the layers"""
def fbgemm_linear_int8_weight_fp32_activation(*args: Any, **kwargs: Any) -> Any:
    """Not here: it is a kernel of FBGEMM with weights in its own order; torch.ao.nn.quantized has the layers"""
def fbgemm_linear_quantize_weight(*args: Any, **kwargs: Any) -> Any:
    """Not here: it is a kernel of FBGEMM with weights in its own order; torch.ao.nn.quantized has the layers"""
def fbgemm_pack_gemm_matrix_fp16(*args: Any, **kwargs: Any) -> Any:
    """Not here: it is a kernel of FBGEMM with weights in its own order; torch.ao.nn.quantized has the layers"""
def fbgemm_pack_quantized_matrix(*args: Any, **kwargs: Any) -> Any:
    """Not here: it is a kernel of FBGEMM with weights in its own order; torch.ao.nn.quantized has the layers"""
def feature_alpha_dropout(input: Tensor, p: _float, train: _bool) -> Tensor:
    """:func:`alpha_dropout` of whole channels."""
def feature_alpha_dropout_(input: Tensor, p: _float, train: _bool) -> Tensor:
    """:func:`feature_alpha_dropout` in place."""
def feature_dropout(input: Tensor, p: _float, train: _bool) -> Tensor:
    """Channels zeroed with probability ``p``, the others scaled by ``1 / (1 - p)``."""
def feature_dropout_(input: Tensor, p: _float, train: _bool) -> Tensor:
    """:func:`feature_dropout` in place."""
def fill(input: Tensor, value: Tensor | _Number) -> Tensor:
    """A tensor like ``input`` with every element ``value``."""
def fill_(input: Tensor, value: Tensor | _Number) -> Tensor:
    """A tensor like ``input`` with every element ``value``."""
def fix(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Every element without what is behind its point."""
def fix_(input: Tensor) -> Tensor:
    """Every element without what is behind its point."""
def flatten(input: Tensor, start_dim: _int = 0, end_dim: _int = -1) -> Tensor:
    """A range of dimensions merged into one: a view where that is possible."""
def flip(input: Tensor, *dims_: _int | Sequence[_int], dims: Sequence[_int] = ...) -> Tensor:
    """A copy with the order of elements reversed along dimensions."""
def fliplr(input: Tensor) -> Tensor:
    """A copy reversed from left to right, along dimension 1."""
def flipud(input: Tensor) -> Tensor:
    """A copy reversed from top to bottom, along dimension 0."""
float: _dtype
float16: _dtype
float32: _dtype
float4_e2m1fn_x2: _dtype
float64: _dtype
float8_e4m3fn: _dtype
float8_e4m3fnuz: _dtype
float8_e5m2: _dtype
float8_e5m2fnuz: _dtype
float8_e8m0fnu: _dtype
def float_power(input: Tensor | _Number, exponent: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """``input ** exponent`` in double precision."""
def floor(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The largest whole number that is not greater than each element."""
def floor_(input: Tensor) -> Tensor:
    """The largest whole number that is not greater than each element."""
def floor_divide(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """The whole number below ``input / other``: what ``//`` gives."""
def fmax(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The larger of two elements; if one of them is nan, the other."""
def fmin(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The smaller of two elements; if one of them is nan, the other."""
def fmod(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """The rest of a division, with the sign of ``input``."""
def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> _Future:
    """Call a function; its result by :func:`wait`.  It runs at once, and in a trace its ops stand in line with the others."""
def frac(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """What is behind the point of each element, with its sign."""
def frac_(input: Tensor) -> Tensor:
    """What is behind the point of each element, with its sign."""
def frexp(input: Tensor, *, out: Any = None) -> _results.frexp:
    """Mantissa and exponent: ``input == mantissa * 2 ** exponent`` with the mantissa in ``[0.5, 1)``."""
def frobenius_norm(input: Tensor, dim: Any, keepdim: _bool = False) -> Tensor:
    """The root of the sum of squares over dimensions (one or two)."""
def from_file(filename: _str, shared: _bool | None = None, size: _int | None = 0, *, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: _bool = False) -> Any:
    """A tensor over a file; with ``shared``, writes go to the file, which is made as large as it has to be."""
def full(size: Any, fill_value: _Number, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: _bool = False, pin_memory: _bool = False, out: Tensor | None = None) -> Tensor:
    """A tensor with every element the same."""
def full_like(input: Tensor, fill_value: _Number, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: _bool = False, pin_memory: _bool = False, memory_format: Any = None) -> Tensor:
    """A tensor in the shape of another with every element the same."""
def fused_moving_avg_obs_fake_quant(input: Tensor, observer_on: Tensor, fake_quant_on: Tensor, running_min: Tensor, running_max: Tensor, scale: Tensor, zero_point: Tensor, averaging_const: _float, quant_min: _int, quant_max: _int, ch_axis: _int, per_row_fake_quant: _bool = False, symmetric_quant: _bool = False) -> Tensor:
    """Fake quantization whose limits follow a moving average of the extremes of its inputs; it keeps them in its buffers."""
def gather(input: Tensor, dim: _int = ..., index: Tensor = ..., *, sparse_grad: _bool = False, axis: _int = ..., out: Tensor | None = None) -> Tensor:
    """Elements along a dimension: for ``dim=0``, ``result[i, j] = input[index[i, j], j]``."""
def gcd(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The greatest common divisor of two integers."""
def gcd_(input: Tensor, other: Tensor) -> Tensor:
    """The greatest common divisor of two integers."""
def ge(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """``input >= other``, element by element."""
def geqrf(input: Tensor, *, out: Any = None) -> _results.geqrf:
    """The QR decomposition as LAPACK packs it: R above, Householder vectors below the diagonal, and their factors."""
def ger(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Every product of an element of one vector with one of another."""
def get_autocast_cpu_dtype(*args: Any) -> Any:
    """The old name of ``get_autocast_dtype('cpu')``."""
def get_autocast_dtype(device_type: _str) -> Any:
    """The narrow type that autocast uses on a kind of device."""
def get_autocast_gpu_dtype(*args: Any) -> Any:
    """The old name of ``get_autocast_dtype('cuda')``."""
def get_autocast_ipu_dtype() -> Any:
    """The narrow type of autocast on IPUs."""
def get_autocast_xla_dtype() -> Any:
    """The narrow type of autocast on XLA devices."""
def get_device(input: Any) -> _int:
    """The index of the device of a tensor; -1 for the CPU."""
def get_device_module(device: Any = None) -> Any:
    """The module of a kind of device: ``torch.cuda`` for "cuda"; without an argument, that of the accelerator, or of the CPU."""
def gradient(input: Tensor, *, spacing: Any = 1, dim: Any = None, edge_order: _int = 1, axis: Any = ...) -> _tuple[Tensor, ...]:
    """The slopes of sampled values along dimensions, for a spacing or coordinates of the samples."""
def greater(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """``input > other``, element by element."""
def greater_equal(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """``input >= other``, element by element."""
def grid_sampler(input: Tensor, grid: Tensor, interpolation_mode: _int, padding_mode: _int, align_corners: _bool) -> Tensor:
    """The input at the points of a grid; modes by number, in the order that ``grid_sample`` names them."""
def grid_sampler_2d(input: Tensor, grid: Tensor, interpolation_mode: _int, padding_mode: _int, align_corners: _bool) -> Tensor:
    """The input at the points of a grid; modes by number, in the order that ``grid_sample`` names them."""
def grid_sampler_3d(input: Tensor, grid: Tensor, interpolation_mode: _int, padding_mode: _int, align_corners: _bool) -> Tensor:
    """The input at the points of a grid; modes by number, in the order that ``grid_sample`` names them."""
def group_norm(input: Tensor, num_groups: _int, weight: Tensor | None = None, bias: Tensor | None = None, eps: _float = 1e-05, cudnn_enabled: _bool = True) -> Tensor:
    """Normalise groups of channels of every sample, then scale and shift every channel."""
def gru(*args_: Any | Sequence[Any], args: Sequence[Any] = ...) -> Tensor:
    """A network of gated recurrent units; arguments as of ``lstm``."""
def gru_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None) -> Tensor:
    """One step of a GRU: the new hidden state."""
def gt(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """``input > other``, element by element."""
half: _dtype
def hamming_window(window_length: _int, periodic: _bool = True, alpha: _float = 0.54, beta: _float = 0.46, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """The Hamming window: a raised cosine that does not quite reach zero."""
def hann_window(window_length: _int, periodic: _bool = True, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """The Hann window: one period of a raised cosine."""
def hardshrink(input: Tensor, lambd: _int | _float = 0.5, *, out: Tensor | None = None) -> Tensor:
    """The input, with 0 for what is within ``lambd`` of 0."""
def hash_tensor(input: Any, dim: Any = None, *, keepdim: _bool = False, mode: _int = 0) -> Any:
    """The exclusive or of the bits of all elements, or along dimensions: floats as float64, integers as int64."""
def heaviside(input: Tensor, values: Tensor, *, out: Tensor | None = None) -> Tensor:
    """0 for what is negative, 1 for what is positive, and ``values`` for 0."""
def hinge_embedding_loss(input: Tensor, target: Tensor, margin: _float = 1.0, reduction: _int = 0) -> Tensor:
    """:func:`nn.functional.hinge_embedding_loss`, with the reduction as a number."""
def histc(input: Tensor, bins: _int = 100, min: _Number = 0, max: _Number = 0, *, out: Tensor | None = None) -> Tensor:
    """How many elements fall in each of equal bins between ``min`` and ``max`` (of the data, if they are the same)."""
def histogram(input: Tensor, bins: Tensor | _Number = 100, *, range: Any = None, weight: Tensor | None = None, density: _bool = False, out: Any = None) -> _results.histogram:
    """The histogram of all elements, in a number of equal bins or between given edges, and the edges of the bins."""
def histogramdd(input: Tensor, bins: Any, range: Any = None, weight: Tensor | None = None, density: _bool = False) -> Any:
    """The histogram of points (the last dimension holds coordinates), and the edges of the bins for each coordinate."""
def hsmm(input: Tensor, mat2: Tensor) -> Tensor:
    """A sparse matrix times a dense one, as a hybrid tensor."""
def hsplit(input: Tensor, indices_or_sections: Any) -> Any:
    """Split along the second dimension (of a vector, the first)."""
def hspmm(mat1: Tensor, mat2: Tensor) -> Tensor:
    """A sparse matrix times a dense one, as a hybrid tensor: it keeps the rows that are not empty."""
def hstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Tensors concatenated along dimension 1, vectors along dimension 0."""
def hypot(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``sqrt(input ** 2 + other ** 2)``, without overflow on the way."""
def i0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the first kind of order 0."""
def i0_(input: Tensor) -> Tensor:
    """The modified Bessel function of the first kind of order 0."""
def igamma(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The regularised lower incomplete gamma function ``P(input, other)``."""
def igammac(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The regularised upper incomplete gamma function ``Q(input, other)``."""
def imag(input: Tensor) -> Tensor:
    """The imaginary part of a complex tensor, as a view of its memory."""
def import_ir_module(*args: Any, **kwargs: Any) -> Any:
    """Not here: it reads or makes PyTorch's own graphs of scripts; torch.jit.script, trace, save and load take their place"""
def import_ir_module_from_buffer(*args: Any, **kwargs: Any) -> Any:
    """Not here: it reads or makes PyTorch's own graphs of scripts; torch.jit.script, trace, save and load take their place"""
def index_add(input: Tensor, dim: _int = ..., index: Tensor = ..., source: Tensor = ..., *, alpha: _Number = 1, axis: _int = ..., out: Tensor | None = None) -> Tensor:
    """Add the slices of a source, times ``alpha``, to those that a vector of positions names; repeats add up."""
def index_copy(input: Tensor, dim: _int = ..., index: Tensor = ..., source: Tensor = ..., *, axis: _int = ..., out: Tensor | None = None) -> Tensor:
    """Write the slices of a source over those that a vector of positions names."""
def index_fill(input: Tensor, dim: _int = ..., index: Tensor = ..., value: Tensor | _Number = ..., *, axis: _int = ...) -> Tensor:
    """Write a number over the slices that a vector of positions names."""
def index_put(input: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: _bool = False) -> Tensor:
    """Write values at the positions (or where the masks are true) that are given for each dimension, or add them."""
def index_put_(input: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: _bool = False) -> Tensor:
    """Write values at the positions (or where the masks are true) that are given for each dimension, or add them."""
def index_reduce(input: Tensor, dim: _int = ..., index: Tensor = ..., source: Tensor = ..., reduce: _str = ..., *, include_self: _bool = True, axis: _int = ..., out: Tensor | None = None) -> Tensor:
    """Reduce the slices of a source into those that a vector of positions names: "prod", "mean", "amax" or "amin"."""
def index_select(input: Tensor, dim: _int = ..., index: Tensor = ..., *, axis: _int = ..., out: Tensor | None = None) -> Tensor:
    """The slices of one dimension that a vector of positions names."""
def indices_copy(input: Any) -> Any:
    """A copy of the indices of a sparse tensor."""
inf: _float
def init_num_threads() -> None:
    """Prepare this thread for parallel work: threads need no preparation here."""
def inner(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The dot products of the last dimensions; with a 0-dim tensor, the plain product."""
def instance_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None, use_input_stats: _bool, momentum: _float, eps: _float, cudnn_enabled: _bool) -> Tensor:
    """:func:`nn.functional.instance_norm`, with its arguments in another order."""
int: _dtype
int1: _dtype
int16: _dtype
int2: _dtype
int3: _dtype
int32: _dtype
int4: _dtype
int5: _dtype
int6: _dtype
int64: _dtype
int7: _dtype
int8: _dtype
def int_repr(input: Tensor) -> Tensor:
    """The integers of a quantized tensor."""
def inverse(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of square matrices."""
def is_autocast_cache_enabled() -> _bool:
    """Whether casts of parameters are kept."""
def is_autocast_cpu_enabled(*args: Any) -> Any:
    """The old name of ``is_autocast_enabled('cpu')``."""
def is_autocast_enabled(device_type: _str = 'cuda') -> _bool:
    """Whether autocast is on for a kind of device."""
def is_autocast_ipu_enabled() -> _bool:
    """Whether autocast is on for IPUs."""
def is_autocast_xla_enabled() -> _bool:
    """Whether autocast is on for XLA devices."""
def is_conj(input: Tensor) -> _bool:
    """Whether the memory is read conjugated."""
def is_distributed(input: Any) -> _bool:
    """False: no tensor is spread over processes."""
def is_neg(input: Tensor) -> _bool:
    """Whether the memory is read negated."""
def is_nonzero(input: Tensor) -> _bool:
    """Whether the one element of a tensor is not 0."""
def is_signed(input: Tensor) -> _bool:
    """Whether the type has negative numbers."""
def is_vulkan_available() -> _bool:
    """False: there is no such device."""
def is_warn_always_enabled() -> _bool:
    """What ``set_warn_always`` has set."""
def isclose(input: Tensor, other: Tensor, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False) -> Tensor:
    """Whether ``|input - other| <= atol + rtol * |other|``, element by element."""
def isfinite(input: Tensor) -> Tensor:
    """Whether each element is neither infinite nor not a number."""
def isin(elements: Tensor | _Number, test_elements: Tensor | _Number, *, assume_unique: _bool = False, invert: _bool = False, out: Tensor | None = None) -> Tensor:
    """Whether each element is one of ``test_elements``."""
def isinf(input: Tensor) -> Tensor:
    """Whether each element is infinite, of either sign."""
def isnan(input: Tensor) -> Tensor:
    """Whether each element is not a number."""
def isneginf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether each element is negative infinity."""
def isposinf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether each element is positive infinity."""
def isreal(input: Tensor) -> Tensor:
    """Whether the imaginary part of each element is 0."""
def istft(input: Tensor, n_fft: _int, hop_length: _int | None = None, win_length: _int | None = None, window: Tensor | None = None, center: _bool = True, normalized: _bool = False, onesided: _bool | None = None, length: _int | None = None, return_complex: _bool = False) -> Tensor:
    """The signal with these short-time spectra: frames are added up, and divided by what their windows add up to."""
def kaiser_window(window_length: _int, periodic: _bool = True, beta: _float = 12.0, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """The Kaiser window, whose ``beta`` weighs a narrow main lobe against low side lobes."""
def kl_div(input: Tensor, target: Tensor, reduction: _int = 0, *, log_target: _bool = False) -> Tensor:
    """:func:`nn.functional.kl_div`, with the reduction as a number."""
def kron(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Kronecker product: the block matrix of ``other`` times each element of ``input``."""
def kthvalue(input: Tensor, k: _int, dim: _int = -1, keepdim: _bool = False, *, axis: _int = ..., keepdims: _bool = ..., out: Any = None) -> _results.kthvalue:
    """The ``k``-th smallest element (counted from 1) along a dimension, and where it is."""
def layer_norm(input: Tensor, normalized_shape: Any, weight: Tensor | None = None, bias: Tensor | None = None, eps: _float = 1e-05, cudnn_enable: _bool = True) -> Tensor:
    """Normalise over the last dimensions, then scale and shift."""
def lcm(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The least common multiple of two integers."""
def lcm_(input: Tensor, other: Tensor) -> Tensor:
    """The least common multiple of two integers."""
def ldexp(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``input * 2 ** other``."""
def ldexp_(input: Tensor, other: Tensor) -> Tensor:
    """``input * 2 ** other``."""
def le(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """``input <= other``, element by element."""
def lerp(input: Tensor, end: Tensor, weight: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """``input + weight * (end - input)``."""
def less(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """``input < other``, element by element."""
def less_equal(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """``input <= other``, element by element."""
def lgamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the size of the gamma function of each element."""
def linspace(start: Any, end: Any, steps: _int, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: _bool = False, pin_memory: _bool = False, out: Tensor | None = None) -> Tensor:
    """``steps`` numbers from ``start`` to ``end``, both included, at equal steps."""
def lobpcg(A: Tensor, k: _int | None = None, B: Tensor | None = None, X: Tensor | None = None, n: _int | None = None, iK: Tensor | None = None, niter: _int | None = None, tol: _float | None = None, largest: _bool | None = None, method: _str | None = None, tracker: Any = None, ortho_iparams: Any = None, ortho_fparams: Any = None, ortho_bparams: Any = None) -> _tuple[Tensor, Tensor]:
    """The k largest (or smallest) eigenvalues of symmetric matrices, and their vectors, found step by step."""
def log(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The natural logarithm of every element."""
def log10(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of every element to the base 10."""
def log10_(input: Tensor) -> Tensor:
    """The logarithm of every element to the base 10."""
def log1p(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``log(1 + input)``, exact near 0."""
def log1p_(input: Tensor) -> Tensor:
    """``log(1 + input)``, exact near 0."""
def log2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of every element to the base 2."""
def log2_(input: Tensor) -> Tensor:
    """The logarithm of every element to the base 2."""
def log_(input: Tensor) -> Tensor:
    """The natural logarithm of every element."""
def log_softmax(input: Tensor, dim: _int = ..., dtype: Any = None, *, axis: _int = ..., out: Tensor | None = None) -> Tensor:
    """The logarithm of :func:`softmax`, computed without overflow."""
def logaddexp(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``log(exp(input) + exp(other))``, without overflow on the way."""
def logaddexp2(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``log2(2 ** input + 2 ** other)``, without overflow on the way."""
def logcumsumexp(input: Tensor, dim: _int = ..., *, axis: _int = ..., out: Tensor | None = None) -> Tensor:
    """The logarithm of the running sum of exponentials along a dimension, computed without overflow."""
def logdet(input: Tensor) -> Tensor:
    """The logarithm of the determinant; nan where a real determinant is negative."""
def logical_and(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether both elements are true; anything but 0 is true."""
def logical_not(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether each element is false, that is 0."""
def logical_or(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether at least one of two elements is true; anything but 0 is true."""
def logical_xor(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether just one of two elements is true; anything but 0 is true."""
def logit(input: Tensor, eps: _float | None = None, *, out: Tensor | None = None) -> Tensor:
    """``log(input / (1 - input))``; with ``eps``, of the input brought into ``[eps, 1 - eps]``."""
def logit_(input: Tensor, eps: _float | None = None) -> Tensor:
    """``log(input / (1 - input))``; with ``eps``, of the input brought into ``[eps, 1 - eps]``."""
def logspace(start: Any, end: Any, steps: _int, base: _float = 10.0, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: _bool = False, pin_memory: _bool = False, out: Tensor | None = None) -> Tensor:
    """Powers of ``base`` whose exponents are ``steps`` numbers from ``start`` to ``end`` at equal steps."""
def logsumexp(input: Tensor, dim: Any = ..., keepdim: _bool = False, *, axis: Any = ..., keepdims: _bool = ..., out: Tensor | None = None) -> Tensor:
    """The logarithm of the sum of exponentials along dimensions, computed without overflow."""
long: _dtype
def lstm(*args_: Any | Sequence[Any], args: Sequence[Any] = ...) -> Tensor:
    """A long short-term memory network: ``lstm(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)``."""
def lstm_cell(input: Tensor, hx: Any, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None) -> Tensor:
    """One step of an LSTM: the new hidden state and the new cell."""
def lt(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """``input < other``, element by element."""
def lu(A: Tensor, pivot: _bool = True, get_infos: _bool = False) -> Any:
    """The packed LU factors and the row exchanges; with ``get_infos`` also the first zero on the diagonal of U."""
def lu_solve(input: Tensor, LU_data: Tensor, LU_pivots: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The solution of ``A X = input`` from the LU factors of A."""
def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: _bool = True, unpack_pivots: _bool = True, *, out: Any = None) -> _tuple[Tensor, Tensor, Tensor]:
    """The permutation P and the factors L and U of packed LU factors, so that ``A = P @ L @ U``."""
def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: _float = 0.0, reduction: _int = 0) -> Tensor:
    """:func:`nn.functional.margin_ranking_loss`, with the reduction as a number."""
def masked_fill(input: Tensor, mask: Tensor, value: Tensor | _Number) -> Tensor:
    """``input`` with ``value`` wherever ``mask`` is true."""
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """The elements of ``source``, one after the other, where ``mask`` is true."""
def masked_select(input: Tensor, mask: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A vector of the elements where ``mask`` is true."""
def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The matrix product; leading dimensions broadcast, and 1-dim operands are vectors."""
def matrix_exp(input: Tensor) -> Tensor:
    """The matrix exponential."""
def matrix_power(input: Tensor, n: _int, *, out: Tensor | None = None) -> Tensor:
    """A square matrix multiplied with itself n times; a negative n takes the inverse."""
def max(input: Tensor, dim: Tensor | _int | None = None, keepdim: _bool = False, *, other: Tensor | None = None, axis: Tensor | _int | None = ..., keepdims: _bool = ..., out: Tensor | None = None) -> Any:
    """The largest of all elements; with ``dim``, along it, with indices; with ``other``, the larger of each two."""
def max_pool1d(input: Tensor, kernel_size: Any, stride: Any = ..., padding: Any = 0, dilation: Any = 1, ceil_mode: _bool = False) -> Tensor:
    """The largest element of each window of the last dimensions."""
def max_pool1d_with_indices(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: _bool = False, return_indices: _bool = False) -> _results.max_pool1d_with_indices:
    """The largest element of each window, and its index in the plane that the window slides over."""
def max_pool2d(input: Tensor, kernel_size: Any, stride: Any = ..., padding: Any = 0, dilation: Any = 1, ceil_mode: _bool = False) -> Tensor:
    """The largest element of each window of the last dimensions."""
def max_pool3d(input: Tensor, kernel_size: Any, stride: Any = ..., padding: Any = 0, dilation: Any = 1, ceil_mode: _bool = False) -> Tensor:
    """The largest element of each window of the last dimensions."""
def maximum(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The larger of two elements; nan if one of them is."""
def mean(input: Tensor, dim: Any = None, keepdim: _bool = False, *, dtype: Any = None, axis: Any = ..., keepdims: _bool = ..., out: Tensor | None = None) -> Tensor:
    """The mean of all elements, or along dimensions."""
def median(input: Tensor, dim: _int | None = None, keepdim: _bool = False, *, axis: _int | None = ..., keepdims: _bool = ..., out: Tensor | None = None) -> Any:
    """The median (of two in the middle the lower) of all elements, or along a dimension with indices; NaN if there is one."""
def merge_type_from_type_comment(*args: Any, **kwargs: Any) -> Any:
    """Not here: it reads or makes PyTorch's own graphs of scripts; torch.jit.script, trace, save and load take their place"""
def meshgrid(*tensors_: Sequence[Tensor] | Sequence[Sequence[Tensor]], indexing: _str | None = None, tensors: Sequence[Sequence[Tensor]] = ...) -> Any:
    """Grids of coordinates, a tuple of views, from vectors; ``indexing`` is ``"ij"`` (rows first) or ``"xy"``."""
def min(input: Tensor, dim: Tensor | _int | None = None, keepdim: _bool = False, *, other: Tensor | None = None, axis: Tensor | _int | None = ..., keepdims: _bool = ..., out: Tensor | None = None) -> Any:
    """The smallest of all elements; with ``dim``, along it, with indices; with ``other``, the smaller of each two."""
def minimum(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The smaller of two elements; nan if one of them is."""
def miopen_batch_norm(*args: Any, **kwargs: Any) -> Any:
    """Not here: it is a kernel of cuDNN, MIOpen or oneDNN; convolutions, norms, pools and recurrent layers of torch.nn.functional and torch.nn compute the same"""
def miopen_convolution(*args: Any, **kwargs: Any) -> Any:
    """Not here: it is a kernel of cuDNN, MIOpen or oneDNN; convolutions, norms, pools and recurrent layers of torch.nn.functional and torch.nn compute the same"""
def miopen_convolution_add_relu(*args: Any, **kwargs: Any) -> Any:
    """Not here: it is a kernel of cuDNN, MIOpen or oneDNN; convolutions, norms, pools and recurrent layers of torch.nn.functional and torch.nn compute the same"""
def miopen_convolution_relu(*args: Any, **kwargs: Any) -> Any:
    """Not here: it is a kernel of cuDNN, MIOpen or oneDNN; convolutions, norms, pools and recurrent layers of torch.nn.functional and torch.nn compute the same"""
def miopen_convolution_transpose(*args: Any, **kwargs: Any) -> Any:
    """Not here: it is a kernel of cuDNN, MIOpen or oneDNN; convolutions, norms, pools and recurrent layers of torch.nn.functional and torch.nn compute the same"""
def miopen_ctc_loss(*args: Any, **kwargs: Any) -> Any:
    """Not here: it is a kernel of cuDNN, MIOpen or oneDNN; convolutions, norms, pools and recurrent layers of torch.nn.functional and torch.nn compute the same"""
def miopen_depthwise_convolution(*args: Any, **kwargs: Any) -> Any:
    """Not here: it is a kernel of cuDNN, MIOpen or oneDNN; convolutions, norms, pools and recurrent layers of torch.nn.functional and torch.nn compute the same"""
def miopen_rnn(*args: Any, **kwargs: Any) -> Any:
    """Not here: it is a kernel of cuDNN, MIOpen or oneDNN; convolutions, norms, pools and recurrent layers of torch.nn.functional and torch.nn compute the same"""
def mkldnn_adaptive_avg_pool2d(*args: Any, **kwargs: Any) -> Any:
    """Not here: it is a kernel of cuDNN, MIOpen or oneDNN; convolutions, norms, pools and recurrent layers of torch.nn.functional and torch.nn compute the same"""
def mkldnn_convolution(*args: Any, **kwargs: Any) -> Any:
    """Not here: it is a kernel of cuDNN, MIOpen or oneDNN; convolutions, norms, pools and recurrent layers of torch.nn.functional and torch.nn compute the same"""
def mkldnn_linear_backward_weights(*args: Any, **kwargs: Any) -> Any:
    """Not here: it is a kernel of cuDNN, MIOpen or oneDNN; convolutions, norms, pools and recurrent layers of torch.nn.functional and torch.nn compute the same"""
def mkldnn_max_pool2d(*args: Any, **kwargs: Any) -> Any:
    """Not here: it is a kernel of cuDNN, MIOpen or oneDNN; convolutions, norms, pools and recurrent layers of torch.nn.functional and torch.nn compute the same"""
def mkldnn_max_pool3d(*args: Any, **kwargs: Any) -> Any:
    """Not here: it is a kernel of cuDNN, MIOpen or oneDNN; convolutions, norms, pools and recurrent layers of torch.nn.functional and torch.nn compute the same"""
def mkldnn_rnn_layer(*args: Any, **kwargs: Any) -> Any:
    """Not here: it is a kernel of cuDNN, MIOpen or oneDNN; convolutions, norms, pools and recurrent layers of torch.nn.functional and torch.nn compute the same"""
def mm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of two matrices."""
def mode(input: Tensor, dim: _int = -1, keepdim: _bool = False, *, axis: _int = ..., keepdims: _bool = ..., out: Any = None) -> _results.mode:
    """The most frequent element along a dimension (the smallest of equally frequent ones), and where it is last."""
def moveaxis(input: Tensor, source: Any, destination: Any) -> Tensor:
    """Dimensions moved to other places; the others keep their order."""
def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """Dimensions moved to other places; the others keep their order."""
def msort(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements in order along the first dimension."""
def mul(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """``input * other``, element by element."""
def multinomial(input: Tensor, num_samples: _int, replacement: _bool = False, *, generator: Any = None, out: Tensor | None = None) -> Tensor:
    """Categories drawn from each row of (unnormalised) probabilities."""
def multiply(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """``input * other``, element by element."""
def mv(input: Tensor, vec: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of a matrix and a vector."""
def mvlgamma(input: Tensor, p: _int, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension ``p``."""
nan: _float
def nan_to_num(input: Tensor, nan: _float | None = None, posinf: _float | None = None, neginf: _float | None = None, *, out: Tensor | None = None) -> Tensor:
    """``nan`` (0), ``posinf`` and ``neginf`` (the largest and smallest number) in the place of what is not finite."""
def nan_to_num_(input: Tensor, nan: _float | None = None, posinf: _float | None = None, neginf: _float | None = None) -> Tensor:
    """``nan`` (0), ``posinf`` and ``neginf`` (the largest and smallest number) in the place of what is not finite."""
def nanmean(input: Tensor, dim: Any = None, keepdim: _bool = False, *, dtype: Any = None, axis: Any = ..., keepdims: _bool = ..., out: Tensor | None = None) -> Tensor:
    """The mean of the elements that are not NaN, all of them or along dimensions."""
def nanmedian(input: Tensor, dim: _int | None = None, keepdim: _bool = False, *, axis: _int | None = ..., keepdims: _bool = ..., out: Tensor | None = None) -> Any:
    """The median of the elements that are not NaN, or along a dimension with indices."""
def nanquantile(input: Tensor, q: Tensor | _Number, dim: _int | None = None, keepdim: _bool = False, *, interpolation: _str = 'linear', axis: _int | None = ..., keepdims: _bool = ..., out: Tensor | None = None) -> Tensor:
    """:func:`quantile` of the elements that are not NaN."""
def nansum(input: Tensor, dim: Any = None, keepdim: _bool = False, *, dtype: Any = None, axis: Any = ..., keepdims: _bool = ..., out: Tensor | None = None) -> Tensor:
    """The sum of all elements, or along dimensions, with NaN counted as 0."""
def narrow(input: Tensor, dim: _int = ..., start: Any = ..., length: _int = ..., *, axis: _int = ...) -> Tensor:
    """A view of so many indices of a dimension."""
def narrow_copy(input: Tensor, dim: _int = ..., start: Any = ..., length: _int = ..., *, axis: _int = ..., out: Tensor | None = None) -> Tensor:
    """A copy of so many indices of a dimension."""
def native_batch_norm(input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: _bool, momentum: _float, eps: _float) -> Any:
    ...
def native_channel_shuffle(input: Tensor, groups: _int) -> Tensor:
    """Channels taken from each group in turn."""
def native_dropout(input: Any, p: _float, train: _bool | None) -> Any:
    ...
def native_group_norm(input: Any, weight: Any, bias: Any, N: _int, C: _int, HxW: _int, group: _int, eps: _float) -> Any:
    ...
def native_layer_norm(input: Any, normalized_shape: Any, weight: Any, bias: Any, eps: _float) -> Any:
    ...
def native_norm(input: Any, p: Any = 2, dim: Any = None, keepdim: _bool = False, dtype: Any = None) -> Any:
    """The norm of a sparse tensor's values, or of a dense tensor."""
def ne(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """``input != other``, element by element."""
def neg(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``-input``."""
def neg_(input: Tensor) -> Tensor:
    """``-input``."""
def negative(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``-input``."""
def negative_(input: Tensor) -> Tensor:
    """``-input``."""
newaxis: None
def nextafter(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The next number that the type can hold, from ``input`` towards ``other``."""
def nonzero(input: Tensor, *, as_tuple: _bool = False, out: Tensor | None = None) -> Any:
    """Where elements are not zero: a position in each row, or (``as_tuple``) a vector of positions for each dimension."""
def nonzero_static(input: Tensor, *, size: _int, fill_value: _int = -1, out: Tensor | None = None) -> Tensor:
    """Where elements are not zero, in so many rows: cut off, or filled up with ``fill_value``."""
def norm(input: Tensor, p: Any = 'fro', dim: Any = None, keepdim: _bool = False, dtype: Any = None, *, axis: Any = ..., keepdims: _bool = ..., out: Tensor | None = None) -> Tensor:
    """The norm of a tensor, or of the vectors along dimensions; ``linalg.vector_norm`` and its like are clearer."""
def norm_except_dim(v: Tensor, pow: _int = 2, dim: _int = 0, *, axis: _int = ...) -> Tensor:
    """The norm over all dimensions but one (-1: over all), kept with size 1: what weight normalisation divides by."""
def normal(mean: Any = 0.0, std: Any = 1.0, size: Any = None, *, generator: Any = None, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: _bool = False, pin_memory: _bool = False, out: Tensor | None = None) -> Tensor:
    """Normal numbers: ``mean`` and ``std`` are tensors or, with a ``size``, both numbers."""
def not_equal(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """``input != other``, element by element."""
def nuclear_norm(input: Tensor, dim: Any = None, keepdim: _bool = False, *, axis: Any = ..., keepdims: _bool = ..., out: Tensor | None = None) -> Tensor:
    """The sum of the singular values of matrices."""
def ones(*size_: _int | Sequence[_int], dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: _bool = False, pin_memory: _bool = False, size: Sequence[_int] = ..., out: Tensor | None = None) -> Tensor:
    """A tensor of ones."""
def ones_like(input: Tensor, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: _bool = False, pin_memory: _bool = False, memory_format: Any = None) -> Tensor:
    """Ones in the shape of another tensor."""
def orgqr(input: Tensor, input2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The first columns of Q, as ``geqrf`` packs it (``input2`` is tau)."""
def ormqr(input: Tensor, input2: Tensor, input3: Tensor, left: _bool = True, transpose: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The product of Q (as ``geqrf`` packs it, with tau as ``input2``), or its adjoint, with a matrix ``input3``."""
def outer(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Every product of an element of one vector with one of another."""
def pairwise_distance(x1: Tensor, x2: Tensor, p: _float = 2.0, eps: _float = 1e-06, keepdim: _bool = False, *, keepdims: _bool = ...) -> Tensor:
    """The norm of the difference of two vectors along the last dimension."""
def parse_ir(*args: Any, **kwargs: Any) -> Any:
    """Not here: it reads or makes PyTorch's own graphs of scripts; torch.jit.script, trace, save and load take their place"""
def parse_schema(text: _str, name: _str = '') -> _FunctionSchema:
    """The schema that a text says; ``name`` stands before a text that begins with the arguments."""
def parse_type_comment(*args: Any, **kwargs: Any) -> Any:
    """Not here: it reads or makes PyTorch's own graphs of scripts; torch.jit.script, trace, save and load take their place"""
def pca_lowrank(A: Tensor, q: _int | None = None, center: _bool = True, niter: _int = 2) -> _tuple[Tensor, Tensor, Tensor]:
    """The first q principal components, nearly: the decomposition of a matrix less the mean of its rows."""
def pdist(input: Tensor, p: _float = 2.0) -> Tensor:
    """The p-norm distances of every two rows, as a vector: (0, 1), (0, 2), ..., (1, 2), ..."""
per_channel_affine: _qscheme
per_channel_affine_float_qparams: _qscheme
per_channel_symmetric: _qscheme
per_tensor_affine: _qscheme
per_tensor_symmetric: _qscheme
def permute(input: Tensor, *dims_: _int | Sequence[_int], dims: Sequence[_int] = ...) -> Tensor:
    """The dimensions in another order."""
def permute_copy(input: Tensor, *dims_: _int | Sequence[_int], dims: Sequence[_int] = ..., out: Tensor | None = None) -> Tensor:
    """The dimensions in another order.  A copy, not a view."""
pi: _float
def pinverse(input: Tensor, rcond: _float = 1e-15) -> Tensor:
    """The Moore-Penrose pseudo-inverse of matrices."""
def pixel_shuffle(input: Tensor, upscale_factor: _int) -> Tensor:
    """Channels spread over places: ``(N, C * r * r, H, W)`` becomes ``(N, C, H * r, W * r)``."""
def pixel_unshuffle(input: Tensor, downscale_factor: _int) -> Tensor:
    """Places gathered into channels: the inverse of ``pixel_shuffle``."""
def poisson(input: Tensor, generator: Any = None) -> Tensor:
    """A Poisson number for each rate."""
def poisson_nll_loss(input: Tensor, target: Tensor, log_input: _bool, full: _bool, eps: _float, reduction: _int) -> Tensor:
    """:func:`nn.functional.poisson_nll_loss`, with the reduction as a number."""
def polar(abs: Tensor, angle: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Complex numbers from their absolute values and angles."""
def polygamma(n: _int, input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The ``n``-th derivative of :func:`digamma`."""
def positive(input: Tensor) -> Tensor:
    """The tensor itself."""
def pow(input: Tensor | _Number, exponent: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """``input ** exponent``, element by element."""
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """A leaky rectifier with a learned slope, one or one for each channel (dimension 1)."""
def prod(input: Tensor, dim: Any = None, keepdim: _bool = False, *, dtype: Any = None, axis: Any = ..., keepdims: _bool = ..., out: Tensor | None = None) -> Tensor:
    """The product of all elements, or along a dimension."""
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: _bool = False) -> Tensor:
    """Write the elements of a source at positions of the tensor seen as a vector, or add them."""
def q_per_channel_axis(input: Any) -> _int:
    """The dimension whose indices have scales and zero points of their own."""
def q_per_channel_scales(input: Tensor) -> Tensor:
    """The scale of each channel."""
def q_per_channel_zero_points(input: Tensor) -> Tensor:
    """The zero point of each channel."""
def q_scale(input: Any) -> _float:
    """The scale of a tensor that is quantized as a whole."""
def q_zero_point(input: Any) -> _int:
    """The integer that represents zero, of a tensor that is quantized as a whole."""
qint32: _dtype
qint8: _dtype
def qr(input: Tensor, some: _bool = True, *, out: Any = None) -> _tuple[Tensor, Tensor]:
    """``input = Q @ R``; with ``some=False`` Q is square."""
def quantile(input: Tensor, q: Tensor | _Number, dim: _int | None = None, keepdim: _bool = False, *, interpolation: _str = 'linear', axis: _int | None = ..., keepdims: _bool = ..., out: Tensor | None = None) -> Tensor:
    """Quantiles of all elements or along a dimension; NaN where there is one."""
def quantize_per_channel(input: Tensor, scales: Tensor, zero_points: Tensor, axis: _int, dtype: Any) -> Tensor:
    """A quantized tensor with a scale and a zero point for each index of one dimension."""
def quantize_per_tensor(input: Tensor, scale: Tensor | _Number, zero_point: Tensor | _Number, dtype: Any) -> Tensor:
    """A tensor of integers of a quantized type, each of which stands for ``(integer - zero_point) * scale``."""
def quantize_per_tensor_dynamic(input: Tensor, dtype: Any, reduce_range: _bool) -> Tensor:
    """A quantized tensor whose scale and zero point cover the values of the input."""
def quantized_batch_norm(qx: Tensor, weight: Tensor | None, bias: Tensor | None, mean: Tensor, var: Tensor, eps: _float, output_scale: _float, output_zero_point: _int) -> Tensor:
    """Channels normalised by a known mean and variance."""
def quantized_gru_cell(*args: Any, **kwargs: Any) -> Any:
    """Not here: it is a kernel of FBGEMM with weights in its own order; torch.ao.nn.quantized has the layers"""
def quantized_lstm_cell(*args: Any, **kwargs: Any) -> Any:
    """Not here: it is a kernel of FBGEMM with weights in its own order; torch.ao.nn.quantized has the layers"""
def quantized_max_pool1d(input: Any, kernel_size: Any, stride: Any = ..., padding: Any = 0, dilation: Any = 1, ceil_mode: _bool = False) -> Any:
    """The largest value of each window of a quantized tensor, in its scale and zero point."""
def quantized_max_pool2d(input: Any, kernel_size: Any, stride: Any = ..., padding: Any = 0, dilation: Any = 1, ceil_mode: _bool = False) -> Any:
    """The largest value of each window of a quantized tensor, in its scale and zero point."""
def quantized_max_pool3d(input: Any, kernel_size: Any, stride: Any = ..., padding: Any = 0, dilation: Any = 1, ceil_mode: _bool = False) -> Any:
    """The largest value of each window of a quantized tensor, in its scale and zero point."""
def quantized_rnn_relu_cell(*args: Any, **kwargs: Any) -> Any:
    """Not here: it is a kernel of FBGEMM with weights in its own order; torch.ao.nn.quantized has the layers"""
def quantized_rnn_tanh_cell(*args: Any, **kwargs: Any) -> Any:
    """Not here: it is a kernel of FBGEMM with weights in its own order; torch.ao.nn.quantized has the layers"""
quint2x4: _dtype
quint4x2: _dtype
quint8: _dtype
def rad2deg(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Angles in degrees from angles in radians."""
def rad2deg_(input: Tensor) -> Tensor:
    """Angles in degrees from angles in radians."""
def rand(*size_: _int | Sequence[_int], generator: Any = None, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: _bool = False, pin_memory: _bool = False, size: Sequence[_int] = ..., out: Tensor | None = None) -> Tensor:
    """Uniform numbers in [0, 1)."""
def rand_like(input: Tensor, *, generator: Any = None, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: _bool = False, pin_memory: _bool = False, memory_format: Any = None) -> Tensor:
    """Uniform numbers in [0, 1) in the shape of another tensor."""
def randint(low: Any = None, high: Any = None, size: Any = None, *, generator: Any = None, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: _bool = False, pin_memory: _bool = False, out: Tensor | None = None) -> Tensor:
    """Integers in [low, high): ``randint(high, size)``, whose ``low`` is 0, or ``randint(low, high, size)``."""
def randint_like(input: Tensor, low: Any = None, high: Any = None, *, generator: Any = None, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: _bool = False, pin_memory: _bool = False, memory_format: Any = None) -> Tensor:
    """Integers from ``low`` (0) up to, but not including, ``high`` in the shape of another tensor."""
def randn(*size_: _int | Sequence[_int], generator: Any = None, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: _bool = False, pin_memory: _bool = False, size: Sequence[_int] = ..., out: Tensor | None = None) -> Tensor:
    """Normal numbers of mean 0 and variance 1."""
def randn_like(input: Tensor, *, generator: Any = None, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: _bool = False, pin_memory: _bool = False, memory_format: Any = None) -> Tensor:
    """Normal numbers of mean 0 and variance 1 in the shape of another tensor."""
def randperm(n: _int, *, generator: Any = None, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: _bool = False, pin_memory: _bool = False, out: Tensor | None = None) -> Tensor:
    """The integers from 0 to ``n - 1`` in random order."""
def range(start: _Number, end: _Number, step: _Number = 1, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: _bool = False, pin_memory: _bool = False, out: Tensor | None = None) -> Tensor:
    """Numbers from ``start`` up to and including ``end``.  PyTorch advises ``arange`` in its place."""
def ravel(input: Tensor) -> Tensor:
    """All elements in one dimension, contiguous: a view where that is possible."""
def real(input: Tensor) -> Tensor:
    """The real part: a view of a complex tensor, a real tensor itself."""
def reciprocal(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``1 / input``."""
def reciprocal_(input: Tensor) -> Tensor:
    """``1 / input``."""
def relu(input: Tensor) -> Tensor:
    """``max(input, 0)``."""
def relu_(input: Tensor) -> Tensor:
    """``max(input, 0)``."""
def remainder(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """The rest of a division, with the sign of ``other``: what ``%`` gives."""
def renorm(input: Tensor, p: _float, dim: _int = ..., maxnorm: _float = ..., *, axis: _int = ..., out: Tensor | None = None) -> Tensor:
    """The slices along a dimension, with those whose p-norm is larger than ``maxnorm`` scaled down to it."""
def repeat_interleave(input: Tensor, repeats: Any = None, dim: _int | None = None, *, output_size: _int | None = None, axis: _int | None = ...) -> Tensor:
    """Every element (or index of a dimension) so many times in a row; of repeats alone, the indices that this takes."""
def reshape(input: Tensor, *shape_: _int | Sequence[_int], shape: Sequence[_int] = ...) -> Tensor:
    """The same elements in another shape: a view where that is possible, else a copy."""
def resize_as_(input: Tensor, the_template: Tensor, *, memory_format: Any = None) -> Tensor:
    """Give this tensor the size of another."""
def resize_as_sparse_(input: Any, the_template: Any) -> Any:
    """Give an empty sparse tensor the sizes of another."""
def resolve_conj(input: Tensor) -> Tensor:
    """A conjugate view's values in memory of their own; any other tensor itself."""
def resolve_neg(input: Tensor) -> Tensor:
    """A negative view's values in memory of their own; any other tensor itself."""
def rms_norm(input: Tensor, normalized_shape: Any, weight: Tensor | None = None, eps: _float | None = None) -> Tensor:
    """Divide by the root of the mean square over the last dimensions, then scale."""
def rnn_relu(*args_: Any | Sequence[Any], args: Sequence[Any] = ...) -> Tensor:
    """A plain recurrent network with relu; arguments as of ``lstm``."""
def rnn_relu_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None) -> Tensor:
    """One step of a plain recurrent network with relu."""
def rnn_tanh(*args_: Any | Sequence[Any], args: Sequence[Any] = ...) -> Tensor:
    """A plain recurrent network with tanh; arguments as of ``lstm``."""
def rnn_tanh_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None) -> Tensor:
    """One step of a plain recurrent network with tanh."""
def roll(input: Tensor, shifts: Any, dims: Any = None) -> Tensor:
    """Elements moved along dimensions; what falls off one end comes in at the other."""
def rot90(input: Tensor, k: _int = 1, dims: Any = ...) -> Tensor:
    """A copy rotated by ``k`` times 90 degrees in the plane of two dimensions, from the first towards the second."""
def round(input: Tensor, *, decimals: _int = 0, out: Tensor | None = None) -> Tensor:
    """The nearest whole number (of two, the even one), or number with so many ``decimals``."""
def round_(input: Tensor, *, decimals: _int = 0) -> Tensor:
    """The nearest whole number (of two, the even one), or number with so many ``decimals``."""
def row_indices_copy(input: Any) -> Any:
    """A copy of the rows of a sparse tensor's values."""
def row_stack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Tensors joined one above the other: along dimension 0, vectors counting as rows."""
def rrelu(input: Tensor, lower: _float = 0.125, upper: _float = 0.3333333333333333, training: _bool = False, generator: Any = None) -> Tensor:
    """The input where it is positive; elsewhere a fraction of it, random in training and else the mean of the bounds."""
def rrelu_(input: Tensor, lower: _float = 0.125, upper: _float = 0.3333333333333333, training: _bool = False, generator: Any = None) -> Tensor:
    """:func:`rrelu` in place."""
def rsqrt(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``1 / sqrt(input)``."""
def rsqrt_(input: Tensor) -> Tensor:
    """``1 / sqrt(input)``."""
def rsub(input: Tensor, other: Tensor | _Number, *, alpha: _Number = 1) -> Tensor:
    """``other - alpha * input``."""
def saddmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """A matrix plus the product of two, as ``addmm``: the older name for sparse ones."""
def scalar_tensor(s: _Number, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """A 0-dim tensor of the default type, or another."""
def scatter(input: Tensor, dim: _int = ..., index: Tensor = ..., src: Tensor | _Number | None = None, *, value: _Number | None = None, reduce: _str | None = None, axis: _int = ..., out: Tensor | None = None) -> Tensor:
    """Write a source along a dimension: for ``dim=0``, ``result[index[i, j], j] = src[i, j]``."""
def scatter_add(input: Tensor, dim: _int = ..., index: Tensor = ..., src: Tensor = ..., *, axis: _int = ..., out: Tensor | None = None) -> Tensor:
    """Add a source along a dimension: for ``dim=0``, ``result[index[i, j], j] += src[i, j]``; repeats add up."""
def scatter_reduce(input: Tensor, dim: _int = ..., index: Tensor = ..., src: Tensor = ..., reduce: _str = ..., *, include_self: _bool = True, axis: _int = ..., out: Tensor | None = None) -> Tensor:
    """Reduce what falls on the same element: ``"sum"``, ``"prod"``, ``"mean"``, ``"amax"`` or ``"amin"``."""
def searchsorted(sorted_sequence: Tensor, input: Tensor | _Number, *, out_int32: _bool = False, right: _bool = False, side: Any = None, sorter: Tensor | None = None, out: Tensor | None = None) -> Tensor:
    """Where values would go in a sorted sequence (the last dimension): before equals, or after them if ``right``."""
def select(input: Tensor, dim: _int = ..., index: _int = ..., *, axis: _int = ...) -> Tensor:
    """One index of a dimension, which falls away: what ``x[i]`` calls."""
def select_copy(input: Tensor, dim: _int = ..., index: _int = ..., *, axis: _int = ..., out: Tensor | None = None) -> Tensor:
    """One index of a dimension, which falls away: what ``x[i]`` calls.  A copy, not a view."""
def select_scatter(input: Tensor, src: Tensor, dim: _int = ..., index: _int = ..., *, axis: _int = ...) -> Tensor:
    """A copy of ``input`` with ``src`` in the place of one index of a dimension."""
def selu(input: Tensor) -> Tensor:
    """Scaled exponential linear unit: keeps mean and variance of its inputs."""
def selu_(input: Tensor) -> Tensor:
    """Scaled exponential linear unit: keeps mean and variance of its inputs."""
def set_anomaly_enabled(enabled: _bool, check_nan: _bool = True) -> None:
    """Have backward passes say which operation failed, and refuse nan: see ``autograd.set_detect_anomaly``."""
def set_autocast_cache_enabled(enabled: _bool) -> None:
    """Switch the cache of casts on or off."""
def set_autocast_cpu_dtype(*args: Any) -> Any:
    """The old name of ``set_autocast_dtype('cpu', dtype)``."""
def set_autocast_cpu_enabled(*args: Any) -> Any:
    """The old name of ``set_autocast_enabled('cpu', enabled)``."""
def set_autocast_dtype(device_type: _str, dtype: Any) -> None:
    """Choose the narrow type that autocast uses on a kind of device."""
def set_autocast_enabled(device_type: Any, enabled: _bool | None = None) -> None:
    """Switch autocast on or off for this thread: ``set_autocast_enabled("cpu", True)``."""
def set_autocast_gpu_dtype(*args: Any) -> Any:
    """The old name of ``set_autocast_dtype('cuda', dtype)``."""
def set_autocast_ipu_dtype(dtype: Any) -> None:
    """Set the narrow type of autocast on IPUs."""
def set_autocast_ipu_enabled(enabled: _bool) -> None:
    """Switch autocast for IPUs."""
def set_autocast_xla_dtype(dtype: Any) -> None:
    """Set the narrow type of autocast on XLA devices."""
def set_autocast_xla_enabled(enabled: _bool) -> None:
    """Switch autocast for XLA devices."""
def set_vital(*args: Any, **kwargs: Any) -> None:
    """Recorded a fact about a run in older versions; it warns that it is deprecated, and records nothing, as PyTorch's own does now."""
def set_warn_always(b: _bool) -> None:
    """Say whether warnings that PyTorch gives once come every time: here Python's filters decide, and this is remembered for who asks."""
def sgn(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sign; of a complex number, the number of size 1 with the same angle."""
short: _dtype
def sigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``1 / (1 + exp(-input))``."""
def sigmoid_(input: Tensor) -> Tensor:
    """``1 / (1 + exp(-input))``."""
def sign(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """-1, 0 or 1, as an element is negative, 0 or positive."""
def signbit(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether the sign of each element is negative; that of -0.0 is."""
def sin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sine of every element."""
def sin_(input: Tensor) -> Tensor:
    """The sine of every element."""
def sinc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``sin(pi * input) / (pi * input)``, and 1 at 0."""
def sinc_(input: Tensor) -> Tensor:
    """``sin(pi * input) / (pi * input)``, and 1 at 0."""
def sinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The hyperbolic sine of every element."""
def sinh_(input: Tensor) -> Tensor:
    """The hyperbolic sine of every element."""
def slice_copy(input: Tensor, dim: _int = 0, start: _int | None = None, end: _int | None = None, step: _int = 1, *, axis: _int = ..., out: Tensor | None = None) -> Tensor:
    """A range of one dimension: what ``x[1:4]`` calls.  A copy, not a view."""
def slice_inverse(input: Any, src: Any, dim: _int = 0, start: _int | None = None, end: _int | None = None, step: _int = 1) -> Any:
    """The tensor that ``input`` is a slice of, by ``src``, whose sizes and strides it has."""
def slice_scatter(input: Tensor, src: Tensor, dim: _int = 0, start: _int | None = None, end: _int | None = None, step: _int = 1, *, axis: _int = ..., out: Tensor | None = None) -> Tensor:
    """A copy of ``input`` with ``src`` in the place of a range of one dimension."""
def slogdet(input: Tensor) -> _tuple[Tensor, Tensor]:
    """The sign of the determinant and the logarithm of its size."""
def smm(input: Tensor, mat2: Tensor) -> Tensor:
    """A sparse matrix times a dense one, as a sparse tensor."""
def softmax(input: Tensor, dim: _int = ..., dtype: Any = None, *, axis: _int = ..., out: Tensor | None = None) -> Tensor:
    """Exponentials divided by their sum along a dimension, computed without overflow."""
def sort(input: Tensor, dim: _int = -1, descending: _bool = False, *, stable: _bool = False, axis: _int = ..., out: Any = None) -> _results.sort:
    """The elements in order along a dimension, and where each was; equals always keep their order, as if ``stable``."""
def sparse_bsc_tensor(ccol_indices: Any, row_indices: Any, values: Any, size: Any = None, *, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: _bool = False, requires_grad: _bool = False, check_invariants: _bool | None = None) -> Tensor:
    """A sparse tensor of compressed columns of blocks."""
def sparse_bsr_tensor(crow_indices: Any, col_indices: Any, values: Any, size: Any = None, *, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: _bool = False, requires_grad: _bool = False, check_invariants: _bool | None = None) -> Tensor:
    """A sparse tensor of compressed rows of blocks."""
def sparse_compressed_tensor(compressed_indices: Any, plain_indices: Any, values: Any, size: Any = None, *, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: _bool = False, requires_grad: _bool = False, check_invariants: _bool | None = None) -> Tensor:
    """A sparse tensor in the compressed format that ``layout`` names."""
def sparse_coo_tensor(indices: Any = None, values: Any = None, size: Any = None, *, dtype: Any = None, device: Any = None, pin_memory: _bool = False, requires_grad: _bool = False, check_invariants: _bool | None = None, is_coalesced: _bool | None = None) -> Tensor:
    """A sparse tensor in coordinate format: ``values[n]`` stands at ``indices[:, n]``; values of equal places add up."""
def sparse_csc_tensor(ccol_indices: Any, row_indices: Any, values: Any, size: Any = None, *, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: _bool = False, requires_grad: _bool = False, check_invariants: _bool | None = None) -> Tensor:
    """A sparse tensor of compressed columns."""
def sparse_csr_tensor(crow_indices: Any, col_indices: Any, values: Any, size: Any = None, *, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: _bool = False, requires_grad: _bool = False, check_invariants: _bool | None = None) -> Tensor:
    """A sparse tensor of compressed rows: row ``r`` has the columns ``col_indices[crow_indices[r]:crow_indices[r + 1]]``."""
def split(tensor: Tensor, split_size_or_sections: Any = None, dim: _int = 0, *, split_size: Any = None, axis: _int = ...) -> Any:
    """Parts of one size (the last may be smaller) or of given sizes along a dimension: a tuple of views."""
def split_copy(input: Tensor, split_size: _int, dim: _int = 0, *, axis: _int = ...) -> Any:
    """Parts of one size along a dimension (the last may be smaller), copied."""
def split_with_sizes(input: Tensor, split_sizes: Any, dim: _int = 0, *, axis: _int = ...) -> Any:
    """Parts of the given sizes along a dimension: a tuple of views."""
def split_with_sizes_copy(input: Tensor, split_sizes: Any, dim: _int = 0, *, axis: _int = ...) -> Any:
    """Parts of the given sizes along a dimension: a tuple of views.  A copy, not a view."""
def spmm(input: Tensor, mat2: Tensor) -> Tensor:
    """The product of a sparse and a dense matrix."""
def sqrt(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The square root of every element."""
def sqrt_(input: Tensor) -> Tensor:
    """The square root of every element."""
def square(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``input * input``."""
def square_(input: Tensor) -> Tensor:
    """``input * input``."""
def squeeze(input: Tensor, dim: Any = None, *, axis: Any = ...) -> Tensor:
    """Dimensions of size 1 left out: all, or those named."""
def squeeze_copy(input: Tensor, dim: Any = None, *, axis: Any = ..., out: Tensor | None = None) -> Tensor:
    """Dimensions of size 1 left out: all, or those named.  A copy, not a view."""
def sspaddmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """``beta * input + alpha * (mat1 @ mat2)`` of sparse ``input`` and ``mat1``, as a sparse tensor."""
def stack(tensors: Sequence[Tensor], dim: _int = 0, *, axis: _int = ..., out: Tensor | None = None) -> Tensor:
    """Tensors of one shape joined along a new dimension."""
def std(input: Tensor, dim: Any = None, unbiased: _bool | None = None, keepdim: _bool = False, *, correction: Any = None, axis: Any = ..., keepdims: _bool = ..., out: Tensor | None = None) -> Tensor:
    """The standard deviation of all elements, or along dimensions: the square root of :func:`var`."""
def std_mean(input: Tensor, dim: Any = None, unbiased: _bool | None = None, keepdim: _bool = False, *, correction: Any = None, axis: Any = ..., keepdims: _bool = ...) -> _tuple[Tensor, Tensor]:
    """Standard deviation and mean of all elements, or along dimensions."""
def stft(input: Tensor, n_fft: _int, hop_length: _int | None = None, win_length: _int | None = None, window: Tensor | None = None, center: _bool = True, pad_mode: _str = 'reflect', normalized: _bool = False, onesided: _bool | None = None, return_complex: _bool | None = None, align_to_window: _bool | None = None) -> Tensor:
    """The spectra of windows that slide over a signal (or a batch of them): frequencies by frames."""
def sub(input: Tensor | _Number, other: Tensor | _Number, *, alpha: _Number = 1, out: Tensor | None = None) -> Tensor:
    """``input - alpha * other``, element by element."""
def subtract(input: Tensor | _Number, other: Tensor | _Number, *, alpha: _Number = 1, out: Tensor | None = None) -> Tensor:
    """``input - alpha * other``, element by element."""
def sum(input: Tensor, dim: Any = None, keepdim: _bool = False, *, dtype: Any = None, axis: Any = ..., keepdims: _bool = ..., out: Tensor | None = None) -> Tensor:
    """The sum of all elements, or along dimensions."""
def sum_to_size(input: Tensor, *size_: _int | Sequence[_int], size: Sequence[_int] = ...) -> Tensor:
    """Sum over the dimensions that broadcasting added, so that the result has the given size."""
def svd(input: Tensor, some: _bool = True, compute_uv: _bool = True, *, out: Any = None) -> _tuple[Tensor, Tensor, Tensor]:
    """``input = U @ diag(S) @ V.mH``; with ``compute_uv=False`` U and V are zeros."""
def svd_lowrank(A: Tensor, q: _int | None = 6, niter: _int | None = 2, M: Tensor | None = None) -> _tuple[Tensor, Tensor, Tensor]:
    """The q largest singular values of ``A`` (or ``A - M``), nearly, with their vectors: U, S and V."""
def swapaxes(input: Tensor, axis0: _int, axis1: _int) -> Tensor:
    """Two dimensions exchanged."""
def swapdims(input: Tensor, dim0: _int, dim1: _int) -> Tensor:
    """Two dimensions exchanged."""
def sym_constrain_range(size: Any, *, min: _int | None = None, max: _int | None = None) -> None:
    """Check that a number is within bounds."""
def sym_constrain_range_for_size(size: Any, *, min: _int | None = None, max: _int | None = None) -> None:
    """Check that a size is within bounds."""
def sym_float(a: Any) -> Any:
    """A number as a floating-point number."""
def sym_fresh_size(expr: Any) -> Any:
    """A number as a size of its own: numbers are their own here."""
def sym_int(a: Any) -> Any:
    """A number as an integer, rounded towards zero."""
def sym_ite(b: Any, t: Any, f: Any) -> Any:
    """One of two values."""
def sym_max(a: Any, b: Any) -> Any:
    """The larger number; a float if one of them is."""
def sym_min(a: Any, b: Any) -> Any:
    """The smaller number; a float if one of them is."""
def sym_not(a: Any) -> _bool:
    """Whether something does not hold."""
def sym_sqrt(a: Any) -> _float:
    """The square root."""
def sym_sum(args: Sequence[Any]) -> Any:
    """The sum of several numbers."""
def t(input: Tensor) -> Tensor:
    """A matrix transposed; vectors and numbers pass as they are."""
def t_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A matrix transposed; vectors and numbers pass as they are.  A copy, not a view."""
def take(input: Tensor, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements at positions of the tensor seen as a vector."""
def take_along_dim(input: Tensor, indices: Tensor, dim: _int | None = None, *, axis: _int | None = ..., out: Tensor | None = None) -> Tensor:
    """Elements along a dimension at the positions that ``argmax`` and ``argsort`` give; the other dimensions broadcast."""
def tan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The tangent of every element."""
def tan_(input: Tensor) -> Tensor:
    """The tangent of every element."""
def tanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The hyperbolic tangent of every element."""
def tanh_(input: Tensor) -> Tensor:
    """The hyperbolic tangent of every element."""
def tensor_split(input: Tensor, indices_or_sections: Any = None, dim: _int = 0, *, sections: Any = None, indices: Any = None, axis: _int = ...) -> Any:
    """So many parts whose sizes differ by at most 1, or the parts between given places: a tuple of views."""
def tensordot(a: Tensor, b: Tensor, dims: Any = 2, *, out: Tensor | None = None) -> Tensor:
    """The sum of products over pairs of dimensions: the last of ``a`` with the first of ``b``, or those listed."""
def thread_safe_generator() -> _Generator | None:
    """The generator of this thread, where it is a worker of a DataLoader; None elsewhere, as workers are processes here."""
def threshold(input: Tensor, threshold: _int | _float, value: _int | _float, *, out: Tensor | None = None) -> Tensor:
    """The input where it is above a threshold, a value elsewhere."""
def threshold_(input: Tensor, threshold: _int | _float, value: _int | _float) -> Tensor:
    """The input where it is above a threshold, a value elsewhere."""
def tile(input: Tensor, *dims_: _int | Sequence[_int], dims: Sequence[_int] = ...) -> Tensor:
    """The tensor copied so many times along its last dimensions."""
def topk(input: Tensor, k: _int, dim: _int = -1, largest: _bool = True, sorted: _bool = True, *, axis: _int = ..., out: Any = None) -> _results.topk:
    """The ``k`` largest (or smallest) elements along a dimension, in order, and where they are."""
def trace(input: Tensor) -> Tensor:
    """The sum of the diagonal of a matrix."""
def transpose(input: Tensor, dim0: _int, dim1: _int) -> Tensor:
    """Two dimensions exchanged."""
def transpose_copy(input: Tensor, dim0: _int, dim1: _int, *, out: Tensor | None = None) -> Tensor:
    """Two dimensions exchanged.  A copy, not a view."""
def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Any = None, dim: _int = -1, axis: _int = ...) -> Tensor:
    """The integral of ``y`` along a dimension by the trapezoidal rule, with points ``x`` or a spacing ``dx`` (1)."""
def trapz(y: Tensor, x: Tensor | None = None, *, dx: Any = None, dim: _int = -1, axis: _int = ...) -> Tensor:
    """The integral of ``y`` along a dimension by the trapezoidal rule, with points ``x`` or a spacing ``dx`` (1)."""
def triangular_solve(input: Tensor, A: Tensor, upper: _bool = True, transpose: _bool = False, unitriangular: _bool = False, *, out: Any = None) -> _tuple[Tensor, Tensor]:
    """The solution X of ``A X = input`` for triangular A (or its transpose), and a copy of A."""
def tril(input: Tensor, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """Matrices with zeros above a diagonal."""
def tril_indices(row: _int, col: _int, offset: _int = 0, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """Rows and columns of the places on a diagonal of a matrix and below it."""
def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: _float = 1.0, p: _float = 2.0, eps: _float = 1e-06, swap: _bool = False, reduction: _int = 0) -> Tensor:
    """:func:`nn.functional.triplet_margin_loss`, with the reduction as a number."""
def triu(input: Tensor, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """Matrices with zeros below a diagonal."""
def triu_indices(row: _int, col: _int, offset: _int = 0, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """Rows and columns of the places on a diagonal of a matrix and above it."""
def true_divide(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """``input / other``; integers become floats."""
def trunc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Every element without what is behind its point."""
def trunc_(input: Tensor) -> Tensor:
    """Every element without what is behind its point."""
uint1: _dtype
uint16: _dtype
uint2: _dtype
uint3: _dtype
uint32: _dtype
uint4: _dtype
uint5: _dtype
uint6: _dtype
uint64: _dtype
uint7: _dtype
uint8: _dtype
def unbind(input: Tensor, dim: _int = 0, *, axis: _int = ...) -> Any:
    """All indices of a dimension, one by one: a tuple of views."""
def unbind_copy(input: Tensor, dim: _int = 0, *, axis: _int = ...) -> Any:
    """All indices of a dimension, one by one: a tuple of views.  A copy, not a view."""
def unflatten(input: Tensor, dim: _int = ..., sizes: Any = ..., *, axis: _int = ...) -> Tensor:
    """One dimension taken apart into several; one of the sizes may be -1."""
def unfold_copy(input: Tensor, dimension: _int, size: _int, step: _int, *, out: Tensor | None = None) -> Tensor:
    """All windows of a size along a dimension, each ``step`` from the last, as a new last dimension.  A copy, not a view."""
def unify_type_list(*args: Any, **kwargs: Any) -> Any:
    """Not here: it reads or makes PyTorch's own graphs of scripts; torch.jit.script, trace, save and load take their place"""
def unique(input: Tensor, sorted: _bool = True, return_inverse: _bool = False, return_counts: _bool = False, dim: _int | None = None, *, axis: _int | None = ...) -> Any:
    """The different elements (with ``dim``, slices) in order; on request where each element went, and counts."""
def unique_consecutive(input: Tensor, return_inverse: _bool = False, return_counts: _bool = False, dim: _int | None = None, *, axis: _int | None = ...) -> Any:
    """The elements (with ``dim``, slices) without those equal to the one before them."""
def unravel_index(indices: Tensor, shape: Any) -> _tuple[Tensor, ...]:
    """Positions in a tensor seen as a vector as positions in each of its dimensions."""
def unsafe_chunk(input: Tensor, chunks: _int, dim: _int = 0, *, axis: _int = ...) -> Any:
    """Like ``chunk``, but the parts are not tracked as views."""
def unsafe_split(input: Tensor, split_size: _int, dim: _int = 0, *, axis: _int = ...) -> Any:
    """Like ``split``, but the parts are not tracked as views."""
def unsafe_split_with_sizes(input: Tensor, split_sizes: Any, dim: _int = 0, *, axis: _int = ...) -> Any:
    """Like ``split_with_sizes``, but not tracked as views: write to the parts only if the input is not used again."""
def unsqueeze(input: Tensor, dim: _int = ..., *, axis: _int = ...) -> Tensor:
    """A dimension of size 1 put in at a place."""
def unsqueeze_copy(input: Tensor, dim: _int = ..., *, axis: _int = ..., out: Tensor | None = None) -> Tensor:
    """A dimension of size 1 put in at a place.  A copy, not a view."""
def values_copy(input: Any) -> Any:
    """A copy of the values of a sparse tensor."""
def vander(x: Tensor, N: _int | None = None, increasing: _bool = False) -> Tensor:
    """The powers of every element of a vector, in falling order unless ``increasing``."""
def var(input: Tensor, dim: Any = None, unbiased: _bool | None = None, keepdim: _bool = False, *, correction: Any = None, axis: Any = ..., keepdims: _bool = ..., out: Tensor | None = None) -> Tensor:
    """The variance of all elements, or along dimensions: sums of squares over ``count - correction`` (1 by default)."""
def var_mean(input: Tensor, dim: Any = None, unbiased: _bool | None = None, keepdim: _bool = False, *, correction: Any = None, axis: Any = ..., keepdims: _bool = ...) -> _tuple[Tensor, Tensor]:
    """Variance and mean of all elements, or along dimensions."""
def vdot(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The dot product with the first vector conjugated."""
def view_as_complex(input: Tensor) -> Tensor:
    """Pairs of real numbers in a last dimension of size 2 as complex ones, in the same memory."""
def view_as_complex_copy(input: Tensor) -> Tensor:
    """A copy of pairs of real numbers as complex ones."""
def view_as_real(input: Tensor) -> Tensor:
    """Complex numbers as pairs of real ones in a last dimension of size 2, in the same memory."""
def view_as_real_copy(input: Tensor) -> Tensor:
    """A copy of a complex tensor as real and imaginary parts in a new last dimension."""
def view_copy(input: Tensor, *size_: Any | Sequence[Any], dtype: Any = None, size: Sequence[Any] = ...) -> Tensor:
    """A copy in another shape, or (given a dtype) of the bytes read as another type."""
def vsplit(input: Tensor, indices_or_sections: Any) -> Any:
    """Split along the first dimension."""
def vstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Tensors joined one above the other: along dimension 0, vectors counting as rows."""
def wait(future: Any) -> Any:
    """The result of a fork."""
def where(condition: Tensor, input: Tensor | _Number | None = None, other: Tensor | _Number | None = None, *, out: Tensor | None = None) -> Tensor:
    """``input`` where the condition holds, else ``other``; of a condition alone, the indices of what is not 0."""
def xlogy(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """``input * log(other)``, and 0 where ``input`` is 0."""
def xlogy_(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """``input * log(other)``, and 0 where ``input`` is 0."""
def zero_(input: Tensor) -> Tensor:
    """Zeros in the shape of ``input``; ``zero_`` writes them there."""
def zeros(*size_: _int | Sequence[_int], dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: _bool = False, pin_memory: _bool = False, size: Sequence[_int] = ..., out: Tensor | None = None) -> Tensor:
    """A tensor of zeros."""
def zeros_like(input: Tensor, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: _bool = False, pin_memory: _bool = False, memory_format: Any = None) -> Tensor:
    """Zeros in the shape of another tensor."""

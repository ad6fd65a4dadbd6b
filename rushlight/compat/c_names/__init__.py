"""`torch._C`: names that PyTorch keeps in its compiled part.

In: a private name that a library imports.  Out: the feature of rushlight that it stands for.  This file has the names of `torch._C` itself; each other file is a submodule of it.
"""

from __future__ import annotations

import faulthandler
from typing import Any

from ... import jit, streams
from ...__config__ import show
from ...autograd import grad_mode
from ...autograd.grad_mode import inference_mode
from ...backends import cudnn
from ...backends.cpu import get_cpu_capability as _get_cpu_capability
from ...core.devices import device, get_default_device
from ...core.dtypes import dtype as dtype_
from ...core.errors import LinAlgError
from ...core.futures import Future as Future_
from ...core.missing import missing
from ...core.overrides import DisableTorchFunction, DisableTorchFunctionSubclass
from ...core.overrides import disabled as _disabled_torch_function_impl
from ...core.overrides import dispatch_disabled as _disabled_torch_dispatch_impl
from ...core.schema import FunctionSchema, parse_schema
from ...core.size import Size as Size_
from ...core.state import state
from ...onnx.proto import check_proto as _check_onnx_proto
from ...tensor import Tensor
from ...tensor.generator import Generator as Generator_
from ...tensor.layout import layout as layout_
from ...tensor.layout import memory_format as memory_format_
from ...tensor.storage import UntypedStorage
from ..files import PyTorchFileReader, PyTorchFileWriter
from ..mode_utils import no_dispatch as _DisableTorchDispatch_
from ..tag import Tag
from ..trace_graph import running
from . import _autograd, _cpu, _functorch, _nn, _profiler
from .cuda_names import (
    _accelerator_isAllocatorInitialized,
    _cuda_emptyCache,
    _cuda_getCurrentRawStream,
    _cuda_getDefaultStream,
    _cuda_getDevice,
    _cuda_getDeviceCount,
    _cuda_isCurrentStreamCapturing,
    _cuda_isInBadFork,
    _cuda_setDevice,
    _cuda_setStream,
    _cuda_synchronize,
    _get_accelerator,
)
from .dispatch_keys import DispatchKey, DispatchKeySet, _ExcludeDispatchKeyGuard
from .engine_names import _current_autograd_node, _current_graph_task_id, _will_engine_execute_node
from .function_states import _get_torch_function_state, _set_torch_function_state, _TorchFunctionState
from .graph_names import (
    Block,
    Graph,
    Node,
    TensorType,
    Value,
    _create_function_from_graph,
    _jit_erase_non_input_shape_information,
    _jit_interpret_graph,
    _jit_pass_canonicalize,
    _jit_pass_complete_shape_analysis,
    _jit_pass_constant_pooling,
    _jit_pass_constant_propagation,
    _jit_pass_cse,
    _jit_pass_custom_pattern_based_rewrite_graph,
    _jit_pass_dce,
    _jit_pass_erase_shape_information,
    _jit_pass_inline,
    _jit_pass_lint,
    _jit_pass_peephole,
    _jit_pass_peephole_list_idioms,
    _jit_pass_propagate_device,
    _jit_pass_propagate_dtype,
    _jit_pass_propagate_shapes_on_graph,
    _jit_set_symbolic_shapes_test_mode,
    _jit_symbolic_shapes_test_mode_enabled,
    _propagate_and_assign_input_shapes,
    _propagate_shapes,
    parse_ir,
)
from .library_names import (
    _any_output_is_alias_to_input_or_output,
    _any_requires_grad,
    _AutoDispatchBelowAutograd,
    _dispatch_has_computed_kernel_for_dispatch_key,
    _dispatch_has_kernel,
    _dispatch_has_kernel_for_dispatch_key,
)
from .namespaces import _fft, _linalg, _special, _VariableFunctions
from .script_names import (
    AnyType,
    BoolType,
    ComplexType,
    DeviceObjType,
    DictType,
    EnumType,
    FileCheck,
    FloatType,
    InferredType,
    IntType,
    ListType,
    NoneType,
    NumberType,
    OptionalType,
    ScriptDict,
    ScriptList,
    ScriptMethod,
    ScriptObject,
    StringType,
    TupleType,
    UnionType,
    _freeze_module,
    _get_graph_executor_optimize,
    _jit_assert_is_instance,
    _jit_clear_class_registry,
    _jit_get_emit_hooks,
    _jit_get_inline_everything_mode,
    _jit_get_num_profiled_runs,
    _jit_get_tracer_state_warn,
    _jit_has_cpp_tests,
    _jit_set_autocast_mode,
    _jit_set_emit_hooks,
    _jit_set_inline_everything_mode,
    _jit_set_num_profiled_runs,
    _jit_set_tracer_state_warn,
    _jit_try_infer_type,
    _set_graph_executor_optimize,
)

__getattr__ = missing("rushlight._C")
has_lapack = has_spectral = True
has_mkl = has_mkldnn = False
Generator = Generator_
_TensorBase = TensorBase = Tensor
_TensorMeta = type(Tensor)
_LinAlgError = LinAlgError
StorageBase = UntypedStorage
Future = Future_
ScriptModule, ScriptFunction = jit.ScriptModule, jit.ScriptFunction
ErrorReport = RuntimeError
_GLIBCXX_USE_CXX11_ABI = True
has_cuda = has_cudnn = has_mps = has_xpu = has_openmp = False
_has_cuda = _has_cudnn = _has_cusparselt = _has_eigen_sparse = _has_kleidiai = _has_magma = _has_mkldnn = _has_mkldnn_acl = _has_mps = (
    _has_xpu
) = False
dtype, layout, memory_format, Size = dtype_, layout_, memory_format_, Size_
_InferenceMode = inference_mode
_DisableTorchDispatch = _DisableTorchDispatch_
OutOfMemoryError = streams.OutOfMemoryError
_functions, _WeakTensorRef = _autograd, _autograd.WeakTensorRef
_DisableFuncTorch = _functorch.DisableFuncTorch
is_grad_enabled, _set_grad_enabled = grad_mode.is_grad_enabled, grad_mode.set_grad_enabled


def compiled_with_cxx11_abi() -> bool:
    """Whether extensions are built with the ABI of C++11, as for every PyTorch since 2.7."""
    return _GLIBCXX_USE_CXX11_ABI


def _log_api_usage_once(event: str) -> None:
    """Nothing is reported to anybody."""


def _set_print_stack_traces_on_fatal_signal(print: bool) -> None:
    """Whether a crash (a segmentation fault, an abort) prints the Python stacks of all threads."""
    if print:
        faulthandler.enable()
    else:
        faulthandler.disable()


def _get_tracing_state() -> Any:
    """The capture that runs, or None."""
    return running[-1] if running else state.capture


def _is_tracing() -> bool:
    """Whether a program is being captured."""
    return state.capture is not None


def _are_functorch_transforms_active() -> bool:
    """Whether a transform of ``torch.func`` runs."""
    return state.transforms > 0


def _is_torch_function_mode_enabled() -> bool:
    """Whether a ``TorchFunctionMode`` is on in this thread."""
    return bool(state.function_modes)


def _is_alias_of(input: Any, other: Any) -> bool:
    """Whether two tensors have the same memory."""
    return bool(input.untyped_storage().data_ptr() == other.untyped_storage().data_ptr())


def _show_config() -> str:
    """What the package was built with."""
    return show()


def _dispatch_key_for_device(device_type: str) -> str:
    """The name of the dispatch key of a kind of device."""
    return {"cpu": "CPU", "cuda": "CUDA", "meta": "Meta", "mps": "MPS", "xpu": "XPU"}.get(device_type, device_type.upper())


def _len_torch_dispatch_stack() -> int:
    """How many dispatch modes are on."""
    return len(state.dispatch_modes)


def _len_torch_function_stack() -> int:
    """How many function modes are on."""
    return len(state.function_modes)


def _debug_only_display_vmap_fallback_warnings(enabled: bool) -> None:
    """Accepted: vmap has no slow path that would warn."""


def _get_cudnn_enabled() -> bool:
    """Whether cuDNN may be used."""
    return bool(cudnn.enabled)


def _get_default_device() -> str:
    """The device of new tensors."""
    return str(get_default_device())


def _get_privateuse1_backend_name() -> str:
    """The name of devices that extensions bring: PyTorch's own."""
    return "privateuseone"


def _jit_set_profiling_executor(profiling_flag: bool) -> bool:
    """Accepted: scripts are compiled by what is known of their types; what was set before is False."""
    return False


_jit_set_profiling_mode = _jit_set_texpr_fuser_enabled = _jit_set_nvfuser_enabled = _jit_set_nvfuser_guard_mode = (
    _jit_set_profiling_executor
)


def _jit_can_fuse_on_cpu() -> bool:
    """False: scripts are not fused by PyTorch's fuser."""
    return False


_jit_can_fuse_on_gpu = _jit_texpr_fuser_enabled = _jit_can_fuse_on_cpu


def _jit_override_can_fuse_on_cpu(override: bool) -> None:
    """Accepted."""


_jit_override_can_fuse_on_gpu = _set_math_sdp_allow_fp16_bf16_reduction = _jit_override_can_fuse_on_cpu

JITException = jit.Error

__all__ = [
    "Block",
    "DisableTorchFunction",
    "DisableTorchFunctionSubclass",
    "Graph",
    "Node",
    "FunctionSchema",
    "JITException",
    "TensorType",
    "Value",
    "_check_onnx_proto",
    "_disabled_torch_dispatch_impl",
    "_disabled_torch_function_impl",
    "has_lapack",
    "has_mkl",
    "has_openmp",
    "has_spectral",
    "_TorchFunctionState",
    "_VariableFunctions",
    "_fft",
    "_linalg",
    "_special",
    "_get_cpu_capability",
    "_get_torch_function_state",
    "_set_torch_function_state",
]

"""NVIDIA GPUs: devices, streams, events, memory, graphs and random states, by the names of ``torch.cuda``.

Importing this loads nothing of CUDA.  The first question that needs a GPU loads CuPy, if it is installed; without it, or without a GPU, the
answers are those of a PyTorch for the CPU alone.  What is done where there is a GPU is in ``rushlight/runtime/cuda``.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import importlib.util
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..core.devices import as_device, available, device_types
from ..core.errors import DeviceError
from ..core.missing import missing
from ..no_accelerator import fill
from ..tensor.legacy import TENSOR_TYPES
from .graphs import CUDAGraph, graph, graph_pool_handle, is_current_stream_capturing, make_graphed_callables
from .streams import (
    Event,
    ExternalStream,
    Stream,
    StreamContext,
    current_stream,
    default_stream,
    get_stream_from_external,
    set_stream,
    stream,
)

_WITHOUT: dict[str, Any] = {"__name__": __name__}  # what is answered where there is no GPU
fill(_WITHOUT, "CUDA")
for _name, _value in _WITHOUT.items():
    globals().setdefault(_name, _value)

has_half, has_magma = True, False


_SEEDING = frozenset(("manual_seed", "manual_seed_all", "seed", "seed_all"))


@functools.cache
def is_available() -> bool:
    """Whether tensors can be on a GPU: there is one, and CuPy is installed."""
    if importlib.util.find_spec("cupy") is None:
        return False
    try:
        ctypes.CDLL("libcuda.so.1")  # quick where there is no driver: CuPy loads for half a second
        available("cuda")
    except (OSError, DeviceError):
        return False
    return True


def _answering(name: str) -> Callable[..., Any]:
    """A function that is answered by ``runtime/cuda`` where there is a GPU, and otherwise as without one."""
    without = _WITHOUT[name]

    def answer(*args: Any, **kwargs: Any) -> Any:
        if not is_available():
            return without(*args, **kwargs)
        if name in _SEEDING and _is_in_bad_fork():  # as where CUDA is not loaded yet: it would be seeded when it is
            return None
        return getattr(importlib.import_module("rushlight.runtime.cuda.control"), name)(*args, **kwargs)

    answer.__name__ = answer.__qualname__ = name
    answer.__module__, answer.__doc__ = __name__, f"As ``torch.cuda.{name}``; without a GPU: {without.__doc__}"
    return answer


globals().update(
    {
        name: _answering(name)
        for name in """
            device_count current_device set_device get_device_name get_device_properties get_device_capability can_device_access_peer get_arch_list
            get_gencode_flags is_bf16_supported is_tf32_supported mem_get_info memory_allocated max_memory_allocated memory_reserved
            max_memory_reserved reset_peak_memory_stats reset_accumulated_memory_stats empty_cache memory_stats memory_stats_as_nested_dict
            memory_summary set_per_process_memory_fraction get_per_process_memory_fraction get_rng_state get_rng_state_all set_rng_state
            set_rng_state_all manual_seed manual_seed_all seed seed_all initial_seed ipc_collect get_sync_debug_mode set_sync_debug_mode
            current_blas_handle device_memory_used cudart utilization memory_usage temperature power_draw clock_rate get_allocator_backend
        """.split()
    }
)
CudaError = _WITHOUT["AcceleratorError"]
max_memory_cached, memory_cached = globals()["max_memory_reserved"], globals()["memory_reserved"]
reset_max_memory_allocated = reset_max_memory_cached = globals()["reset_peak_memory_stats"]


def synchronize(device: Any = None) -> None:
    """Wait until everything queued on a device is done; without a GPU there is nothing to wait for."""
    if is_available():
        importlib.import_module("rushlight.runtime.cuda.control").synchronize(device)


def init() -> None:
    """Load CUDA now; other calls do so when they need it."""
    if not is_available():
        _WITHOUT["init"]()


_lazy_init = init


def is_initialized() -> bool:
    """Whether CUDA is loaded, and can be used."""
    return "cuda" in device_types and not device_types["cuda"].forked


def _lazy_call(callable: Any, **kwargs: Any) -> None:
    """Call a function that needs a GPU, if there is one."""
    if is_available():
        callable()


def _is_in_bad_fork() -> bool:
    """Whether this process was forked from one that had loaded CUDA, where it can't be used."""
    return "cuda" in device_types and device_types["cuda"].forked


class device:
    """A context in which another GPU is the current one; an index that is None or negative changes nothing."""

    def __init__(self, device: Any) -> None:
        self.idx = device if isinstance(device, int) or device is None else as_device(device).index
        self.prev_idx = -1

    def __enter__(self) -> None:
        if self.idx is not None and self.idx >= 0:
            self.prev_idx = globals()["current_device"]()
            globals()["set_device"](self.idx)

    def __exit__(self, *exception: Any) -> None:
        if self.prev_idx >= 0:
            globals()["set_device"](self.prev_idx)


class device_of(device):
    """A context in which the GPU of a tensor is the current one; a tensor on the CPU changes nothing."""

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.get_device() if obj.is_cuda else -1)


class _TypeOnDevice(type):
    """The old types of tensors on GPUs, by dtype."""

    def __instancecheck__(cls, value: object) -> bool:
        return bool(getattr(value, "is_cuda", False)) and value.type() == f"torch.cuda.{cls.__name__}"  # type: ignore[attr-defined]


def _tensor_type(name: str) -> type:
    def refuse(cls: type, *args: Any, **kwargs: Any) -> Any:
        if not is_available():
            raise TypeError(f"type torch.cuda.{name} not available. Torch not compiled with CUDA enabled.")
        return importlib.import_module("rushlight.tensor.legacy").TENSOR_TYPES[name](*args, **kwargs).cuda()

    return _TypeOnDevice(name, (), {"__new__": refuse, "__module__": __name__, "__doc__": "The old type of tensors on GPUs."})


globals().update({name: _tensor_type(name) for name in TENSOR_TYPES})

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...

else:
    __getattr__ = missing(__name__, lazy=("amp", "comm", "graphs", "memory", "nccl", "nvtx", "profiler", "random", "streams"))

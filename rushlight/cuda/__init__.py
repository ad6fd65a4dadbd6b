"""GPUs: none can be used yet.  Programs that ask first run on the CPU; the answers are those of a PyTorch for the CPU alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..core.missing import missing
from ..no_accelerator import fill
from ..tensor.legacy import TENSOR_TYPES

fill(globals(), "CUDA")

has_half, has_magma = True, False
CudaError = globals()["AcceleratorError"]
max_memory_cached, memory_cached = globals()["max_memory_reserved"], globals()["memory_reserved"]
reset_max_memory_allocated = reset_max_memory_cached = globals()["reset_peak_memory_stats"]


def synchronize(device: Any = None) -> None:
    """Accepted: there is nothing to wait for."""


def _lazy_init() -> None:
    """Raise: there is no GPU to prepare."""
    globals()["init"]()


def _lazy_call(callable: Any, **kwargs: Any) -> None:
    """Remember a call for the moment when the first GPU is used, which does not come."""


def _is_in_bad_fork() -> bool:
    """False: there is no GPU."""
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """False: there is no GPU."""
    return False


class _TypeOnDevice(type):
    """The old types of tensors on GPUs: nothing is an instance of them."""

    def __instancecheck__(cls, value: object) -> bool:
        return False


def _tensor_type(name: str) -> type:
    def refuse(cls: type, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(f"type torch.cuda.{name} not available. Torch not compiled with CUDA enabled.")

    return _TypeOnDevice(name, (), {"__new__": refuse, "__module__": __name__, "__doc__": "Not here: there are no GPUs."})


globals().update({name: _tensor_type(name) for name in TENSOR_TYPES})

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...

else:
    __getattr__ = missing(__name__, lazy=("amp", "comm", "graphs", "memory", "nccl", "nvtx", "profiler", "random", "streams"))

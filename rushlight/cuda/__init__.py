"""GPUs: none can be used yet.  Programs that ask first run on the CPU."""

from __future__ import annotations

from typing import Any

from ..core.errors import DeviceError
from ..core.missing import missing


def is_available() -> bool:
    """False: tensors live on the CPU (or on no device at all, ``meta``)."""
    return False


def is_initialized() -> bool:
    """False."""
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """False."""
    return False


def device_count() -> int:
    """0."""
    return 0


def _absent(*args: Any, **kwargs: Any) -> Any:
    raise DeviceError("rushlight has no CUDA device here: use device='cpu'")


current_device = get_device_name = get_device_properties = get_device_capability = set_device = mem_get_info = _absent
Stream = Event = stream = current_stream = _absent


def manual_seed(seed: int) -> None:
    """Accepted: there is no GPU to seed."""


manual_seed_all = manual_seed


def empty_cache() -> None:
    """Accepted: there is no cache to empty."""


def synchronize(device: Any = None) -> None:
    """Accepted: there is nothing to wait for."""


def memory_allocated(device: Any = None) -> int:
    """0."""
    return 0


max_memory_allocated = memory_reserved = max_memory_reserved = memory_allocated


def reset_peak_memory_stats(device: Any = None) -> None:
    """Accepted."""


__getattr__ = missing(__name__, lazy=("amp",))

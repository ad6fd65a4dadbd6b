"""The accelerator of this machine, of which there is none: programs that ask run on the CPU."""

from __future__ import annotations

from typing import Any

from .core.errors import DeviceError
from .core.missing import missing as _missing

__all__ = ["current_accelerator", "current_device_index", "current_stream", "device_count", "device_index", "empty_cache", "get_memory_info",
           "is_available", "max_memory_allocated", "max_memory_reserved", "memory_allocated", "memory_reserved", "memory_stats",
           "reset_accumulated_memory_stats", "reset_peak_memory_stats", "set_device_index", "set_stream", "synchronize"]  # fmt: skip


def is_available() -> bool:
    """False."""
    return False


def device_count() -> int:
    """0."""
    return 0


def current_accelerator(check_available: bool = False) -> None:
    """None: there is no accelerator."""


def _refuse(*args: Any, **kwargs: Any) -> Any:
    """Raise: there is no accelerator."""
    raise DeviceError("Cannot access accelerator device when none is available.")


class device_index:
    """A context in which another accelerator is the current one; None changes nothing."""

    def __init__(self, device: int | None, /) -> None:
        self.idx = device

    def __enter__(self) -> None:
        if self.idx is not None:
            _refuse()

    def __exit__(self, *exception: Any) -> None:
        """Nothing was changed."""


current_device_index = current_device_idx = set_device_index = set_device_idx = current_stream = set_stream = synchronize = _refuse
empty_cache = empty_host_cache = get_memory_info = get_device_capability = memory_stats = memory_allocated = memory_reserved = _refuse
max_memory_allocated = max_memory_reserved = reset_peak_memory_stats = reset_accumulated_memory_stats = _refuse
__getattr__ = _missing(__name__)

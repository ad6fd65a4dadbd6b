"""The accelerator of this machine: CUDA where there is a GPU; where there is none, programs that ask run on the CPU."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from .core import devices
from .core.errors import DeviceError, ValueRangeError
from .core.missing import missing as _missing

__all__ = ["current_accelerator", "current_device_index", "current_stream", "device_count", "device_index", "empty_cache", "get_memory_info",
           "is_available", "max_memory_allocated", "max_memory_reserved", "memory_allocated", "memory_reserved", "memory_stats",
           "reset_accumulated_memory_stats", "reset_peak_memory_stats", "set_device_index", "set_stream", "synchronize"]  # fmt: skip


def is_available() -> bool:
    """Whether there is an accelerator."""
    return devices.accelerator() is not None


def device_count() -> int:
    """How many accelerators there are."""
    return int(_cuda().device_count()) if is_available() else 0


def current_accelerator(check_available: bool = False) -> devices.device | None:
    """The kind of the accelerator; None where there is none."""
    return devices.device("cuda") if is_available() else None


def _cuda() -> Any:
    """The module that answers for the accelerator; an error where there is none."""
    if not is_available():
        raise DeviceError("Cannot access accelerator device when none is available.")
    return importlib.import_module(f"{__package__}.cuda")


def _answering(name: str) -> Callable[..., Any]:
    """A function of ``torch.cuda`` for whatever the accelerator is."""

    def answer(*args: Any, **kwargs: Any) -> Any:
        module, given = _cuda(), args[0] if args else None
        if isinstance(given, (str, devices.device)) and devices.as_device(given).type != "cuda":
            raise ValueRangeError(f"{devices.as_device(given).type} doesn't match the current accelerator cuda.")
        return getattr(module, name)(*args, **kwargs)

    answer.__name__ = answer.__qualname__ = name
    answer.__doc__ = f"As ``torch.cuda.{name}``; an error where there is no accelerator."
    return answer


class device_index:
    """A context in which another accelerator is the current one; None changes nothing."""

    def __init__(self, device: int | None, /) -> None:
        self.idx = device

    def __enter__(self) -> None:
        if self.idx is not None:
            self._context = _cuda().device(self.idx)
            self._context.__enter__()

    def __exit__(self, *exception: Any) -> None:
        if self.idx is not None:
            self._context.__exit__(*exception)


current_device_index = current_device_idx = _answering("current_device")
set_device_index = set_device_idx = _answering("set_device")
current_stream, set_stream, synchronize = map(_answering, ("current_stream", "set_stream", "synchronize"))
empty_cache, get_memory_info, get_device_capability = map(_answering, ("empty_cache", "mem_get_info", "get_device_capability"))
memory_stats, memory_allocated, memory_reserved = map(_answering, ("memory_stats", "memory_allocated", "memory_reserved"))
max_memory_allocated, max_memory_reserved = map(_answering, ("max_memory_allocated", "max_memory_reserved"))
reset_peak_memory_stats, reset_accumulated_memory_stats = map(_answering, ("reset_peak_memory_stats", "reset_accumulated_memory_stats"))
empty_host_cache = empty_cache
__getattr__ = _missing(__name__)

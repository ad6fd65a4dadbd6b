"""Apple's GPUs: none can be used.  The answers are those of a PyTorch for the CPU alone."""

from __future__ import annotations

from typing import Any

from .core.missing import missing as _missing
from .no_accelerator import NoDeviceError

__all__ = ["Event", "current_allocated_memory", "device_count", "driver_allocated_memory", "empty_cache", "get_rng_state", "is_available",
           "manual_seed", "recommended_max_memory", "seed", "set_per_process_memory_fraction", "set_rng_state", "synchronize"]  # fmt: skip


def is_available() -> bool:
    """False."""
    return False


def device_count() -> int:
    """0."""
    return 0


def manual_seed(seed: int) -> None:
    """Accepted: there is no device to seed."""


def _refuse(*args: Any, **kwargs: Any) -> Any:
    """Raise: there is no MPS device."""
    raise NoDeviceError("Torch not compiled with MPS enabled: rushlight has no MPS device here, use device='cpu'")


class Event:
    """Not here: it needs an MPS device."""

    def __init__(self, enable_timing: bool = False) -> None:
        _refuse()


current_allocated_memory = driver_allocated_memory = recommended_max_memory = get_rng_state = set_rng_state = seed = _refuse
empty_cache = synchronize = set_per_process_memory_fraction = compile_shader = _refuse
__getattr__ = _missing(__name__)

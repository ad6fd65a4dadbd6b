"""Private names of `torch.cuda` and `torch.cuda.memory`."""

from __future__ import annotations

import importlib
import pickle
import time
from typing import Any

from ..core.devices import accelerator
from ..core.missing import missing
from ..cuda import is_initialized

_absent = missing("rushlight.compat.cuda_internal")


def __getattr__(name: str) -> Any:
    return is_initialized() if name == "_initialized" else _absent(name)


def _is_compiled() -> bool:
    """Whether tensors can be on a GPU here."""
    return accelerator() is not None


def _sleep(cycles: int) -> None:
    """Keep the current stream busy for so many cycles of the GPU's clock; without a GPU, wait about as long."""
    if accelerator() is None:
        time.sleep(cycles / 1.5e9)
    else:
        importlib.import_module("rushlight.runtime.cuda.control").spin(int(cycles))


def _snapshot(device: Any = None, augment_with_fx_traces: bool = False) -> dict[str, Any]:
    """What the allocator holds: blocks are CuPy's, and not listed."""
    return {"segments": [], "device_traces": [], "allocator_settings": {}}


def _dump_snapshot(filename: str = "dump_snapshot.pickle", augment_with_fx_traces: bool = False) -> None:
    """Write what the allocator holds to a file."""
    with open(filename, "wb") as file:
        pickle.dump(_snapshot(), file)


def _set_allocator_settings(env: str) -> None:
    """Settings of PyTorch's allocator: accepted, memory is CuPy's."""


def get_allocator_backend() -> str:
    """The name of the allocator, as PyTorch has it by default."""
    return "native"

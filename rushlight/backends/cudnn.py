"""NVIDIA's library of layers: its settings, which convolutions on a GPU ask for; on the CPU they are accepted and have no effect."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from typing import Any

from ..core.devices import accelerator
from ..core.errors import DeviceError
from ..core.missing import missing
from ..runtime.cuda.libraries import library
from .flags import FlagGroup, FlagModule, change, changed

enabled = True
benchmark = False
benchmark_limit: int | None = None
deterministic = False
allow_tf32 = True
fp32_precision = "none"
conv = FlagGroup(fp32_precision="tf32")
rnn = FlagGroup(fp32_precision="tf32")


def is_available() -> bool:
    """Whether there is a GPU, and cuDNN."""
    return version() is not None


def version() -> int | None:
    """The version of cuDNN, as in 91900; None where there is no GPU, or no cuDNN."""
    kind: Any = accelerator()
    if kind is None:
        return None
    try:
        return int(library(kind.cupy, "cudnn").cudnnGetVersion())
    except DeviceError:
        return None


def is_acceptable(tensor: Any) -> bool:
    """Whether cuDNN works on a tensor: one of floating-point numbers on a GPU."""
    return bool(tensor.is_cuda and tensor.is_floating_point() and is_available())


def set_flags(
    _enabled: bool | None = None, _benchmark: bool | None = None, _benchmark_limit: int | None = None,
    _deterministic: bool | None = None, _allow_tf32: bool | None = None, _fp32_precision: str = "none",
) -> tuple[Any, ...]:  # fmt: skip
    """Set several settings at once, and return what they were."""
    return change(
        sys.modules[__name__],
        {
            "enabled": _enabled, "benchmark": _benchmark, "benchmark_limit": _benchmark_limit, "deterministic": _deterministic,
            "allow_tf32": _allow_tf32, "fp32_precision": _fp32_precision,
        },
    )  # fmt: skip


def flags(
    enabled: bool = False, benchmark: bool = False, benchmark_limit: int = 10, deterministic: bool = False,
    allow_tf32: bool = True, fp32_precision: str = "none",
) -> AbstractContextManager[None]:  # fmt: skip
    """Settings that hold within a ``with`` block."""
    return changed(
        sys.modules[__name__],
        {
            "enabled": enabled, "benchmark": benchmark, "benchmark_limit": benchmark_limit, "deterministic": deterministic,
            "allow_tf32": allow_tf32, "fp32_precision": fp32_precision,
        },
    )  # fmt: skip


sys.modules[__name__].__class__ = FlagModule
__getattr__ = missing(__name__)

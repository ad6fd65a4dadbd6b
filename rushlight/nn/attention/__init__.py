"""Which implementation ``scaled_dot_product_attention`` may use.

There is one here for each device, which computes as ``SDPBackend.MATH`` does.  ``FLASH_ATTENTION`` names a way to the same numbers with less
memory, so that asking for it is served by the same; and so are ``EFFICIENT_ATTENTION`` and ``CUDNN_ATTENTION`` where there is a GPU.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from ...core.devices import accelerator
from ...core.errors import NotSupported
from ...core.missing import missing


class SDPBackend(IntEnum):
    """Implementations of attention in PyTorch."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


_SERVED = (SDPBackend.MATH, SDPBackend.FLASH_ATTENTION)
_SERVED_ON_GPUS = (SDPBackend.EFFICIENT_ATTENTION, SDPBackend.CUDNN_ATTENTION)


@contextmanager
def sdpa_kernel(backends: Any, set_priority: bool = False) -> Iterator[None]:
    """Allow only some implementations within a ``with`` block."""
    wanted = [backends] if isinstance(backends, SDPBackend) else list(backends)
    if not wanted or not all(isinstance(each, SDPBackend) for each in wanted):
        raise AssertionError("Backends must be an instance of SDPBackend or a list of SDPBackend instances")
    if not any(each in _SERVED for each in wanted) and not (any(each in _SERVED_ON_GPUS for each in wanted) and accelerator() is not None):
        names = ", ".join(each.name for each in wanted)
        raise NotSupported(f"sdpa_kernel: no kernel for {names} here; allow SDPBackend.MATH")
    yield


if not TYPE_CHECKING:
    __getattr__ = missing(__name__)
__all__ = ["SDPBackend", "sdpa_kernel"]

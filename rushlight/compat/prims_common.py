"""`torch._prims_common`: helpers of PyTorch's reference implementations that libraries call."""

from __future__ import annotations

from typing import Any

from ..core.missing import missing
from ..settings import are_deterministic_algorithms_enabled, is_deterministic_algorithms_warn_only_enabled

__getattr__ = missing("rushlight._prims_common")


def alert_not_deterministic(caller: str) -> None:
    """Raise where only deterministic algorithms are allowed."""
    if are_deterministic_algorithms_enabled() and not is_deterministic_algorithms_warn_only_enabled():
        raise RuntimeError(
            f"{caller} does not have a deterministic implementation, but you set 'torch.use_deterministic_algorithms(True)'."
        )


def is_contiguous_or_false(a: Any, memory_format: Any = None) -> bool:
    """Whether a tensor is contiguous."""
    return bool(a.is_contiguous())

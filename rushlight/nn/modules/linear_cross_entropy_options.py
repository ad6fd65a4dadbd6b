"""Options of ``LinearCrossEntropyLoss``."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

from ...core.dtypes import bfloat16, float16, float32, float64


@dataclasses.dataclass(frozen=True)
class LinearCrossEntropyOptions:
    """How PyTorch computes the scores of ``LinearCrossEntropyLoss`` in parts.

    They are accepted and checked; here scores are computed whole, so that they make no difference.
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: Any = None

    def __post_init__(self) -> None:
        size = self.batch_chunk_size
        if size is not None and (not isinstance(size, int) or size <= 0):
            raise ValueError(f"batch_chunk_size must be positive int or None, got {size}")
        method = self.chunking_method
        if method is not None and method != "auto" and not re.fullmatch(r"aspect_ratio(:\d+(\.\d+)?)?", str(method)):
            raise ValueError(f"invalid chunking_method: {method!r}")
        if self.acc_policy not in ("accurate", "balanced", "compact", "auto"):
            raise ValueError(f"invalid acc_policy: {self.acc_policy!r}")
        if self.acc_dtype not in (None, float16, bfloat16, float32, float64):
            raise ValueError(
                "acc_dtype must be one of {None, torch.float16, torch.bfloat16, torch.float32, torch.float64}, got "
                f"{self.acc_dtype}. Pass acc_dtype=None to let the op pick automatically."
            )


__all__ = ["LinearCrossEntropyOptions"]

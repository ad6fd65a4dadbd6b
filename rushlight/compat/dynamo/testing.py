"""`torch._dynamo.testing`: back-ends that count."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.dtypes import default
from ...core.missing import missing
from ...tensor import Tensor
from ...testing.compiling import CompileCounter, CompileCounterWithBackend, EagerAndRecordGraphs, normalize_gm
from ...testing.creation import make_tensor
from .utils import same

__getattr__ = missing("rushlight._dynamo.testing")
__all__ = ["CompileCounter", "CompileCounterWithBackend", "EagerAndRecordGraphs", "normalize_gm", "rand_strided", "same"]


def rand_strided(size: Sequence[int], stride: Sequence[int], dtype: Any = None, device: str | Any = "cpu", extra_size: int = 0) -> Tensor:
    """A tensor of random elements with such sizes and strides, over memory that may have more elements behind them."""
    needed = sum((each - 1) * step for each, step in zip(size, stride)) + 1 + extra_size if all(size) else extra_size
    memory = make_tensor((needed,), dtype=dtype or default.floating, device=device)
    return memory.as_strided(tuple(size), tuple(stride))  # type: ignore[no-any-return]

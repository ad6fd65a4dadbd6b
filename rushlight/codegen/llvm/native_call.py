"""The output of a lowering for a step of the schedule: native functions with their buffers, called in order."""

from __future__ import annotations

from collections.abc import Container
from typing import Any, NamedTuple, Protocol

from ...schedule.kernel_plan import KernelPlan
from ...schedule.tensor_ir import Product, Value
from .ir import Module


class SizesFrom(NamedTuple):
    """The symbolic sizes that a function reads: an offset into the table of sizes."""

    offset: int


class NativeCall(NamedTuple):
    """A native function on buffers; calls of it for ranges of ``0..extent`` are independent of each other."""

    name: str
    buffers: list[Any]  # values, and before them its sizes
    extent: int
    nanoseconds: float  # estimated, on one thread
    times: Any = None  # how often it is called for the whole range, sequentially; the iteration is then its last argument


class Lowering(Protocol):
    """The interface of the executable under construction that lowerings use."""

    latest: KernelPlan  # of the kernel that was emitted last

    @property
    def slots(self) -> Container[Value]:
        """The values that have memory; results without it need not be computed."""

    def kernel(self, module: Module, group: Any, whole: bool = True) -> NativeCall:
        """The function of a fused group; where it is not ``whole``, it is called for ranges of elements."""

    def product(self, module: Module, value: Product) -> NativeCall:
        """The function of a matrix product by BLAS."""


__all__ = ["Lowering", "NativeCall", "SizesFrom"]

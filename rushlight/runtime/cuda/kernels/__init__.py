"""Kernels of single ops on CUDA, beside those that an op's own kernel gives through the array module.

In: CuPy and an op's values.  Out: its results, or NotImplemented where a call is left to the op's own kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import attention, convolution, planes, products, rows, tables

KERNELS: dict[str, Callable[..., Any]] = {  # by op
    **products.KERNELS, **rows.KERNELS, **tables.KERNELS, **convolution.KERNELS, **attention.KERNELS, **planes.KERNELS,
}  # fmt: skip

"""Kernels of single ops on CUDA, beside those that an op's own kernel gives through the array module.

In: CuPy and an op's values.  Out: its results, or NotImplemented where a call is left to the op's own kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import attention, convolution, copies, parts, picking, planes, products, recurrent, resident_lstm, rows, tables

# Ops whose only kernels are NumPy's: on CUDA they are refused by name.
HOST_ONLY = frozenset("_dirichlet_grad _standard_gamma_grad linalg_ldl_factor_ex linalg_ldl_solve lobpcg_search".split())

KERNELS: dict[str, Callable[..., Any]] = {  # by op
    **products.KERNELS, **rows.KERNELS, **tables.KERNELS, **convolution.KERNELS, **attention.KERNELS, **planes.KERNELS,
    **copies.KERNELS, **parts.KERNELS, **picking.KERNELS, **recurrent.KERNELS, **resident_lstm.KERNELS,
}  # fmt: skip

PAIRS: dict[str, Callable[..., Any]] = (
    products.PAIRS
)  # of two arrays, by op: what has been prepared by an earlier call, else NotImplemented

SHORTCUTS: dict[str, Callable[..., Any]] = {
    **attention.SHORTCUTS,
    **products.SHORTCUTS,
    **rows.SHORTCUTS,
    **planes.SHORTCUTS,
    **copies.SHORTCUTS,
}  # of gradient rules, by name

"""Kernels of single ops on CUDA, besides the ops' own kernels, which run on the array module.

In: CuPy and an op's values.  Out: its results, or NotImplemented where a call is left to the op's own kernel.  Read ``rows.py`` first: a source
with marks for types and sizes, the choice of a block, and the launch; Triton kernels are in files of their own (``flash.py``, ``split_product.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import attention, convolution, copies, embedding_losses, gather, pooling_norms, products, recurrent, resident_lstm, rows, split_views

# Ops whose only kernels are NumPy's: on CUDA they are refused by name.
HOST_ONLY = frozenset("_dirichlet_grad _standard_gamma_grad linalg_ldl_factor_ex linalg_ldl_solve lobpcg_search".split())

KERNELS: dict[str, Callable[..., Any]] = {  # by op
    **products.KERNELS, **rows.KERNELS, **embedding_losses.KERNELS, **convolution.KERNELS, **attention.KERNELS, **pooling_norms.KERNELS,
    **copies.KERNELS, **split_views.KERNELS, **gather.KERNELS, **recurrent.KERNELS, **resident_lstm.KERNELS,
}  # fmt: skip

PAIRS: dict[str, Callable[..., Any]] = products.PAIRS  # of two arrays, by op: a call whose plan is cached, else NotImplemented

SHORTCUTS: dict[str, Callable[..., Any]] = {
    **attention.SHORTCUTS,
    **products.SHORTCUTS,
    **rows.SHORTCUTS,
    **pooling_norms.SHORTCUTS,
    **copies.SHORTCUTS,
}  # of gradient rules, by name

"""`torch.sparse._triton_ops_meta`: parameters of PyTorch's Triton kernels of block-sparse products, which are not here."""

from __future__ import annotations

from ..core.missing import absents

absents(globals(), "products of block-sparse matrices run without Triton here", functions="get_meta minimize update tune_bsr_dense_addmm")

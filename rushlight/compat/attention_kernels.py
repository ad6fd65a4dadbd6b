"""Private and rare names of `torch.backends.cuda`: which kernels of CUDA could compute an attention, and which libraries are preferred."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass
class SDPAParams:
    """The arguments of an attention."""

    query: Any
    key: Any
    value: Any
    attn_mask: Any = None
    dropout: float = 0.0
    is_causal: bool = False
    enable_gqa: bool = False


def can_use_flash_attention(params: SDPAParams, debug: bool = False) -> bool:
    """False: there is no such kernel, attention is one of its own here."""
    return False


can_use_efficient_attention = can_use_cudnn_attention = can_use_flash_attention
_preferred = {"blas": "default", "linalg": "default"}


def preferred_linalg_library(backend: str | None = None) -> str:
    """The library that is preferred for linear algebra on GPUs: it is kept, cuSOLVER is used."""
    if backend is not None:
        if backend not in ("default", "cusolver", "magma"):
            raise RuntimeError("Unknown input value. Choose from: default, cusolver, magma.")
        _preferred["linalg"] = backend
    return _preferred["linalg"]


def preferred_blas_library(backend: str | None = None) -> str:
    """The library that is preferred for products on GPUs: it is kept, cuBLAS is used."""
    if backend is not None:
        if backend not in ("default", "cublas", "cublaslt", "hipblaslt", "ck"):
            raise RuntimeError("Unknown input value. Choose from: default, cublas, cublaslt, hipblaslt, ck.")
        _preferred["blas"] = backend
    return _preferred["blas"]

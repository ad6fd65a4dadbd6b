"""`torch._C._cpu`, and the private questions of `torch.cpu`: which vector instructions kernels here use."""

from __future__ import annotations

from ...backends.cpu import get_cpu_capability as _get_cpu_capability
from ...core.missing import missing

__getattr__ = missing("rushlight._C._cpu")


def _init_amx() -> bool:
    """Whether tile registers were made ready: none are used."""
    return False


def _is_avx2_supported() -> bool:
    """Whether vectors of 256 bits are used."""
    return _get_cpu_capability() in ("AVX2", "AVX512")


def _is_avx512_supported() -> bool:
    """Whether vectors of 512 bits are used."""
    return _get_cpu_capability() == "AVX512"


def _is_vnni_supported() -> bool:
    """Whether dot products of bytes are used: they are not."""
    return False


_is_avx512_bf16_supported = _is_amx_tile_supported = _is_amx_fp16_supported = _is_vnni_supported

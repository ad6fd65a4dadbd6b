"""`torch.utils._triton`: whether Triton is here and there is a device that it makes code for."""

from __future__ import annotations

import importlib.util

from ..cuda import is_available


def has_triton_package() -> bool:
    """Whether the package is installed."""
    return importlib.util.find_spec("triton") is not None


def has_triton() -> bool:
    """Whether kernels of Triton can run."""
    return has_triton_package() and is_available()


def has_triton_tma() -> bool:
    """False: kernels with tensor-memory descriptors are not made here."""
    return False


has_triton_tma_device = has_triton_experimental_host_tma = has_triton_tensor_descriptor_host_tma = has_triton_tma

"""`torch.testing._internal.triton_utils`: whether tests of Triton kernels can run, and the kernels that they share."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

import rushlight

from ...core.missing import missing
from ...testing.helpers import skip_when

_HAS_TRITON = importlib.util.find_spec("triton") is not None
HAS_CUDA = bool(rushlight.cuda.is_available()) and _HAS_TRITON
HAS_GPU = HAS_CUDA_AND_TRITON = HAS_CUDA
HAS_XPU_AND_TRITON = False
requires_cuda = requires_gpu = requires_cuda_and_triton = requires_gpu_and_triton = skip_when(
    not HAS_CUDA, "needs a CUDA device and Triton"
)
requires_xpu_and_triton = skip_when(True, "needs a device that rushlight does not have")

_missing = missing("rushlight.testing._internal.triton_utils")


def __getattr__(name: str) -> Any:
    if _HAS_TRITON and not name.startswith("_"):
        kernels = importlib.import_module(f"{__package__}.triton_test_kernels")
        if name in vars(kernels):
            return vars(kernels)[name]
    return _missing(name)

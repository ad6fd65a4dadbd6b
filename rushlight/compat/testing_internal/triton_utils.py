"""`torch.testing._internal.triton_utils`: whether tests of Triton kernels can run."""

from __future__ import annotations

import importlib.util

import rushlight

from ...core.missing import missing
from ...testing.helpers import skip_when

HAS_CUDA = bool(rushlight.cuda.is_available()) and importlib.util.find_spec("triton") is not None
HAS_GPU = HAS_CUDA_AND_TRITON = HAS_CUDA
requires_cuda = requires_gpu = requires_cuda_and_triton = skip_when(not HAS_CUDA, "needs a CUDA device and Triton")

__getattr__ = missing("rushlight.testing._internal.triton_utils")

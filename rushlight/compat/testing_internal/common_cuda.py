"""`torch.testing._internal.common_cuda`: which GPUs a test finds.  There are none, or as many as `torch.cuda` says."""

from __future__ import annotations

import rushlight

from ...core.missing import missing

TEST_CUDA = bool(rushlight.cuda.is_available())
TEST_MULTIGPU = TEST_CUDA and rushlight.cuda.device_count() > 1
TEST_CUDNN = TEST_MAGMA = TEST_CUSPARSE_GENERIC = False
CUDA_DEVICE = rushlight.device("cuda:0") if TEST_CUDA else None

__getattr__ = missing("rushlight.testing._internal.common_cuda")

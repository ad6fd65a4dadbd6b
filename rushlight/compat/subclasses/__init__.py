"""``torch._subclasses``: subclasses of Tensor that PyTorch brings; here the fake tensors of ``fake_tensor.py``."""

from __future__ import annotations

from .fake_tensor import (
    CrossRefFakeMode,
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorMode,
    UnsupportedFakeTensorException,
)

__all__ = ["CrossRefFakeMode", "DynamicOutputShapeException", "FakeTensor", "FakeTensorMode", "UnsupportedFakeTensorException"]

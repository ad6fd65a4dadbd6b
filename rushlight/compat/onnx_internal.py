"""`torch.onnx._internal`: the registry of symbolic functions."""

from __future__ import annotations

from ..core.missing import missing
from ..onnx import registration

__getattr__ = missing("rushlight.onnx._internal")

__all__ = ["registration"]

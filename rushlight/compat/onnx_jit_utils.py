"""`torch.onnx._internal.jit_utils`: the class of `g` in symbolic functions."""

from __future__ import annotations

from ..onnx.opset_builder import OpsetBuilder as GraphContext

__all__ = ["GraphContext"]

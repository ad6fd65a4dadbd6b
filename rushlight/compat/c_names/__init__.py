"""`torch._C`: names that PyTorch keeps in its compiled part."""

from __future__ import annotations

from ...core.missing import missing
from ...onnx.ir import OnnxGraph as Graph
from ...onnx.ir import OnnxNode as Node
from ...onnx.ir import OnnxValue as Value
from ...onnx.ir import TensorType
from ...onnx.proto import check_proto as _check_onnx_proto

__getattr__ = missing("rushlight._C")

__all__ = ["Graph", "Node", "TensorType", "Value", "_check_onnx_proto"]

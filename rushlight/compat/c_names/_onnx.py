"""`torch._C._onnx`: the choices of an export."""

from __future__ import annotations

from ...onnx.enums import OperatorExportTypes, TrainingMode
from ...onnx.types import TensorProtoDataType

__all__ = ["OperatorExportTypes", "TensorProtoDataType", "TrainingMode"]

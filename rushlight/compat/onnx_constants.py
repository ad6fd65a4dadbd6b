"""`torch.onnx._constants`: the opsets of an export, and limits of integers."""

from __future__ import annotations

from typing import Final

ONNX_BASE_OPSET: Final = 9
ONNX_MIN_OPSET: Final = 7
ONNX_MAX_OPSET: Final = 23
ONNX_TORCHSCRIPT_EXPORTER_MAX_OPSET: Final = 20
ONNX_DEFAULT_OPSET: Final = 20
ONNX_CONSTANT_FOLDING_MIN_OPSET: Final = 9
INT64_MAX: Final = 2**63 - 1
INT32_MAX: Final = 2**31 - 1
INT16_MAX: Final = 2**15 - 1
INT8_MAX: Final = 127
UINT8_MAX: Final = 255
INT64_MIN: Final = -(2**63)
INT32_MIN: Final = -(2**31)
INT16_MIN: Final = -(2**15)
INT8_MIN: Final = -128
UINT8_MIN: Final = 0

"""The choices of an export."""

from __future__ import annotations

import enum


class ExportChoice(enum.Enum):
    """A choice that has a number but equals none, and prints with its class: `TrainingMode.EVAL`."""

    def __int__(self) -> int:
        return int(self.value)

    __index__ = __hash__ = __int__


class OperatorExportTypes(ExportChoice):
    """What becomes of an op that ONNX does not have."""

    ONNX = 0  # an error
    ONNX_ATEN = 1  # every op is written as PyTorch's own
    ONNX_ATEN_FALLBACK = 2  # ops without an ONNX form of their own are written as PyTorch's
    ONNX_FALLTHROUGH = 3  # such ops, and custom Functions, are left in the graph under their names


class TrainingMode(ExportChoice):
    """In which mode a Module is exported."""

    EVAL = 0
    PRESERVE = 1
    TRAINING = 2

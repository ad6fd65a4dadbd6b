"""Settings that hold for all exports of a process."""

from __future__ import annotations

from .enums import OperatorExportTypes, TrainingMode


class Globals:
    """What an export uses where its arguments do not say."""

    def __init__(self) -> None:
        self.export_onnx_opset_version = 20
        self.operator_export_type = OperatorExportTypes.ONNX
        self.training_mode = TrainingMode.EVAL
        self.in_onnx_export = False
        self.autograd_inlining = True
        self.onnx_shape_inference = True
        self.export_training = False


GLOBALS = Globals()

"""`torch.onnx._internal.torchscript_exporter`: PyTorch's package of the exporter of ``dynamo=False``; its files are those of `onnx`."""

from __future__ import annotations

from ..core.missing import missing
from ..onnx import globals as _globals
from ..onnx import registration, symbolic_helper, utils, verification
from ..onnx import types as _type_utils
from . import onnx_jit_utils as jit_utils

__getattr__ = missing("rushlight.onnx._internal.torchscript_exporter")

__all__ = ["_globals", "_type_utils", "jit_utils", "registration", "symbolic_helper", "utils", "verification"]

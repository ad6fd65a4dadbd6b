"""ONNX files: a model, its gradient or a training step as a file that any ONNX runtime executes with the same results.

In: a module or function with example inputs, or a captured graph.  Out: an :class:`ONNXProgram` and its file.  ``load/`` goes the other way.
Start with ``exporter.py`` (the pipeline of ``onnx.export``) and ``lowering.py`` (from a graph of ops to a graph of nodes);
``builder.py`` and ``opset_builder.py`` make nodes, ``proto.py`` and ``files.py`` write and read the file, ``comparison.py``,
``bisection.py`` and ``verification.py`` compare it with the program, ``gradient.py`` and ``training.py`` export backward passes.
"""

from __future__ import annotations

from ..core.missing import absent as _absent
from ..core.missing import missing as _missing
from ..core.release import VERSION
from . import errors
from .enums import OperatorExportTypes, TrainingMode
from .errors import OnnxExporterError
from .exporter import export, export_to_pretty_string, is_in_onnx_export, select_model_mode_for_export
from .gradient import export_gradient
from .load import load, register_op
from .program import ONNXProgram
from .registration import SymbolicContext, register_custom_op_symbolic, unregister_custom_op_symbolic
from .trainer import Trainer, TrainingProgram
from .training import export_training_step
from .types import JitScalarType, TensorProtoDataType

producer_name, producer_version = "rushlight", VERSION

_WHY = "models are exported by export(), which takes any function or Module, and example inputs"
ExportableModule, InputObserver = _absent("ExportableModule", __name__, _WHY), _absent("InputObserver", __name__, _WHY)
__getattr__ = _missing(__name__, lazy=("backend", "operators", "symbolic_helper", "utils", "verification"))

__all__ = [
    "JitScalarType", "ONNXProgram", "OnnxExporterError", "OperatorExportTypes", "SymbolicContext", "TensorProtoDataType", "Trainer",
    "TrainingMode", "TrainingProgram", "errors", "export", "export_gradient", "export_to_pretty_string", "export_training_step", "is_in_onnx_export", "load", "register_custom_op_symbolic", "register_op",
    "select_model_mode_for_export", "unregister_custom_op_symbolic",
]  # fmt: skip

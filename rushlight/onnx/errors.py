"""What can go wrong in an export."""

from __future__ import annotations

from typing import Any

from ..core.errors import RushlightError


class OnnxExporterWarning(UserWarning):
    """A warning of the exporter."""


class OnnxExporterError(RushlightError, RuntimeError):
    """An export that failed."""

    code = "RL501"


class UnsupportedOperatorError(OnnxExporterError):
    """An op that has no form in the requested opset."""

    code = "RL502"

    def __init__(self, name: str, version: int = 0, supported_version: int | None = None, message: str | None = None) -> None:
        if message is None:
            message = f"Exporting the operator '{name}' to ONNX opset version {version} is not supported."
            if supported_version is not None:
                message += f" Support for this operator was added in version {supported_version}, try exporting with this version."
        super().__init__(message)
        self.name = name
        self.supported_version = supported_version


class SymbolicValueError(OnnxExporterError):
    """A value that a symbolic function can't work with: of unknown rank, or not constant."""

    code = "RL503"

    def __init__(self, message: str, value: Any = None) -> None:
        if value is not None:
            node = value.node()
            message += f" [value: {value!r} of {node.kind()}, {node.sourceRange()}]"
        super().__init__(message)
        self.value = value


class CheckerError(OnnxExporterError):
    """The file was written, but onnx.checker found that it is not a valid model."""

    code = "RL504"


class ExportTypesError(OnnxExporterError):
    """A data type that ONNX, or the requested opset, does not have."""

    code = "RL505"


class ExportInputError(OnnxExporterError, ValueError):
    """An argument of ``export`` that does not fit the model: a name, an axis, an opset, a file."""

    code = "RL506"


class ModelFileError(OnnxExporterError, ValueError):
    """A file that is no ONNX model, is damaged, or reaches out of its folder."""

    code = "RL507"


class UnsupportedModelError(RushlightError, NotImplementedError):
    """A file that is valid, but uses an operator, a type or a form of one that is not known here."""

    code = "RL508"


__all__ = [
    "OnnxExporterWarning",
    "CheckerError", "ExportInputError", "ExportTypesError", "ModelFileError", "OnnxExporterError", "SymbolicValueError",
    "UnsupportedModelError", "UnsupportedOperatorError",
]  # fmt: skip

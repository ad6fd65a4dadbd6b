"""Element types: NumPy's, ONNX's numbers for them, and the names that symbolic functions use."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from ..core.dtypes import BY_NAME, BY_NUMPY, legacy_name
from .errors import ExportTypesError

ONNX_NUMBERS = {
    "float32": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "bool": 9, "float16": 10,
    "float64": 11, "uint32": 12, "uint64": 13, "complex64": 14, "complex128": 15, "bfloat16": 16, "float8_e4m3fn": 17,
    "float8_e4m3fnuz": 18, "float8_e5m2": 19, "float8_e5m2fnuz": 20,
}  # fmt: skip
_FIRST_OPSET = {"bfloat16": 13, "float8_e4m3fn": 19, "float8_e4m3fnuz": 19, "float8_e5m2": 19, "float8_e5m2fnuz": 19}
NUMPY_TYPES: dict[int, np.dtype[Any]] = {number: BY_NAME[name].numpy for name, number in ONNX_NUMBERS.items() if name in BY_NAME}


def onnx_type(dtype: np.dtype[Any], opset: int = 1 << 30) -> int:
    """ONNX's number for an element type; an error where the opset does not have it."""
    name = BY_NUMPY[dtype].name
    number = ONNX_NUMBERS.get(name)
    if number is None:
        raise ExportTypesError(f"ONNX has no element type for torch.{name}; convert the tensor with .to() first")
    if opset < _FIRST_OPSET.get(name, 0):
        raise ExportTypesError(
            f"the element type torch.{name} is in ONNX since opset {_FIRST_OPSET[name]}, and opset {opset} was asked for: "
            f"export with opset_version={_FIRST_OPSET[name]}, or convert the tensor with .to() first"
        )
    return number


class TensorProtoDataType(enum.IntEnum):
    """ONNX's numbers for element types."""

    UNDEFINED = 0
    FLOAT = 1
    UINT8 = 2
    INT8 = 3
    UINT16 = 4
    INT16 = 5
    INT32 = 6
    INT64 = 7
    STRING = 8
    BOOL = 9
    FLOAT16 = 10
    DOUBLE = 11
    UINT32 = 12
    UINT64 = 13
    COMPLEX64 = 14
    COMPLEX128 = 15
    BFLOAT16 = 16
    FLOAT8E4M3FN = 17
    FLOAT8E4M3FNUZ = 18
    FLOAT8E5M2 = 19
    FLOAT8E5M2FNUZ = 20


class JitScalarType(enum.IntEnum):
    """Element types as the numbers and names of PyTorch's own symbolic functions."""

    UINT8 = 0
    INT8 = 1
    INT16 = 2
    INT = 3
    INT64 = 4
    HALF = 5
    FLOAT = 6
    DOUBLE = 7
    COMPLEX32 = 8
    COMPLEX64 = 9
    COMPLEX128 = 10
    BOOL = 11
    QINT8 = 12
    QUINT8 = 13
    QINT32 = 14
    BFLOAT16 = 15
    FLOAT8E5M2 = 16
    FLOAT8E4M3FN = 17
    UNDEFINED = 18

    @classmethod
    def from_dtype(cls, dtype: Any) -> JitScalarType:
        """The number of a dtype."""
        return cls[_SCALAR_NAMES[dtype.name]]

    @classmethod
    def from_value(cls, value: Any, default: Any = None) -> JitScalarType:
        """The element type of a value (or tensor); ``default`` where it is not known."""
        dtype = getattr(value, "dtype", None)
        if isinstance(dtype, np.dtype):
            dtype = BY_NUMPY[dtype]
        if dtype is None:
            if default is None:
                raise ExportTypesError(f"the element type of {value!r} is not known")
            return default  # type: ignore[no-any-return]
        return cls.from_dtype(dtype)

    def dtype(self) -> Any:
        """The dtype of a number."""
        return BY_NAME[next(name for name, scalar in _SCALAR_NAMES.items() if scalar == self.name)]

    def scalar_name(self) -> str:
        """The old name: ``Float``, ``Long``."""
        return legacy_name(self.dtype())

    def torch_name(self) -> str:
        """The name in schemas: ``float``, ``int64_t``."""
        return {"INT64": "int64_t", "UINT8": "uint8_t", "INT8": "int8_t", "INT16": "int16_t"}.get(self.name, self.name.lower())

    def onnx_type(self) -> TensorProtoDataType:
        """ONNX's number for it."""
        return TensorProtoDataType(onnx_type(self.dtype().numpy))


_SCALAR_NAMES = {
    "uint8": "UINT8", "int8": "INT8", "int16": "INT16", "int32": "INT", "int64": "INT64", "float16": "HALF",
    "float32": "FLOAT", "float64": "DOUBLE", "complex64": "COMPLEX64", "complex128": "COMPLEX128", "bool": "BOOL",
    "qint8": "QINT8", "quint8": "QUINT8", "qint32": "QINT32", "bfloat16": "BFLOAT16", "float8_e5m2": "FLOAT8E5M2", "float8_e4m3fn": "FLOAT8E4M3FN",
}  # fmt: skip

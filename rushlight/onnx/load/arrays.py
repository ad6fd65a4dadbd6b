"""Values of a loaded model and NumPy arrays: also of element types that no tensor has, of strings, sequences and optionals."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.base import TensorBase
from ...tensor.construct import from_numpy, tensor
from .reading import held
from .strings import Strings


def to_value(given: Any, kind: Any) -> Any:
    """What a model is given for an input of a type (a ``TypeProto``), from arrays, lists and None."""
    import onnx

    if given is None or isinstance(given, (TensorBase, Strings)):
        return given
    form = kind.WhichOneof("value")
    if form == "optional_type":
        return to_value(given, kind.optional_type.elem_type)
    if form == "sequence_type":
        return [to_value(each, kind.sequence_type.elem_type) for each in given]
    if isinstance(given, onnx.TensorProto):
        given = onnx.numpy_helper.to_array(given)
    array = np.asarray(given)
    number = int(kind.tensor_type.elem_type) if form == "tensor_type" else 0
    if number == 8 or array.dtype.kind in "OUS":
        return Strings(array)
    if not number:
        number = int(onnx.helper.np_dtype_to_tensor_dtype(array.dtype))
    made = held(array, number)
    return from_numpy(np.ascontiguousarray(made).reshape(made.shape) if made.flags.writeable else made.copy())


def to_array(value: Any, kind: Any) -> Any:
    """An output of a model as an array of its type (a ``TypeProto``), as lists of them, or None."""
    import onnx

    form = kind.WhichOneof("value")
    if value is None:
        return None
    if form == "optional_type":
        return to_array(value, kind.optional_type.elem_type)
    if isinstance(value, (list, tuple)):
        return [to_array(each, kind.sequence_type.elem_type) for each in value]
    if isinstance(value, Strings):
        return value.array
    if not isinstance(value, TensorBase):
        value = tensor(value)
    array = value.detach()._array  # type: ignore[attr-defined]
    number = int(kind.tensor_type.elem_type) if form == "tensor_type" else 0
    if not number:
        return np.array(array)
    wanted = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(number))
    return np.array(array) if array.dtype == wanted else np.asarray(array).astype(wanted)

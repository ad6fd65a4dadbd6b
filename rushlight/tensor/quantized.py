"""Properties of quantized tensors (scheme, scale, zero point), and how they print."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.base import Spec
from ..core.dtypes import BY_NUMPY
from ..core.errors import OperationError
from ..core.quantized import QuantizedArray, Quantizer, per_tensor, require_quantized
from .printing import format_tensor


def is_quantized(self: Any) -> bool:
    """Whether the elements are quantized: integers that represent real numbers."""
    return BY_NUMPY[self._array.dtype].integer is not None


def qscheme(self: Any) -> Any:
    """How the integers represent real numbers, such as ``per_tensor_affine``."""
    return require_quantized(self, "qscheme").quantizer.scheme


def q_scale(input: Any) -> float:
    """The scale of a tensor that is quantized as a whole."""
    return per_tensor(require_quantized(input, "q_scale"), "q_scale()").scale  # type: ignore[no-any-return]


def q_zero_point(input: Any) -> int:
    """The integer that represents zero, of a tensor that is quantized as a whole."""
    return per_tensor(require_quantized(input, "q_zero_point"), "q_zero_point()").zero_point  # type: ignore[no-any-return]


def q_per_channel_axis(input: Any) -> int:
    """The dimension whose indices have scales and zero points of their own."""
    quantizer = require_quantized(input, "q_per_channel_axis").quantizer
    if quantizer.axis is None:
        raise OperationError(f"q_per_channel_axis(): the tensor is quantized as a whole ({quantizer.scheme}), not by channel")
    return quantizer.axis


def format_quantized(array: QuantizedArray) -> str:
    """The text of a quantized tensor, as PyTorch prints it."""
    quantizer = array.quantizer
    shape = array.shape
    parts = [
        f"size=({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})",
        f"dtype={quantizer.dtype!r}", f"quantization_scheme={quantizer.scheme!r}",
    ]  # fmt: skip
    if quantizer.axis is None:
        parts += [f"scale={quantizer.scale}", f"zero_point={quantizer.zero_point}"]
    else:
        parts += [f"scale={format_tensor(quantizer.scale)}", f"zero_point={format_tensor(quantizer.zero_point)}", f"axis={quantizer.axis}"]
    real = array.real_numbers if array.size else np.empty((0,), np.float32)
    return format_tensor(real, extra=parts)


def restored(array: Any, quantizer: Quantizer | None) -> Any:
    """An array over restored memory, with the quantizer that it had."""
    return array if quantizer is None else quantizer.over(array.view(quantizer.dtype.integer))


def quantizer_of(tensor: Any) -> Quantizer | None:
    """The quantizer of a quantized tensor."""
    array = tensor._array
    return None if array.__class__ is Spec else getattr(array, "quantizer", None)


FUNCTIONS = {each.__name__: each for each in (q_scale, q_zero_point, q_per_channel_axis)}


def install(tensor_class: Any) -> None:
    """Hang the methods of this module on the tensor class."""
    tensor_class.is_quantized = property(is_quantized)
    tensor_class.qscheme = qscheme
    for name, function in FUNCTIONS.items():
        setattr(tensor_class, name, function)

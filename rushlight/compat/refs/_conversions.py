"""`torch._refs._conversions`: tensors in another type, by the type's old name."""

import rushlight

from ...tensor import Tensor

complex, polar = rushlight.complex, rushlight.polar
bfloat16, bool, byte, char, double, float, half, int, long, short = (
    Tensor.bfloat16, Tensor.bool, Tensor.byte, Tensor.char, Tensor.double, Tensor.float, Tensor.half, Tensor.int, Tensor.long, Tensor.short,
)  # fmt: skip
cdouble, cfloat, chalf = Tensor.cdouble, Tensor.cfloat, Tensor.chalf

__all__ = [
    "bfloat16",
    "bool",
    "byte",
    "cdouble",
    "cfloat",
    "chalf",
    "char",
    "complex",
    "double",
    "float",
    "half",
    "int",
    "long",
    "polar",
    "short",
]

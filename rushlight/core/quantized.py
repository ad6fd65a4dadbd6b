"""Quantized tensors: integers with the rule by which they stand for real numbers.

A quantized tensor's array is a :class:`QuantizedArray`.  It is NumPy's array of a type that has no arithmetic (a record of one
integer), so that nothing computes with the bare integers by accident: the fast paths of op calls fall back to the general
one, and that asks the op's ``quantized`` facet.  An op without one refuses.  What NumPy makes of such an array by
slicing, reshaping or copying keeps the quantizer.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .declare import Op
from .devices import register_array_type
from .dtypes import BY_NUMPY, dtype
from .errors import NotSupported, OperationError
from .facets import Facet

rules: Facet[Any] = Facet("quantized", "how the op runs on quantized tensors", source="rushlight.ops.quantized.rules")


class qscheme:
    """How integers stand for real numbers, such as ``rushlight.per_tensor_affine``."""

    __slots__ = ("name", "per_channel")

    def __init__(self, name: str) -> None:
        self.name = name
        self.per_channel = name.startswith("per_channel")

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> Any:
        return (scheme_of_name, (self.name,))

    def __copy__(self) -> qscheme:
        return self

    def __deepcopy__(self, memo: Any) -> qscheme:
        return self


SCHEMES: dict[str, qscheme] = {
    name: qscheme(name)
    for name in (
        "per_tensor_affine", "per_channel_affine", "per_tensor_symmetric", "per_channel_symmetric",
        "per_channel_affine_float_qparams",
    )
}  # fmt: skip
per_tensor_affine, per_channel_affine = SCHEMES["per_tensor_affine"], SCHEMES["per_channel_affine"]
float_qparams = SCHEMES["per_channel_affine_float_qparams"]


def scheme_of_name(name: str) -> qscheme:
    """Look a scheme up by its name; unpickling uses it."""
    return SCHEMES[name]


class Quantizer:
    """``real = (integer - zero_point) * scale``, with one scale and zero point or, along ``axis``, one for each channel."""

    __slots__ = ("axis", "dtype", "scale", "scheme", "zero_point")

    def __init__(self, dtype: dtype, scale: Any, zero_point: Any, axis: int | None = None) -> None:
        self.dtype = dtype
        self.axis = axis
        if axis is None:
            self.scheme = per_tensor_affine
            self.scale: Any = float(scale)
            self.zero_point: Any = int(zero_point)
            limits = np.iinfo(dtype.integer)
            for name, beyond in (("above upper", self.zero_point > limits.max), ("below lower", self.zero_point < limits.min)):
                if beyond:
                    raise OperationError(f"quantize_tensor_per_tensor_affine zero_point {self.zero_point} is {name} bound.")
            return
        zero_points = np.asarray(zero_point)
        self.scheme = float_qparams if zero_points.dtype.kind == "f" else per_channel_affine
        kind = np.float32 if self.scheme is float_qparams else np.float64
        self.scale = np.array(scale, kind)
        self.zero_point = np.array(zero_points, np.float32 if kind is np.float32 else np.int64)

    @property
    def limits(self) -> tuple[int, int]:
        """The smallest and the largest integer of the type."""
        found = np.iinfo(self.dtype.integer)
        return int(found.min), int(found.max)

    def spread(self, parameter: Any, ndim: int, kind: Any = np.float32) -> Any:
        """A scale or zero point, shaped so that it meets its channel."""
        if self.axis is None:
            return kind(parameter)
        return parameter.astype(kind).reshape([-1 if dim == self.axis else 1 for dim in range(ndim)])

    def integers(self, values: Any) -> Any:
        """Real numbers as the nearest integers of this quantizer, as a plain array."""
        kind = np.float64 if self.dtype.itemsize > 1 else np.float32  # float32 does not hold all 32-bit integers
        scale = self.spread(self.scale, values.ndim)
        low, high = self.limits
        rounded = np.rint(values * (np.float32(1) / scale).astype(kind) + self.spread(self.zero_point, values.ndim, kind))
        return np.maximum(np.fmin(rounded, kind(high)), kind(low)).astype(self.dtype.integer)

    def quantize(self, values: Any) -> QuantizedArray:
        """Real numbers as a quantized array."""
        return self.over(self.integers(values))

    def over(self, integers: Any) -> QuantizedArray:
        """A quantized array over given integers."""
        array = np.asarray(integers, self.dtype.integer).view(self.dtype.numpy).view(QuantizedArray)
        array.quantizer = self
        return array  # type: ignore[no-any-return]

    def real(self, integers: Any) -> Any:
        """The real numbers that integers stand for."""
        scale = self.spread(self.scale, integers.ndim)
        kind: Any = np.int64 if self.dtype.itemsize > 1 else np.int32
        if self.scheme is float_qparams:
            kind = np.float32
        return (integers.astype(kind) - self.spread(self.zero_point, integers.ndim, kind)).astype(np.float32) * scale

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Quantizer) and self.dtype is other.dtype and self.axis == other.axis
            and self.scheme is other.scheme and bool(np.array_equal(self.scale, other.scale))
            and bool(np.array_equal(self.zero_point, other.zero_point))
        )  # fmt: skip

    __hash__ = object.__hash__

    def __reduce__(self) -> Any:
        return (Quantizer, (self.dtype, self.scale, self.zero_point, self.axis))


class QuantizedArray(np.ndarray):
    """The array of a quantized tensor: integers in records, and their quantizer."""

    __array_ufunc__: Any = None  # NumPy's functions refuse it
    quantizer: Quantizer

    def __array_finalize__(self, source: Any) -> None:
        self.quantizer = getattr(source, "quantizer", None)  # type: ignore[assignment]

    @property
    def integers(self) -> Any:
        """The integers, as a plain array over the same memory."""
        return self.view(np.ndarray).view(self.quantizer.dtype.integer)

    @property
    def real_numbers(self) -> Any:
        """The numbers that the integers stand for, in float32."""
        return np.asarray(self.quantizer.real(self.integers))

    def moved(self, records: Any) -> QuantizedArray:
        """An array of elements (records) of this one, in other places."""
        array = records.view(QuantizedArray)
        array.quantizer = self.quantizer
        return array  # type: ignore[no-any-return]

    def like(self, integers: Any) -> QuantizedArray:
        """Other integers with the same quantizer."""
        return self.quantizer.over(integers)


register_array_type(QuantizedArray, "cpu")


def is_quantized(value: Any) -> bool:
    """Whether an argument is, or holds, a quantized array."""
    return value.__class__ is QuantizedArray or (
        isinstance(value, (list, tuple)) and any(each.__class__ is QuantizedArray for each in value)
    )


def rule_of(op: Op) -> Any:
    """How an op runs on quantized arrays: as its declaration says, or as a registered rule does; None where it refuses them."""
    return op.quantized or rules.of(op)


def run_quantized(op: Op, values: list[Any]) -> Any:
    """Run an op on quantized arrays, as its ``quantized`` facet says."""
    rule = rule_of(op)
    if rule is None:
        found = next(each for each in flattened(values) if each.__class__ is QuantizedArray)
        raise NotSupported(
            f"Could not run '{op.public_name}' on a tensor of type torch.{BY_NUMPY[found.dtype].name}: it is not defined for "
            "quantized tensors (the 'QuantizedCPU' backend). Call dequantize() first, or use a function of "
            "torch.ops.quantized or a module of torch.ao.nn.quantized"
        )
    return rule(op, values)


def flattened(values: Any) -> list[Any]:
    """Arguments with lists opened."""
    return [each for value in values for each in (value if isinstance(value, (list, tuple)) else (value,))]


def per_tensor(array: QuantizedArray, what: str) -> Quantizer:
    """The quantizer of an array that has one scale for all elements; an error for others."""
    quantizer = array.quantizer
    if quantizer.axis is not None:
        raise OperationError(
            f"{what}: the tensor is quantized by channel ({quantizer.scheme}), and this is only defined for torch.per_tensor_affine"
        )
    return quantizer


def require_quantized(tensor: Any, what: str) -> QuantizedArray:
    """The array of a tensor that has to be quantized."""
    array = tensor._array
    if array.__class__ is not QuantizedArray:
        raise NotSupported(
            f"Could not run '{what}' on a tensor of type torch.{BY_NUMPY[array.dtype].name}: only quantized tensors have one"
        )
    return array  # type: ignore[no-any-return]

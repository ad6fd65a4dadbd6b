"""Data types: PyTorch's names over NumPy's (and ml_dtypes') types, and the rules by which they combine.

Inside kernels a data type is a plain ``numpy.dtype``; at the surface it is a :class:`dtype`, which prints as
``torch.float32`` does.  The two are mapped one to one by :func:`of_numpy` and :attr:`dtype.numpy`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

BOOL, INTEGRAL, FLOATING, COMPLEX = range(4)

_SHORT_NAMES = {
    "bool": "b8",
    "bfloat16": "bf16",
    "bits8": "b8x1",
    "bits16": "b16x1",
    "bits1x8": "b1x8",
    "bits2x4": "b2x4",
    "bits4x2": "b4x2",
}


class dtype:
    """The type of a tensor's elements, such as ``rushlight.float32``."""

    __slots__ = ("category", "integer", "is_complex", "is_floating_point", "is_signed", "itemsize", "name", "numpy", "aliases")

    numpy: np.dtype[Any]
    category: int
    itemsize: int
    integer: Any  # of a quantized type: the NumPy type of its integers

    def __init__(self, name: str, numpy_type: Any, category: int, aliases: tuple[str, ...] = ()) -> None:
        self.name = name
        self.numpy = np.dtype(numpy_type)
        self.category = category
        self.is_floating_point = category == FLOATING
        self.is_complex = category == COMPLEX
        self.is_signed = category >= FLOATING or self.numpy.kind == "i"
        self.itemsize = self.numpy.itemsize
        self.aliases = aliases
        self.integer = None

    def __getattr__(self, name: str) -> Any:
        if name == "is_signed":
            raise RuntimeError("isSignedType not supported for quantized types")
        raise AttributeError(f"'torch.dtype' object has no attribute '{name}'")

    @property
    def abbr(self) -> str:
        """A short name, as printed graphs have it: ``f32``, ``bf16``, ``i64``, ``b8``."""
        kind, bits = re.match(r"(float|complex|int|uint|)(.*)", self.name).groups()  # type: ignore[union-attr]
        return _SHORT_NAMES.get(self.name) or (kind[0] + bits.replace("_", "") if kind and bits not in "1234567" else self.name)

    def to_real(self) -> dtype:
        """The real type of the same precision (``complex64`` gives ``float32``)."""
        return {"complex64": float32, "complex128": float64, "complex32": float16}.get(self.name, self)

    def to_complex(self) -> dtype:
        """The complex type of the same precision; of ``bfloat16`` it is ``complex64``."""
        if self.category < FLOATING:
            raise RuntimeError(f"Unknown Complex ScalarType for {legacy_name(self.numpy)}")
        return self if self.is_complex else {"float64": complex128, "float16": complex32}.get(self.name, complex64)

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str | tuple[Any, ...]:
        return (by_name, (self.name,))

    def __copy__(self) -> dtype:
        return self

    def __deepcopy__(self, memo: Any) -> dtype:
        return self


bool_ = dtype("bool", np.bool_, BOOL)
uint8 = dtype("uint8", np.uint8, INTEGRAL)
uint16 = dtype("uint16", np.uint16, INTEGRAL)
uint32 = dtype("uint32", np.uint32, INTEGRAL)
uint64 = dtype("uint64", np.uint64, INTEGRAL)
int8 = dtype("int8", np.int8, INTEGRAL)
int16 = dtype("int16", np.int16, INTEGRAL, ("short",))
int32 = dtype("int32", np.int32, INTEGRAL, ("int",))
int64 = dtype("int64", np.int64, INTEGRAL, ("long",))
float16 = dtype("float16", np.float16, FLOATING, ("half",))
bfloat16 = dtype("bfloat16", ml_dtypes.bfloat16, FLOATING)
float32 = dtype("float32", np.float32, FLOATING, ("float",))
float64 = dtype("float64", np.float64, FLOATING, ("double",))
complex64 = dtype("complex64", np.complex64, COMPLEX, ("cfloat",))
complex128 = dtype("complex128", np.complex128, COMPLEX, ("cdouble",))
complex32 = dtype("complex32", [("real", np.float16), ("imag", np.float16)], COMPLEX, ("chalf",))  # see core/upcast.py
float8_e4m3fn = dtype("float8_e4m3fn", ml_dtypes.float8_e4m3fn, FLOATING)
float8_e5m2 = dtype("float8_e5m2", ml_dtypes.float8_e5m2, FLOATING)


def _quantized(name: str, integer: Any) -> dtype:
    """A type of quantized tensors: for NumPy a record of one integer, which has no arithmetic (see core/quantized.py)."""
    made = dtype(name, [(name, integer)], INTEGRAL)
    made.integer = np.dtype(integer)
    del made.is_signed
    return made


quint8 = _quantized("quint8", np.uint8)
qint8 = _quantized("qint8", np.int8)
qint32 = _quantized("qint32", np.int32)

QUANTIZED: tuple[dtype, ...] = (quint8, qint8, qint32)


def _stored(name: str, size: int, category: int, aliases: tuple[str, ...] = ()) -> dtype:
    """A type that tensors can be stored in and that nothing is computed with: for NumPy a record of bytes."""
    made = dtype(name, [(name, f"V{size}")], category, aliases)
    made.is_signed = not name.startswith(("uint", "quint", "bits"))
    return made


STORED: tuple[dtype, ...] = (
    *(_stored(f"{kind}{bits}", 1, INTEGRAL) for kind in ("uint", "int") for bits in range(1, 8)),
    *(_stored(name, size, INTEGRAL) for name, size in {"bits1x8": 1, "bits2x4": 1, "bits4x2": 1, "bits8": 1, "bits16": 2, "quint4x2": 1, "quint2x4": 1}.items()),
    complex32, _stored("float4_e2m1fn_x2", 1, FLOATING),
    dtype("float8_e4m3fnuz", ml_dtypes.float8_e4m3fnuz, FLOATING), dtype("float8_e5m2fnuz", ml_dtypes.float8_e5m2fnuz, FLOATING),
    dtype("float8_e8m0fnu", ml_dtypes.float8_e8m0fnu, FLOATING),
)  # fmt: skip
STORED[-1].is_signed = False
ALL: tuple[dtype, ...] = (
    bool_, uint8, uint16, uint32, uint64, int8, int16, int32, int64,
    float16, bfloat16, float32, float64, complex64, complex128, float8_e4m3fn, float8_e5m2,
)  # fmt: skip
BY_NUMPY: dict[np.dtype[Any], dtype] = {each.numpy: each for each in (*ALL, *QUANTIZED, *STORED)}
BY_NAME: dict[str, dtype] = {name: each for each in (*ALL, *QUANTIZED, *STORED) for name in (each.name, *each.aliases)}

# Types that are stored narrow and computed in float32.
HALF_PRECISION: frozenset[np.dtype[Any]] = frozenset(each.numpy for each in (float16, bfloat16))
LOW_PRECISION: frozenset[np.dtype[Any]] = frozenset(each.numpy for each in (float16, bfloat16, float8_e4m3fn, float8_e5m2))
FLOAT8: frozenset[np.dtype[Any]] = frozenset(each.numpy for each in (float8_e4m3fn, float8_e5m2, *STORED[-3:]))

# The narrowest integer that holds both, by how many bits; uint8 beside a signed type needs one more step.
_SIGNED: dict[int, np.dtype[Any]] = {1: np.dtype(np.int8), 2: np.dtype(np.int16), 4: np.dtype(np.int32), 8: np.dtype(np.int64)}
_WIDE_UNSIGNED = frozenset((uint16.numpy, uint32.numpy, uint64.numpy))
_F32, _F64, _C64, _C128 = float32.numpy, float64.numpy, complex64.numpy, complex128.numpy
_PROMOTED: dict[tuple[np.dtype[Any], np.dtype[Any]], np.dtype[Any]] = {}


class _Default:
    """The default floating type: ``set_default_dtype`` changes it for the whole process."""

    __slots__ = ("changed", "complex", "floating", "numpy")

    def __init__(self) -> None:
        self.changed: list[Callable[[], None]] = []  # called after a change: what forgets plans that depend on it
        self.set(float32)

    def set(self, floating: dtype) -> None:
        self.floating = floating
        self.numpy = floating.numpy
        self.complex = floating.to_complex().numpy
        for each in self.changed:
            each()


default = _Default()


def get_default_dtype() -> dtype:
    """The type of floating-point tensors made without naming one."""
    return default.floating


def set_default_dtype(d: dtype) -> None:
    """Set the type of floating-point tensors made without naming one."""
    if not isinstance(d, dtype) or not d.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    default.set(d)


def of_numpy(numpy_type: Any) -> dtype:
    """The :class:`dtype` for a NumPy type, or a TypeError that names the supported ones."""
    numpy_type = np.dtype(numpy_type)
    found = BY_NUMPY.get(numpy_type) or BY_NUMPY.get(numpy_type.newbyteorder("="))
    if found is None:
        raise TypeError(
            f"can't convert np.ndarray of type {numpy_type}. The only supported types are: "
            "float64, float32, float16, complex64, complex128, int64, int32, int16, int8, uint64, uint32, "
            "uint16, uint8, and bool."
        )
    return found


def by_name(name: str) -> dtype:
    """Look a dtype up by its name; unpickling uses it."""
    return BY_NAME[name]


def promote_numpy(a: np.dtype[Any], b: np.dtype[Any]) -> np.dtype[Any]:
    """The type that two tensors' types combine to, by PyTorch's lattice (not NumPy's)."""
    if a is b:
        return a
    found = _PROMOTED.get((a, b))
    if found is None:
        found = _PROMOTED[a, b] = _promote(BY_NUMPY[a], BY_NUMPY[b])
    return found


def _promote(a: dtype, b: dtype) -> np.dtype[Any]:
    if a.integer is not None or b.integer is not None:
        if a is b:
            return a.numpy
        raise RuntimeError(
            f"promoteTypes with quantized numbers is not handled: there is no common type of {legacy_name(a)} and {legacy_name(b)}. "
            "Call dequantize() first"
        )
    if a.numpy in FLOAT8 or b.numpy in FLOAT8:
        raise RuntimeError(f"Promotion for Float8 Types is not supported, attempted to promote {legacy_name(a)} and {legacy_name(b)}")
    if a.category > b.category:
        a, b = b, a
    wide = _WIDE_UNSIGNED & {a.numpy, b.numpy}
    if wide and b.category != FLOATING:
        raise RuntimeError(
            f"Promotion for uint16, uint32, uint64 types is not supported, attempted to promote {legacy_name(a)} and {legacy_name(b)}"
        )
    if b.category == COMPLEX:
        if b is complex32 and (a.category < FLOATING or a is float16):
            return b.numpy
        double = b.numpy == _C128 or a.numpy in (_F64, _C128)
        return _C128 if double else _C64
    if b.category == FLOATING:
        if a.category < FLOATING:
            return b.numpy
        if a.itemsize == b.itemsize:  # float16 beside bfloat16
            return _F32
        return a.numpy if a.itemsize > b.itemsize else b.numpy
    if a.category == BOOL:
        return b.numpy
    if a.is_signed == b.is_signed or a.itemsize > b.itemsize:
        return a.numpy if a.itemsize >= b.itemsize else b.numpy
    signed, unsigned = (a, b) if a.is_signed else (b, a)
    if signed.itemsize > unsigned.itemsize:
        return signed.numpy
    return _SIGNED[unsigned.itemsize * 2]


# Python's types that stand for a dtype wherever one is asked for.
PYTHON_TYPES: dict[Any, dtype] = {float: float64, int: int64, bool: bool_, complex: complex128}


def promote_types(type1: dtype, type2: dtype) -> dtype:
    """The smallest type, in PyTorch's lattice, that both types convert to."""
    type1, type2 = PYTHON_TYPES.get(type1, type1), PYTHON_TYPES.get(type2, type2)
    return BY_NUMPY[promote_numpy(type1.numpy, type2.numpy)]


def scalar_category(value: Any) -> int:
    """The category of a Python (or NumPy) number."""
    kind = type(value)
    if kind is float:
        return FLOATING
    if kind is bool or isinstance(value, np.bool_):
        return BOOL
    if isinstance(value, (int, np.integer)):
        return INTEGRAL
    if isinstance(value, (float, np.floating)):
        return FLOATING
    if isinstance(value, (complex, np.complexfloating)):
        return COMPLEX
    return BY_NUMPY[np.asarray(value).dtype].category  # ml_dtypes scalars and symbolic numbers


_OF_CATEGORY = {BOOL: bool_.numpy, INTEGRAL: int64.numpy}


def scalar_dtype(value: Any) -> np.dtype[Any]:
    """The type that a Python number has as a tensor of its own."""
    category = scalar_category(value)
    return _OF_CATEGORY.get(category) or (default.numpy if category == FLOATING else default.complex)


def result_dtype(values: Any) -> np.dtype[Any]:
    """PyTorch's result type of arrays (anything with dtype and shape) and Python numbers.

    Arrays with dimensions decide; 0-dim arrays, and after them numbers, count only if their category is higher.
    """
    dimensioned: np.dtype[Any] | None = None
    zero_dim: np.dtype[Any] | None = None
    number: np.dtype[Any] | None = None
    for value in values:
        of_value = getattr(value, "dtype", None)
        if of_value is None or isinstance(value, np.generic):
            of_value = scalar_dtype(value)
            number = of_value if number is None else promote_numpy(number, of_value)
        elif value.shape:
            dimensioned = of_value if dimensioned is None else promote_numpy(dimensioned, of_value)
        else:
            zero_dim = of_value if zero_dim is None else promote_numpy(zero_dim, of_value)
    result = dimensioned
    for weaker in [each for each in (zero_dim, number) if each is not None]:
        if result is None:
            result = weaker
        elif BY_NUMPY[weaker].category > BY_NUMPY[result].category:
            result = _lift(result, weaker)
    if result is None:
        raise RuntimeError("result_type needs at least one tensor or number")
    return result


def _lift(strong: np.dtype[Any], weak: np.dtype[Any]) -> np.dtype[Any]:
    """The type of something of a lower category beside a 0-dim tensor or number of a higher one."""
    if BY_NUMPY[weak].is_complex and BY_NUMPY[strong].is_floating_point:  # keeps the precision
        if strong in FLOAT8:
            raise RuntimeError(f"Unknown Complex ScalarType for {legacy_name(strong)}")
        return BY_NUMPY[strong].to_complex().numpy
    return weak if BY_NUMPY[weak].is_complex else promote_numpy(strong, weak)


def can_cast(from_: dtype, to: dtype) -> bool:
    """Whether a value of one type may be written to a tensor of another (an in-place op's rule)."""
    from_, to = PYTHON_TYPES.get(from_, from_), PYTHON_TYPES.get(to, to)
    return from_.category <= to.category or (from_.category == INTEGRAL and to.category == INTEGRAL)


_LEGACY = {
    "bool": "Bool", "uint8": "Byte", "int8": "Char", "int16": "Short", "int32": "Int", "int64": "Long",
    "float16": "Half", "bfloat16": "BFloat16", "float32": "Float", "float64": "Double",
    "complex32": "ComplexHalf", "complex64": "ComplexFloat", "complex128": "ComplexDouble", "uint16": "UInt16", "uint32": "UInt32",
    "uint64": "UInt64", "float8_e4m3fn": "Float8_e4m3fn", "float8_e5m2": "Float8_e5m2",
    "quint8": "QUInt8", "qint8": "QInt8", "qint32": "QInt32",
}  # fmt: skip


def legacy_name(type_: dtype | np.dtype[Any]) -> str:
    """The name that PyTorch's messages use: ``Float``, ``Long``."""
    name = type_.name if isinstance(type_, dtype) else BY_NUMPY[type_].name
    return _LEGACY[name] if name in _LEGACY else name[0].upper() + name[1:]


_C_NAMES = {
    "bool": "bool", "uint8": "unsigned char", "int8": "signed char", "int16": "short int", "int32": "int",
    "int64": "long int", "uint16": "short unsigned int", "uint32": "unsigned int", "uint64": "long unsigned int",
    "float16": "c10::Half", "bfloat16": "c10::BFloat16", "float32": "float", "float64": "double",
    "complex64": "c10::complex<float>", "complex128": "c10::complex<double>",
}  # fmt: skip


def c_name(type_: np.dtype[Any]) -> str:
    """The name of PyTorch's C++ type, which some messages use: ``float``, ``c10::BFloat16``."""
    name = BY_NUMPY[type_].name
    return _C_NAMES.get(name, name)


def _same_limits(self: Any, other: Any) -> bool:
    return type(self) is type(other) and bool(self.dtype == other.dtype)


class finfo:
    """Limits of a floating-point type."""

    __eq__ = _same_limits

    def __init__(self, type: dtype | None = None) -> None:
        kind = PYTHON_TYPES.get(type, type) or default.floating
        if kind.category < FLOATING:
            raise TypeError("torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.finfo'")
        kind = kind.to_real()
        limits = ml_dtypes.finfo(kind.numpy)
        self.bits = kind.itemsize * 8
        self.dtype = kind.name
        self.eps = float(limits.eps)
        self.max = float(limits.max)
        self.min = float(limits.min)
        self.tiny = self.smallest_normal = float(limits.smallest_normal)
        self.resolution = 10.0 ** -int(limits.nmant * math.log10(2))

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={getattr(self, name):g}" for name in ("resolution", "min", "max", "eps", "smallest_normal", "tiny"))
        return f"finfo({shown}, dtype={self.dtype})"


class iinfo:
    """Limits of an integer type."""

    __eq__ = _same_limits

    def __init__(self, type: dtype) -> None:
        type = PYTHON_TYPES.get(type, type)
        if type.category != INTEGRAL:
            raise TypeError("torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'")
        limits = np.iinfo(type.numpy if type.integer is None else type.integer)
        self.bits = limits.bits
        self.min = int(limits.min)
        self.max = int(limits.max)
        self._type = type

    @property
    def dtype(self) -> str:
        """The name of the type; that of a quantized one is not named, as in PyTorch."""
        if self._type.integer is not None:
            raise NotImplementedError(f"\"dtype\" not implemented for '{legacy_name(self._type)}'")
        return self._type.name

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"

"""Types, layouts and memory formats by the numbers that serialized TorchScript has for them."""

from __future__ import annotations

from typing import Any

from ....core.dtypes import BY_NAME
from ....core.errors import OperationError
from ....core.quantized import SCHEMES
from ....tensor import layout as layouts

_DTYPES = (
    "uint8 int8 int16 int32 int64 float16 float32 float64 complex32 complex64 complex128 bool qint8 quint8 qint32 bfloat16 quint4x2 quint2x4 "
    "bits1x8 bits2x4 bits4x2 bits8 bits16 float8_e5m2 float8_e4m3fn float8_e5m2fnuz float8_e4m3fnuz uint16 uint32 uint64"
).split()
_LAYOUTS = "strided sparse_coo sparse_csr mkldnn sparse_csc sparse_bsr sparse_bsc jagged".split()
_FORMATS = "contiguous_format preserve_format channels_last channels_last_3d".split()
_SCHEMES = "per_tensor_affine per_channel_affine per_tensor_symmetric per_channel_symmetric per_channel_affine_float_qparams".split()
_formats = vars(layouts)


def _at(number: Any, names: list[str], known: Any, what: str) -> Any:
    if type(number) is not int:  # it is what it should be already, or None
        return number
    found = known.get(names[number]) if 0 <= number < len(names) else None
    if found is None:
        raise OperationError(f"there is no {what} of number {number} here")
    return found


def dtype_of(number: Any) -> Any:
    """The dtype of a number."""
    return _at(number, _DTYPES, BY_NAME, "dtype")


def layout_of(number: Any) -> Any:
    """The layout of a number."""
    return _at(number, _LAYOUTS, _formats, "layout")


def memory_format_of(number: Any) -> Any:
    """The memory format of a number."""
    return _at(number, _FORMATS, _formats, "memory format")


def scheme_of(number: Any) -> Any:
    """The quantization scheme of a number."""
    return _at(number, _SCHEMES, SCHEMES, "quantization scheme")


def reduction_of(number: Any) -> Any:
    """The name of a reduction that losses have by number."""
    return ("none", "mean", "sum")[number] if type(number) is int and 0 <= number < 3 else number


def number_of(value: Any) -> Any:
    """The number of a dtype, a layout, a memory format or a quantization scheme; of everything else, itself."""
    name = getattr(value, "name", None)
    for names, known in ((_DTYPES, BY_NAME), (_LAYOUTS, _formats), (_FORMATS, _formats), (_SCHEMES, SCHEMES)):
        if name in names and known.get(name) is value:
            return names.index(name)
    return value


FUNCTIONS = {each.__name__: each for each in (dtype_of, layout_of, memory_format_of, scheme_of, reduction_of, number_of)}

"""`torch.testing._internal.common_dtype`: the groups of data types that tests run over."""

from __future__ import annotations

from collections.abc import Callable

from ...core import dtypes
from ...core.missing import missing

Group = tuple[dtypes.dtype, ...]

_floating: Group = (dtypes.float32, dtypes.float64)
_integral: Group = (dtypes.uint8, dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64)
_complex: Group = (dtypes.complex64, dtypes.complex128)


def _group(*fixed: dtypes.dtype) -> Callable[..., Group]:
    """A function that gives these types and those it is called with, each once."""
    return lambda *more: tuple(dict.fromkeys((*fixed, *more)))


empty_types = custom_types = _group()
floating_types = floating_types_and = _group(*_floating)
floating_types_and_half = _group(*_floating, dtypes.float16)
integral_types = integral_types_and = _group(*_integral)
complex_types = complex_types_and = _group(*_complex)
floating_and_complex_types = floating_and_complex_types_and = _group(*_floating, *_complex)
all_types = all_types_and = _group(*_floating, *_integral)
all_types_and_half = _group(*_floating, *_integral, dtypes.float16)
all_types_and_complex = all_types_and_complex_and = _group(*_floating, *_integral, *_complex)
double_types = _group(dtypes.float64, dtypes.complex128)

__getattr__ = missing("rushlight.testing._internal.common_dtype")

"""Complex numbers of half precision (``complex32``): for NumPy records of two halves, computed with as ``complex64``."""

from __future__ import annotations

from typing import Any

import numpy as np

from .base import Spec
from .dtypes import complex32, complex64

COMPLEX32 = complex32.numpy


def widened(array: Any) -> Any:
    """The numbers as ``complex64``."""
    made = np.empty(array.shape, np.complex64)
    made.real, made.imag = array["real"], array["imag"]
    return made


def numbers(array: Any) -> Any:
    """The elements of an array as Python numbers, also those of types that are none of NumPy's own."""
    if array.dtype.kind == "V":
        array = widened(array) if array.dtype == COMPLEX32 else array.astype(np.float32)
    return array.tolist()


def narrowed(array: Any) -> Any:
    """Numbers as ``complex32``."""
    made = np.empty(np.shape(array), COMPLEX32)
    with np.errstate(over="ignore"):
        made["real"], made["imag"] = np.real(array), np.imag(array)
    return made


def is_half_complex(value: Any) -> bool:
    """Whether an argument is of this type, or names it."""
    if value.__class__ in (list, tuple):
        return any(map(is_half_complex, value))
    return value is complex32 or value.__class__ in (np.ndarray, Spec) and value.dtype == COMPLEX32


def run_in_single(op: Any, values: Any, expected: Any) -> Any:
    """What an op gives for such numbers: it is run on ``complex64``, and the results are rounded to the types that are expected."""

    def wide(value: Any) -> Any:
        if value.__class__ in (list, tuple):
            return type(value)(map(wide, value))
        if value is complex32:
            return complex64
        if value.__class__ is np.ndarray and value.dtype == np.float16:
            return value.astype(np.float32)
        return widened(value) if value.__class__ is np.ndarray and value.dtype == COMPLEX32 else value

    specs = expected if isinstance(expected, (list, tuple)) else [expected]
    result = op.family.execute(op, np, [wide(each) for each in values])
    several = isinstance(result, (list, tuple))
    made = [
        each if each.dtype == spec.dtype else narrowed(each) if spec.dtype == COMPLEX32 else each.astype(spec.dtype)
        for each, spec in zip(map(np.asarray, result if several else [result]), specs)
    ]
    return made if several else made[0]

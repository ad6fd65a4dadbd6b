"""Narrow dtypes: kernels compute them in float32 or complex64, and the result is rounded once.

Complex numbers of half precision (``complex32``) are records of two halves for NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .base import Spec
from .declare import Op, table
from .devices import sole_accelerator
from .dtypes import BY_NUMPY, FLOATING, LOW_PRECISION, complex32, complex64, float32
from .layout import converted

_FLOAT32 = np.dtype(np.float32)
COMPLEX32 = complex32.numpy


def run_widened(op: Op, xp: Any, values: list[Any]) -> Any:
    """Run a kernel with float32 operands in place of narrower ones, and round its results to the narrow dtype."""
    narrow = None
    widened = list(values)
    for position, kind in op.tensor_positions:
        value = values[position]
        if kind == "tensors":
            found = next((each.dtype for each in value if each is not None and each.dtype in LOW_PRECISION), None)
            if found is not None:
                narrow = narrow or found
                widened[position] = [
                    each if each is None or each.dtype not in LOW_PRECISION else converted(each, _FLOAT32) for each in value
                ]
        elif value is not None and getattr(value, "dtype", None) in LOW_PRECISION:
            narrow = narrow or value.dtype
            widened[position] = converted(value, _FLOAT32)
    if narrow is not None and mixed(op, values, narrow):
        return run_mixed(op, xp, values, widened)
    result = op.family.execute(op, xp, widened)
    if narrow is None:
        return result
    if op.returns is None:
        return _rounded(result, narrow)
    return [_rounded(each, narrow) for each in result]


def in_single(body: Callable[..., Any], input: Any, *others: Any) -> Any:
    """The result of a composite's body; of a narrow input it is computed in float32, forwards and backwards, and rounded once.

    For composites that are one kernel in PyTorch.  The others are tensors or None.
    """
    narrow = input._array.dtype
    if narrow not in LOW_PRECISION:
        return body(input, *others)
    cast = table["cast"].call
    wide = (each if each is None or each._array.dtype not in LOW_PRECISION else cast(each, float32) for each in (input, *others))
    return cast(body(*wide), BY_NUMPY[narrow])


def computed_in_single(input: Any) -> bool:
    """Whether a composite widens its input: on the CPU, in half precision.  Kernels of accelerators do it element by element."""
    return input._array.dtype in LOW_PRECISION and (sole_accelerator.kind is None or input.device.type == "cpu")


def _rounded(result: Any, narrow: Any) -> Any:
    """A float32 result in the narrow dtype of the operands; results of other dtypes (indices, truth values) stay as they are."""
    return result.astype(narrow) if getattr(result, "dtype", None) == _FLOAT32 else result


def mixed(op: Op, values: list[Any], narrow: Any) -> bool:
    """Whether there are floating-point operands of another dtype than the narrow one."""
    for position, kind in op.tensor_positions:
        for value in values[position] if kind == "tensors" else (values[position],):
            dtype = getattr(value, "dtype", narrow)
            if dtype is not narrow and BY_NUMPY[dtype].category >= FLOATING and not isinstance(value, np.generic):
                return True
    return False


def run_mixed(op: Op, xp: Any, values: list[Any], widened: list[Any]) -> Any:
    """Run a widened kernel on operands of several floating-point dtypes.

    The meta rule sees the dtypes as they were: it refuses the mixture, or gives the dtype of the result.
    """
    specs = None if op.data_dependent else op.meta(op, values)
    result = op.family.execute(op, xp, widened)
    if specs is None:
        return result
    if op.returns is None:
        return result.astype(specs.dtype, copy=False)
    return [each.astype(spec.dtype, copy=False) for each, spec in zip(result, specs)]


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

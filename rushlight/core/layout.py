"""The strides of an op's result where its operands are not in row-major order.

Kernels give what NumPy gives, and compiled programs lay out their own results; what a user sees of an eager call follows PyTorch:
``channels last`` of the operands is kept, ``preserve`` keeps the order of dimensions, ``contiguous`` makes it row-major.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from .base import Spec, contiguous_strides


def converted(array: Any, dtype: Any) -> Any:
    """An array in another dtype.  An expanded one stays expanded: NumPy's copy of it has its dimensions in another order."""
    if array.__class__ is not np.ndarray or 0 not in array.strides or not array.size:
        return array.astype(dtype)
    stored = array[tuple([slice(0, 1) if stride == 0 else slice(None) for stride in array.strides])]
    return np.broadcast_to(stored.astype(dtype), array.shape)


def suggests_channels_last(shape: Any, strides: Any) -> bool:
    """Whether the strides are those of channels last, as far as sizes of 1 leave them open (PyTorch's ``suggest_memory_format``)."""
    if len(shape) not in (4, 5) or not strides[1]:
        return False
    least = 0
    for dim in (1, *range(len(shape) - 1, 1, -1), 0):
        if not shape[dim] or strides[dim] < least or (not dim and least == strides[1]):
            return False
        least = strides[dim] * shape[dim] if shape[dim] > 1 else strides[dim]
    return True


def channels_last_strides(shape: Any) -> tuple[int, ...]:
    """Strides with the channels (dimension 1) innermost, then the spatial dimensions, then the batch."""
    order = (0, *range(2, len(shape)), 1)
    inner = contiguous_strides([shape[dim] for dim in order])
    return tuple(inner[order.index(dim)] for dim in range(len(shape)))


def arranged(layout: str, values: Any, results: Any) -> Any:
    """The results of an op in the layout that its declaration names; ``values`` are its arguments."""
    first = values[0]
    if first.__class__ is not np.ndarray:
        return results
    if layout == "contiguous":
        return _each(results, lambda result: result if result.flags.c_contiguous else np.ascontiguousarray(result))
    if layout == "column major":
        return _each(results, lambda result: _column_major(result) if result.ndim >= first.ndim else result)  # not of vectors
    if values[-1].__class__ is str and values[-1] == "circular":  # made of contiguous pieces
        return results
    if layout == "preserve":
        if first.flags.c_contiguous or not first.ndim:
            return results
        order = sorted(range(first.ndim), key=lambda dim: -first.strides[dim])
        return _each(results, lambda result: _ordered(result, order) if result.ndim == first.ndim else result)
    for array in values[:2] if layout == "channels last of either" else (first,):
        if array.__class__ is not np.ndarray or array.flags.c_contiguous or not suggests_channels_last(array.shape, array.strides):
            continue
        return _each(results, functools.partial(_channels_last, array.ndim))
    return results


def _column_major(matrices: Any) -> Any:
    """Matrices as LAPACK leaves them: each column after the other."""
    if matrices.ndim < 2 or matrices.dtype.kind not in "fc" or matrices.swapaxes(-1, -2).flags.c_contiguous:
        return matrices
    return np.ascontiguousarray(matrices.swapaxes(-1, -2)).swapaxes(-1, -2)


def _channels_last(ndim: int, result: Any) -> Any:
    return _ordered(result, (0, *range(2, ndim), 1)) if result.ndim == ndim else result


def arranged_specs(layout: str, values: Any, results: Any) -> Any:
    """The same for the Specs of meta tensors."""
    if not layout.startswith("channels last"):
        return results
    for spec in values[:2] if layout == "channels last of either" else values[:1]:
        if suggests_channels_last(spec.shape, spec.strides):
            return _each(results, functools.partial(_channels_last_spec, len(spec.shape)))
    return results


def _channels_last_spec(ndim: int, result: Spec) -> Spec:
    return Spec(result.shape, result.dtype, channels_last_strides(result.shape), result.device) if len(result.shape) == ndim else result


def _each(results: Any, change: Any) -> Any:
    return [change(each) for each in results] if isinstance(results, list) else change(results)


def _ordered(array: Any, order: Any) -> Any:
    """A copy whose dimensions follow one another in memory in a given order."""
    inverse = sorted(range(len(order)), key=order.__getitem__)
    return np.ascontiguousarray(array.transpose(order)).transpose(inverse)

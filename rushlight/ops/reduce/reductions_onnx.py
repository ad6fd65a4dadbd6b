"""The ONNX forms of reductions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.families import normalize_dim, normalize_dims

_INT32, _INT64, _BOOL = np.dtype(np.int32), np.dtype(np.int64), np.dtype(np.bool_)


def fold(g: Any, name: str, x: Any, dim: Any, keepdim: bool = False, empty_is_all: bool = True) -> Any:
    """A node such as ``ReduceSum`` over dimensions in PyTorch's words: None is all, a number is one."""
    if not x.rank:
        return x
    axes = tuple(range(x.rank)) if dim is None else normalize_dims(dim, x.rank, empty_is_all=empty_is_all)
    if not axes:
        return x
    return g.reduce(name, x, None if len(axes) == x.rank else list(axes), bool(keepdim))


def count(x: Any, dim: Any) -> Any:
    """How many elements are folded into one: an int, or a symbolic size."""
    return math.prod([x.shape[axis] for axis in normalize_dims(dim, x.rank)])


def simple(name: str) -> dict[int, Any]:
    """A reduction that is one node, in the type of the result."""
    return {9: lambda g, input, dim, keepdim, dtype=None: fold(g, name, g.cast(input, g.outputs[0].dtype), dim, keepdim)}


def mean_form(g: Any, input: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    """The mean; of nothing, which ONNX leaves open, 0 / 0."""
    x = g.cast(input, g.outputs[0].dtype)
    if x.dtype.kind in "fV" and not g.is_empty(x):
        return fold(g, "ReduceMean", x, dim, keepdim)
    return g.Div(fold(g, "ReduceSum", x, dim, keepdim), g.number(count(x, dim), x.dtype))


def nansum_form(g: Any, input: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    """The sum with 0 for NaN."""
    x = g.cast(input, g.outputs[0].dtype)
    if input.dtype.kind in "fV":
        x = g.where(g.IsNaN(x), 0, x)
    return fold(g, "ReduceSum", x, dim, keepdim)


def truths(g: Any, x: Any, dtype: Any) -> Any:
    """1 for what is not zero, 0 for what is."""
    return g.cast(g.cast(x, _BOOL), dtype)


def count_nonzero_form(g: Any, input: Any, dim: Any) -> Any:
    """How many are not zero."""
    return fold(g, "ReduceSum", truths(g, input, _INT64), dim)


def truth_form(name: str) -> dict[int, Any]:
    """``any`` as a sum and ``all`` as a product of truth values: right for no elements too, where an extreme is not."""

    def form(g: Any, input: Any, dim: Any, keepdim: bool) -> Any:
        if not input.rank or (dim is not None and not isinstance(dim, int) and not dim):
            return g.cast(input, _BOOL)
        return g.cast(fold(g, name, truths(g, input, _INT32), dim, keepdim, empty_is_all=False), _BOOL)

    return {9: form}


# -- variance ----------------------------------------------------------------------------------------------------


def moments(g: Any, x: Any, dim: Any, correction: Any, keepdim: bool) -> tuple[Any, Any]:
    """Variance, and the mean with its dimensions kept."""
    mean = fold(g, "ReduceMean", x, dim, True)
    if correction == 0:
        away = g.Sub(x, mean)
        return fold(g, "ReduceMean", g.Mul(away, away), dim, keepdim), mean
    squares = fold(g, "ReduceSumSquare", g.Sub(x, mean), dim, keepdim) if x.rank else g.Mul(g.Sub(x, mean), g.Sub(x, mean))
    number = count(x, dim)
    if type(number) is int:
        return g.Div(squares, g.constant(max(number - correction, 0), x.dtype)), mean
    free = g.number(number, x.dtype)
    if correction:
        free = g.Max(g.Sub(free, g.constant(correction, x.dtype)), g.constant(0, x.dtype))
    return g.Div(squares, free), mean


def variance_form(g: Any, input: Any, dim: Any, correction: Any, keepdim: bool) -> Any:
    """The variance, in two passes."""
    if g.is_empty(input):
        return g.full(g.outputs[0].shape, math.nan, input.dtype)
    return moments(g, input, dim, correction, keepdim)[0]


def deviation_form(g: Any, input: Any, dim: Any, correction: Any, keepdim: bool) -> Any:
    """The standard deviation."""
    return g.Sqrt(variance_form(g, input, dim, correction, keepdim))


def variance_mean_form(g: Any, input: Any, dim: Any, correction: Any, keepdim: bool) -> tuple[Any, Any]:
    """Variance and mean."""
    if g.is_empty(input):
        nothing = g.full(g.outputs[0].shape, math.nan, input.dtype)
        return nothing, nothing
    variance, mean = moments(g, input, dim, correction, keepdim)
    if not keepdim and input.rank:
        mean = g.squeeze(mean, normalize_dims(dim, input.rank))
    return variance, mean


def logsumexp_form(g: Any, input: Any, dim: Any, keepdim: bool) -> Any:
    """One node, which subtracts the largest first, as PyTorch does."""
    return fold(g, "ReduceLogSumExp", g.cast(input, g.outputs[0].dtype), dim, keepdim)


# -- norms -------------------------------------------------------------------------------------------------------


def vector_norm_form(g: Any, input: Any, ord: float, dim: Any, keepdim: bool) -> Any:
    """The p-norm over dimensions."""
    if ord == 0:
        return g.cast(fold(g, "ReduceSum", truths(g, input, _INT64), dim, keepdim), input.dtype)
    if not input.rank:
        return g.Abs(input)
    if ord in (1, 2):
        return fold(g, f"ReduceL{int(ord)}", input, dim, keepdim)
    size = g.Abs(input)
    if math.isinf(ord):
        return fold(g, "ReduceMax" if ord > 0 else "ReduceMin", size, dim, keepdim)
    total = fold(g, "ReduceSum", g.Pow(size, g.constant(ord, input.dtype)), dim, keepdim)
    return g.Pow(total, g.constant(1 / ord, input.dtype))


# -- extremes ----------------------------------------------------------------------------------------------------


def ordered_type(g: Any, dtype: Any) -> Any:
    """The type in which values of a type can be compared by ONNX's reductions and ``TopK``."""
    if dtype.kind not in "iub" or dtype.itemsize > 2:
        return dtype
    return dtype if dtype.itemsize == 1 and dtype.kind != "b" and g.opset >= 12 else _INT32


def extreme_form(name: str) -> dict[int, Any]:
    """``ReduceMax`` or ``ReduceMin``, in a type that it takes."""

    def form(g: Any, input: Any, dim: Any = None, keepdim: bool = False) -> Any:
        if not input.rank:
            return input
        return fold(g, name, g.cast(input, ordered_type(g, input.dtype)), dim, keepdim)

    return {9: form}


def both_extremes_form(g: Any, input: Any, dim: Any, keepdim: bool) -> tuple[Any, Any]:
    """The smallest and the largest."""
    x = g.cast(input, ordered_type(g, input.dtype))
    return fold(g, "ReduceMin", x, dim, keepdim), fold(g, "ReduceMax", x, dim, keepdim)


def _place(g: Any, name: str, x: Any, axis: int, keepdim: bool) -> Any:
    if g.opset < 12 and x.dtype.kind in "iub":  # the runtime's older kernels are of few types
        x = g.cast(x, _INT32) if x.dtype.itemsize <= 4 else x
    return g.op(name, x, axis_i=axis, keepdims_i=int(bool(keepdim)))


def place_form(name: str) -> dict[int, Any]:
    """``ArgMax`` or ``ArgMin`` along a dimension, or of all elements in a row."""

    def form(g: Any, input: Any, dim: Any, keepdim: bool) -> Any:
        if not input.rank:
            return g.constant(0, _INT64)
        x = g.cast(input, ordered_type(g, input.dtype))
        if dim is not None or input.rank == 1:
            return _place(g, name, x, 0 if dim is None else normalize_dim(dim, input.rank), keepdim)
        place = _place(g, name, g.Reshape(x, g.constant([-1], _INT64)), 0, False)
        return g.reshape(place, (1,) * input.rank) if keepdim else place

    return {9: form}


def selection_form(kind: str) -> dict[int, Any]:
    """The extreme along a dimension, and where it is first."""

    def form(g: Any, input: Any, dim: Any, keepdim: bool) -> tuple[Any, Any]:
        if not input.rank:
            return input, g.constant(0, _INT64)
        x, axis = g.cast(input, ordered_type(g, input.dtype)), normalize_dim(dim, input.rank)
        return fold(g, f"Reduce{kind}", x, axis, keepdim), _place(g, f"Arg{kind}", x, axis, keepdim)

    return {9: form}


def placed_form(g: Any, grad: Any, indices: Any, shape: Any, dim: int) -> Any:
    """Zeros with elements written to places along a dimension."""
    return g.scatter_elements(g.full(shape, 0, grad.dtype), indices, grad, dim % len(shape))

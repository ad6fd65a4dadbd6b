"""Sums, means and counts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.base import Spec
from ...core.base import TensorBase as Tensor
from ...core.declare import composite, primitive
from ...core.errors import DtypeError, ShapeError
from ...core.families import Reduction, normalize_dims, reduction
from ...core.kernel_providers import compiled, faster_rows
from ...core.parallel import LARGE, over_rows
from ...core.state import state
from ..pointwise.copy_cast import cast_like
from .reductions_onnx import count_nonzero_form, mean_form, nansum_form, simple

_LARGE = 1 << 13  # from this many elements on, a sum in several stages is faster, and more exact, than NumPy's own
_RUN = 4096  # how many numbers are added one after the other: few enough that rounding errors stay small
_DEEP = 256  # the same for rows that are added element by element
_GROUP = 64  # rows of a large matrix that a thread adds at a time


def _reduction_backward_form(g: Any, grad: Any, shape: Any, dim: Any, keepdim: bool) -> Any:
    folded = normalize_dims(dim, len(shape))
    return g.expand(grad if keepdim or len(folded) == len(shape) else g.unsqueeze(grad, folded), shape)


def _reduction_backward_kernel(xp: Any, grad: Any, shape: Any, dim: Any, keepdim: bool) -> Any:
    if xp is np and not grad.ndim:  # one number for all elements
        return np.ndarray(shape, grad.dtype, grad, 0, (0,) * len(shape))
    folded = range(len(shape)) if dim is None else normalize_dims(dim, len(shape))
    if xp is not np or not grad.flags.c_contiguous:
        kept = grad if keepdim or not shape or not grad.ndim else xp.expand_dims(grad, tuple(folded))
        return xp.broadcast_to(kept, shape)
    steps = iter(grad.strides)
    if keepdim:
        strides = [0 * next(steps) if i in folded else next(steps) for i in range(len(shape))]
    else:
        strides = [0 if i in folded else next(steps) for i in range(len(shape))]
    return np.ndarray(shape, grad.dtype, grad, 0, tuple(strides))


@primitive(
    meta=lambda grad, shape, dim, keepdim: Spec(shape, grad.dtype),
    kernel=_reduction_backward_kernel,
    vjp={"grad": lambda g, dim, keepdim: g.sum(dim, keepdim)},
    exact=True,
    namespace=None,
    method=False,
    out=False,
    node_name="ExpandBackward0",
    onnx={9: _reduction_backward_form},
)
def reduction_backward(grad: Tensor, shape: Any, dim: Any, keepdim: bool) -> Tensor:
    """The gradient of a reduction, spread over the dimensions that were folded away (repeated in place, not copied)."""


def restored(value: Any, input_shape: Any, dim: Any, keepdim: bool) -> Any:
    """The result of a reduction with the dimensions that were folded away back as dimensions of size 1."""
    if not keepdim and dim is not None and input_shape:
        for axis in sorted(normalize_dims(dim, len(input_shape))):
            value = value.unsqueeze(axis)
    return value


def count_along(shape: Any, dim: Any) -> int:
    """How many elements are folded into one."""
    return math.prod(shape[axis] for axis in normalize_dims(dim, len(shape)))


def sum_rows(xp: Any, rows: Any) -> Any:
    """The sums of the rows of a matrix with contiguous rows."""
    if xp is not np:
        return xp.add.reduce(rows, axis=1)
    length = rows.shape[1]
    whole = length - length % _RUN
    if whole == 0 or length == _RUN:
        return _short_rows(xp, rows)
    runs = _short_rows(xp, rows[:, :whole].reshape(-1, _RUN))
    result = xp.add.reduce(runs.reshape(len(rows), -1), axis=1)
    return result if whole == length else result + xp.einsum("ij->i", rows[:, whole:])


def _short_rows(xp: Any, rows: Any) -> Any:
    made = faster_rows("sum", rows) if rows.size >= LARGE else None
    if made is not None:
        return made
    # The inner loop of einsum is several times as fast as that of add.reduce.
    result = xp.empty(len(rows), rows.dtype)
    over_rows(lambda start, end: xp.einsum("ij->i", rows[start:end], out=result[start:end]), len(rows), rows.size)
    return result


def sum_columns(xp: Any, rows: Any) -> Any:
    """The sums of the columns of a contiguous matrix."""
    if xp is not np:
        return xp.add.reduce(rows, axis=0)
    if rows.dtype.char not in "fd":
        return fold_columns(xp.add, rows)
    count, width = rows.shape
    if rows.size >= LARGE and width >= 1024 and count >= _GROUP:
        whole = count - count % _GROUP
        groups = rows[:whole].reshape(-1, _GROUP, width)
        parts = xp.empty((len(groups) + 1, width), rows.dtype)
        over_rows(lambda start, end: xp.add.reduce(groups[start:end], 1, None, parts[start:end]), len(groups), rows.size)
        xp.add.reduce(rows[whole:], 0, None, parts[-1])
        return sum_columns(xp, parts)
    # A product with ones: BLAS adds several rows at a time.
    ones = xp.ones(min(count, _DEEP), rows.dtype)
    if count <= _DEEP:
        return xp.matmul(ones, rows)
    whole = count - count % _DEEP
    result = sum_columns(xp, xp.matmul(ones, rows[:whole].reshape(-1, _DEEP, width)))
    return result if whole == count else result + xp.matmul(ones[: count - whole], rows[whole:])


def fold_columns(ufunc: Any, rows: Any) -> Any:
    """Fold the rows of a contiguous matrix into one by a binary ufunc; few at a time, so that sums round little."""
    count, width = rows.shape
    grouped = _RUN // max(width, 1)
    if grouped > 1 and count >= 2 * grouped:  # a narrow matrix is read as a wide one first: long rows go faster
        whole = count - count % grouped
        wide = fold_columns(ufunc, rows[:whole].reshape(-1, grouped * width)).reshape(grouped, width)
        if whole < count:
            wide[: count - whole] = ufunc(wide[: count - whole], rows[whole:])
        return ufunc.reduce(wide, axis=0)
    result = np.empty(width, rows.dtype)

    def work(start: int, end: int) -> None:
        result[start:end] = _fold_deep(ufunc, rows[:, start:end])

    over_rows(work, width, rows.size)
    return result


def _fold_deep(ufunc: Any, rows: Any) -> Any:
    count, width = rows.shape
    if count < 2 * _DEEP:
        return ufunc.reduce(rows, axis=0)
    whole = count - count % _DEEP
    result = _fold_deep(ufunc, ufunc.reduce(rows[:whole].reshape(-1, _DEEP, width), axis=1))
    return result if whole == count else ufunc(result, ufunc.reduce(rows[whole:], axis=0))


def sum_axes(xp: Any, array: Any, axes: tuple[int, ...], keepdim: bool = False) -> Any:
    """The sum along axes, in the array's own type."""
    size, ndim = array.size, array.ndim
    if size < _LARGE or array.dtype.kind != "f" or not axes or xp is not np:
        if len(axes) == ndim and not keepdim:  # the same, but faster
            return xp.add.reduce(array, None, array.dtype, xp.empty((), array.dtype))
        return xp.add.reduce(array, axis=axes, dtype=array.dtype, keepdims=keepdim)
    if len(axes) == ndim:
        result = xp.add.reduce(sum_rows(xp, array.ravel(order="K").reshape(1, size)), axis=0)
        return result.reshape((1,) * ndim) if keepdim else result
    if not array.flags.c_contiguous:
        return xp.add.reduce(array, axis=axes, dtype=array.dtype, keepdims=keepdim)
    return _sum_leading(xp, array, axes, keepdim) if 0 in axes else _sum_contiguous(xp, array, axes, keepdim)


def _sum_contiguous(xp: Any, array: Any, axes: tuple[int, ...], keepdim: bool) -> Any:
    """The sum along some axes of a contiguous array."""
    shape, ndim = array.shape, array.ndim
    result, left = array, [axis in axes for axis in range(ndim)]
    last = ndim
    while left[last - 1]:  # the last dimensions are contiguous
        last -= 1
    if last < ndim:
        result = sum_rows(xp, result.reshape(math.prod(shape[:last]), -1))
    first = left.index(False)
    if first:
        result = sum_columns(xp, result.reshape(math.prod(shape[:first]), -1))
    middle = [axis - first for axis in range(first, last) if left[axis]]
    result = result.reshape(shape[first:last])
    if middle:
        result = xp.add.reduce(result, axis=tuple(middle), dtype=result.dtype)
    return result.reshape([1 if gone else size for gone, size in zip(left, shape)]) if keepdim else result


# The gradients of biases and of factors for channels.
_sum_leading = compiled("sum")(_sum_contiguous)


def _sum_gradient(g: Any, input_shape: Any, input_dtype: Any, dim: Any, keepdim: bool) -> Any:
    return cast_like(reduction_backward(g, input_shape, dim, keepdim), input_dtype)


@primitive(meta=reduction("int64"), kernel=sum_axes, vjp={"input": _sum_gradient}, onnx=simple("ReduceSum"))
def sum(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The sum of all elements, or along dimensions."""


@composite(method=True)
def sum_to_size(input: Tensor, *size: int) -> Tensor:
    """Sum over the dimensions that broadcasting added, so that the result has the given size."""
    shape = tuple(input._array.shape)
    size = tuple(size)
    extra = len(shape) - len(size)
    if not size:
        return sum(input)
    if not extra and shape == size:
        return input
    if extra < 0 or any(want not in (1, have) for want, have in zip(size, shape[extra:])):
        raise ShapeError(f"size {{{list(size)}}} is not expandable to size {{{list(shape)}}}.")
    kept = [i + extra for i, want in enumerate(size) if want == 1 and shape[i + extra] != 1]
    if not kept and not (input._requires_grad and state.grad_enabled):  # PyTorch's graph has both ops
        return sum(input, list(range(extra)))
    result: Any = sum(input, [*range(extra), *kept], True)
    return result.reshape(size) if extra else result


def _mean_kernel(xp: Any, input: Any, axes: tuple[int, ...], keepdim: bool) -> Any:
    total = sum_axes(xp, input, axes, keepdim)
    return xp.true_divide(total, total.dtype.type(math.prod([input.shape[axis] for axis in axes])))


def _mean_gradient(g: Any, input_shape: Any, dim: Any, keepdim: bool) -> Any:
    return reduction_backward(g / count_along(input_shape, dim), input_shape, dim, keepdim)


@primitive(meta=reduction("float"), kernel=_mean_kernel, vjp={"input": _mean_gradient}, onnx={9: mean_form})
def mean(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The mean of all elements, or along dimensions."""


class _RealSum(Reduction):
    """A sum of real numbers only."""

    __slots__ = ()

    def resolve(self, op: Any, values: Any) -> Any:
        found = super().resolve(op, values)
        if found[0].dtype.kind == "c":
            raise DtypeError(f"{op.public_name}() does not support complex inputs")
        return found


def _nansum_kernel(xp: Any, input: Any, axes: tuple[int, ...], keepdim: bool) -> Any:
    return sum_axes(xp, xp.where(xp.isnan(input), input.dtype.type(0), input) if input.dtype.kind == "f" else input, axes, keepdim)


def _nansum_gradient(g: Any, input: Any, dim: Any, keepdim: bool) -> Any:
    return reduction_backward(g, input._array.shape, dim, keepdim).masked_fill(input.isnan(), 0)


@primitive(meta=_RealSum("int64", True), kernel=_nansum_kernel, vjp={"input": _nansum_gradient}, onnx={9: nansum_form})
def nansum(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The sum of all elements, or along dimensions, with NaN counted as 0."""


@composite(out=True)
def nanmean(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The mean of the elements that are not NaN, all of them or along dimensions."""
    if input._array.dtype.kind in "iub":
        raise DtypeError(f"nanmean(): expected input to have floating point or complex dtype but got {input.dtype}")
    return nansum(input, dim, keepdim, dtype=dtype) / sum(input.isnan().logical_not(), dim, keepdim)


@primitive(
    meta=reduction("index"),
    kernel=lambda xp, input, axes, keepdim: xp.count_nonzero(input, axis=axes),
    vjp={},
    out=False,
    more_dims=True,
    onnx={9: count_nonzero_form},
)
def count_nonzero(input: Tensor, dim: Any = None) -> Tensor:
    """How many elements are not zero, of all or along dimensions."""

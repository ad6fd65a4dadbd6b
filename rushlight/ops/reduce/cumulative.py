"""Running sums, products and extremes; differences and the trapezoidal rule."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.base import Spec
from ...core.base import TensorBase as Tensor
from ...core.declare import composite, joint, primitive, table
from ...core.dtypes import BY_NUMPY, FLOATING, LOW_PRECISION
from ...core.errors import ArgumentError, DimensionError, DtypeError, NotSupported, OperationError, ShapeError
from ...core.families import normalize_dim, normalize_dims, same
from ..index.gather_scatter import gather_backward
from ..pointwise.arithmetic import conjugate
from .cumulative_onnx import recurrence_form, reversed_sum_form, running_extreme_form, running_form, running_logsumexp_form, shift_form

Number = int | float | complex | bool

_INT64 = np.dtype(np.int64)
_WIDE = {np.dtype(np.float32): np.dtype(np.float64), np.dtype(np.complex64): np.dtype(np.complex128)}


def along(array: Any, dim: Any) -> tuple[Any, int]:
    """An array of at least one dimension, and one of its dimensions: a 0-dim tensor counts as a vector of one."""
    dim = normalize_dim(dim, array.ndim)
    return (array if array.ndim else array.reshape(1)), dim


def part(dim: int, start: int | None, stop: int | None, step: int | None = None) -> tuple[slice, ...]:
    """The index of a slice along one dimension."""
    return (slice(None),) * dim + (slice(start, stop, step),)


# -- running sums and products -----------------------------------------------------------------------------------


def _running_spec(input: Any, dim: Any, dtype: Any = None) -> Spec:
    normalize_dim(dim, input.ndim)
    if dtype is not None:
        if dtype.name == "bool":
            raise NotSupported("running sums and products are not implemented for 'Bool' (torch.bool)")
        return Spec(input.shape, dtype.numpy)
    return Spec(input.shape, _INT64 if BY_NUMPY[input.dtype].category < FLOATING else input.dtype)


def _accumulate(name: str) -> Any:
    """The kernel of a running sum or product: floats are accumulated twice as wide, as PyTorch does."""

    def kernel(xp: Any, input: Any, dim: Any, dtype: Any = None) -> Any:
        result = _running_spec(input, dim, dtype).dtype
        array, axis = along(input, dim)
        wide = np.dtype(np.float64) if result in LOW_PRECISION else _WIDE.get(result, result)
        if array.dtype is wide:
            return getattr(xp, name).accumulate(array, axis=axis, dtype=wide).reshape(input.shape)
        copy = array.astype(wide, order="C")
        getattr(xp, name).accumulate(copy, axis=axis, out=copy)
        return copy.astype(result, copy=False).reshape(input.shape)

    return kernel


def _accumulate_into(name: str) -> Any:
    """The kernel of a running sum or product that is written to the input, which has to be of the type that is asked for."""
    run = _accumulate(name)

    def kernel(xp: Any, input: Any, dim: Any, dtype: Any = None) -> None:
        _running_spec(input, dim, dtype)  # the dimension is checked first
        if dtype is not None and dtype.numpy != input.dtype:
            raise OperationError(
                f"Bad in-place call: input tensor dtype {BY_NUMPY[input.dtype].name} and output tensor dtype {dtype.name} should match"
            )
        input[...] = run(xp, input, dim, dtype)

    return kernel


@primitive(
    meta=_running_spec,
    kernel=_accumulate("add"),
    in_place_kernel=_accumulate_into("add"),
    vjp={"input": lambda g, dim: cumsum_reversed(g, dim)},
    exact=True,
    in_place=True,
    onnx=running_form("Add", 0),
)
def cumsum(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """The sum of all elements up to each one, along a dimension."""


def _accumulate_reversed(xp: Any, input: Any, dim: Any) -> Any:
    array, axis = along(input, dim)
    back = part(axis, None, None, -1)
    wide = _WIDE.get(array.dtype, array.dtype)
    return xp.add.accumulate(array[back], axis=axis, dtype=wide)[back].astype(array.dtype, order="C").reshape(input.shape)


@primitive(
    meta=same,
    kernel=_accumulate_reversed,
    vjp={"input": lambda g, dim: cumsum(g, dim)},
    namespace=None,
    method=False,
    out=False,
    onnx={11: reversed_sum_form},
)
def cumsum_reversed(input: Tensor, dim: int) -> Tensor:
    """The sum of all elements from each one on, along a dimension."""


def _shift_kernel(xp: Any, input: Any, dim: Any, fill: Any, back: bool) -> Any:
    array, axis = along(input, dim)
    result = xp.empty(array.shape, array.dtype)
    here, there = (slice(1, None), slice(None, -1)) if not back else (slice(None, -1), slice(1, None))
    before = (slice(None),) * axis
    result[(*before, here)] = array[(*before, there)]
    result[(*before, slice(0, 1) if not back else slice(-1, None))] = fill
    return result.reshape(input.shape)


@primitive(
    meta=same,
    kernel=_shift_kernel,
    vjp={"input": lambda g, dim, back: shift(g, dim, 0, not back)},
    exact=True,
    namespace=None,
    method=False,
    out=False,
    onnx={9: shift_form},
)
def shift(input: Tensor, dim: int, fill: Number, back: bool = False) -> Tensor:
    """The elements moved one place on along a dimension (or back), with ``fill`` in the place that is free then."""


def _recurrence_kernel(xp: Any, decay: Any, input: Any, dim: Any) -> Any:
    """By doubling: after a step of ``distance``, each element holds what its last ``2 * distance`` terms give."""
    result, axis = along(xp.array(input), dim)
    factor, _ = along(xp.array(decay), dim)
    length, distance = result.shape[axis], 1
    while distance < length:
        here, there = part(axis, distance, None), part(axis, None, -distance)
        result[here] += factor[here] * result[there]
        distance *= 2
        if distance < length:
            factor[here] *= factor[there].copy()
    return result.reshape(input.shape)


@joint("decay", "input")
def _recurrence_gradient(g: Any, decay: Any, result: Any, dim: int, needs: Any) -> Any:
    flow = recurrence_reversed(conjugate(decay), g, dim)
    return (flow * conjugate(shift(result, dim, 0)) if needs[0] else None), flow


@primitive(
    meta=lambda decay, input, dim: Spec(input.shape, input.dtype),
    kernel=_recurrence_kernel,
    vjp=_recurrence_gradient,
    namespace=None,
    method=False,
    out=False,
    onnx={9: recurrence_form},
)
def linear_recurrence(decay: Tensor, input: Tensor, dim: int) -> Tensor:
    """``y[k] = decay[k] * y[k - 1] + input[k]`` along a dimension, beginning with ``y[0] = input[0]``."""


def recurrence_reversed(decay: Any, input: Any, dim: int) -> Any:
    """``y[k] = decay[k + 1] * y[k + 1] + input[k]`` along a dimension, beginning at its end."""
    return linear_recurrence(shift(decay, dim, 0, True).flip(dim), input.flip(dim), dim).flip(dim)


def _cumprod_gradient(g: Any, input: Any, result: Any, dim: int) -> Any:
    # The product before an element, times what the rest of the row makes of it: no division, so zeros do no harm.
    if not input._array.ndim:
        return g
    wide = input if input._array.dtype is result._array.dtype else table["cast"].call(input, result.dtype)
    return conjugate(shift(result, dim, 1)) * recurrence_reversed(conjugate(wide), g, dim)


@primitive(
    meta=_running_spec,
    kernel=_accumulate("multiply"),
    in_place_kernel=_accumulate_into("multiply"),
    vjp={"input": _cumprod_gradient},
    exact=True,
    in_place=True,
    onnx=running_form("Mul", 1),
)
def cumprod(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """The product of all elements up to each one, along a dimension."""


# -- logcumsumexp ------------------------------------------------------------------------------------------------


def _logcumsumexp_spec(input: Any, dim: Any) -> Spec:
    normalize_dim(dim, input.ndim)
    if BY_NUMPY[input.dtype].category < FLOATING:
        raise NotSupported(f"logcumsumexp() is not implemented for torch.{BY_NUMPY[input.dtype].name}: make it a float")
    return Spec(input.shape, input.dtype)


def _log_add(xp: Any, a: Any, b: Any) -> Any:
    """``log(exp(a) + exp(b))`` of complex numbers."""
    peak = xp.maximum(a.real, b.real)
    peak = xp.where(xp.isinf(peak), 0, peak)
    return xp.log(xp.exp(a - peak) + xp.exp(b - peak)) + peak


def _logcumsumexp_kernel(xp: Any, input: Any, dim: Any) -> Any:
    _logcumsumexp_spec(input, dim)
    array, axis = along(input, dim)
    if array.dtype.kind != "c":
        return xp.logaddexp.accumulate(array, axis=axis, dtype=array.dtype).reshape(input.shape)
    result, distance = array.copy(), 1
    while distance < result.shape[axis]:
        here, there = part(axis, distance, None), part(axis, None, -distance)
        result[here] = _log_add(xp, result[here], result[there])
        distance *= 2
    return result.reshape(input.shape)


def _logcumsumexp_gradient(g: Any, input: Any, result: Any, dim: int) -> Any:
    if not input._array.ndim:
        return g
    decay = (shift(result, dim, 0) - result).exp()  # at most 1: the running sum only grows
    return conjugate((input - result).exp()) * recurrence_reversed(conjugate(decay), g, dim)


@primitive(meta=_logcumsumexp_spec, kernel=_logcumsumexp_kernel, vjp={"input": _logcumsumexp_gradient}, onnx={9: running_logsumexp_form})
def logcumsumexp(input: Tensor, dim: int) -> Tensor:
    """The logarithm of the running sum of exponentials along a dimension, computed without overflow."""


# -- running extremes --------------------------------------------------------------------------------------------


def _running_extreme_spec(input: Any, dim: Any) -> list[Spec]:
    normalize_dim(dim, input.ndim)
    if input.dtype.kind == "c":
        raise NotSupported("cummax() and cummin() are not implemented for complex numbers, which have no order")
    return [Spec(input.shape, input.dtype), Spec(input.shape, _INT64)]


def _running_extreme(name: str) -> Any:
    """The kernel of a running extreme: among equals the last counts, and NaN is more extreme than any number."""

    def kernel(xp: Any, input: Any, dim: Any) -> tuple[Any, Any]:
        _running_extreme_spec(input, dim)
        array, axis = along(input, dim)
        values = getattr(xp, name).accumulate(array, axis=axis)
        taken = array == values
        if array.dtype.kind == "f":
            taken |= xp.isnan(array)
        positions = xp.arange(array.shape[axis]).reshape((-1,) + (1,) * (array.ndim - 1 - axis))
        indices = xp.maximum.accumulate(xp.where(taken, positions, 0), axis=axis)
        return values.reshape(input.shape), indices.reshape(input.shape)

    return kernel


@primitive(
    meta=_running_extreme_spec,
    kernel=_running_extreme("maximum"),
    vjp={"input": lambda g, input_shape, dim, indices: gather_backward(g, input_shape, dim, indices)},
    returns=("values", "indices"),
    nondifferentiable=("indices",),
    onnx=running_extreme_form(True),
)
def cummax(input: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """The largest element up to each one along a dimension, and where it is."""


@primitive(
    meta=_running_extreme_spec,
    kernel=_running_extreme("minimum"),
    vjp={"input": lambda g, input_shape, dim, indices: gather_backward(g, input_shape, dim, indices)},
    returns=("values", "indices"),
    nondifferentiable=("indices",),
    onnx=running_extreme_form(False),
)
def cummin(input: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """The smallest element up to each one along a dimension, and where it is."""


# -- differences and areas ---------------------------------------------------------------------------------------


def _neighbours(input: Any, dim: int) -> tuple[Any, Any]:
    """All elements along a dimension but the first, and all but the last."""
    count = max(input._array.shape[dim] - 1, 0)
    return input.narrow(dim, input._array.shape[dim] - count, count), input.narrow(dim, 0, count)


def _check_extension(input: Any, other: Any, dim: int) -> None:
    if other._array.ndim != input._array.ndim:
        raise ShapeError("diff expects prepend or append to be the same dimension as input")
    for axis, (have, given) in enumerate(zip(input._array.shape, other._array.shape)):
        if have != given and axis != dim:
            raise ShapeError(
                "diff expects the shape of tensor to prepend or append to match that of input except along the "
                f"differencing dimension; input.size({axis}) = {have}, but got tensor.size({axis}) = {given}"
            )


@composite(out=True)
def diff(input: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None, append: Tensor | None = None) -> Tensor:
    """The differences of neighbours along a dimension, ``n`` times over."""
    if not input._array.ndim:
        raise ShapeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise OperationError(f"order must be non-negative but got {n}")
    if n == 0:  # whatever else is given
        return input.clone()
    dim = normalize_dim(dim, input._array.ndim)
    pieces = [piece for piece in (prepend, input, append) if piece is not None]
    for piece in pieces:
        _check_extension(input, piece, dim)
    result: Any = table["cat"].call(pieces, dim) if len(pieces) > 1 else input
    for _ in range(min(n, result._array.shape[dim])):
        after, before = _neighbours(result, dim)
        result = after.logical_xor(before) if result._array.dtype.kind == "b" else after - before
    return result


def _trapezoids(name: str, y: Any, x: Any, dx: Any, dim: int) -> Any:
    """The areas under ``y``, one for each pair of neighbours, doubled: halving waits until they are added up."""
    for what, each in (("y", y), ("x", x)):
        if each is not None and each._array.dtype.kind == "b":
            raise DtypeError(f"{name}: received a bool input for `{what}`, but bool is not supported")
    if x is not None and dx is not None:
        raise ArgumentError(f"{name}() takes 'x' or 'dx', not both")
    if not y._array.ndim:
        raise DimensionError(f"Dimension specified as {dim} but tensor has no dimensions")
    dim = normalize_dim(dim, y._array.ndim)
    after, before = _neighbours(y, dim)
    if x is None:
        return (after + before) * (1 if dx is None else dx), dim
    if x._array.ndim == 1:
        if x._array.shape[0] != y._array.shape[dim]:
            raise ShapeError(f"{name}: There must be one `x` value for each sample point")
        x = x.reshape([-1 if axis == dim else 1 for axis in range(y._array.ndim)])
    elif x._array.ndim < y._array.ndim:
        x = x.reshape((1,) * (y._array.ndim - x._array.ndim) + tuple(x._array.shape))
    later, earlier = _neighbours(x, dim)
    return (after + before) * (later - earlier), dim


@composite(aliases=("trapz",), method=False)
def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Any = None, dim: int = -1) -> Tensor:
    """The integral of ``y`` along a dimension by the trapezoidal rule, with points ``x`` or a spacing ``dx`` (1)."""
    dim = normalize_dim(dim, y._array.ndim)
    if y._array.ndim and y._array.shape[dim] == 0 and y._array.dtype.kind != "b":
        return y.sum(dim, dtype=y.dtype)  # of nothing, in the type of the elements
    areas, dim = _trapezoids("trapezoid", y, x, dx, dim)
    if x is None:  # by the sum less half of the ends, as PyTorch rounds it
        return (y.sum(dim) - (y.select(dim, 0) + y.select(dim, -1)) * 0.5) * (1 if dx is None else dx)
    return areas.sum(dim) / 2


@composite(method=False)
def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Any = None, dim: int = -1) -> Tensor:
    """The running integral of ``y`` along a dimension by the trapezoidal rule."""
    areas, dim = _trapezoids("cumulative_trapezoid", y, x, dx, dim)
    return areas.cumsum(dim) / 2


def _slopes(input: Any, dim: int, spacing: Any, edge_order: int) -> Any:
    """The slope at every point along a dimension, by parabolas through neighbours; at the ends, lines or parabolas."""
    length = input._array.shape[dim]
    at = [input.narrow(dim, start, length - 2) for start in range(3)] if length > 2 else None
    few = min(length, 3)
    ends = [input.narrow(dim, index, 1) for index in (*range(few), *(length - few + place for place in range(few)))]
    first, last = ends[:3], ends[-3:]
    if not isinstance(spacing, Tensor) or not spacing._array.ndim:
        before = after = start = stop = spacing
        inner = [(at[2] - at[0]) / (2 * spacing)] if at else []
    else:
        steps = diff(spacing).reshape([-1 if axis == dim else 1 for axis in range(input._array.ndim)])
        before, after = _neighbours(steps, dim)[::-1]
        start, stop = steps.narrow(dim, 0, 1), steps.narrow(dim, length - 2, 1)
        inner = [_parabola(before, after, at, -after, after - before, before)] if at else []
    if edge_order == 1:
        edges = ((ends[1] - ends[0]) / start, (last[-1] - last[-2]) / stop)
    else:
        a, b = (before, after) if before is after else (before.narrow(dim, 0, 1), after.narrow(dim, 0, 1))
        c, d = (before, after) if before is after else (before.narrow(dim, length - 3, 1), after.narrow(dim, length - 3, 1))
        edges = (_parabola(a, b, first, -2 * a - b, a + b, -a), _parabola(c, d, last, d, -c - d, c + 2 * d))
    return table["cat"].call([edges[0], *inner, edges[1]], dim)


def _parabola(a: Any, b: Any, points: Any, *factors: Any) -> Any:
    """The slope of the parabola through three points ``a`` and ``b`` apart, at the one that the factors stand for."""
    left, middle, right = points
    return left * (factors[0] / (a * (a + b))) + middle * (factors[1] / (a * b)) + right * (factors[2] / (b * (a + b)))


@composite(method=False)
def gradient(input: Tensor, *, spacing: Any = 1, dim: Any = None, edge_order: int = 1) -> tuple[Tensor, ...]:
    """The slopes of sampled values along dimensions, for a spacing or coordinates of the samples."""
    spacing = 1 if spacing is None else spacing
    if edge_order not in (1, 2):
        raise OperationError("torch.gradient only supports edge_order=1 and edge_order=2.")
    dims = normalize_dims(dim, input._array.ndim, empty_is_all=False)
    if isinstance(spacing, (list, tuple)) and len(spacing) != len(dims):
        raise ShapeError(
            f"torch.gradient expected spacing to be unspecified, a scalar, or a list of length {len(dims)}, one for "
            f"each dimension, but got a list of length {len(spacing)}"
        )
    if isinstance(spacing, (list, tuple)) and any(isinstance(each, Tensor) and each._array.ndim != 1 for each in spacing):
        raise ShapeError("torch.gradient expected each element of spacing to have one dimension")
    if any(input._array.shape[axis] <= edge_order for axis in dims):
        raise OperationError("torch.gradient expected each dimension size to be at least edge_order+1")
    spacings = spacing if isinstance(spacing, (list, tuple)) else [spacing] * len(dims)
    return tuple(_slopes(input, axis, each, edge_order) for axis, each in zip(dims, spacings))

"""Reductions other than sums and extremes: products, variances, all and any, logsumexp, norms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.base import Spec
from ...core.base import TensorBase as Tensor
from ...core.declare import composite, primitive, table
from ...core.dtypes import BY_NUMPY, FLOATING, LOW_PRECISION, default, float32
from ...core.errors import ArgumentError, DtypeError, OperationError, ShapeError
from ...core.families import Reduction, normalize_dim, normalize_dims, reduced_shape, reduction
from ..pointwise.arithmetic import conjugate, mul, sub
from ..pointwise.copy_cast import cast
from .cumulative import cumprod, shift
from .reductions_onnx import deviation_form, logsumexp_form, simple, truth_form, variance_form, variance_mean_form  # fmt: skip
from .sums import count_along, reduction_backward, restored, sum_axes

Number = int | float | complex | bool

_FLOAT32 = np.dtype(np.float32)


# -- products ----------------------------------------------------------------------------------------------------


def _products_of_others(input: Any, dim: int) -> Any:
    """For every element the product of all others along a dimension: right for zeros too, where dividing is not."""
    before = shift(cumprod(input, dim), dim, 1)
    after = shift(cumprod(input.flip(dim), dim), dim, 1).flip(dim)
    return before * after


def _prod_gradient(g: Any, input: Any, dim: Any, keepdim: bool) -> Any:
    shape = input._array.shape
    if input._array.dtype is not g._array.dtype:  # the product was asked for in another type
        input = cast(input, g.dtype)
    if dim is None:
        return g * conjugate(_products_of_others(input.reshape(-1), 0)).reshape(shape)
    return restored(g, shape, dim, keepdim) * conjugate(_products_of_others(input, dim))


class _OneDimension(Reduction):
    """A reduction over all dimensions or exactly one."""

    __slots__ = ()

    def resolve(self, op: Any, values: Any) -> Any:
        if isinstance(values[1], (tuple, list)):
            raise ArgumentError(f"{op.public_name}(): argument 'dim' must be int, not {type(values[1]).__name__}")
        return super().resolve(op, values)


@primitive(
    meta=_OneDimension("int64", True),
    kernel=lambda xp, input, axes, keepdim: xp.multiply.reduce(input, axis=axes, dtype=input.dtype, keepdims=keepdim),
    vjp={"input": _prod_gradient},
    onnx=simple("ReduceProd"),
)
def prod(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The product of all elements, or along a dimension."""


# -- variance ----------------------------------------------------------------------------------------------------


def _check_variance(name: str, input: Any) -> None:
    if BY_NUMPY[input.dtype].category < FLOATING:
        raise DtypeError(f"{name} only support floating point and complex dtypes, got torch.{BY_NUMPY[input.dtype].name}")


def _variance_spec(input: Any, dim: Any, correction: Any, keepdim: bool) -> Spec:
    _check_variance("std and var", input)
    return Spec(reduced_shape(input.shape, normalize_dims(dim, input.ndim), keepdim), BY_NUMPY[input.dtype].to_real().numpy)


def _moments_spec(input: Any, dim: Any, correction: Any, keepdim: bool) -> list[Spec]:
    _check_variance("var_mean and std_mean", input)
    spec = _variance_spec(input, dim, correction, keepdim)
    return [spec, Spec(spec.shape, input.dtype)]


_NEAR = 1e-5  # a variance below this part of the squared mean: what rounding the mean adds to it can be seen


def _squared(array: Any) -> Any:
    """The squares of numbers, or of the absolute values of complex ones."""
    return array * array if array.dtype.kind == "f" else array.real * array.real + array.imag * array.imag


def _moments(xp: Any, input: Any, dim: Any, correction: Any, keepdim: bool) -> tuple[Any, Any]:
    """Variance and mean, in two passes: the mean first, so that little is lost to rounding.

    What the mean itself lost is the mean of the differences; it is taken off where numbers are far from 0 beside their spread.
    """
    axes = normalize_dims(dim, input.ndim)
    count = math.prod([input.shape[axis] for axis in axes])
    real = input.dtype.type if input.dtype.kind == "f" else input.dtype.type(0).real.dtype.type
    mean = xp.true_divide(sum_axes(xp, input, axes, True), real(count))
    away = input - mean
    total = sum_axes(xp, _squared(away), axes, keepdim)
    mean = mean if keepdim else mean.reshape(total.shape)
    if xp is np and np.count_nonzero(total < _squared(mean) * real(_NEAR * count)):
        lost = np.true_divide(sum_axes(np, away, axes, keepdim), real(count))
        total = np.maximum(total - _squared(lost) * real(count), real(0))
    return xp.true_divide(total, real(max(count - correction, 0))), mean


def _variance(xp: Any, input: Any, dim: Any, correction: Any, keepdim: bool) -> Any:
    _check_variance("std and var", input)
    return _moments(xp, input, dim, correction, keepdim)[0]


def _moments_checked(xp: Any, input: Any, dim: Any, correction: Any, keepdim: bool) -> tuple[Any, Any]:
    _check_variance("var_mean and std_mean", input)
    return _moments(xp, input, dim, correction, keepdim)


def _variance_gradient(g: Any, input: Any, dim: Any, correction: Any, keepdim: bool) -> Any:
    shape = input._array.shape
    free = count_along(shape, dim) - correction
    return restored(g * (2 / free if free > 0 else math.inf), shape, dim, keepdim) * (input - input.mean(dim, True))


def _deviation_gradient(g: Any, input: Any, result: Any, dim: Any, correction: Any, keepdim: bool) -> Any:
    scaled = (g / (result * 2)).masked_fill(result == 0, 0)
    return _variance_gradient(scaled, input, dim, correction, keepdim)


@primitive(
    meta=_variance_spec,
    kernel=_variance,
    vjp={"input": _variance_gradient},
    namespace=None,
    method=False,
    out=False,
    public_name="var",
    node_name="VarBackward0",
    onnx={9: variance_form},
)
def var_correction(input: Tensor, dim: Any, correction: Number, keepdim: bool) -> Tensor:
    """The variance, with ``correction`` taken off the number of elements."""


@primitive(
    meta=_variance_spec,
    kernel=lambda xp, *values: xp.sqrt(_variance(xp, *values)),
    vjp={"input": _deviation_gradient},
    namespace=None,
    method=False,
    out=False,
    public_name="std",
    node_name="StdBackward0",
    onnx={9: deviation_form},
)
def std_correction(input: Tensor, dim: Any, correction: Number, keepdim: bool) -> Tensor:
    """The standard deviation, with ``correction`` taken off the number of elements."""


def _moments_gradient(g: Any, input: Any, dim: Any, correction: Any, keepdim: bool) -> Any:
    variance, mean = g
    shape = input._array.shape
    found = None if variance is None else _variance_gradient(variance, input, dim, correction, keepdim)
    if mean is None:
        return found
    of_mean = reduction_backward(mean / count_along(shape, dim), shape, dim, keepdim)
    return of_mean if found is None else found + of_mean


@primitive(
    meta=_moments_spec,
    kernel=_moments_checked,
    vjp={"input": _moments_gradient},
    returns=("var", "mean"),
    namespace=None,
    method=False,
    out=False,
    public_name="var_mean",
    node_name="VarMeanBackward0",
    onnx={9: variance_mean_form},
)
def var_mean_correction(input: Tensor, dim: Any, correction: Number, keepdim: bool) -> tuple[Tensor, Tensor]:
    """Variance and mean together."""


def _correction_form(name: str, dim: Any, unbiased: Any, correction: Any) -> tuple[Any, Any]:
    """The overloads ``(dim, unbiased, keepdim)``, ``(unbiased)`` and ``(dim, *, correction, keepdim)`` as one."""
    if isinstance(dim, bool):  # x.var(False)
        if unbiased is not None:
            raise ArgumentError(f"{name}(): argument 'dim' must be a tuple of ints, not bool")
        dim, unbiased = None, dim
    if unbiased is not None:
        if correction is not None:
            raise ArgumentError(f"{name}() takes 'unbiased' or 'correction', not both")
        if not isinstance(unbiased, bool):
            raise ArgumentError(f"{name}(): argument 'unbiased' must be bool, not {type(unbiased).__name__}")
        return dim, int(unbiased)
    return dim, 1 if correction is None else correction


@composite(out=True)
def var(input: Tensor, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *, correction: Any = None) -> Tensor:
    """The variance of all elements, or along dimensions: sums of squares over ``count - correction`` (1 by default)."""
    dim, correction = _correction_form("var", dim, unbiased, correction)
    return var_correction(input, dim, correction, keepdim)


@composite(out=True)
def std(input: Tensor, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *, correction: Any = None) -> Tensor:
    """The standard deviation of all elements, or along dimensions: the square root of :func:`var`."""
    dim, correction = _correction_form("std", dim, unbiased, correction)
    return std_correction(input, dim, correction, keepdim)


@composite(method=False)
def var_mean(
    input: Tensor, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *, correction: Any = None
) -> tuple[Tensor, Tensor]:
    """Variance and mean of all elements, or along dimensions."""
    dim, correction = _correction_form("var_mean", dim, unbiased, correction)
    return tuple(var_mean_correction(input, dim, correction, keepdim))


@composite(method=False)
def std_mean(
    input: Tensor, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *, correction: Any = None
) -> tuple[Tensor, Tensor]:
    """Standard deviation and mean of all elements, or along dimensions."""
    dim, correction = _correction_form("std_mean", dim, unbiased, correction)
    return std_correction(input, dim, correction, keepdim), input.mean(dim, keepdim)


# -- all and any -------------------------------------------------------------------------------------------------


@primitive(
    meta=reduction("bool", empty_is_all=False),
    kernel=lambda xp, input, axes, keepdim: xp.logical_and.reduce(input, axis=axes, keepdims=keepdim),
    vjp={},
    onnx=truth_form("ReduceProd"),
)
def all(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Whether all elements are true (not zero), altogether or along dimensions."""


@primitive(
    meta=reduction("bool", empty_is_all=False),
    kernel=lambda xp, input, axes, keepdim: xp.logical_or.reduce(input, axis=axes, keepdims=keepdim),
    vjp={},
    onnx=truth_form("ReduceSum"),
)
def any(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Whether any element is true (not zero), altogether or along dimensions."""


# -- logsumexp ---------------------------------------------------------------------------------------------------


def _logsumexp_spec(input: Any, dim: Any, keepdim: bool) -> Spec:
    dtype = input.dtype if BY_NUMPY[input.dtype].category >= FLOATING else default.numpy
    return Spec(reduced_shape(input.shape, normalize_dims(dim, input.ndim), keepdim), dtype)


def finite_peak(xp: Any, array: Any, axes: tuple[int, ...]) -> Any:
    """The largest real part along axes, to be subtracted before ``exp``; 0 in place of an infinity."""
    real = array.real if array.dtype.kind == "c" else array
    peak = xp.maximum.reduce(real, axis=axes, keepdims=True, initial=real.dtype.type(-np.inf))
    return xp.where(xp.isinf(peak), peak.dtype.type(0), peak)


def _logsumexp_kernel(xp: Any, input: Any, dim: Any, keepdim: bool) -> Any:
    axes = normalize_dims(dim, input.ndim)
    if input.dtype.kind not in "fc":
        input = input.astype(_FLOAT32 if default.numpy in LOW_PRECISION else default.numpy)
    peak = finite_peak(xp, input, axes)
    result = xp.log(sum_axes(xp, xp.exp(input - peak), axes, True)) + peak
    return result if keepdim else result.reshape(reduced_shape(input.shape, axes, False))


def _logsumexp_gradient(g: Any, input: Any, result: Any, dim: Any, keepdim: bool) -> Any:
    shape = input._array.shape
    weights = (input - restored(result, shape, dim, keepdim)).exp()
    return restored(g, shape, dim, keepdim) * conjugate(weights)


@primitive(
    meta=_logsumexp_spec,
    kernel=_logsumexp_kernel,
    vjp={"input": _logsumexp_gradient},
    aliases=("special.logsumexp",),
    onnx={9: logsumexp_form},
)
def logsumexp(input: Tensor, dim: Any, keepdim: bool = False) -> Tensor:
    """The logarithm of the sum of exponentials along dimensions, computed without overflow."""


# -- norms -------------------------------------------------------------------------------------------------------


@composite(out=True)
def norm(input: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Tensor:
    """The norm of a tensor, or of the vectors along dimensions; ``linalg.vector_norm`` and its like are clearer."""
    if isinstance(p, str) and p != "fro":
        return table["linalg_matrix_norm"].call(input, p, (-2, -1) if dim is None else dim, keepdim, dtype=dtype)
    if isinstance(p, Tensor) and not p._array.ndim:
        p = p.item()  # type: ignore[attr-defined]
    if p is None or p == "fro":
        p = 2
    return table["linalg_vector_norm"].call(input, p, dim, keepdim, dtype=dtype)


@composite(out=False)
def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """The p-norm of ``input - other``."""
    return norm(sub(input, other), p)


@composite(in_place=True, out=True)
def renorm(input: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    """The slices along a dimension, with those whose p-norm is larger than ``maxnorm`` scaled down to it."""
    ndim = input._array.ndim
    if p <= 0:
        raise OperationError("renorm: non-positive-norm not supported")
    if maxnorm < 0:
        raise OperationError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    if ndim < 2:
        raise ShapeError(f"renorm: input needs at least 2 dimensions, got {ndim} dimensions")
    kept = normalize_dim(dim, ndim)
    precise = float32 if input._array.dtype in LOW_PRECISION else None  # the factor is computed in it, and rounded once
    size = table["linalg_vector_norm"].call(input, p, [axis for axis in range(ndim) if axis != kept], True, dtype=precise)
    factor = (maxnorm / (size + 1e-7)).masked_fill(~(size > maxnorm), 1)
    return mul(input, factor if precise is None else cast(factor, input.dtype))

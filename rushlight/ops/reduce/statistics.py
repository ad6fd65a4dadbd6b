"""Statistics: quantiles, covariance and correlation, counts and histograms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.base import Spec
from ...core.base import TensorBase as Tensor
from ...core.declare import composite, primitive, table
from ...core.devices import device_of
from ...core.dtypes import BY_NUMPY, default, int64, legacy_name
from ...core.errors import ArgumentError, DtypeError, NotSupported, OperationError, ShapeError
from ...core.families import normalize_dim
from ...core.named_results import make_named
from ...core.symbolic import smaller
from ..index.sort import sort
from ..pointwise.arithmetic import conjugate
from ..pointwise.copy_cast import cast
from .statistics_onnx import bincount_form, histc_form, histogram_form, histogram_points_form

Number = int | float | complex | bool

_INT64 = np.dtype(np.int64)


# -- quantiles ---------------------------------------------------------------------------------------------------

_INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def _check_quantile(name: str, input: Any, q: Any, interpolation: str) -> None:
    if input._array.dtype.kind != "f" or input._array.dtype.itemsize < 4:
        raise DtypeError(f"{name}() input tensor must be either float or double dtype")
    if not input._array.size:
        raise OperationError(f"{name}() input tensor must be non-empty")
    if interpolation not in _INTERPOLATIONS:
        raise OperationError(
            f"{name}() interpolation must be one of {', '.join(_INTERPOLATIONS[:-1])} or {_INTERPOLATIONS[-1]}, but got {interpolation}"
        )
    if not isinstance(q, Tensor):
        if isinstance(q, bool) or not isinstance(q, (int, float)):
            raise ArgumentError(f"{name}(): argument 'q' must be float or Tensor, not {type(q).__name__}")
        if not 0 <= q <= 1:
            raise OperationError(f"{name}() q must be in the range [0, 1] but got {q}")
        return
    if q._array.ndim > 1:
        raise ShapeError(f"{name}() q must be a scalar or 1D tensor")
    if q._array.dtype != input._array.dtype:
        raise DtypeError(f"{name}() q tensor must be same dtype as the input tensor")
    if q._array.__class__ is np.ndarray and not bool(((q._array >= 0) & (q._array <= 1)).all()):
        raise OperationError(f"{name}() q values must be in the range [0, 1]")


def _quantile(name: str, input: Any, q: Any, dim: Any, keepdim: bool, interpolation: str) -> Any:
    """Sort, find where each quantile falls between two elements, and mix these; in ops, so that gradients follow."""
    _check_quantile(name, input, q, interpolation)
    ndim = input._array.ndim
    axis = 0 if dim is None else normalize_dim(dim, ndim)
    ordered = input.reshape(-1) if dim is None or not ndim else input.movedim(axis, -1)
    ordered = sort(ordered, -1).values  # along the last dimension; NaN comes last
    last = ordered._array.shape[-1] - 1
    wanted = q.reshape(-1) if isinstance(q, Tensor) else table["full"].call((1,), float(q), dtype=input.dtype, device=input.device)
    missing = ordered.isnan()
    if name == "nanquantile":
        ranks = (wanted * (last - missing.sum(-1, True))).clamp(min=0)
    else:
        ranks = (wanted * last).expand(*ordered._array.shape[:-1], wanted._array.shape[0])
        ranks = ranks.masked_fill(missing.narrow(-1, last, 1), last)
    if interpolation == "lower":
        ranks = ranks.floor()
    elif interpolation == "higher":
        ranks = ranks.ceil()
    elif interpolation == "nearest":
        ranks = ranks.round()
    below = ranks.floor()
    result = ordered.gather(-1, cast(below, int64))
    if interpolation in ("linear", "midpoint"):
        above = ordered.gather(-1, cast(ranks.ceil(), int64))
        weight = ranks - below if interpolation == "linear" else 0.5
        result = result.lerp(above, weight)
    return _arranged(result, q, axis, keepdim, ndim, dim is None)


def _arranged(result: Any, q: Any, axis: int, keepdim: bool, ndim: int, whole: bool) -> Any:
    """From quantiles along the last dimension to PyTorch's layout: they come first, or not at all for a single one."""
    if keepdim and ndim:
        count = result._array.shape[-1]
        result = result.reshape([1] * ndim + [count]) if whole else result.unsqueeze(axis)
    return result.movedim(-1, 0) if isinstance(q, Tensor) and q._array.ndim else result.squeeze(-1)


@composite(out=True)
def quantile(input: Tensor, q: Tensor | Number, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear") -> Tensor:
    """Quantiles of all elements or along a dimension; NaN where there is one."""
    return _quantile("quantile", input, q, dim, keepdim, interpolation)


@composite(out=True)
def nanquantile(
    input: Tensor, q: Tensor | Number, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Tensor:
    """:func:`quantile` of the elements that are not NaN."""
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation)


# -- covariance --------------------------------------------------------------------------------------------------


def _check_weights(name: str, weights: Any, count: int, wanted: str) -> None:
    array = weights._array
    if array.ndim > 1:
        raise ShapeError(f"cov(): expected {name} to have one or fewer dimensions but got {name} with {array.ndim} dimensions")
    if array.dtype.kind not in ("iu" if wanted == "integral" else "f"):
        raise DtypeError(f"cov(): expected {name} to have {wanted} dtype but got {name} with {legacy_name(array.dtype)} dtype")
    if array.size != count:
        raise ShapeError(
            f"cov(): expected {name} to have the same numel as there are observations in the input but got {array.size} != {count}"
        )
    if array.__class__ is np.ndarray:
        if bool((array < 0).any()):
            raise OperationError(f"cov(): {name} cannot be negative")
        if not bool(array.any()) and count:
            raise OperationError("cov(): weights sum to zero, can't be normalized")


def _observations(name: str, input: Any) -> Any:
    """The input as a matrix with a variable in each row, of a type that has fractions."""
    if input._array.ndim > 2:
        raise ShapeError(f"{name}(): expected input to have two or fewer dimensions but got an input with {input._array.ndim} dimensions")
    if input._array.dtype.kind == "b":
        raise DtypeError(f"{name}(): bool dtype is not supported for input")
    matrix = input if input._array.ndim == 2 else input.reshape(1, -1)
    return cast(matrix, default.floating) if matrix._array.dtype.kind in "iu" else matrix


def _weighted(matrix: Any, correction: int, fweights: Any, aweights: Any) -> tuple[Any, Any, Any]:
    """Weights (or None), the mean of each row, and what to divide the sum of products by."""
    if fweights is None and aweights is None:
        count = matrix._array.shape[1]
        return None, matrix.sum(1) / count if count else matrix.mean(1), count - smaller(count, correction)
    weights = fweights if aweights is None else (aweights if fweights is None else fweights * aweights)
    total = weights.sum()
    taken = correction * (weights * aweights).sum() / total if aweights is not None and correction else correction
    return weights, (matrix * weights).sum(1) / total, (total - taken).clamp(min=0)


@composite()
def cov(input: Tensor, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None) -> Tensor:
    """The covariance matrix of variables (rows) from observations (columns), which may be repeated and weighted."""
    matrix = _observations("cov", input)
    for name, weights, wanted in (("fweights", fweights, "integral"), ("aweights", aweights, "floating point")):
        if weights is not None:
            _check_weights(name, weights, matrix._array.shape[1], wanted)
    weights, mean, divisor = _weighted(matrix, correction, fweights, aweights)
    away = matrix - mean.unsqueeze(1)
    other = away if weights is None else away * weights
    return (away.matmul(conjugate(other.transpose(0, 1))) / divisor).squeeze()


@composite()
def corrcoef(input: Tensor) -> Tensor:
    """The correlation matrix of variables (rows) from observations (columns)."""
    if input._array.ndim > 2:
        raise ShapeError(f"corrcoef(): expected input to have two or fewer dimensions but got an input with {input._array.ndim} dimensions")
    covariance = cov(input)
    if not covariance._array.ndim:
        return covariance / covariance
    variance = covariance.diagonal()
    deviation = (variance.real if covariance._array.dtype.kind == "c" else variance).sqrt()
    result = covariance / deviation.unsqueeze(1) / deviation.unsqueeze(0)
    if result._array.dtype.kind == "c":
        return table["complex"].call(result.real.clamp(-1, 1), result.imag.clamp(-1, 1))
    return result.clamp(-1, 1)


# -- counts ------------------------------------------------------------------------------------------------------


def _bincount_spec(input: Any, weights: Any, minlength: int) -> Any:
    raise NotSupported("bincount(): the size of the result depends on the data, which a meta tensor does not have")


def _bincount_kernel(xp: Any, input: Any, weights: Any, minlength: int) -> Any:
    if input.dtype.kind not in "iu":
        raise NotSupported(f"bincount() is not implemented for torch.{BY_NUMPY[input.dtype].name}")
    if minlength < 0:
        raise OperationError("minlength should be >= 0")
    if input.ndim != 1 or (input.size and input.min() < 0):
        raise OperationError("bincount only supports 1-d non-negative integral inputs.")
    if not input.size:
        return xp.zeros(minlength, _INT64)
    if weights is None:
        return xp.bincount(input, minlength=minlength)
    if weights.shape != input.shape:
        raise ShapeError("weights should be 1-d and have the same length as input")
    found = xp.bincount(input, weights.astype(np.float64), minlength=minlength)
    return found.astype(np.float32) if weights.dtype == np.float32 else found


@primitive(meta=_bincount_spec, kernel=_bincount_kernel, vjp={}, out=False, exact=True, data_dependent=True, onnx={9: bincount_form})
def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """How often each non-negative integer is there, or the sum of the weights of its occurrences."""


# -- histograms --------------------------------------------------------------------------------------------------


def _edges(xp: Any, low: Any, high: Any, bins: int, dtype: np.dtype[Any]) -> Any:
    """The edges of equal bins, counted from the nearer end so that both ends are exact."""
    low, high = dtype.type(low), dtype.type(high)
    step = (high - low) / dtype.type(bins)
    count = xp.arange(bins + 1, dtype=dtype)
    return xp.where(count < (bins + 1) // 2, low + step * count, high - step * (bins - count)).astype(dtype)


def _outer_edges(xp: Any, name: str, values: Any, given: Any) -> tuple[float, float]:
    """The range of a histogram: as given, or that of the values; never empty."""
    if given is not None:
        low, high = float(given[0]), float(given[1])
    elif values.size:
        low, high = float(values.min()), float(values.max())
    else:
        low, high = 0.0, 1.0
    if not (math.isfinite(low) and math.isfinite(high)):
        raise OperationError(f"torch.{name}: range of [{low}, {high}] is not finite")
    if low > high:
        raise OperationError(f"torch.{name}: max must be larger than min: got min {low} and max {high}")
    return (low - 0.5, high + 0.5) if low == high else (low, high)


def _check_bins(name: str, input: Any, bins: int) -> None:
    if input.dtype.kind not in "fV":
        raise NotSupported(f"{name}() is not implemented for torch.{BY_NUMPY[input.dtype].name}")
    if bins <= 0:
        raise OperationError(f"torch.{name}(): bins must be > 0, but got {bins}")


def _histc_spec(input: Any, bins: int, min: Any, max: Any) -> Spec:
    if input.dtype.kind not in "iu" or device_of(input).type != "cuda":  # on a GPU integers are counted, too, as in PyTorch
        _check_bins("histc", input, bins)
    if min > max:
        raise OperationError("torch.histc: max must be larger than min")
    return Spec((bins,), input.dtype)


def _histc_kernel(xp: Any, input: Any, bins: int, min: Any, max: Any) -> Any:
    _histc_spec(input, bins, min, max)
    values = input.reshape(-1)
    low, high = _outer_edges(xp, "histc", values, None if min == max else (min, max))
    if values.dtype.kind in "iu":
        values = values.astype(np.float64)
    inside = values[(values >= low) & (values <= high)]
    kind = inside.dtype.type
    places = ((inside - kind(low)) * kind(bins) / (kind(high) - kind(low))).astype(_INT64)
    return xp.bincount(xp.minimum(places, bins - 1), minlength=bins).astype(input.dtype)


@primitive(meta=_histc_spec, kernel=_histc_kernel, vjp={"input": lambda g: None}, onnx={9: histc_form})
def histc(input: Tensor, bins: int = 100, min: Number = 0, max: Number = 0) -> Tensor:
    """How many elements fall in each of equal bins between ``min`` and ``max`` (of the data, if they are the same)."""


def _axis_edges(xp: Any, name: str, values: Any, bins: Any, given: Any) -> Any:
    """The edges along one dimension: from a number of bins, or checked as given."""
    if not hasattr(bins, "shape"):
        _check_bins(name, values, bins)
        low, high = _outer_edges(xp, name, values, given)
        return _edges(xp, low, high, bins, values.dtype)
    if bins.ndim != 1:
        raise ShapeError(f"torch.{name}: bins tensor should have one dimension, but got {bins.ndim} dimensions in the bins tensor")
    if bins.dtype != values.dtype:
        raise DtypeError(
            f"torch.{name}: input tensor and bins tensors should have the same dtype, but got input with dtype "
            f"{legacy_name(values.dtype)} and bins with dtype {legacy_name(bins.dtype)}"
        )
    _check_bins(name, values, len(bins) - 1)
    return bins


def _count(xp: Any, points: Any, edges: list[Any], weight: Any, density: bool) -> Any:
    """The histogram of points (rows): a bin takes its left edge, the last bin both."""
    inside = xp.ones(len(points), bool)
    places = xp.zeros(len(points), _INT64)
    for axis, edge in enumerate(edges):
        values = points[:, axis]
        inside &= (values >= edge[0]) & (values <= edge[-1])
        found = xp.minimum(xp.searchsorted(edge, values, side="right") - 1, len(edge) - 2)
        places = places * (len(edge) - 1) + found
    shape = tuple(len(edge) - 1 for edge in edges)
    weights = None if weight is None else weight.reshape(-1)[inside].astype(np.float64)
    counts = xp.bincount(places[inside], weights, minlength=math.prod(shape)).astype(points.dtype).reshape(shape)
    if density:
        counts = counts / counts.sum()
        for axis, edge in enumerate(edges):
            counts = counts / xp.diff(edge).reshape((-1,) + (1,) * (len(edges) - 1 - axis))
    return counts


def _check_weight(name: str, weight: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    if weight is None:
        return
    if tuple(weight.shape) != shape:
        raise ShapeError(
            f"torch.{name}: if weight tensor is provided it should have the shape of the points, but got points with "
            f"shape {list(shape)} and weight with shape {list(weight.shape)}"
        )
    if weight.dtype != dtype:
        raise DtypeError(f"torch.{name}: if weight tensor is provided, input tensor and weight tensor should have the same dtype")


def _histogram_spec(input: Any, bins: Any, range: Any, weight: Any, density: bool) -> list[Spec]:
    _check_weight("histogram", weight, tuple(input.shape), input.dtype)
    count = bins.shape[0] - 1 if hasattr(bins, "shape") else bins
    _check_bins("histogram", input, count)
    return [Spec((count,), input.dtype), Spec((count + 1,), input.dtype)]


def _histogram_kernel(xp: Any, input: Any, bins: Any, range: Any, weight: Any, density: bool) -> tuple[Any, Any]:
    _check_weight("histogram", weight, input.shape, input.dtype)
    edges = _axis_edges(xp, "histogram", input.reshape(-1), bins, range)
    return _count(xp, input.reshape(-1, 1), [edges], weight, density), edges.copy()


@primitive(meta=_histogram_spec, kernel=_histogram_kernel, vjp={}, returns=("hist", "bin_edges"), onnx={9: histogram_form})
def histogram(
    input: Tensor, bins: Tensor | Number = 100, *, range: Any = None, weight: Tensor | None = None, density: bool = False
) -> tuple[Tensor, Tensor]:
    """The histogram of all elements, in a number of equal bins or between given edges, and the edges of the bins."""


def _points_spec(input: Any, edges: Any, bins: Any, range: Any, weight: Any, density: bool) -> list[Spec]:
    counts = [each.shape[0] - 1 for each in edges] or bins
    return [Spec(tuple(counts), input.dtype), *(Spec((count + 1,), input.dtype) for count in counts)]


def _points_kernel(xp: Any, input: Any, edges: Any, bins: Any, range: Any, weight: Any, density: bool) -> list[Any]:
    points = input.reshape(-1, input.shape[-1])
    _check_weight("histogramdd", weight, input.shape[:-1], input.dtype)
    made = []
    for axis, each in enumerate(edges or bins):
        given = None if range is None else range[2 * axis : 2 * axis + 2]
        made.append(_axis_edges(xp, "histogramdd", points[:, axis], each, given))
    return [_count(xp, points, made, weight, density), *(each.copy() for each in made)]


@primitive(
    meta=_points_spec,
    kernel=_points_kernel,
    vjp={},
    returns="list",
    namespace=None,
    method=False,
    out=False,
    public_name="histogramdd",
    onnx={9: histogram_points_form},
)
def histogram_points(input: Tensor, edges: Sequence[Tensor], bins: Any, range: Any, weight: Tensor | None, density: bool) -> list[Tensor]:
    """The histogram of points, then the edges along each dimension; ``edges`` is empty where ``bins`` has numbers."""


_HistogramPoints = make_named("histogramdd", ("hist", "bin_edges"))


@composite(method=False)
def histogramdd(input: Tensor, bins: Any, range: Any = None, weight: Tensor | None = None, density: bool = False) -> Any:
    """The histogram of points (the last dimension holds coordinates), and the edges of the bins for each coordinate."""
    if input._array.ndim < 2:
        raise ShapeError("torch.histogramdd: input tensor should have at least 2 dimensions")
    count = input._array.shape[-1]
    bins = [bins] * int(count) if isinstance(bins, int) else list(bins)
    if len(bins) != count:
        raise ShapeError(
            "torch.histogramdd: bins tensor or integer sequence should have one entry for each dimension of the "
            f"points: {count}, but got {len(bins)}"
        )
    edges = bins if isinstance(bins[0], Tensor) else []
    found = histogram_points(input, edges, [] if edges else bins, range, weight, density)
    return _HistogramPoints(found[0], tuple(found[1:]))

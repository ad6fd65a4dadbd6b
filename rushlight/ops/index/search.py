"""Finding: unique elements, positions in sorted sequences, membership."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.base import Spec
from ...core.base import TensorBase as Tensor
from ...core.declare import composite, primitive
from ...core.dtypes import BY_NUMPY, legacy_name
from ...core.errors import ArgumentError, DimensionError, DtypeError, NotSupported, OperationError, ShapeError
from ...core.families import normalize_dim, result_dtype
from .indexing_onnx import gather_form

Number = int | float | complex | bool

_INT64 = np.dtype(np.int64)
_NONE = np.empty(0, _INT64)
_INT32 = np.dtype(np.int32)


# -- unique ------------------------------------------------------------------------------------------------------


def _unique_dim(input: Any, dim: Any) -> int:
    """The dimension along which whole slices are compared."""
    if not input.ndim:
        raise DimensionError(f"Dimension specified as {dim} but tensor has no dimensions")
    axis = normalize_dim(dim, input.ndim)
    if any(size == 0 for other, size in enumerate(input.shape) if other != axis):
        raise OperationError("There are 0 sized dimensions, and they aren't selected, so unique cannot be applied")
    return axis


def _check_unique(input: Any) -> None:
    if input.dtype.kind == "c":
        raise NotSupported(f"unique() is not implemented for torch.{BY_NUMPY[input.dtype].name}")


def _unknown_size(name: str) -> Any:
    def spec(*values: Any) -> Any:
        raise NotSupported(f"{name}(): the size of the result depends on the data, which a meta tensor does not have")

    return spec


def _unique_with_nan(input: Any, axis: int, return_inverse: bool, return_counts: bool) -> list[Any]:
    """Unique slices of which some hold NaN: these are equal to none, and stay where an insertion meets them."""
    rows = np.moveaxis(input, axis, 0)
    order: list[int] = []
    for place, row in enumerate(rows):
        at = len(order)
        while at and _before(row, rows[order[at - 1]]):
            at -= 1
        order.insert(at, place)
    starts = [at for at, place in enumerate(order) if not at or not np.array_equal(rows[place], rows[order[at - 1]])]
    places = np.empty(len(rows), _INT64)
    places[order] = np.searchsorted(starts, np.arange(len(order)), side="right") - 1
    result = np.moveaxis(rows[[order[at] for at in starts]], 0, axis)
    counts = np.diff([*starts, len(order)]).astype(_INT64)
    return [np.ascontiguousarray(result), places if return_inverse else _NONE, counts if return_counts else _NONE]


def _before(row: Any, other: Any) -> bool:
    """Whether a slice comes before another by their first elements that differ; NaN comes before nothing, and nothing before NaN."""
    for mine, theirs in zip(row.reshape(-1).tolist(), other.reshape(-1).tolist()):
        if mine < theirs or theirs < mine:
            return bool(mine < theirs)
    return False


def _unique_kernel(xp: Any, input: Any, dim: Any, return_inverse: bool, return_counts: bool) -> list[Any]:
    _check_unique(input)
    axis = None if dim is None else _unique_dim(input, dim)
    nothing = xp.empty(0, _INT64)
    if axis is not None and not input.size:
        return [input.copy(), nothing, nothing]
    if axis is not None and input.dtype.kind in "fc" and xp is np and np.isnan(input).any():
        return _unique_with_nan(input, axis, return_inverse, return_counts)
    narrow = input.dtype.name == "bfloat16"  # which NumPy sorts with NaN anywhere
    found = xp.unique(
        input.astype(np.float32) if narrow else input,
        return_inverse=return_inverse,
        return_counts=return_counts,
        axis=axis,
        equal_nan=False,
    )
    if not return_inverse and not return_counts:
        return [found.astype(input.dtype, copy=False), nothing, nothing]
    shape = input.shape if axis is None else (input.shape[axis],)
    inverse = found[1].reshape(shape).astype(_INT64, copy=False) if return_inverse else nothing
    return [found[0].astype(input.dtype, copy=False), inverse, found[-1].astype(_INT64, copy=False) if return_counts else nothing]


def _no_derivative(g: Any) -> Any:
    raise NotSupported("the derivative for 'unique' is not implemented")


def _unique_onnx(g: Any, input: Any, dim: Any, return_inverse: bool, return_counts: bool) -> Any:
    if g.opset < 11:
        raise g.unsupported("unique() needs ONNX's Unique", since=11)
    axis = {} if dim is None else {"axis": normalize_dim(dim, input.rank)}
    found, _, inverse, counts = g.Unique(g.at_least_1d(input), outputs=4, sorted=1, **axis)
    nothing = g.constant([], _INT64)
    inverse = g.reshape(inverse, input.shape) if dim is None else inverse
    return found, inverse if return_inverse else nothing, counts if return_counts else nothing


def _unique_composite_onnx(g: Any, input: Any, sorted: bool, return_inverse: bool, return_counts: bool, dim: Any) -> Any:
    return _asked_for(_unique_onnx(g, input, dim, return_inverse, return_counts), return_inverse, return_counts)


@primitive(
    meta=_unknown_size("unique"),
    kernel=_unique_kernel,
    vjp={"input": _no_derivative},
    returns=("output", "inverse", "counts"),
    nondifferentiable=("inverse", "counts"),
    exact=True,
    namespace=None,
    method=False,
    out=False,
    public_name="unique",
    node_name="Unique2Backward0",
    data_dependent=True,
    onnx={9: _unique_onnx},
)
def unique_slices(input: Tensor, dim: Any, return_inverse: bool, return_counts: bool) -> tuple[Tensor, Tensor, Tensor]:
    """Unique elements (or slices along a dimension) in order; inverse and counts are empty unless asked for."""


def _consecutive_kernel(xp: Any, input: Any, dim: Any) -> list[Any]:
    _check_unique(input)
    axis = 0 if dim is None else _unique_dim(input, dim)
    rows = input.reshape(-1) if dim is None else xp.moveaxis(input, axis, 0)
    begins = xp.ones(len(rows), bool)
    changes = rows[1:] != rows[:-1]
    begins[1:] = changes.reshape(len(changes), -1).any(axis=1) if changes.size else False
    inverse = (xp.cumsum(begins) - 1).reshape(input.shape if dim is None else len(rows))
    counts = xp.diff(xp.append(xp.flatnonzero(begins), len(rows)))
    return [xp.ascontiguousarray(xp.moveaxis(rows[begins], 0, axis)), inverse, counts]


def _consecutive_onnx(g: Any, input: Any, dim: Any) -> Any:
    axis = 0 if dim is None else normalize_dim(dim, input.rank)
    rows = g.reshape(input, (math.prod(input.shape),)) if dim is None else input
    count = rows.shape[axis]
    same = g.equal(g.slice(rows, [1], [g.TO_THE_END], [axis]), g.slice(rows, [0], [-1], [axis]))
    others = [each for each in range(rows.rank) if each != axis]
    if others:
        same = g.cast(g.reduce("ReduceMin", g.cast(same, np.int32), others), np.bool_)
    first = g.full((1,), True, np.bool_) if type(count) is not int or count else g.full((0,), True, np.bool_)
    begins = g.concat([first, g.Not(same)], 0)
    steps = g.running_sum(g.cast(begins, _INT64))
    inverse = g.Sub(steps, g.number(1, _INT64))
    places = g.squeeze(g.nonzero(begins), [0])
    ends = g.concat([g.slice(places, [1], [g.TO_THE_END], [0]), g.sizes([count])], 0)
    counts = g.Sub(ends, places)
    return g.Compress(rows, begins, axis=axis), g.reshape(inverse, input.shape) if dim is None else inverse, counts


def _unique_consecutive_onnx(g: Any, input: Any, return_inverse: bool, return_counts: bool, dim: Any) -> Any:
    return _asked_for(_consecutive_onnx(g, input, dim), return_inverse, return_counts)


@primitive(
    meta=_unknown_size("unique_consecutive"),
    kernel=_consecutive_kernel,
    vjp={"input": _no_derivative},
    returns=("output", "inverse", "counts"),
    nondifferentiable=("inverse", "counts"),
    exact=True,
    namespace=None,
    method=False,
    out=False,
    public_name="unique_consecutive",
    node_name="UniqueConsecutiveBackward0",
    data_dependent=True,
    onnx={9: _consecutive_onnx},
)
def consecutive_slices(input: Tensor, dim: Any) -> tuple[Tensor, Tensor, Tensor]:
    """The first of each run of equal elements (or slices), the run of each element, and how long each run is."""


def _asked_for(found: Any, return_inverse: bool, return_counts: bool) -> Any:
    results = (found[0], *((found[1],) if return_inverse else ()), *((found[2],) if return_counts else ()))
    return results if len(results) > 1 else results[0]


@composite(data_dependent=True, onnx={9: _unique_composite_onnx})
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The different elements (with ``dim``, slices) in order; on request where each element went, and counts."""
    return _asked_for(unique_slices(input, dim, return_inverse, return_counts), return_inverse, return_counts)


@composite(data_dependent=True, onnx={9: _unique_consecutive_onnx})
def unique_consecutive(input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None) -> Any:
    """The elements (with ``dim``, slices) without those equal to the one before them."""
    return _asked_for(consecutive_slices(input, dim), return_inverse, return_counts)


# -- positions in sorted sequences -------------------------------------------------------------------------------


def _searchsorted_spec(sorted_sequence: Any, input: Any, out_int32: bool, right: bool, side: Any, sorter: Any) -> Spec:
    shape = tuple(getattr(input, "shape", ()))
    if side not in (None, "left", "right"):
        raise OperationError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise OperationError("torch.searchsorted(): side and right can't be set to opposites, got side of left while right was True")
    if not sorted_sequence.ndim:
        raise ShapeError("torch.searchsorted(): boundaries tensor should have positive dimension, but got 0 dimension")
    if sorted_sequence.ndim > 1:
        if not shape:
            raise ShapeError(
                "torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension is 1, but we "
                f"got boundaries tensor dim({sorted_sequence.ndim})"
            )
        if shape[:-1] != tuple(sorted_sequence.shape)[:-1]:
            raise ShapeError(
                "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of "
                "boundaries tensor and input value tensor must match, but we got boundaries tensor "
                f"{list(sorted_sequence.shape)} and input value tensor {list(shape)}"
            )
    if sorter is not None:
        if tuple(sorter.shape) != tuple(sorted_sequence.shape):
            raise ShapeError(
                "torch.searchsorted(): boundary and sorter must have the same size, but got boundary tensor "
                f"{list(sorted_sequence.shape)} and got sorter tensor {list(sorter.shape)}"
            )
        if sorter.dtype != _INT64:
            raise DtypeError(f"torch.searchsorted(): sorter must be a tensor of long dtype but got dtype {legacy_name(sorter.dtype)}")
    return Spec(shape, _INT32 if out_int32 else _INT64)


def _last_is_nan(xp: Any, rows: Any) -> bool:
    return rows.dtype.kind == "f" and rows.size > 0 and bool(xp.isnan(rows[-1]))


def _searchsorted_kernel(xp: Any, sorted_sequence: Any, input: Any, out_int32: bool, right: bool, side: Any, sorter: Any) -> Any:
    spec = _searchsorted_spec(sorted_sequence, input, out_int32, right, side, sorter)
    right = right or side == "right"
    values, length = xp.asarray(input), sorted_sequence.shape[-1]
    if sorter is not None:
        if sorter.size and (sorter.min() < 0 or sorter.max() >= length):
            raise OperationError("torch.searchsorted(): sorter index out of range")
        sorted_sequence = xp.take_along_axis(sorted_sequence, sorter, -1)
    one_row = sorted_sequence.ndim == 1
    if one_row and not (_last_is_nan(xp, sorted_sequence) or (values.dtype.kind == "f" and xp.isnan(values).any())):
        return xp.asarray(xp.searchsorted(sorted_sequence, values, side="right" if right else "left")).astype(spec.dtype)
    low, high = xp.zeros(values.shape, _INT64), xp.full(values.shape, length)
    for _ in range(length.bit_length()):  # all rows are searched at once, by halving
        middle = (low + high) // 2
        places = xp.minimum(middle, length - 1)
        found = sorted_sequence[places] if one_row else xp.take_along_axis(sorted_sequence, places, -1)
        after = ~((found > values) if right else (found >= values)) & (low < high)
        low, high = xp.where(after, middle + 1, low), xp.where(after, high, middle)
    return low.astype(spec.dtype)


def _common_type(*operands: Any) -> Any:
    """The type in which values of an ONNX graph (or numbers) are compared."""
    return result_dtype([Spec(each.shape, each.dtype) if hasattr(each, "rank") else each for each in operands])


def _searchsorted_onnx(g: Any, sorted_sequence: Any, input: Any, out_int32: bool, right: bool, side: Any, sorter: Any) -> Any:
    """How many elements of the sequence come before each value."""
    common = _common_type(sorted_sequence, input)
    sequence, values = g.cast(sorted_sequence, common), g.number(input, common)
    if sorter is not None:
        sequence = gather_form(g, sequence, -1, sorter)
    if sequence.rank > 1:
        sequence = g.unsqueeze(sequence, [-2])
    values = g.unsqueeze(values, [-1])
    if right or side == "right":
        before = g.Not(g.Less(values, sequence))
    else:
        before = g.Less(sequence, values)
        before = g.Or(before, g.IsNaN(values)) if common.kind == "f" else before  # a NaN goes behind all
    return g.reduce("ReduceSum", g.cast(before, _INT64), [-1])


@primitive(meta=_searchsorted_spec, kernel=_searchsorted_kernel, vjp={}, onnx={9: _searchsorted_onnx})
def searchsorted(
    sorted_sequence: Tensor, input: Tensor | Number, *, out_int32: bool = False, right: bool = False, side: Any = None,
    sorter: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Where values would go in a sorted sequence (the last dimension): before equals, or after them if ``right``."""


@composite(out=True, method=False)
def bucketize(input: Tensor | Number, boundaries: Tensor, *, out_int32: bool = False, right: bool = False) -> Tensor:
    """The bucket of each value, between sorted boundaries; a boundary belongs to the bucket below unless ``right``."""
    if boundaries._array.ndim != 1:
        raise ShapeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries._array.ndim})")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


# -- membership --------------------------------------------------------------------------------------------------


def _isin_spec(elements: Any, test_elements: Any, assume_unique: bool, invert: bool) -> Spec:
    if not hasattr(elements, "shape") and not hasattr(test_elements, "shape"):
        raise ArgumentError("isin() needs a tensor: elements or test_elements")
    for each in (elements, test_elements):
        if getattr(each, "dtype", _INT64).kind in "cb":
            raise DtypeError(f"Unsupported input type encountered for isin(): {legacy_name(each.dtype)}")
    return Spec(getattr(elements, "shape", ()), np.dtype(np.bool_))


def _isin_kernel(xp: Any, elements: Any, test_elements: Any, assume_unique: bool, invert: bool) -> Any:
    _isin_spec(elements, test_elements, assume_unique, invert)
    return xp.isin(elements, test_elements, assume_unique=assume_unique, invert=invert)


def _isin_onnx(g: Any, elements: Any, test_elements: Any, assume_unique: bool, invert: bool) -> Any:
    common = _common_type(elements, test_elements)
    elements, tests = g.number(elements, common), g.number(test_elements, common)
    equal = g.equal(g.unsqueeze(elements, [-1]), g.reshape(tests, (math.prod(tests.shape),)))
    equal.shape = (*elements.shape, math.prod(tests.shape))
    found = g.cast(g.reduce("ReduceSum", g.cast(equal, _INT64), [-1]), np.bool_)
    return g.Not(found) if invert else found


@primitive(meta=_isin_spec, kernel=_isin_kernel, vjp={}, onnx={9: _isin_onnx})
def isin(elements: Tensor | Number, test_elements: Tensor | Number, *, assume_unique: bool = False, invert: bool = False) -> Tensor:
    """Whether each element is one of ``test_elements``."""

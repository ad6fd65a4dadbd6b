"""Sorting, and elements by their rank: sort, topk, kthvalue, median, mode.  NaN counts as larger than every number.

Equal elements keep their order, everywhere: of several that could be meant, the first is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.base import Spec
from ...core.base import TensorBase as Tensor
from ...core.declare import composite, primitive, table
from ...core.dtypes import BY_NUMPY
from ...core.errors import DtypeError, NotSupported, OperationError
from ...core.families import normalize_dim
from ..reduce.cumulative import along, part
from ..reduce.cumulative_onnx import kthvalue_form, median_form, median_of_all_form, mode_form, sort_form, topk_form
from ..reduce.min_max import placed, select_back, selection_spec, share_evenly_all

_INT64 = np.dtype(np.int64)
_SHORT = 128  # up to this length, sorting everything is as fast as finding the few that are wanted


# -- sort --------------------------------------------------------------------------------------------------------


def _argsort(xp: Any, array: Any, axis: int) -> Any:
    """The indices that sort an array in rising order; NumPy's function would call the method through a wrapper."""
    return array.argsort(axis=axis, kind="stable") if xp is np else xp.argsort(array, axis=axis, kind="stable")


def stable_order(xp: Any, array: Any, axis: int, descending: bool) -> Any:
    """The indices that sort an array along an axis, equals in their order."""
    if not descending:
        return _argsort(xp, array, axis)
    back = part(axis, None, None, -1)  # sorted backwards from behind, equals come out in their order
    return array.shape[axis] - 1 - _argsort(xp, array[back], axis)[back]


def _sort_spec(name: str, input: Any, dim: Any) -> list[Spec]:
    normalize_dim(dim, input.ndim)
    if input.dtype.kind == "c":
        raise DtypeError(f"{name}() does not support complex numbers, which have no order")
    return [Spec(input.shape, input.dtype), Spec(input.shape, _INT64)]


def _sort_kernel(xp: Any, input: Any, dim: Any, descending: bool, stable: Any) -> tuple[Any, Any]:
    _sort_spec("sort", input, dim)
    array, axis = along(input, dim)
    order = stable_order(xp, array, axis, descending)
    return xp.take_along_axis(array, order, axis).reshape(input.shape), order.reshape(input.shape)


def _put_back(g: Any, input_shape: Any, dim: int, indices: Any) -> Any:
    return placed(g, indices, input_shape, dim) if input_shape else g


@primitive(
    layout="preserve",
    meta=lambda input, dim, descending, stable: _sort_spec("sort", input, dim),
    kernel=_sort_kernel,
    vjp={"input": _put_back},
    returns=("values", "indices"),
    nondifferentiable=("indices",),
    onnx={9: sort_form},
)
def sort(input: Tensor, dim: int = -1, descending: bool = False, *, stable: bool = False) -> tuple[Tensor, Tensor]:
    """The elements in order along a dimension, and where each was; equals always keep their order, as if ``stable``."""


def _argsort_kernel(xp: Any, input: Any, dim: Any, descending: bool, stable: Any) -> Any:
    _sort_spec("argsort", input, dim)
    array, axis = along(input, dim)
    return stable_order(xp, array, axis, descending).reshape(input.shape)


@primitive(
    meta=lambda input, dim, descending, stable: _sort_spec("argsort", input, dim)[1],
    kernel=_argsort_kernel,
    vjp={},
    out=False,
    onnx={9: lambda g, *values: sort_form(g, *values)[1]},
)
def argsort(input: Tensor, dim: int = -1, descending: bool = False, *, stable: bool = False) -> Tensor:
    """The indices that sort a tensor along a dimension."""


@composite(
    out=True,
)
def msort(input: Tensor) -> Tensor:
    """The elements in order along the first dimension."""
    return sort(input, 0).values


# -- topk --------------------------------------------------------------------------------------------------------


def _topk_spec(input: Any, k: Any, dim: Any, largest: bool, sorted: bool) -> list[Spec]:
    axis = normalize_dim(dim, input.ndim)
    if input.dtype.kind in "cb":
        raise DtypeError(f"topk() does not support {BY_NUMPY[input.dtype].name} numbers")
    if not 0 <= k <= (input.shape[axis] if input.ndim else 1):
        raise OperationError(f"topk(): selected index k out of range: {k} of {input.shape[axis] if input.ndim else 1} elements")
    shape = tuple(k if other == axis else size for other, size in enumerate(input.shape))
    return [Spec(shape, input.dtype), Spec(shape, _INT64)]


def _first_of_order(xp: Any, rows: Any, k: int, largest: bool) -> Any:
    """The indices of the ``k`` largest or smallest along the last axis, in order of position; of equals the first."""
    length = rows.shape[-1]
    rank = length - k if largest else k - 1
    edge = xp.partition(rows, rank, axis=-1)[..., rank : rank + 1]
    chosen = rows >= edge if largest else rows <= edge
    if (xp.count_nonzero(chosen, axis=-1) != k).any():  # elements equal to the last that is chosen, or NaN
        chosen, equal = rows > edge if largest else rows < edge, rows == edge
        if rows.dtype.kind == "f":
            missing, edge_missing = xp.isnan(rows), xp.isnan(edge)
            equal |= missing & edge_missing
            chosen |= (missing & ~edge_missing) if largest else (edge_missing & ~missing)
        needed = k - xp.count_nonzero(chosen, axis=-1, keepdims=True)
        chosen |= equal & (xp.cumsum(equal, axis=-1) <= needed)
    return (xp.flatnonzero(chosen) % length).reshape(*rows.shape[:-1], k)


def _topk_kernel(xp: Any, input: Any, k: int, dim: Any, largest: bool, sorted: bool) -> tuple[Any, Any]:
    shape = _topk_spec(input, k, dim, largest, sorted)[0].shape
    if not input.ndim:  # one element, even if none is asked for
        return xp.array(input), xp.zeros((), _INT64)
    array, axis = along(input, dim)
    if array.shape[axis] <= _SHORT or 4 * k >= array.shape[axis] or not array.size or not k:
        indices = stable_order(xp, array, axis, largest)[part(axis, None, k)]
        values = xp.take_along_axis(array, indices, axis)
    else:
        rows = xp.ascontiguousarray(xp.moveaxis(array, axis, -1))
        found = _first_of_order(xp, rows, k, largest)
        picked = xp.take_along_axis(rows, found, -1)
        order = stable_order(xp, picked, -1 % rows.ndim, largest)
        indices = xp.moveaxis(xp.take_along_axis(found, order, -1), -1, axis)
        values = xp.moveaxis(xp.take_along_axis(picked, order, -1), -1, axis)
    return xp.ascontiguousarray(values).reshape(shape), xp.ascontiguousarray(indices).reshape(shape)


@primitive(
    meta=_topk_spec,
    kernel=_topk_kernel,
    vjp={"input": _put_back},
    returns=("values", "indices"),
    nondifferentiable=("indices",),
    onnx={9: topk_form},
)
def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> tuple[Tensor, Tensor]:
    """The ``k`` largest (or smallest) elements along a dimension, in order, and where they are."""


# -- elements by rank --------------------------------------------------------------------------------------------


def by_rank(xp: Any, rows: Any, ranks: Any) -> tuple[Any, Any]:
    """The elements of given ranks (0 is the smallest) along the last axis, and where they are."""
    if rows.shape[-1] <= _SHORT:
        places = xp.take_along_axis(_argsort(xp, rows, -1), ranks, -1)
        return xp.take_along_axis(rows, places, -1)[..., 0], places[..., 0]
    value = xp.take_along_axis(xp.partition(rows, np.unique(ranks), axis=-1), ranks, -1)
    equal, below = rows == value, rows < value
    if rows.dtype.kind == "f":
        missing, value_missing = xp.isnan(rows), xp.isnan(value)
        equal |= missing & value_missing
        below |= value_missing & ~missing
    which = ranks - xp.count_nonzero(below, axis=-1, keepdims=True)  # of the equals, by position
    return value[..., 0], xp.argmax(xp.cumsum(equal, axis=-1) == which + 1, axis=-1)


def _select(xp: Any, input: Any, dim: Any, keepdim: bool, ranks: Any) -> tuple[Any, Any]:
    """Values and indices along a dimension; ``ranks`` gives the rank for each row."""
    array, axis = along(input, dim)
    rows = xp.moveaxis(array, axis, -1)
    if rows.size:
        values, indices = by_rank(xp, rows, ranks(rows))
    else:
        values, indices = xp.empty(rows.shape[:-1], rows.dtype), xp.empty(rows.shape[:-1], _INT64)
    if keepdim and input.ndim:
        return xp.expand_dims(values, axis), xp.expand_dims(indices, axis)
    return values, indices


def _kthvalue_spec(input: Any, k: Any, dim: Any, keepdim: bool) -> list[Spec]:
    specs = selection_spec("kthvalue", input, dim, keepdim, "cb")
    axis = normalize_dim(dim, input.ndim)
    if not 1 <= k <= (input.shape[axis] if input.ndim else 1):
        raise OperationError(f"kthvalue(): selected number k out of range for dimension {axis}")
    return specs


def _kthvalue_kernel(xp: Any, input: Any, k: int, dim: Any, keepdim: bool) -> tuple[Any, Any]:
    _kthvalue_spec(input, k, dim, keepdim)
    return _select(xp, input, dim, keepdim, lambda rows: xp.full((*rows.shape[:-1], 1), k - 1))


def _select_gradient(g: Any, input_shape: Any, dim: int, keepdim: bool, indices: Any) -> Any:
    return select_back(g, input_shape, dim, keepdim, indices)


@primitive(
    meta=_kthvalue_spec,
    kernel=_kthvalue_kernel,
    vjp={"input": _select_gradient},
    returns=("values", "indices"),
    nondifferentiable=("indices",),
    onnx={9: kthvalue_form},
)
def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The ``k``-th smallest element (counted from 1) along a dimension, and where it is."""


def _check_median(name: str, input: Any) -> Spec:
    if input.dtype.kind in "cb":
        raise NotSupported(f"{name}() is not implemented for torch.{BY_NUMPY[input.dtype].name}")
    return Spec((), input.dtype)


def _median_ranks(xp: Any, rows: Any, skip: bool) -> Any:
    """The rank of the lower median of each row; of rows with NaN, that of the first NaN unless they are skipped."""
    length = rows.shape[-1]
    if rows.dtype.kind != "f":
        return xp.full((*rows.shape[:-1], 1), (length - 1) // 2)
    missing = xp.count_nonzero(xp.isnan(rows), axis=-1, keepdims=True)
    if skip:
        return xp.maximum(length - missing - 1, 0) // 2
    return xp.where(missing > 0, length - missing, (length - 1) // 2)


def _median_of_all(name: str, skip: bool) -> Any:
    def kernel(xp: Any, input: Any) -> Any:
        _check_median(name, input)
        if not input.size:
            wide = input.dtype.itemsize >= 4  # NaN as an integer
            return xp.asarray(xp.nan if input.dtype.kind == "f" else np.iinfo(input.dtype).min if wide else 0, input.dtype)
        rows = input.reshape(1, -1)
        rank = int(_median_ranks(xp, rows, skip)[0, 0])
        return xp.partition(rows, rank, axis=1)[0, rank]

    return kernel


def _median_along(name: str, skip: bool) -> Any:
    def kernel(xp: Any, input: Any, dim: Any, keepdim: bool) -> tuple[Any, Any]:
        selection_spec(name, input, dim, keepdim, "cb")
        return _select(xp, input, dim, keepdim, lambda rows: _median_ranks(xp, rows, skip))

    return kernel


def _declare_median(name: str, skip: bool, what: str) -> None:
    """The two functions behind one front: of all elements, and along a dimension."""

    def of_all(input: Tensor) -> Tensor: ...

    def of_dim(input: Tensor, dim: int, keepdim: bool) -> tuple[Tensor, Tensor]: ...

    of_all.__doc__ = f"The median of all elements{what}."
    of_dim.__doc__ = f"The medians along a dimension{what}, and where they are."
    node = name.capitalize() + "Backward"
    options: dict[str, Any] = {"namespace": None, "method": False, "out": False, "public_name": name}
    primitive(
        meta=lambda input: _check_median(name, input), kernel=_median_of_all(name, skip),
        vjp={"input": share_evenly_all}, name=name + "_all", node_name=node + "0",
        onnx=median_of_all_form(skip), **options,
    )(of_all)  # fmt: skip
    primitive(
        meta=lambda input, dim, keepdim: selection_spec(name, input, dim, keepdim, "cb"),
        kernel=_median_along(name, skip), vjp={"input": _select_gradient}, name=name + "_dim", node_name=node + "1",
        returns=("values", "indices"), nondifferentiable=("indices",), onnx=median_form(skip), **options,
    )(of_dim)  # fmt: skip


_declare_median("median", False, ", the lower of the two in the middle; NaN if there is one")
_declare_median("nanmedian", True, " that are not NaN, the lower of the two in the middle")


@composite(out=True)
def median(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """The median (of two in the middle the lower) of all elements, or along a dimension with indices; NaN if there is one."""
    return table["median_all"].call(input) if dim is None else table["median_dim"].call(input, dim, keepdim)


@composite(out=True)
def nanmedian(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """The median of the elements that are not NaN, or along a dimension with indices."""
    return table["nanmedian_all"].call(input) if dim is None else table["nanmedian_dim"].call(input, dim, keepdim)


def _mode_kernel(xp: Any, input: Any, dim: Any, keepdim: bool) -> tuple[Any, Any]:
    """In order, equals are neighbours: the place in its run of equals is largest at the end of the longest run."""
    selection_spec("mode", input, dim, keepdim)
    array, axis = along(input, dim)
    rows = xp.moveaxis(array, axis, -1)
    if not rows.size:
        return _select(xp, input, dim, keepdim, None)
    order = _argsort(xp, rows, -1)
    ordered = xp.take_along_axis(rows, order, -1)
    positions = xp.arange(rows.shape[-1])
    begins = xp.ones(rows.shape, bool)
    begins[..., 1:] = ordered[..., 1:] != ordered[..., :-1]
    place = positions - xp.maximum.accumulate(xp.where(begins, positions, 0), axis=-1)
    longest = xp.argmax(place, axis=-1)[..., None]
    values, indices = (xp.take_along_axis(each, longest, -1)[..., 0] for each in (ordered, order))
    if keepdim and input.ndim:
        return xp.expand_dims(values, axis), xp.expand_dims(indices, axis)
    return values, indices


@primitive(
    meta=lambda input, dim, keepdim: selection_spec("mode", input, dim, keepdim),
    kernel=_mode_kernel,
    vjp={"input": _select_gradient},
    returns=("values", "indices"),
    nondifferentiable=("indices",),
    onnx={9: mode_form},
)
def mode(input: Tensor, dim: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The most frequent element along a dimension (the smallest of equally frequent ones), and where it is last."""

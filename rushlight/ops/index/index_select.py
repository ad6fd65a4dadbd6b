"""Reading and writing whole slices by their positions along one dimension: index_select, index_add and their like."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.base import Spec
from ...core.base import TensorBase as Tensor
from ...core.declare import composite, primitive
from ...core.dtypes import bool_, legacy_name
from ...core.errors import DimensionError, DtypeError, OperationError, RushlightError, ShapeError
from ...core.families import normalize_dim
from ..create.factories import ones_like
from .gather_scatter import (
    CHUNK,
    check_bounds,
    check_index_type,
    combine,
    dimensioned,
    element_positions,
    on_a_copy,
    scatter_reduce,
    wrapped,
)  # fmt: skip
from .indexing_onnx import index_add_form, index_fill_form, index_select_form, write_slices
from .masking import fitting_scalar, masked_fill

Number = int | float | complex | bool


def _check_vector(name: str, index: Any, error: type[RushlightError] = DimensionError) -> None:
    if index.ndim > 1:
        raise error(f"{name}(): Index is supposed to be a vector, but got {index.ndim} dimensions: {list(index.shape)}")


def _places(dim: int, index: Any) -> tuple[Any, ...]:
    """What picks the slices out of an array."""
    return (slice(None),) * dim + (index.reshape(-1),)


# -- reading -----------------------------------------------------------------------------------------------------


def _index_select_meta(input: Any, dim: int, index: Any) -> Spec:
    dim = normalize_dim(dim, input.ndim)
    _check_vector("index_select", index)
    check_index_type("index_select", index)
    if not input.ndim:
        if index.size != 1:
            raise ShapeError(f"index_select(): Index to scalar can have only 1 value, got {index.size} value(s)")
        return Spec((), input.dtype)
    return Spec((*input.shape[:dim], index.size, *input.shape[dim + 1 :]), input.dtype)


def _index_select_kernel(xp: Any, input: Any, dim: int, index: Any) -> Any:
    spec = _index_select_meta(input, dim, index)
    dim = normalize_dim(dim, input.ndim)
    size = input.shape[dim] if input.ndim else 1
    if input.ndim > 1 and index.size and not size:
        raise ShapeError("index_select(): self indexing axis dim should be positive")
    try:
        check_bounds(index, dim, size)
    except DimensionError as error:
        if not dim:
            raise
        wrong = index[(index < 0) | (index >= size)].flat[0]  # PyTorch has another loop for other dimensions than the first
        raise ShapeError(f"INDICES element is out of DATA bounds, id={wrong} axis_dim={size}") from error
    return xp.take(input.reshape(dimensioned(input.shape)), index.reshape(-1), axis=dim).reshape(spec.shape)


@primitive(
    meta=_index_select_meta,
    kernel=_index_select_kernel,
    vjp={"input": lambda g, input_shape, dim, index: index_select_backward(g, input_shape, dim, index)},
    exact=True,
    onnx={9: index_select_form},
)
def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """The slices of one dimension that a vector of positions names."""


def add_slices(xp: Any, target: Any, dim: int, index: Any, source: Any) -> None:
    shape = dimensioned(target.shape)
    index = index.reshape((-1,) + (1,) * (len(shape) - 1 - dim))
    source = source.reshape((*shape[:dim], index.size, *shape[dim + 1 :]))
    if dim:
        combine(xp, "add", target, element_positions(xp, index, dim, shape, source.shape), source)
        return
    step = max(1, CHUNK // max(source[:1].size, 1))  # some rows at a time: their positions are made and used in the cache
    for start in range(0, source.shape[0], step):
        part = source[start : start + step]
        combine(xp, "add", target, element_positions(xp, index[start : start + step], 0, shape, part.shape), part)


def _index_select_backward_kernel(xp: Any, grad: Any, shape: Any, dim: int, index: Any) -> Any:
    result = xp.zeros(shape, grad.dtype)
    add_slices(xp, result, normalize_dim(dim, len(shape)), index, grad)
    return result


@primitive(
    meta=lambda grad, shape, dim, index: Spec(shape, grad.dtype),
    kernel=_index_select_backward_kernel,
    vjp={"grad": lambda g, dim, index: index_select(g, dim, index)},
    namespace=None,
    method=False,
    out=False,
    onnx={9: lambda g, grad, shape, dim, index: write_slices(g, g.full(shape, 0, grad.dtype), dim, index, grad, "add")},
)
def index_select_backward(grad: Tensor, shape: Any, dim: int, index: Tensor) -> Tensor:
    """Zeros of a shape with ``grad`` added where ``index_select`` read."""


# -- writing -----------------------------------------------------------------------------------------------------


def _index_add_check(name: str, input: Any, dim: int, index: Any, source: Any) -> None:
    dim = normalize_dim(dim, input.ndim)
    check_index_type(name, index)
    if input.dtype != source.dtype:
        raise DtypeError(
            f"{name}(): self ({legacy_name(input.dtype)}) and source ({legacy_name(source.dtype)}) must have the same scalar type"
        )
    _check_vector(name, index)
    count = source.shape[dim] if source.ndim > dim else 1
    if index.size != count:
        raise ShapeError(f"{name}(): Number of indices ({index.size}) should be equal to source.size(dim): ({count}), for dim: {dim}")
    if source.ndim != input.ndim or any(a != b for i, (a, b) in enumerate(zip(input.shape, source.shape)) if i != dim):
        raise ShapeError(
            f"{name}(): source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = "
            f"{list(input.shape)} source.shape = {list(source.shape)}"
        )


def _index_add_meta(input: Any, dim: int, index: Any, source: Any, alpha: Any = 1) -> Spec:
    _index_add_check("index_add", input, dim, index, source)
    return Spec(input.shape, input.dtype)


def _index_add_into(xp: Any, input: Any, dim: int, index: Any, source: Any, alpha: Any = 1) -> None:
    _index_add_check("index_add", input, dim, index, source)
    dim = normalize_dim(dim, input.ndim)
    check_bounds(index, dim, input.shape[dim] if input.ndim else 1, OperationError if input.ndim > 1 else DimensionError)
    if alpha != 1:
        source = source * fitting_scalar(alpha, source.dtype)
    add_slices(xp, input, dim, index, source)


@primitive(
    apart=True,
    meta=_index_add_meta,
    kernel=on_a_copy(_index_add_into),
    in_place_kernel=_index_add_into,
    vjp={
        "input": lambda g: g,
        "source": lambda g, dim, index, alpha, source_shape: (index_select(g, dim, index) * alpha).reshape(source_shape),
    },
    exact=True,
    in_place=True,
    onnx={9: index_add_form},
)
def index_add(input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Number = 1) -> Tensor:
    """Add the slices of a source, times ``alpha``, to those that a vector of positions names; repeats add up."""


def _index_copy_meta(input: Any, dim: int, index: Any, source: Any) -> Spec:
    dim = normalize_dim(dim, input.ndim)
    if index.ndim > 1:
        raise DimensionError(f"index_copy(): Index should have dimension 1 or 0 (got {index.ndim})")
    if input.ndim and source.ndim and input.ndim != source.ndim:
        raise DimensionError(
            "index_copy(): When source and destination are not scalars, their dimensionality must match. Source "
            f"dimensionality ({source.ndim}), destination dimensionality ({input.ndim})"
        )
    check_index_type("index_copy", index, long_only=True)
    if input.dtype != source.dtype:
        raise DtypeError(
            "index_copy(): self and source expected to have the same dtype, but got (self) "
            f"{legacy_name(input.dtype)} and (source) {legacy_name(source.dtype)}"
        )
    shape, given = dimensioned(input.shape), dimensioned(source.shape)
    if shape[:dim] + shape[dim + 1 :] != given[:dim] + given[dim + 1 :]:
        raise ShapeError(
            f"index_copy(): Source/destination tensor must have same slice shapes: {list(input.shape)} and {list(source.shape)} "
            f"differ apart from dimension {dim}"
        )
    if index.size != given[dim]:
        raise DimensionError(f"index_copy(): Number of indices ({index.size}) should be equal to source.size(dim) ({given[dim]})")
    return Spec(input.shape, input.dtype)


def _index_copy_into(xp: Any, input: Any, dim: int, index: Any, source: Any) -> None:
    _index_copy_meta(input, dim, index, source)
    dim = normalize_dim(dim, input.ndim)
    check_bounds(index, dim, input.shape[dim] if input.ndim else 1)
    if input.ndim:
        input[_places(dim, index)] = source
    elif index.size:
        input[...] = source.reshape(-1)[-1]


@primitive(
    apart=True,
    meta=_index_copy_meta,
    kernel=on_a_copy(_index_copy_into),
    in_place_kernel=_index_copy_into,
    vjp={
        "input": lambda g, dim, index: index_fill(g, dim, index, 0),
        "source": lambda g, dim, index, source_shape: index_select(g, dim, index).reshape(source_shape),
    },
    exact=True,
    in_place=True,
    onnx={9: write_slices},
)
def index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """Write the slices of a source over those that a vector of positions names."""


def _index_fill_meta(input: Any, dim: int, index: Any, value: Any) -> Spec:
    normalize_dim(dim, input.ndim)
    check_index_type("index_fill", index, DimensionError, long_only=True)
    _check_vector("index_fill", index, OperationError)
    if getattr(value, "ndim", 0):
        raise ShapeError(f"index_fill only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s).")
    if value.__class__ is not Spec:
        if (isinstance(value, complex) or getattr(getattr(value, "dtype", None), "kind", "") == "c") and input.dtype.kind != "c":
            raise DtypeError("index_fill_(): Converting complex Scalar to non-complex type is not supported")
        fitting_scalar(value, input.dtype)
    return Spec(input.shape, input.dtype)


def _index_fill_into(xp: Any, input: Any, dim: int, index: Any, value: Any) -> None:
    _index_fill_meta(input, dim, index, value)
    dim = normalize_dim(dim, input.ndim)
    target = input if input.ndim else input.reshape(1)
    target[_places(dim, wrapped(xp, index, dim, target.shape[dim]))] = fitting_scalar(value, input.dtype)


@primitive(
    apart=True,
    out=False,
    one_value="tensor[indices] = scalar",
    meta=_index_fill_meta,
    kernel=on_a_copy(_index_fill_into),
    in_place_kernel=_index_fill_into,
    vjp={
        "input": lambda g, dim, index: index_fill(g, dim, index, 0),
        "value": lambda g, dim, index: masked_fill(g, index_fill(ones_like(g, dtype=bool_), dim, index, False), 0).sum(),
    },
    exact=True,
    in_place=True,
    onnx={9: index_fill_form},
)
def index_fill(input: Tensor, dim: int, index: Tensor, value: Tensor | Number) -> Tensor:
    """Write a number over the slices that a vector of positions names."""


@composite(out=True, in_place=True)
def index_reduce(input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True) -> Tensor:
    """Reduce the slices of a source into those that a vector of positions names: "prod", "mean", "amax" or "amin"."""
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise OperationError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    array, places = input._array, index._array
    _index_add_check("index_reduce", array, dim, places, source._array)
    dim = normalize_dim(dim, array.ndim)
    if places.__class__ is np.ndarray:
        check_bounds(places, dim, array.shape[dim] if array.ndim else 1)
    shape = tuple(source._array.shape)
    spread = index.reshape((-1,) + (1,) * (len(shape) - 1 - dim)).expand(shape) if shape else index
    return scatter_reduce(input, dim, spread, source, reduce, include_self=include_self)

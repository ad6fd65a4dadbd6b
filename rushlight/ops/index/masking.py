"""Masks: writing to, reading and finding the elements where a bool tensor is true."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.base import Spec
from ...core.base import TensorBase as Tensor
from ...core.declare import composite, primitive, table
from ...core.devices import device_type_of, is_array
from ...core.dtypes import BY_NUMPY, COMPLEX, FLOATING, INTEGRAL, finfo, legacy_name, scalar_category
from ...core.errors import DtypeError, NotSupported, OperationError, ShapeError
from ...core.families import as_scalar, broadcast_shapes
from ..create.factories import zeros

Number = int | float | complex | bool

_BOOL = np.dtype(np.bool_)


def fitting_scalar(value: Any, dtype: np.dtype[Any]) -> Any:
    """A number (or 0-dim array) as a NumPy scalar of a type; one that the type can't hold is an error.

    As in PyTorch, fractions are cut off, negative integers wrap in unsigned types, and nan and inf fit any float.
    """
    if isinstance(value, np.ndarray):
        value = value.reshape(()).astype(np.float64)[()] if value.dtype.kind == "V" else value[()]
    if is_array(value):
        value = device_type_of(value).to_host(value)
    to = BY_NUMPY[dtype]
    if isinstance(value, (complex, np.complexfloating)) and to.category < COMPLEX:
        if value.imag:
            raise _unfitting(value, to)
        value = value.real
    if to.category == INTEGRAL:
        if scalar_category(value) == FLOATING:
            if not np.isfinite(value) or (dtype.kind == "u" and value < 0):
                raise _unfitting(value, to)
        whole, bits = int(value), 8 * dtype.itemsize
        low, high = (-(1 << (bits - 1)), 1 << (bits - 1)) if dtype.kind == "i" else (-(1 << bits) + 1, 1 << bits)
        if not low <= whole < high:
            raise _unfitting(value, to)
        return as_scalar(whole, dtype)
    if to.category == FLOATING and value and abs(float(value)) > _largest(to) and np.isfinite(value):
        raise _unfitting(value, to)
    return dtype.type(value)


_LARGEST: dict[Any, float] = {}


def _largest(to: Any) -> float:
    found = _LARGEST.get(to)
    if found is None:
        found = _LARGEST[to] = finfo(to).max
    return found


def _unfitting(value: Any, to: Any) -> OperationError:
    return OperationError(f"value {value} cannot be converted to type {to!r} without overflow")


def check_mask(name: str, mask: Any) -> None:
    """Refuse a mask that is not bool."""
    if mask.dtype != _BOOL and name == "masked_select":
        raise DtypeError(f"masked_select: expected BoolTensor for mask, but got {BY_NUMPY[mask.dtype]!r}")
    if mask.dtype != _BOOL:
        raise DtypeError(f"{name} only supports boolean masks, but got mask with dtype {BY_NUMPY[mask.dtype]!r}")


def _masked_fill_meta(input: Any, mask: Any, value: Any) -> Spec:
    check_mask("masked_fill", mask)
    if getattr(value, "ndim", 0):
        raise ShapeError(f"masked_fill only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s).")
    if value.__class__ is not Spec:
        fitting_scalar(value, input.dtype)
    return Spec(broadcast_shapes([tuple(mask.shape), tuple(input.shape)]), input.dtype)


def _masked_fill_kernel(xp: Any, input: Any, mask: Any, value: Any) -> Any:
    if mask.dtype is not _BOOL or getattr(value, "ndim", 0) > 0:
        _masked_fill_meta(input, mask, value)
    return xp.where(mask, fitting_scalar(value, input.dtype), input)


def _masked_fill_into(xp: Any, input: Any, mask: Any, value: Any) -> None:
    if mask.dtype is not _BOOL or getattr(value, "ndim", 0) > 0:
        _masked_fill_meta(input, mask, value)
    if mask.shape != input.shape:
        shape = broadcast_shapes([mask.shape, input.shape])
        if shape != input.shape:
            raise ShapeError(f"output with shape {list(input.shape)} doesn't match the broadcast shape {list(shape)}")
    xp.copyto(input, fitting_scalar(value, input.dtype), where=mask)


@primitive(
    one_value="tensor[mask] = scalar",
    layout="contiguous",
    meta=_masked_fill_meta,
    kernel=_masked_fill_kernel,
    in_place_kernel=_masked_fill_into,
    vjp={
        "input": lambda g, mask: masked_fill(g, mask, 0),
        "value": lambda g, mask: masked_fill(g, table["logical_not"].call(mask), 0).sum(),
    },
    exact=True,
    in_place=True,
    out=False,
    onnx={9: lambda g, input, mask, value: g.where(mask, g.number(value, input.dtype), input)},
)
def masked_fill(input: Tensor, mask: Tensor, value: Tensor | Number) -> Tensor:
    """``input`` with ``value`` wherever ``mask`` is true."""


# -- reading and writing the masked elements one after the other -------------------------------------------------


def _masked_select_meta(input: Any, mask: Any) -> Spec:
    check_mask("masked_select", mask)
    broadcast_shapes([tuple(mask.shape), tuple(input.shape)])
    raise NotSupported("masked_select(): the shape of the result depends on the data, and meta tensors have none")


def _masked_select_kernel(xp: Any, input: Any, mask: Any) -> Any:
    check_mask("masked_select", mask)
    if mask.shape != input.shape:
        shape = broadcast_shapes([mask.shape, input.shape])
        input, mask = xp.broadcast_to(input, shape), xp.broadcast_to(mask, shape)
    return input[mask].reshape(-1)


def _masked_select_gradient(g: Any, input_shape: Any, mask: Any) -> Any:
    shape = broadcast_shapes([tuple(mask._array.shape), tuple(input_shape)])
    return masked_scatter(zeros(shape, dtype=g.dtype, device=g.device), mask, g)


def _masked_select_onnx(g: Any, input: Any, mask: Any) -> Any:
    shape = broadcast_shapes([tuple(mask.shape), tuple(input.shape)])
    return g.Compress(g.at_least_1d(g.expand(input, shape)), g.reshape(g.expand(mask, shape), (math.prod(shape),)))


@primitive(
    meta=_masked_select_meta,
    kernel=_masked_select_kernel,
    vjp={"input": _masked_select_gradient},
    exact=True,
    data_dependent=True,
    onnx={9: _masked_select_onnx},
)
def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """A vector of the elements where ``mask`` is true."""


def _masked_scatter_meta(input: Any, mask: Any, source: Any) -> Spec:
    check_mask("masked_scatter", mask)
    if input.dtype != source.dtype:
        raise DtypeError(
            "masked_scatter: expected self and source to have same dtypes but got "
            f"{legacy_name(input.dtype)} and {legacy_name(source.dtype)}"
        )
    return Spec(broadcast_shapes([tuple(mask.shape), tuple(input.shape)]), input.dtype)


def _masked_scatter_into(xp: Any, input: Any, mask: Any, source: Any) -> None:
    shape = _masked_scatter_meta(input, mask, source).shape
    if shape != input.shape:
        raise ShapeError(f"output with shape {list(input.shape)} doesn't match the broadcast shape {list(shape)}")
    mask = mask if mask.shape == shape else xp.broadcast_to(mask, shape)
    count = int(xp.count_nonzero(mask))
    if count > source.size:
        raise OperationError(f"masked_scatter: the source has {source.size} elements, but the mask selects {count}")
    input[mask] = source.reshape(-1)[:count]


def _masked_scatter_kernel(xp: Any, input: Any, mask: Any, source: Any) -> Any:
    spec = _masked_scatter_meta(input, mask, source)
    result = xp.array(xp.broadcast_to(input, spec.shape), order="C", copy=True)
    _masked_scatter_into(xp, result, mask, source)
    return result


def _masked_scatter_onnx(g: Any, input: Any, mask: Any, source: Any) -> Any:
    shape = g.outputs[0].shape
    count = (math.prod(shape),)
    places = g.squeeze(g.nonzero(g.reshape(g.expand(mask, shape), count)), [0])
    source = g.reshape(source, (math.prod(source.shape),))
    used = g.slice(source, [0], [g.size(places, 0)], [0])
    return g.reshape(g.scatter_elements(g.reshape(g.expand(input, shape), count), places, used, 0), shape)


@primitive(
    meta=_masked_scatter_meta,
    kernel=_masked_scatter_kernel,
    in_place_kernel=_masked_scatter_into,
    vjp={
        "input": lambda g, mask: masked_fill(g, mask, 0),
        "source": lambda g, mask, source_shape: masked_scatter_backward(g, mask, source_shape),
    },
    exact=True,
    in_place=True,
    out=False,
    onnx={9: _masked_scatter_onnx},
)
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """The elements of ``source``, one after the other, where ``mask`` is true."""


def _masked_scatter_backward_kernel(xp: Any, grad: Any, mask: Any, shape: Any) -> Any:
    result = xp.zeros(shape, grad.dtype)
    picked = _masked_select_kernel(xp, grad, mask)
    result.reshape(-1)[: picked.size] = picked
    return result


def _masked_scatter_backward_onnx(g: Any, grad: Any, mask: Any, shape: Any) -> Any:
    picked = _masked_select_onnx(g, grad, mask)
    picked.shape = (None,)
    missing = g.Sub(g.number(math.prod(shape), np.int64), g.size(picked, 0))
    return g.reshape(g.pad_dim(picked, 0, 0, missing), shape)


@primitive(
    meta=lambda grad, mask, shape: Spec(shape, grad.dtype),
    kernel=_masked_scatter_backward_kernel,
    vjp={"grad": lambda g, mask, grad_shape: masked_scatter(zeros(grad_shape, dtype=g.dtype, device=g.device), mask, g)},
    exact=True,
    namespace=None,
    method=False,
    out=False,
    onnx={9: _masked_scatter_backward_onnx},
)
def masked_scatter_backward(grad: Tensor, mask: Tensor, shape: Any) -> Tensor:
    """The gradient of the source of ``masked_scatter``: the masked elements, then zeros."""


# -- where something is not zero ---------------------------------------------------------------------------------


def _unknown_shape(input: Any) -> Any:
    raise NotSupported("nonzero(): the shape of the result depends on the data, and meta tensors have none")


def _nonzero_rows_onnx(g: Any, input: Any) -> Any:
    return g.transpose(g.nonzero(input), [1, 0])


def nonzero_columns_form(g: Any, input: Any) -> Any:
    """The ONNX form of ``nonzero(as_tuple=True)``."""
    found = g.nonzero(g.at_least_1d(input))
    return [g.squeeze(each, [0]) for each in g.split(found, [1] * max(input.rank, 1), 0)]


def _nonzero_rows_kernel(xp: Any, input: Any) -> Any:
    columns = xp.nonzero(xp.atleast_1d(input))
    return xp.stack(columns).T if input.ndim else xp.empty((columns[0].size, 0), np.int64)


@primitive(
    meta=_unknown_shape,
    kernel=_nonzero_rows_kernel,
    vjp={},
    exact=True,
    namespace=None,
    method=False,
    data_dependent=True,
    onnx={9: _nonzero_rows_onnx},
)
def nonzero_rows(input: Tensor) -> Tensor:
    """A matrix with the position of a non-zero element in each row: what ``nonzero`` calls."""


@primitive(
    meta=_unknown_shape,
    kernel=lambda xp, input: [xp.ascontiguousarray(each) for each in xp.nonzero(xp.atleast_1d(input))],
    vjp={},
    returns="list",
    exact=True,
    namespace=None,
    method=False,
    out=False,
    data_dependent=True,
    onnx={9: nonzero_columns_form},
)
def nonzero_columns(input: Tensor) -> Tensor:
    """The positions of non-zero elements, a vector for each dimension: what ``nonzero(as_tuple=True)`` calls."""


@composite(
    out=True,
    data_dependent=True,
    onnx={9: lambda g, input, as_tuple: nonzero_columns_form(g, input) if as_tuple else _nonzero_rows_onnx(g, input)},
)
def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """Where elements are not zero: a position in each row, or (``as_tuple``) a vector of positions for each dimension."""
    return nonzero_columns(input) if as_tuple else nonzero_rows(input)


@composite(
    data_dependent=True,
    onnx={9: _nonzero_rows_onnx},
)
def argwhere(input: Tensor) -> Tensor:
    """Where elements are not zero, a position in each row."""
    return nonzero_rows(input)


def _nonzero_static_meta(input: Any, size: int, fill_value: int = -1) -> Spec:
    if size < 0:
        raise OperationError("nonzero_static: 'size' must be a non-negative integer")
    return Spec((size, input.ndim), np.dtype(np.int64))


def _nonzero_static_kernel(xp: Any, input: Any, size: int, fill_value: int = -1) -> Any:
    result = xp.full(_nonzero_static_meta(input, size).shape, fill_value, np.int64)
    found = _nonzero_rows_kernel(xp, input)[:size]
    result[: len(found)] = found
    return result


def _nonzero_static_onnx(g: Any, input: Any, size: int, fill_value: int) -> Any:
    found = _nonzero_rows_onnx(g, input)
    filled = g.concat([found, g.full((size, input.rank), fill_value, np.int64)], 0)
    return g.slice(filled, [0], [size], [0])


@primitive(meta=_nonzero_static_meta, kernel=_nonzero_static_kernel, vjp={}, exact=True, onnx={9: _nonzero_static_onnx})
def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """Where elements are not zero, in so many rows: cut off, or filled up with ``fill_value``."""

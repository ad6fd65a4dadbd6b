"""The largest and smallest elements, and where they are.  NaN is both larger and smaller than every number."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ...core.base import Spec
from ...core.base import TensorBase as Tensor
from ...core.declare import composite, primitive, table
from ...core.dtypes import BY_NUMPY
from ...core.errors import ArgumentError, DimensionError, DtypeError, NotSupported, OperationError
from ...core.families import Reduction, normalize_dim, reduced_shape
from ...core.kernel_providers import faster_rows
from ...core.parallel import LARGE, over_rows
from .cumulative import along
from .reductions_onnx import both_extremes_form, extreme_form, place_form, placed_form, selection_form
from .sums import fold_columns, restored

Number = int | float | complex | bool

_INT64 = np.dtype(np.int64)
_LARGE = 1 << 13


# -- what reductions to one element share ------------------------------------------------------------------------


def check_foldable(name: str, shape: Any, dim: Any, whole: type[Exception] = OperationError) -> None:
    """Refuse to pick one of no elements: ``dim`` is None for all dimensions, else one or several."""
    if 0 not in shape:
        return
    if dim is None or dim == ():
        raise whole(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument."
        )
    for axis in dim if isinstance(dim, (tuple, list)) else (dim,):
        if shape[axis] == 0:
            raise DimensionError(f"{name}(): Expected reduction dim {axis} to have non-zero size.")


def selection_spec(name: str, input: Any, dim: Any, keepdim: bool, refuse: str = "c") -> list[Spec]:
    """Values and indices of a reduction that picks along a dimension; ``refuse``: NumPy kinds that are not taken."""
    axis = normalize_dim(dim, input.ndim)
    if input.dtype.kind in refuse:
        raise NotSupported(f"{name}(): does not support {BY_NUMPY[input.dtype].name} input")
    if input.ndim:
        check_foldable(name, input.shape, axis)
    shape = reduced_shape(input.shape, (axis,), keepdim)
    return [Spec(shape, input.dtype), Spec(shape, _INT64)]


def select_back(g: Any, shape: Any, dim: int, keepdim: bool, indices: Any) -> Any:
    """The gradient of picking elements by their indices along a dimension: to each its own, to the others 0."""
    if not shape:
        return g
    if not keepdim:
        g, indices = g.unsqueeze(dim), indices.unsqueeze(dim)
    return placed(g, indices, shape, dim)


def _placed_kernel(xp: Any, grad: Any, indices: Any, shape: Any, dim: int) -> Any:
    result = xp.zeros(shape, grad.dtype)
    xp.put_along_axis(result, indices, grad, dim)
    return result


@primitive(
    meta=lambda grad, indices, shape, dim: Spec(shape, grad.dtype),
    kernel=_placed_kernel,
    vjp={"grad": lambda g, indices, dim: g.gather(dim, indices)},
    exact=True,
    namespace=None,
    method=False,
    out=False,
    onnx={9: placed_form},
)
def placed(grad: Tensor, indices: Tensor, shape: Any, dim: int) -> Tensor:
    """Zeros of a shape with ``grad`` in the places that ``indices`` (no two the same) name along a dimension."""


def share_evenly(g: Any, input: Any, result: Any, dim: Any, keepdim: bool) -> Any:
    """The gradient of an extreme value, shared by all elements that equal it."""
    shape = input._array.shape
    dim = None if dim == () or dim == [] else dim
    mask = input == restored(result, shape, dim, keepdim)
    return restored(g, shape, dim, keepdim) * mask / mask.sum(dim, dim is not None)


def share_evenly_all(g: Any, input: Any, result: Any) -> Any:
    """The gradient of the one extreme value of a tensor, shared by all elements that equal it, be it NaN."""
    mask = (input == result) | (input.isnan() & result.isnan())
    return (g / mask.sum()) * mask


def fold(ufunc: Any, array: Any, axes: tuple[int, ...], keepdim: bool) -> Any:
    """The largest or smallest along axes; large contiguous arrays go the faster ways."""
    if array.size < _LARGE or array.ndim < 2 or not array.flags.c_contiguous or array.__class__ is not np.ndarray:
        return ufunc.reduce(array, axis=axes if keepdim or len(axes) < array.ndim else None, keepdims=keepdim)
    if axes == (0,) and array.ndim == 2:
        result = fold_columns(ufunc, array)
    elif axes == (array.ndim - 1,):
        result = _fold_rows(ufunc, array)
    elif len(axes) == array.ndim:
        result = ufunc.reduce(_fold_rows(ufunc, array.reshape(len(array), -1)))
    else:
        return ufunc.reduce(array, axis=axes, keepdims=keepdim)
    return result.reshape(reduced_shape(array.shape, axes, keepdim))


def _fold_rows(ufunc: Any, array: Any) -> Any:
    made = (
        faster_rows(ufunc.__name__, array.reshape(-1, array.shape[-1]))
        if array.size >= LARGE and ufunc.__name__ in ("maximum", "minimum")
        else None
    )
    return _by_rows(partial(ufunc.reduce, axis=1), array, array.dtype) if made is None else made


def _by_rows(function: Any, array: Any, dtype: Any) -> Any:
    """A function that picks something from each row of a matrix, on all rows of an array, split over threads."""
    rows = array.reshape(-1, array.shape[-1])
    result = np.empty(len(rows), dtype)
    over_rows(lambda start, end: function(rows[start:end], out=result[start:end]), len(rows), rows.size)
    return result


def _places(name: str, array: Any, axis: int, keepdim: bool) -> Any:
    """``argmax`` or ``argmin`` along an axis."""
    if array.__class__ is not np.ndarray or array.size < _LARGE or axis != array.ndim - 1 or not array.flags.c_contiguous:
        return getattr(array, name)(axis, keepdims=keepdim)
    found = _by_rows(partial(getattr(np, name), axis=1), array, _INT64)
    return found.reshape(reduced_shape(array.shape, (axis,), keepdim))


# -- amax and amin -----------------------------------------------------------------------------------------------


class _Extreme(Reduction):
    """A reduction that picks, of numbers that have an order, and so of at least one."""

    __slots__ = ()

    def resolve(self, op: Any, values: Any) -> Any:
        found = super().resolve(op, values)
        array, axes = found[0], found[1]
        if array.dtype.kind == "c":
            raise NotSupported(f"{op.public_name}() is not implemented for complex numbers, which have no order")
        check_foldable(op.public_name, array.shape, axes if values[1] not in (None, (), []) else None)
        return found


@primitive(
    meta=_Extreme("same", True),
    kernel=lambda xp, input, axes, keepdim: fold(xp.maximum, input, axes, keepdim),
    vjp={"input": share_evenly},
    onnx=extreme_form("ReduceMax"),
)
def amax(input: Tensor, dim: Any = (), keepdim: bool = False) -> Tensor:
    """The largest element, of all or along dimensions; the gradient is shared evenly by equals."""


@primitive(
    meta=_Extreme("same", True),
    kernel=lambda xp, input, axes, keepdim: fold(xp.minimum, input, axes, keepdim),
    vjp={"input": share_evenly},
    onnx=extreme_form("ReduceMin"),
)
def amin(input: Tensor, dim: Any = (), keepdim: bool = False) -> Tensor:
    """The smallest element, of all or along dimensions; the gradient is shared evenly by equals."""


def _aminmax_spec(input: Any, dim: Any, keepdim: bool) -> list[Spec]:
    if input.dtype.kind == "c":
        raise NotSupported("aminmax() is not implemented for complex numbers, which have no order")
    axes = tuple(range(input.ndim)) if dim is None else (normalize_dim(dim, input.ndim),) * bool(input.ndim)
    check_foldable("aminmax", input.shape, None if dim is None else axes)
    return [Spec(reduced_shape(input.shape, axes, keepdim), input.dtype)] * 2


def _aminmax_kernel(xp: Any, input: Any, dim: Any, keepdim: bool) -> list[Any]:
    _aminmax_spec(input, dim, keepdim)
    axes = tuple(range(input.ndim)) if dim is None else (normalize_dim(dim, input.ndim),) * bool(input.ndim)
    return [fold(ufunc, input, axes, keepdim) for ufunc in (xp.minimum, xp.maximum)]


def _aminmax_gradient(g: Any, input: Any, min: Any, max: Any, dim: Any, keepdim: bool) -> Any:
    found = None
    for gradient, extreme in zip(g, (min, max)):
        if gradient is not None:
            share = share_evenly(gradient, input, extreme, dim, keepdim)
            found = share if found is None else found + share
    return found


@primitive(
    meta=_aminmax_spec, kernel=_aminmax_kernel, vjp={"input": _aminmax_gradient}, returns=("min", "max"), onnx={9: both_extremes_form}
)
def aminmax(input: Tensor, *, dim: int | None = None, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The smallest and the largest element, of all or along a dimension."""


# -- max and min -------------------------------------------------------------------------------------------------


def _whole_spec(name: str) -> Any:
    def spec(input: Any) -> Spec:
        if input.dtype.kind == "c":
            raise NotSupported(f"{name}() is not implemented for complex numbers, which have no order")
        check_foldable(name, input.shape, None)
        return Spec((), input.dtype)

    return spec


def _whole_kernel(name: str, ufunc: str) -> Any:
    check = _whole_spec(name)

    def kernel(xp: Any, input: Any) -> Any:
        check(input)
        return fold(getattr(xp, ufunc), input, tuple(range(input.ndim)), False)

    return kernel


def _along_spec(name: str) -> Any:
    return lambda input, dim, keepdim: selection_spec(name, input, dim, keepdim)


def _along_kernel(name: str, ufunc: str) -> Any:
    def kernel(xp: Any, input: Any, dim: Any, keepdim: bool) -> tuple[Any, Any]:
        selection_spec(name, input, dim, keepdim)
        array, axis = along(input, dim)
        indices = _places("arg" + name, array, axis, keepdim)
        values = fold(getattr(xp, ufunc), array, (axis,), keepdim)
        return (values, indices) if input.ndim else (values.reshape(()), indices.reshape(()))

    return kernel


def _select_gradient(g: Any, input_shape: Any, dim: int, keepdim: bool, indices: Any) -> Any:
    return select_back(g, input_shape, dim, keepdim, indices)


@primitive(
    meta=_whole_spec("max"), kernel=_whole_kernel("max", "maximum"), vjp={"input": share_evenly_all}, namespace=None,
    method=False, out=False, public_name="max", node_name="MaxBackward1",
    onnx=extreme_form("ReduceMax"),
)  # fmt: skip
def max_all(input: Tensor) -> Tensor:
    """The largest of all elements."""


@primitive(
    meta=_along_spec("max"), kernel=_along_kernel("max", "maximum"), vjp={"input": _select_gradient}, namespace=None,
    method=False, returns=("values", "indices"), nondifferentiable=("indices",), out=False,
    public_name="max", node_name="MaxBackward0",
    onnx=selection_form("Max"),
)  # fmt: skip
def max_dim(input: Tensor, dim: int, keepdim: bool) -> tuple[Tensor, Tensor]:
    """The largest elements along a dimension, and where they are (the first of equals)."""


@primitive(
    meta=_whole_spec("min"), kernel=_whole_kernel("min", "minimum"), vjp={"input": share_evenly_all}, namespace=None,
    method=False, out=False, public_name="min", node_name="MinBackward1",
    onnx=extreme_form("ReduceMin"),
)  # fmt: skip
def min_all(input: Tensor) -> Tensor:
    """The smallest of all elements."""


@primitive(
    meta=_along_spec("min"), kernel=_along_kernel("min", "minimum"), vjp={"input": _select_gradient}, namespace=None,
    method=False, returns=("values", "indices"), nondifferentiable=("indices",), out=False,
    public_name="min", node_name="MinBackward0",
    onnx=selection_form("Min"),
)  # fmt: skip
def min_dim(input: Tensor, dim: int, keepdim: bool) -> tuple[Tensor, Tensor]:
    """The smallest elements along a dimension, and where they are (the first of equals)."""


def _overload(name: str, input: Any, dim: Any, keepdim: bool, other: Any) -> Any:
    """One front for three functions: of two tensors, along a dimension, of all elements."""
    if isinstance(dim, Tensor):
        dim, other = None, dim
    if other is not None:
        if dim is not None or keepdim:
            raise ArgumentError(f"{name}() takes another tensor or a dimension, not both")
        return table[name + "imum"].call(input, other)
    if dim is None:
        if keepdim:
            raise ArgumentError(f"{name}() takes 'keepdim' only with 'dim'; a{name}() takes it alone")
        return table[name + "_all"].call(input)
    return table[name + "_dim"].call(input, dim, keepdim)


@composite(out=True)
def max(input: Tensor, dim: Tensor | int | None = None, keepdim: bool = False, *, other: Tensor | None = None) -> Any:
    """The largest of all elements; with ``dim``, along it, with indices; with ``other``, the larger of each two."""
    return _overload("max", input, dim, keepdim, other)


@composite(out=True)
def min(input: Tensor, dim: Tensor | int | None = None, keepdim: bool = False, *, other: Tensor | None = None) -> Any:
    """The smallest of all elements; with ``dim``, along it, with indices; with ``other``, the smaller of each two."""
    return _overload("min", input, dim, keepdim, other)


# -- argmax and argmin -------------------------------------------------------------------------------------------


def _index_spec(name: str) -> Any:
    def spec(input: Any, dim: Any, keepdim: bool) -> Spec:
        if input.dtype.kind in "cb":
            raise DtypeError(f"{name}(): does not support {'complex' if input.dtype.kind == 'c' else 'bool'} input")
        if dim is None:
            check_foldable(name, input.shape, None, DimensionError)
            return Spec((1,) * input.ndim if keepdim else (), _INT64)
        axis = normalize_dim(dim, input.ndim)
        if input.ndim:
            check_foldable(name, input.shape, axis)
        return Spec(reduced_shape(input.shape, (axis,), keepdim), _INT64)

    return spec


def _index_kernel(name: str) -> Any:
    check = _index_spec(name)

    def kernel(xp: Any, input: Any, dim: Any, keepdim: bool) -> Any:
        spec = check(input, dim, keepdim)
        if dim is None or not input.ndim:
            return xp.asarray(getattr(input, name)()).reshape(spec.shape)
        return _places(name, input, normalize_dim(dim, input.ndim), keepdim)

    return kernel


@primitive(meta=_index_spec("argmax"), kernel=_index_kernel("argmax"), vjp={}, onnx=place_form("ArgMax"))
def argmax(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The index of the largest element (the first of equals), of all in row-major order or along a dimension."""


@primitive(meta=_index_spec("argmin"), kernel=_index_kernel("argmin"), vjp={}, onnx=place_form("ArgMin"))
def argmin(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The index of the smallest element (the first of equals), of all in row-major order or along a dimension."""

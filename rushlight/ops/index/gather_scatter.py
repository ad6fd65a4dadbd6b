"""Reading and writing single elements by their positions along one dimension: gather and scatter."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.base import Spec, contiguous_strides
from ...core.base import TensorBase as Tensor
from ...core.declare import composite, joint, primitive, table
from ...core.dtypes import BY_NUMPY, LOW_PRECISION, legacy_name
from ...core.errors import ArgumentError, DimensionError, DtypeError, OperationError, RushlightError, ShapeError
from ...core.families import normalize_dim
from ..create.factories import full, ones_like, zeros, zeros_like
from ..pointwise.arithmetic import conjugate
from ..pointwise.copy_cast import cast
from ..shape.views import slice_backward, slice_dim
from .indexing_onnx import gather_form, scatter_form, scatter_reduce_form
from .masking import fitting_scalar, masked_fill

Number = int | float | complex | bool

_INDEX_TYPES = (np.dtype(np.int64), np.dtype(np.int32))
CHUNK = 1 << 16  # how many elements are combined at once, so that their positions stay in the cache


# -- what the kernels share --------------------------------------------------------------------------------------


def check_bounds(index: Any, dim: int, size: int, error: type[RushlightError] = DimensionError) -> None:
    """Refuse positions outside ``[0, size)``: as unsigned numbers, negative ones are large, so one look is enough."""
    if index.size and int(index.view(index.dtype.str.replace("i", "u")).max()) >= size:
        wrong = index[(index < 0) | (index >= size)].flat[0]
        raise error(f"index {wrong} is out of bounds for dimension {dim} with size {size}")


def wrapped(xp: Any, index: Any, dim: int, size: int) -> Any:
    """Positions counted from the front; those out of range are an error."""
    if not index.size:
        return index
    low, high = int(index.min()), int(index.max())
    if low < -size or high >= size:
        if not size:
            raise DimensionError("index is out of bounds for dimension with size 0")
        raise DimensionError(f"index {high if high >= size else low} is out of bounds for dimension {dim} with size {size}")
    return index if low >= 0 else xp.where(index < 0, index + size, index)


def element_positions(xp: Any, index: Any, dim: int, shape: tuple[int, ...], extent: tuple[int, ...]) -> Any:
    """The positions in a row-major array of ``shape`` of the elements (i, j, …) of ``extent``, with ``index`` along ``dim``."""
    strides = contiguous_strides(shape)
    result = xp.multiply(index, strides[dim], dtype=np.int64)
    offsets = None
    for other, size in enumerate(extent):
        if other != dim and size > 1:
            steps = xp.arange(0, size * strides[other], strides[other]).reshape((-1,) + (1,) * (len(extent) - 1 - other))
            offsets = steps if offsets is None else offsets + steps
    if offsets is not None:
        result = xp.add(result, offsets, out=result if result.shape == extent else None)
    return result if result.shape == extent else xp.broadcast_to(result, extent)


def combine(xp: Any, name: str, target: Any, positions: Any, values: Any) -> None:
    """Combine values into elements of a target, in place, one after the other: an element named twice gets both.

    ``name`` is a ufunc: "add", "multiply", "maximum" or "minimum"; positions count in row-major order.
    """
    if not positions.size:
        return
    if not target.flags.c_contiguous:
        copy = xp.ascontiguousarray(target)
        combine(xp, name, copy, positions, values)
        target[...] = copy
        return
    flat, ufunc = target.reshape(-1), getattr(xp, name)
    if getattr(values, "shape", None) != positions.shape:
        values = xp.broadcast_to(values, positions.shape)
    positions, values = positions.reshape(-1), values.reshape(-1)
    if target.dtype in LOW_PRECISION:  # narrow types are combined in float32 and rounded once
        unique, positions = xp.unique(positions, return_inverse=True)
        wide = flat[unique].astype(np.float32)
        ufunc.at(wide, positions.reshape(-1), values.astype(np.float32))
        flat[unique] = wide.astype(target.dtype)
        return
    for start in range(0, positions.size, CHUNK):
        ufunc.at(flat, positions[start : start + CHUNK], values[start : start + CHUNK])


def check_index_type(name: str, index: Any, error: type[RushlightError] = DtypeError, long_only: bool = False) -> None:
    if index.dtype not in (_INDEX_TYPES[:1] if long_only else _INDEX_TYPES):
        wanted = "int64" if long_only else "int32 or int64"
        raise error(f"{name}(): Expected dtype {wanted} for index, but got: {legacy_name(index.dtype)}")


def check_same_type(name: str, input: Any, source: Any) -> None:
    if input.dtype != source.dtype:
        raise DtypeError(
            f"{name}(): Expected self.dtype to be equal to src.dtype, but got (self) {legacy_name(input.dtype)} and "
            f"(source) {legacy_name(source.dtype)}"
        )


def dimensioned(shape: Any) -> tuple[int, ...]:
    """A 0-dim tensor counts as a vector of one element."""
    return tuple(shape) or (1,)


# -- gather ------------------------------------------------------------------------------------------------------


def _long(index: Any) -> Any:
    """Indices that every op takes: ``gather`` alone takes bytes too."""
    return index.long() if index._array.dtype == np.uint8 else index


def _gather_meta(input: Any, dim: int, index: Any, sparse_grad: bool = False) -> Spec:
    dim = normalize_dim(dim, input.ndim)
    if index.dtype != np.uint8:
        check_index_type("gather", index)
    if index.size == 0:
        return Spec(index.shape, input.dtype)
    shape, extent = dimensioned(input.shape), dimensioned(index.shape)
    if len(shape) != len(extent):
        raise ShapeError("Index tensor must have the same number of dimensions as input tensor")
    for other, (size, limit) in enumerate(zip(extent, shape)):
        if other != dim and size > limit:
            raise ShapeError(
                f"Size does not match at dimension {other} expected index {list(index.shape)} to be no larger than self "
                f"{list(input.shape)} apart from dimension {dim}"
            )
    return Spec(index.shape, input.dtype)


def _gather_kernel(xp: Any, input: Any, dim: int, index: Any, sparse_grad: bool = False) -> Any:
    _gather_meta(input, dim, index)
    if not index.size:
        return xp.empty(index.shape, input.dtype)
    shape, extent = dimensioned(input.shape), dimensioned(index.shape)
    dim = normalize_dim(dim, len(shape))
    check_bounds(index, dim, shape[dim], OperationError)
    if input.flags.c_contiguous:
        positions = element_positions(xp, index.reshape(extent), dim, shape, extent)
        return xp.take(input.reshape(-1), positions).reshape(index.shape)
    grid = [xp.arange(size).reshape((-1,) + (1,) * (len(extent) - 1 - other)) for other, size in enumerate(extent)]
    grid[dim] = index.reshape(extent)
    return input.reshape(shape)[tuple(grid)].reshape(index.shape)


@primitive(
    meta=_gather_meta,
    kernel=_gather_kernel,
    vjp={"input": lambda g, input_shape, dim, index: gather_backward(g, input_shape, dim, _long(index))},
    exact=True,
    onnx={9: gather_form},
)
def gather(input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Tensor:
    """Elements along a dimension: for ``dim=0``, ``result[i, j] = input[index[i, j], j]``."""


def _gather_backward_kernel(xp: Any, grad: Any, shape: Any, dim: int, index: Any) -> Any:
    result = xp.zeros(shape, grad.dtype)
    _scatter_into(xp, "add", result, dim, index, grad)
    return result


@primitive(
    meta=lambda grad, shape, dim, index: Spec(shape, grad.dtype),
    kernel=_gather_backward_kernel,
    vjp={"grad": lambda g, dim, index: gather(g, dim, index)},
    namespace=None,
    method=False,
    out=False,
    onnx={9: lambda g, grad, shape, dim, index: scatter_form(g, g.full(shape, 0, grad.dtype), dim, index, grad, "add")},
)
def gather_backward(grad: Tensor, shape: Any, dim: int, index: Tensor) -> Tensor:
    """Zeros of a shape with ``grad`` added where ``gather`` read."""


# -- scatter -----------------------------------------------------------------------------------------------------


def _scatter_check(input: Any, dim: int, index: Any, src: Any) -> bool:
    """Check that an index fits its target and source; whether there is anything to write."""
    dim = normalize_dim(dim, input.ndim)
    check_index_type("scatter", index)
    if src is not None:
        check_same_type("scatter", input, src)
    if index.size == 0:
        return False
    shape, extent = dimensioned(input.shape), dimensioned(index.shape)
    limits = None if src is None else dimensioned(src.shape)
    if len(shape) != len(extent):
        raise ShapeError("Index tensor must have the same number of dimensions as self tensor")
    if limits is not None and len(limits) != len(extent):
        if src.ndim:
            normalize_dim(dim, src.ndim)
        raise ShapeError("Index tensor must have the same number of dimensions as src tensor")
    for other, size in enumerate(extent):
        if (other != dim and size > shape[other]) or (limits is not None and size > limits[other]):
            raise ShapeError(
                f"Expected index {list(index.shape)} to be no larger than self {list(input.shape)} apart from dimension {dim}"
                + ("" if src is None else f" and to be no larger size than src {list(src.shape)}")
            )
    return True


def _scatter_positions(xp: Any, target: Any, dim: int, index: Any) -> Any:
    shape, extent = dimensioned(target.shape), dimensioned(index.shape)
    dim = normalize_dim(dim, len(shape))
    check_bounds(index, dim, shape[dim], OperationError)
    return element_positions(xp, index.reshape(extent), dim, shape, extent)


def _covered(src: Any, index: Any) -> Any:
    """The part of a source that an index reaches."""
    src = src.reshape(dimensioned(src.shape))
    return src[tuple(slice(size) for size in dimensioned(index.shape))]


def _scatter_into(xp: Any, name: str | None, target: Any, dim: int, index: Any, src: Any) -> None:
    """Write (or combine, by a ufunc's name) a source array or a scalar into a target."""
    is_array = isinstance(src, xp.ndarray)
    if not _scatter_check(target, dim, index, src if is_array else None):
        return
    positions = _scatter_positions(xp, target, dim, index)
    values = _covered(src, index) if is_array else src
    if name is not None:
        combine(xp, name, target, positions, values)
    elif target.flags.c_contiguous:
        target.reshape(-1)[positions] = values
    else:
        target[xp.unravel_index(positions, target.shape)] = values


def _scatter_elements_meta(input: Any, dim: int, index: Any, src: Any) -> Spec:
    if hasattr(src, "shape"):
        _scatter_check(input, dim, index, src)
    else:
        _scatter_check(input, dim, index, None)
        fitting_scalar(src, input.dtype)
    return Spec(input.shape, input.dtype)


def _scatter_elements_into(xp: Any, input: Any, dim: int, index: Any, src: Any) -> None:
    _scatter_into(xp, None, input, dim, index, src if isinstance(src, xp.ndarray) else fitting_scalar(src, input.dtype))


def on_a_copy(write: Any) -> Any:
    """The kernel of a functional form: the in-place kernel on a copy."""

    def kernel(xp: Any, input: Any, *arguments: Any) -> Any:
        result = xp.array(input, order="C", copy=True)
        write(xp, result, *arguments)
        return result

    return kernel


def padded(g: Any, shape: Any) -> Any:
    """The gradient of a source of which an index reached only the leading part."""
    if not g._array.size:
        return zeros(shape, dtype=g.dtype, device=g.device)
    for dim, size in enumerate(shape):
        have = g._array.shape if g._array.ndim else (1,)
        if len(have) == len(shape) and have[dim] != size:
            g = slice_backward(g, (*have[:dim], size, *have[dim + 1 :]), dim, 0, have[dim], 1)
    return g if tuple(g._array.shape) == tuple(shape) else g.reshape(shape)


@primitive(
    apart=True,
    meta=_scatter_elements_meta,
    kernel=on_a_copy(_scatter_elements_into),
    in_place_kernel=_scatter_elements_into,
    vjp={
        "input": lambda g, dim, index: scatter_elements(g, dim, index, 0),
        "src": lambda g, dim, index, src_shape: padded(gather(g, dim, index), src_shape),
    },
    exact=True,
    in_place=True,
    namespace=None,
    method=False,
    out=False,
    node_name="ScatterBackward0",
    onnx={9: scatter_form},
)
def scatter_elements(input: Tensor, dim: int, index: Tensor, src: Tensor | Number) -> Tensor:
    """Write a source tensor, or a number, where an index says: what ``scatter`` does without ``reduce``."""


def _scatter_arguments(input: Any, dim: int, index: Any, src: Any, value: Any, reduce: Any) -> tuple[str, tuple[Any, ...]]:
    """Which primitive a call of ``scatter`` is, and with what source."""
    if (src is None) == (value is None) or (isinstance(src, (int, float, complex)) and value is not None):
        raise ArgumentError("scatter() takes either a tensor (or number) 'src' or a number 'value'")
    if value is not None:
        src = value.item() if isinstance(value, Tensor) else value
    if reduce is None:
        return "scatter_elements", (src,)
    if reduce not in ("add", "multiply"):
        raise OperationError(f"reduce argument must be either add or multiply, got {reduce}")
    if not isinstance(src, Tensor):
        number = fitting_scalar(src, input._array.dtype).item()
        src = full(tuple(index._array.shape), number, dtype=input.dtype, device=input.device)
    return ("scatter_add", (src,)) if reduce == "add" else ("scatter_reduce", (src, "prod"))


@composite(out=True)
def scatter(
    input: Tensor, dim: int, index: Tensor, src: Tensor | Number | None = None, *, value: Number | None = None,
    reduce: str | None = None,
) -> Tensor:  # fmt: skip
    """Write a source along a dimension: for ``dim=0``, ``result[index[i, j], j] = src[i, j]``."""
    name, rest = _scatter_arguments(input, dim, index, src, value, reduce)
    return table[name].call(input, dim, index, *rest)  # type: ignore[no-any-return]


@composite(namespace=None, method=True)
def scatter_(
    input: Tensor, dim: int, index: Tensor, src: Tensor | Number | None = None, *, value: Number | None = None,
    reduce: str | None = None,
) -> Tensor:  # fmt: skip
    """In-place version of :func:`scatter`."""
    name, rest = _scatter_arguments(input, dim, index, src, value, reduce)
    return table[name + "_"].call(input, dim, index, *rest)  # type: ignore[no-any-return]


def _scatter_add_meta(input: Any, dim: int, index: Any, src: Any) -> Spec:
    _scatter_check(input, dim, index, src)
    return Spec(input.shape, input.dtype)


def _scatter_add_into(xp: Any, input: Any, dim: int, index: Any, src: Any) -> None:
    _scatter_into(xp, "add", input, dim, index, src)


@primitive(
    apart=True,
    meta=_scatter_add_meta,
    kernel=on_a_copy(_scatter_add_into),
    in_place_kernel=_scatter_add_into,
    vjp={"input": lambda g: g, "src": lambda g, dim, index, src_shape: padded(gather(g, dim, index), src_shape)},
    exact=True,
    in_place=True,
    onnx={9: lambda g, input, dim, index, src: scatter_reduce_form(g, input, dim, index, src, "sum", True)},
)
def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """Add a source along a dimension: for ``dim=0``, ``result[index[i, j], j] += src[i, j]``; repeats add up."""


# -- scatter_reduce ----------------------------------------------------------------------------------------------

_UFUNCS = {"sum": "add", "prod": "multiply", "mean": "add", "amax": "maximum", "amin": "minimum"}


def _identity(reduce: str, dtype: Any) -> Any:
    """What leaves a reduction as it is."""
    if reduce in ("sum", "mean", "prod"):
        return dtype.type(reduce == "prod")
    sign = -1 if reduce == "amax" else 1
    if dtype.kind == "b":
        return dtype.type(reduce == "amin")
    if dtype.kind in "iu":
        return np.iinfo(dtype).min if sign < 0 else np.iinfo(dtype).max
    return dtype.type(sign * np.inf)


def _scatter_reduce_meta(input: Any, dim: int, index: Any, src: Any, reduce: str, include_self: bool = True) -> Spec:
    if reduce not in _UFUNCS:
        raise OperationError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    kind = input.dtype.kind
    if (kind == "b" and reduce == "mean") or (kind == "c" and reduce in ("amax", "amin")):
        raise DtypeError(f"scatter_reduce(): '{reduce}' is not implemented for '{legacy_name(input.dtype)}'")
    _scatter_check(input, dim, index, src)
    return Spec(input.shape, input.dtype)


def _scatter_reduce_into(xp: Any, input: Any, dim: int, index: Any, src: Any, reduce: str, include_self: bool = True) -> None:
    _scatter_reduce_meta(input, dim, index, src, reduce)
    if not index.size:
        return
    if input.dtype in LOW_PRECISION or not input.flags.c_contiguous:
        compute = np.dtype(np.float32) if input.dtype in LOW_PRECISION else input.dtype
        copy = input.astype(compute, order="C", copy=True)
        _scatter_reduce_into(xp, copy, dim, index, src.astype(compute, copy=False), reduce, include_self)
        input[...] = copy
        return
    positions = _scatter_positions(xp, input, dim, index)
    flat = input.reshape(-1)
    if not include_self:
        flat[positions] = _identity(reduce, input.dtype)
    combine(xp, _UFUNCS[reduce], input, positions, _covered(src, index))
    if reduce == "mean":
        touched, counts = xp.unique(positions, return_counts=True)
        counts = (counts + bool(include_self)).astype(input.dtype)
        flat[touched] = xp.floor_divide(flat[touched], counts) if input.dtype.kind in "iu" else flat[touched] / counts


def _is(condition: Any, like: Any) -> Any:
    """A condition as ones and zeros of a gradient's type."""
    return cast(condition, BY_NUMPY[like._array.dtype])


def _scatter_reduce_gradient(
    g: Any, input: Any, dim: int, index: Any, src: Any, reduce: str, include_self: bool, result: Any
) -> tuple[Any, Any]:
    shape = tuple(src._array.shape)
    if not index._array.size:
        return g, zeros_like(src)
    for other, size in enumerate(index._array.shape):  # only a part of the source may be reached
        if src._array.ndim and size != src._array.shape[other]:
            src = slice_dim(src, other, 0, size)
    if reduce == "sum":
        of_input, of_src = g, gather(g, dim, index)
    elif reduce == "mean":
        start = ones_like(g) if include_self else zeros_like(g)
        count = scatter_add(start, dim, index, _is(ones_like(src), g))
        of_input = g / masked_fill(count, count == 0, 1)
        of_src = gather(of_input, dim, index)
    elif reduce == "prod":
        # The product of the others: the result divided by a factor that is not 0.  For one that is, the product of those that are not, times the
        # other zero where there is one, whose gradient is not 0; with more zeros it is 0, and so is its gradient.
        input_zero, src_zero = input == 0, src == 0
        input_factor, src_factor = masked_fill(input, input_zero, 1), masked_fill(src, src_zero, 1)
        product = scatter_reduce(input_factor, dim, index, src_factor, "prod", include_self=include_self)
        count = scatter_reduce(_is(input_zero, g), dim, index, _is(src_zero, g), "sum", include_self=include_self)
        kept_input, kept_src = masked_fill(input, input_zero == 0, 0), masked_fill(src, src_zero == 0, 0)
        zeros_in = scatter_reduce(kept_input, dim, index, kept_src, "sum", include_self=include_self)
        scaled, whole = g * conjugate(product), g * conjugate(result)
        alone, pairs = scaled * _is(count == 1, g), scaled * _is(count == 2, g)

        def of_factor(place: Any, factor: Any, kept: Any, is_zero: Any) -> Any:
            of_zero = place(alone) + place(pairs) * conjugate(place(zeros_in) - kept)
            return of_zero * _is(is_zero, g) + place(whole) / conjugate(factor) * _is(is_zero == 0, g)

        of_input = of_factor(lambda each: each, input_factor, kept_input, input_zero)
        of_src = of_factor(lambda each: gather(each, dim, index), src_factor, kept_src, src_zero)
    else:
        # Those that equal the extremum share its gradient.
        input_wins, src_wins = _is(input == result, g), _is(src == gather(result, dim, index), g)
        if not include_self:
            input_wins = scatter_elements(input_wins, dim, index, 0)
        winners = scatter_add(input_wins, dim, index, src_wins)
        share = g / masked_fill(winners, winners == 0, 1)
        of_input, of_src = share * input_wins, gather(share, dim, index) * src_wins
    if not include_self:
        of_input = scatter_elements(of_input, dim, index, 0)
    return of_input, padded(of_src, shape)


@primitive(
    apart=True,
    meta=_scatter_reduce_meta,
    kernel=on_a_copy(_scatter_reduce_into),
    in_place_kernel=_scatter_reduce_into,
    vjp=joint("input", "src")(_scatter_reduce_gradient),
    exact=True,
    in_place=True,
    onnx={9: scatter_reduce_form},
)
def scatter_reduce(input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True) -> Tensor:
    """Reduce what falls on the same element: ``"sum"``, ``"prod"``, ``"mean"``, ``"amax"`` or ``"amin"``."""

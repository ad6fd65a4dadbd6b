"""Advanced indexing: reading and writing elements by tensors of positions or masks, one for each dimension.

``x[i, :, j]`` is ``index(x, [i, None, j])``, and ``x[i, :, j] = v`` is ``index_put_(x, [i, None, j], v)``; what else
brackets can mean is worked out in :mod:`rushlight.tensor.indexing`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.argument_checks import alert_not_deterministic
from ...core.base import Spec, contiguous_strides
from ...core.base import TensorBase as Tensor
from ...core.declare import composite, primitive, table
from ...core.devices import device_type_of
from ...core.dtypes import int64, legacy_name
from ...core.errors import ArgumentError, DimensionError, DtypeError, NotSupported, OperationError, ShapeError, ValueRangeError
from ...core.families import broadcast_shapes, normalize_dim
from ...core.symbolic import unknown_size
from ..create.factories import zeros
from ..pointwise.copy_cast import cast
from ..shape.views import expand
from .gather_scatter import check_index_type, combine, gather, on_a_copy, wrapped
from .index_select import add_slices
from .indexing_onnx import index_backward_form, index_form, index_put_form, one_hot_form, put_form, take_form
from .masking import fitting_scalar

_POSITIONS = (np.dtype(np.int64), np.dtype(np.int32))
_MASKS = (np.dtype(np.bool_), np.dtype(np.uint8))


# -- from indices to places --------------------------------------------------------------------------------------


def _check_indices(shape: tuple[int, ...], indices: Sequence[Any]) -> bool:
    """Check types and numbers of indices and the shapes of masks; whether there are masks among them."""
    dim, masks = 0, False
    for index in indices:
        if index is None or index.dtype in _POSITIONS:
            dim += 1
            continue
        if index.dtype not in _MASKS:
            raise DimensionError("tensors used as indices must be long, int, byte or bool tensors")
        masks = True
        for position, size in enumerate(index.shape):
            if dim + position >= len(shape) or size != shape[dim + position]:
                raise DimensionError(
                    f"The shape of the mask {list(index.shape)} at index {position} does not match the shape of the indexed "
                    f"tensor {list(shape)} at index {dim + position}"
                )
        dim += index.ndim
    if dim > len(shape):
        raise DimensionError(f"too many indices for tensor of dimension {len(shape)} (got {dim})")
    return masks


def _places(xp: Any, shape: tuple[int, ...], indices: Sequence[Any]) -> list[Any]:
    """For each dimension an array of positions or None: masks are spelled out as the positions where they are true."""
    if not _check_indices(shape, indices):
        return list(indices)
    places: list[Any] = []
    for index in indices:
        if index is None or index.dtype in _POSITIONS:
            places.append(index)
        else:
            places.extend(xp.nonzero(index))
    return places


def _layout(shape: tuple[int, ...], places: Sequence[Any]) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """The shape that indices give, that of the indices broadcast together, and where in the former the latter begins.

    Where the indexed dimensions are adjacent the result has theirs in the same place, else in front.
    """
    dims = [dim for dim, index in enumerate(places) if index is not None]
    try:
        together = broadcast_shapes([tuple(places[dim].shape) for dim in dims])
    except ShapeError:
        shapes = ", ".join(str(list(places[dim].shape)) for dim in dims)
        raise DimensionError(f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}") from None
    rest = [size for dim, size in enumerate(shape) if dim not in dims]
    start = dims[0] if dims and dims[-1] - dims[0] + 1 == len(dims) else 0
    return (*rest[:start], *together, *rest[start:]), together, start


def _selector(places: Sequence[Any]) -> tuple[Any, ...]:
    """Indices as NumPy takes them between brackets."""
    return tuple([slice(None) if index is None else index for index in places])


def _single_mask(indices: Sequence[Any]) -> bool:
    """Whether the one index is a mask: no element is named twice then, and NumPy takes it as it is."""
    last = indices[-1] if indices else None
    return last is not None and last.dtype in _MASKS and all(index is None for index in indices[:-1])


def _mask_selector(indices: Sequence[Any]) -> tuple[Any, ...]:
    return tuple([slice(None) if index is None else index.astype(np.bool_, copy=False) for index in indices])


def _fills(indices: Sequence[Any], values: Any, accumulate: bool) -> bool:
    """Whether one value goes wherever a mask is true: it may be of another type then."""
    return values.size == 1 and not accumulate and _single_mask(indices)


# -- reading -----------------------------------------------------------------------------------------------------


def _index_meta(input: Any, indices: Sequence[Any]) -> Spec:
    if _check_indices(tuple(input.shape), indices):
        found = Spec((unknown_size("indexing with a mask"),), np.dtype(np.int64))
        indices = [each for index in indices for each in ([found] * index.ndim if index is not None and index.dtype in _MASKS else [index])]
    return Spec(_layout(tuple(input.shape), indices)[0], input.dtype)


def _index_kernel(xp: Any, input: Any, indices: Sequence[Any]) -> Any:
    _check_indices(input.shape, indices)
    if _single_mask(indices):
        return input[_mask_selector(indices)]
    places = _places(xp, input.shape, indices)
    dims = [dim for dim, index in enumerate(places) if index is not None]
    try:
        if len(dims) == 1:
            return xp.take(input, places[dims[0]], axis=dims[0])
        return input[_selector(places)]
    except IndexError:
        shape = _layout(input.shape, places)[0]
        if 0 in shape and all(input.shape[dim] for dim in dims):
            return xp.empty(shape, input.dtype)  # as in PyTorch, positions are not checked where nothing is read
        for dim in dims:
            wrapped(xp, places[dim], dim, input.shape[dim])
        raise


@primitive(
    meta=_index_meta,
    kernel=_index_kernel,
    vjp={"input": lambda g, input_shape, indices: index_backward(g, input_shape, indices)},
    exact=True,
    namespace=None,
    method=False,
    out=False,
    onnx={9: index_form},
)
def index(input: Tensor, indices: Sequence[Tensor | None]) -> Tensor:
    """The elements at the positions (or where the masks are true) that are given for each dimension; None takes all."""


def _accumulate(xp: Any, target: Any, indices: Sequence[Any], values: Any) -> None:
    """Add values where indices say, in place; a position named twice gets both."""
    shape = target.shape
    if _single_mask(indices):
        target[_mask_selector(indices)] += values
        return
    places = _places(xp, shape, indices)
    result, together, start = _layout(shape, places)
    if getattr(values, "shape", None) != result:
        values = xp.broadcast_to(values, result)
    dims = [dim for dim, index in enumerate(places) if index is not None]
    if len(dims) == 1:
        dim = dims[0]
        add_slices(xp, target, dim, wrapped(xp, places[dim], dim, shape[dim]), values)
        return
    strides = contiguous_strides(shape)
    positions: Any = 0
    for dim in dims:
        positions = positions + wrapped(xp, places[dim], dim, shape[dim]) * np.int64(strides[dim])
    positions = xp.asarray(positions).reshape(together + (1,) * (len(result) - start - len(together)))
    others = [dim for dim in range(len(shape)) if dim not in dims]
    for order, dim in enumerate(others):
        axis = order if order < start else order + len(together)
        positions = positions + (xp.arange(shape[dim]) * strides[dim]).reshape((-1,) + (1,) * (len(result) - 1 - axis))
    combine(xp, "add", target, positions, values)


def _index_backward_kernel(xp: Any, grad: Any, shape: Any, indices: Sequence[Any]) -> Any:
    result = xp.zeros(shape, grad.dtype)
    if not grad.size:
        return result
    if _single_mask(indices):
        result[_mask_selector(indices)] = grad
    else:
        _accumulate(xp, result, indices, grad)
    return result


@primitive(
    meta=lambda grad, shape, indices: Spec(shape, grad.dtype),
    kernel=_index_backward_kernel,
    vjp={"grad": lambda g, indices: index(g, indices)},
    namespace=None,
    method=False,
    out=False,
    onnx={9: index_backward_form},
)
def index_backward(grad: Tensor, shape: Any, indices: Sequence[Tensor | None]) -> Tensor:
    """Zeros of a shape with ``grad`` added where ``index`` read."""


# -- writing -----------------------------------------------------------------------------------------------------


def _check_values(input: Any, values: Any, shape: tuple[int, ...]) -> None:
    given = tuple(values.shape)
    missing = len(shape) - len(given)
    if missing < 0 or any(a != b and a != 1 for a, b in zip(given, shape[missing:])):
        raise ShapeError(
            f"shape mismatch: value tensor of shape {list(given)} cannot be broadcast to indexing result of shape {list(shape)}"
        )


def _index_put_meta(input: Any, indices: Sequence[Any], values: Any, accumulate: bool = False) -> Spec:
    if input.dtype != values.dtype and not _fills(indices, values, accumulate):
        if not _check_indices(tuple(input.shape), indices):
            _check_values(input, values, _layout(tuple(input.shape), indices)[0])
        elif len(indices) == 1 and indices[0].__class__ is np.ndarray:
            _check_values(input, values, _masked_shape(np, tuple(input.shape), indices))
        raise DtypeError(
            "Index put requires the source and destination dtypes match, got "
            f"{legacy_name(input.dtype)} for the destination and {legacy_name(values.dtype)} for the source."
        )
    if not _check_indices(tuple(input.shape), indices):
        _check_values(input, values, _layout(tuple(input.shape), indices)[0])
    return Spec(input.shape, input.dtype)


def _masked_shape(xp: Any, shape: tuple[int, ...], indices: Sequence[Any]) -> tuple[int, ...]:
    before, mask = len(indices) - 1, indices[-1]
    return (*shape[:before], int(xp.count_nonzero(mask)), *shape[before + mask.ndim :])


def _fill(xp: Any, input: Any, indices: Sequence[Any], values: Any) -> None:
    before, mask = len(indices) - 1, indices[-1].astype(np.bool_, copy=False)
    mask = mask.reshape(mask.shape + (1,) * (input.ndim - before - mask.ndim))
    xp.copyto(input, fitting_scalar(values.reshape(()), input.dtype), where=mask)


def _index_put_into(xp: Any, input: Any, indices: Sequence[Any], values: Any, accumulate: bool = False) -> None:
    _index_put_meta(input, indices, values, accumulate)
    if _fills(indices, values, accumulate):
        _fill(xp, input, indices, values)
        return
    if _single_mask(indices):
        shape = _masked_shape(xp, input.shape, indices)
    else:
        indices = _places(xp, input.shape, indices)
        shape = _layout(input.shape, indices)[0]
    _check_values(input, values, shape)
    if 0 in shape:
        return
    if device_type_of(input).shares_memory(input, values):
        values = values.copy()
    if accumulate:
        _accumulate(xp, input, indices, values)
        return
    if _single_mask(indices):
        input[_mask_selector(indices)] = values
        return
    try:
        input[_selector(indices)] = values
    except IndexError:
        for dim, place in enumerate(indices):
            if place is not None:
                wrapped(xp, place, dim, input.shape[dim])
        raise


@primitive(
    apart=True,
    meta=_index_put_meta,
    kernel=on_a_copy(_index_put_into),
    in_place_kernel=_index_put_into,
    vjp={
        "input": lambda g, indices, accumulate: g if accumulate else index_put(g, indices, zeros((), dtype=g.dtype, device=g.device)),
        "values": lambda g, indices: index(g, indices),
    },
    exact=True,
    in_place=True,
    out=False,
    one_value="tensor[indices] = tensor",
    onnx={9: index_put_form},
)
def index_put(input: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: bool = False) -> Tensor:
    """Write values at the positions (or where the masks are true) that are given for each dimension, or add them."""


# -- as if the tensor had one dimension --------------------------------------------------------------------------


def _check_flat(name: str, input: Any, index: Any) -> None:
    check_index_type(name, index, long_only=True)
    if index.size and not input.size:
        raise DimensionError(f"{name}(): tried to reach into an empty tensor")


def _flat_positions(xp: Any, input: Any, index: Any) -> Any:
    if index.size and not -input.size <= index.min() <= index.max() < input.size:
        wrong = index[(index < -input.size) | (index >= input.size)].flat[0]
        raise DimensionError(f"out of range: tried to access index {wrong} on a tensor of {input.size} elements.")
    return wrapped(xp, index, 0, input.size)


def _take_meta(input: Any, index: Any) -> Spec:
    _check_flat("take", input, index)
    return Spec(index.shape, input.dtype)


def _take_kernel(xp: Any, input: Any, index: Any) -> Any:
    _check_flat("take", input, index)
    if not index.size:
        return xp.empty(index.shape, input.dtype)
    return xp.take(input.reshape(-1), _flat_positions(xp, input, index))


@primitive(
    meta=_take_meta,
    kernel=_take_kernel,
    vjp={"input": lambda g, input_shape, index: put(zeros(input_shape, dtype=g.dtype, device=g.device), index, g, True)},
    exact=True,
    onnx={9: take_form},
)
def take(input: Tensor, index: Tensor) -> Tensor:
    """The elements at positions of the tensor seen as a vector."""


def _put_meta(input: Any, index: Any, source: Any, accumulate: bool = False) -> Spec:
    check_index_type("put", index, long_only=True)
    if input.dtype != source.dtype:
        raise DtypeError(
            "put(): self and source expected to have the same dtype, but got self.dtype = "
            f"{legacy_name(input.dtype)} and source.dtype = {legacy_name(source.dtype)}"
        )
    if source.size != index.size:
        raise DimensionError(
            "put(): Expected source and index to have the same number of elements, but got source.numel() = "
            f"{source.size}, index.numel() = {index.size}"
        )
    _check_flat("put", input, index)
    return Spec(input.shape, input.dtype)


def _put_into(xp: Any, input: Any, index: Any, source: Any, accumulate: bool = False) -> None:
    _put_meta(input, index, source)
    if not accumulate:
        alert_not_deterministic("put_")
    if not index.size:
        return
    positions = _flat_positions(xp, input, index).reshape(-1)
    if accumulate:
        combine(xp, "add", input, positions, source.reshape(-1))
    elif input.flags.c_contiguous:
        input.reshape(-1)[positions] = source.reshape(-1)
    else:
        input[xp.unravel_index(positions, input.shape)] = source.reshape(-1)


@primitive(
    apart=True,
    meta=_put_meta,
    kernel=on_a_copy(_put_into),
    in_place_kernel=_put_into,
    vjp={
        "input": lambda g, index, source_shape, accumulate: (
            g if accumulate else put(g, index, zeros(source_shape, dtype=g.dtype, device=g.device))
        ),
        "source": lambda g, index, source_shape: take(g, index).reshape(source_shape),
    },
    exact=True,
    in_place=True,
    out=False,
    onnx={9: put_form},
)
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """Write the elements of a source at positions of the tensor seen as a vector, or add them."""


@composite(out=True)
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """Elements along a dimension at the positions that ``argmax`` and ``argsort`` give; the other dimensions broadcast."""
    array, places = input._array, indices._array
    if dim is not None and array.ndim != places.ndim:
        raise ShapeError(
            f"torch.take_along_dim(): input and indices should have the same number of dimensions, but got {array.ndim} dimensions "
            f"for input, and {places.ndim} dimensions for indices"
        )
    if places.dtype != np.int64:
        raise DtypeError(f"torch.take_along_dim(): dtype of indices should be Long but got {legacy_name(places.dtype)}")
    if dim is None:
        return gather(input.reshape(-1), 0, indices.reshape(-1))
    if not array.ndim:
        raise DimensionError(f"Dimension specified as {dim} but tensor has no dimensions")
    dim = normalize_dim(dim, array.ndim)
    others = lambda shape: (*shape[:dim], 1, *shape[dim + 1 :])  # noqa: E731
    common = broadcast_shapes([others(tuple(array.shape)), others(tuple(places.shape))])
    extent = lambda size: (*common[:dim], size, *common[dim + 1 :])  # noqa: E731
    places_from_front = table["remainder"].call(indices, array.shape[dim]) if array.shape[dim] else indices
    return gather(expand(input, extent(array.shape[dim])), dim, expand(places_from_front, extent(places.shape[dim])))


# -- positions in several dimensions -----------------------------------------------------------------------------


@composite(method=False)
def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """Positions in a tensor seen as a vector as positions in each of its dimensions."""
    if indices._array.dtype.kind not in "iu":
        raise ArgumentError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    if not isinstance(shape, (int, list, tuple)):
        raise ArgumentError(f"expected 'shape' to be int or sequence of ints, but got {type(shape)}")
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    for size in shape:
        if not isinstance(size, int):
            raise ArgumentError(f"expected 'shape' sequence to only contain ints, but got {type(size)}")
        if size < 0:
            raise ValueRangeError(f"'shape' cannot have negative values, but got {shape}")
    indices = cast(indices, int64)
    found = []
    for step, size in zip(contiguous_strides(shape), shape):
        quotient = table["floor_divide"].call(indices, step)
        found.append(table["remainder"].call(quotient, size))
    return tuple(found)


# -- one_hot -----------------------------------------------------------------------------------------------------


def _one_hot_meta(input: Any, num_classes: int = -1) -> Spec:
    if input.dtype != _POSITIONS[0]:
        raise DtypeError("one_hot is only applicable to index tensor of type LongTensor.")
    if num_classes == -1:
        raise NotSupported("one_hot(): without num_classes the shape of the result depends on the data")
    return Spec((*input.shape, num_classes), _POSITIONS[0])


def _one_hot_kernel(xp: Any, input: Any, num_classes: int = -1) -> Any:
    if input.dtype != _POSITIONS[0]:
        _one_hot_meta(input, num_classes)
    if not input.size:
        if num_classes <= 0:
            raise OperationError("Can not infer total number of classes from empty tensor.")
    else:
        if input.min() < 0:
            raise OperationError("Class values must be non-negative.")
        if num_classes == -1:
            num_classes = int(input.max()) + 1
        elif input.max() >= num_classes:
            raise OperationError("Class values must be smaller than num_classes.")
    result = xp.zeros((input.size, num_classes), np.int64)
    result[xp.arange(input.size), input.reshape(-1)] = 1
    return result.reshape(*input.shape, num_classes)


@primitive(
    meta=_one_hot_meta,
    kernel=_one_hot_kernel,
    vjp={},
    exact=True,
    namespace="nn.functional",
    out=False,
    data_dependent=True,
    notes="data-dependent where num_classes is -1",
    onnx={9: one_hot_form},
)
def one_hot(input: Tensor, num_classes: int = -1) -> Tensor:
    """For each class number a row of zeros with a 1 in its place."""

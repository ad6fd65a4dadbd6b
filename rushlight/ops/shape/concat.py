"""Joining: several tensors as one, and one tensor repeated."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.base import Spec
from ...core.base import TensorBase as Tensor
from ...core.declare import composite, primitive
from ...core.dtypes import default, int64, result_dtype
from ...core.errors import ArgumentError, DtypeError, ShapeError, ValueRangeError, dimension_error
from ...core.families import broadcast_shapes, normalize_dim, promoted
from ...core.kernel_providers import UFUNCS, copy_into
from .memory import zeros_beside
from .views import slice_dim, unsqueeze

# -- along a dimension -------------------------------------------------------------------------------------------


def _counts(shape: Any) -> bool:
    """Whether a tensor takes part in joining: those of shape (0,) are left out, whatever the shape of the others."""
    return len(shape) != 1 or shape[0] != 0


def _cat_meta(tensors: Any, dim: int = 0) -> Spec:
    if not tensors:
        raise ValueRangeError("torch.cat(): expected a non-empty list of Tensors")
    for index, each in enumerate(tensors):
        if not each.ndim:
            raise ShapeError(f"zero-dimensional tensor (at position {index}) cannot be concatenated")
    joined = [(index, tuple(each.shape)) for index, each in enumerate(tensors) if _counts(each.shape)]
    if not joined:  # whatever the dimension: vectors of no elements have stood for nothing since before there were empty shapes
        return Spec((0,), promoted(tensors))
    _, first = joined[0]
    place = normalize_dim(dim, len(first))
    for index, shape in joined:
        if len(shape) != len(first):
            raise ShapeError(f"Tensors must have same number of dimensions: got {len(first)} and {len(shape)}")
        for axis, (want, have) in enumerate(zip(first, shape)):
            if axis != place and want != have:
                raise ShapeError(
                    f"Sizes of tensors must match except in dimension {place}. Expected size {want} but got size "
                    f"{have} for tensor "
                    f"number {index} in the list."
                )
    return Spec((*first[:place], sum(shape[place] for _, shape in joined), *first[place + 1 :]), promoted(tensors))


def _cat_kernel(xp: Any, tensors: Any, dim: int = 0) -> Any:
    dtype = tensors[0].dtype if tensors else None
    if all(each.dtype is dtype and each.ndim and _counts(each.shape) for each in tensors):
        return _concatenated(xp, tensors, dim)  # what does not fit together it refuses, and the meta rule says why
    spec = _cat_meta(tensors, dim)
    joined = [each.astype(spec.dtype, copy=False) for each in tensors if _counts(each.shape)]
    return _concatenated(xp, joined, dim) if joined else xp.empty(0, spec.dtype)


def _concatenated(xp: Any, arrays: Any, dim: int) -> Any:
    """Arrays of one dtype joined along a dimension; in the order of rows and on several threads where they are large and in that order."""
    if xp is not np or arrays[0].size < UFUNCS or not all(each.__class__ is np.ndarray and each.flags.c_contiguous for each in arrays):
        return xp.concatenate(arrays, dim)
    first, place = arrays[0].shape, normalize_dim(dim, arrays[0].ndim)
    if any(each.shape[:place] != first[:place] or each.shape[place + 1 :] != first[place + 1 :] for each in arrays):
        return xp.concatenate(arrays, dim)
    made = np.empty((*first[:place], sum([each.shape[place] for each in arrays]), *first[place + 1 :]), arrays[0].dtype)
    start, before = 0, (slice(None),) * place
    for each in arrays:
        copy_into(made[(*before, slice(start, start + each.shape[place]))], each)
        start += each.shape[place]
    return made


def _cat_gradient(g: Any, tensors_shape: Any, dim: int, needs: Any) -> list[Any]:
    place = normalize_dim(dim, g._array.ndim)
    found: list[Any] = []
    start = 0
    for shape, wanted in zip(tensors_shape, needs):
        if not _counts(shape):
            found.append(zeros_beside(g, shape) if wanted else None)
            continue
        found.append(slice_dim(g, place, start, start + shape[place]) if wanted else None)
        start += shape[place]
    return found


def _cat_onnx(g: Any, tensors: Any, dim: int) -> Any:
    result = g.outputs[0]
    known_empty = [each.rank == 1 and type(each.shape[0]) is int and each.shape[0] == 0 for each in tensors]
    joined = [
        g.cast(each, result.dtype)
        for each, empty in zip(tensors, known_empty) if not empty and each.rank == len(result.shape)
    ]  # fmt: skip
    return g.concat(joined, dim % len(result.shape)) if joined else g.full((0,), 0, result.dtype)


@primitive(
    meta=_cat_meta,
    kernel=_cat_kernel,
    vjp={"tensors": _cat_gradient},
    exact=True,
    aliases=("concat", "concatenate"),
    onnx={9: _cat_onnx},
)
def cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Tensors joined along a dimension that they have."""


def _stack_meta(tensors: Any, dim: int = 0) -> Spec:
    if not tensors:
        raise ShapeError("stack expects a non-empty TensorList")
    first = tuple(tensors[0].shape)
    for index, each in enumerate(tensors):
        if tuple(each.shape) != first:
            raise ShapeError(
                f"stack expects each tensor to be equal size, but got {list(first)} at entry 0 and {list(each.shape)} at entry {index}"
            )
    if not -len(first) - 1 <= dim <= len(first):
        raise dimension_error(dim, len(first) + 1)
    place = dim + len(first) + 1 if dim < 0 else dim
    return Spec((*first[:place], len(tensors), *first[place:]), promoted(tensors))


def _stack_kernel(xp: Any, tensors: Any, dim: int = 0) -> Any:
    dtype = tensors[0].dtype if tensors else None
    if not all(each.dtype is dtype for each in tensors):
        dtype = _stack_meta(tensors, dim).dtype
    return xp.stack([each.astype(dtype, copy=False) for each in tensors], dim)


def _stack_onnx(g: Any, tensors: Any, dim: int) -> Any:
    result = g.outputs[0]
    dim = dim % len(result.shape)
    return g.concat([g.unsqueeze(g.cast(each, result.dtype), [dim]) for each in tensors], dim)


@primitive(
    meta=_stack_meta,
    kernel=_stack_kernel,
    vjp={"tensors": lambda g, dim: g.unbind(dim)},
    exact=True,
    onnx={9: _stack_onnx},
)
def stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Tensors of one shape joined along a new dimension."""


def _at_least(tensors: Any, count: int) -> list[Any]:
    lift = {1: atleast_1d, 2: atleast_2d, 3: atleast_3d}[count]
    return [lift(each) for each in tensors]


def _joined(tensors: Any, name: str) -> Any:
    if isinstance(tensors, Tensor):
        raise ArgumentError(f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not {type(tensors).__name__}")
    if not tensors:
        raise ShapeError(f"{name} expects a non-empty TensorList")
    return tensors


@composite(out=True)
def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """Tensors concatenated along dimension 1, vectors along dimension 0."""
    lifted = _at_least(_joined(tensors, "hstack"), 1)
    return cat(lifted, 0 if lifted[0]._array.ndim == 1 else 1)


@composite(out=True, aliases=("row_stack",))
def vstack(tensors: Sequence[Tensor]) -> Tensor:
    """Tensors joined one above the other: along dimension 0, vectors counting as rows."""
    return cat(_at_least(_joined(tensors, "vstack"), 2), 0)


@composite(out=True)
def dstack(tensors: Sequence[Tensor]) -> Tensor:
    """Tensors joined in depth: along dimension 2."""
    return cat(_at_least(_joined(tensors, "dstack"), 3), 2)


@composite(out=True)
def column_stack(tensors: Sequence[Tensor]) -> Tensor:
    """Tensors concatenated along dimension 1, numbers and vectors as columns."""
    columns = [each.reshape(-1, 1) if each._array.ndim <= 1 else each for each in _joined(tensors, "column_stack")]
    return cat(columns, 1)


# -- dimensions for joining --------------------------------------------------------------------------------------


def _each(tensors: Any, lift: Any) -> Any:
    """One tensor gives one result; several give a tuple."""
    for each in tensors:
        if not isinstance(each, Tensor):
            raise ArgumentError(f"expected Tensors, not {type(each).__name__}")
    found = tuple(lift(each) for each in tensors)
    return found[0] if len(found) == 1 else found


@composite()
def atleast_1d(*tensors: Sequence[Tensor]) -> Any:
    """Tensors with at least one dimension."""
    return _each(tensors, lambda x: x.reshape(1) if not x._array.ndim else x)


@composite()
def atleast_2d(*tensors: Sequence[Tensor]) -> Any:
    """Tensors with at least two dimensions: a vector becomes a row."""
    return _each(tensors, lambda x: x if x._array.ndim > 1 else unsqueeze(x, 0) if x._array.ndim else x.reshape(1, 1))


def _in_depth(x: Any) -> Any:
    ndim = x._array.ndim
    if ndim == 0:
        return x.reshape(1, 1, 1)
    if ndim == 1:
        return unsqueeze(unsqueeze(x, 0), -1)
    return unsqueeze(x, -1) if ndim == 2 else x


@composite()
def atleast_3d(*tensors: Sequence[Tensor]) -> Any:
    """Tensors with at least three dimensions: a vector becomes (1, n, 1), a matrix (m, n, 1)."""
    return _each(tensors, _in_depth)


@composite()
def broadcast_tensors(*tensors: Sequence[Tensor]) -> Any:
    """Tensors expanded to the shape that they broadcast to: a tuple of views."""
    given: Any = tensors
    shape = broadcast_shapes([tuple(each._array.shape) for each in given])
    return tuple(each.expand(shape) for each in given)


def _check_vectors(tensors: Any) -> None:
    if not tensors:
        raise ShapeError("meshgrid expects a non-empty TensorList")
    for each in tensors:
        if each._array.ndim > 1:
            raise ShapeError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got one of shape {list(each._array.shape)}")
        if each._array.dtype != tensors[0]._array.dtype:
            raise DtypeError("meshgrid expects all tensors to have the same dtype")
        if each.device != tensors[0].device:
            raise ShapeError("meshgrid expects all tensors to have the same device")


@composite()
def meshgrid(*tensors: Sequence[Tensor], indexing: str | None = None) -> Any:
    """Grids of coordinates, a tuple of views, from vectors; ``indexing`` is ``"ij"`` (rows first) or ``"xy"``."""
    _check_vectors(tensors)
    if indexing is None:
        warnings.warn(
            "torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.",
            UserWarning,
            stacklevel=3,
        )
        indexing = "ij"
    if indexing not in ("ij", "xy"):
        raise ShapeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    swapped = indexing == "xy" and len(tensors) > 1
    ordered: Any = (tensors[1], tensors[0], *tensors[2:]) if swapped else tensors
    sizes = tuple(each._array.size for each in ordered)
    grids = [each.reshape((1,) * place + (-1,) + (1,) * (len(sizes) - place - 1)).expand(sizes) for place, each in enumerate(ordered)]
    return (grids[1], grids[0], *grids[2:]) if swapped else tuple(grids)


@composite()
def cartesian_prod(*tensors: Sequence[Tensor]) -> Any:
    """All tuples with one element of each vector, as rows."""
    given: Any = tensors
    for each in given:
        if each._array.ndim != 1:
            raise ShapeError(f"Expect a 1D vector, but got shape {list(each._array.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    return stack([each.reshape(-1) for each in meshgrid(*tensors, indexing="ij")], 1)


# -- along a diagonal --------------------------------------------------------------------------------------------


def _blocks(shapes: Any) -> list[tuple[int, int, int, int]]:
    """For every block its first row, first column, rows and columns; vectors count as rows."""
    found = []
    row = column = 0
    for index, shape in enumerate(shapes):
        if len(shape) > 2:
            raise ShapeError(f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {index} has {len(shape)} dimensions")
        rows, columns = (1, 1, *shape)[-2:]
        found.append((row, column, rows, columns))
        row, column = row + rows, column + columns
    return found


def _block_diag_meta(tensors: Any) -> Spec:
    if not tensors:
        return Spec((1, 0), default.numpy)
    row, column, rows, columns = _blocks([each.shape for each in tensors])[-1]
    return Spec((row + rows, column + columns), result_dtype(tensors))


def _block_diag_kernel(xp: Any, tensors: Any) -> Any:
    spec = _block_diag_meta(tensors)
    result = xp.zeros(spec.shape, spec.dtype)
    for each, (row, column, rows, columns) in zip(tensors, _blocks([each.shape for each in tensors])):
        result[row : row + rows, column : column + columns] = each
    return result


def _block_diag_gradient(g: Any, tensors_shape: Any) -> list[Any]:
    return [
        slice_dim(slice_dim(g, 0, row, row + rows), 1, column, column + columns).reshape(shape)
        for shape, (row, column, rows, columns) in zip(tensors_shape, _blocks(tensors_shape))
    ]


def _block_diag_onnx(g: Any, tensors: Any) -> Any:
    result = g.outputs[0]
    rows = []
    for each, (_, column, count, width) in zip(tensors, _blocks([each.shape for each in tensors])):
        block = g.reshape(g.cast(each, result.dtype), (count, width))
        rows.append(g.pad_dim(block, 1, column, result.shape[1] - column - width))
    return g.concat(rows, 0) if rows else g.full(result.shape, 0, result.dtype)


@primitive(
    meta=_block_diag_meta,
    kernel=_block_diag_kernel,
    vjp={"tensors": _block_diag_gradient},
    exact=True,
    out=False,
    onnx={9: _block_diag_onnx},
)
def block_diag(*tensors: Sequence[Tensor]) -> Tensor:
    """A matrix of zeros with the given matrices along its diagonal."""


def _chosen(count: int, r: int, with_replacement: bool) -> list[tuple[int, ...]]:
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    return list(choose(range(count), r))


def _combinations_onnx(g: Any, input: Any, r: int, with_replacement: bool) -> Any:
    count = input.shape[0]
    if type(count) is not int:
        raise g.unsupported("combinations() of a vector whose size is not fixed: how many there are depends on it")
    if r == 0:
        return g.full((0,), 0, input.dtype)
    return g.gather(input, g.constant(np.array(_chosen(count, r, with_replacement), np.int64).reshape(-1, r)), 0)


@composite(
    onnx={9: _combinations_onnx},
)
def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All choices of ``r`` elements of a vector, one a row."""
    if input._array.ndim != 1:
        raise ShapeError(f"Expect a 1D vector, but got shape {list(input._array.shape)}")
    if r < 0:
        raise ShapeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return input.new_empty((0,))
    columns = zip(*_chosen(input._array.shape[0], r, with_replacement)) if input._array.shape[0] else ()
    picked = [input.index_select(0, input.new_tensor(column, dtype=int64)) for column in columns]
    return stack(picked, 1) if picked else input.new_empty((0, r))

"""Sparse formats as algorithms on NumPy arrays: sorting and summing coordinates, compressing rows, converting one into another."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.errors import OperationError
from ...core.sparse import Compressed, Coordinates

ROWS = ("sparse_csr", "sparse_bsr")


def empty_coordinates(shape: Any, sparse_dim: int, dtype: Any) -> Coordinates:
    """A COO array of no elements."""
    return Coordinates(np.empty((sparse_dim, 0), np.int64), np.empty((0, *shape[sparse_dim:]), dtype), shape, True)


# -- coordinates -------------------------------------------------------------------------------------------------


def flat_index(indices: Any, shape: Any) -> Any:
    """One number for each column of indices, in the order of the columns."""
    flat = np.zeros(indices.shape[1], np.int64)
    for dim in range(indices.shape[0]):
        flat = flat * shape[dim] + indices[dim]
    return flat


def run_starts(ordered: Any) -> Any:
    """Where runs of equal numbers begin in a sorted array."""
    if not ordered.size:
        return np.zeros(0, np.int64)
    return np.flatnonzero(np.concatenate([np.ones(1, bool), ordered[1:] != ordered[:-1]]))


def sum_runs(values: Any, starts: Any) -> Any:
    """The sums of runs of rows."""
    if not len(starts):
        return values[:0]
    return (
        np.logical_or.reduceat(values, starts, axis=0)
        if values.dtype.kind == "b"
        else np.add.reduceat(values, starts, axis=0, dtype=values.dtype)
    )


def coalesced(array: Coordinates) -> Coordinates:
    """The same with sorted columns, none of them twice."""
    if array.coalesced:
        return array
    flat = flat_index(array.indices, array.shape)
    if flat.size < 2 or bool((flat[1:] > flat[:-1]).all()):
        return Coordinates(array.indices, array.values, array.shape, True)
    order = np.argsort(flat, kind="stable")
    starts = run_starts(flat[order])
    indices = np.ascontiguousarray(array.indices[:, order[starts]])
    return Coordinates(indices, sum_runs(array.values[order], starts), array.shape, True)


def check_places(array: Coordinates) -> None:
    """Refuse indices that are not those of an element: they are not checked when the tensor is made."""
    for dim in range(array.sparse_dim):
        row = array.indices[dim]
        if row.size and (row.min() < 0 or row.max() >= array.shape[dim]):
            wrong = int(row.min()) if row.min() < 0 else int(row.max())
            raise OperationError(f"size is inconsistent with indices: for dim {dim}, size is {array.shape[dim]} but found index {wrong}")
    if array.coalesced and np.unique(flat_index(array.indices, array.shape)).size < array.indices.shape[1]:
        raise OperationError("cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor")


def dense(array: Any) -> Any:
    """All elements of a sparse array."""
    if array.__class__ is Compressed:
        return dense(compressed_to_coordinates(array))
    result = np.zeros(array.shape, array.dtype)
    if not array.nnz:
        return result
    check_places(array)
    array = coalesced(array)
    if array.sparse_dim == 0:
        result[...] = array.values[0]
    else:
        result[tuple(array.indices)] = array.values
    return result


def from_dense(array: Any, sparse_dim: int) -> Coordinates:
    """The elements (or the blocks of trailing dimensions) of a dense array that are not zero."""
    shape = array.shape
    if array.dtype.names:  # complex numbers of half precision are pairs
        occupied: Any = np.asarray((array["real"] != 0) | (array["imag"] != 0))
    else:
        occupied = np.asarray(array != 0)
    if sparse_dim == 0:
        kept = int(bool(occupied.any()))
        return Coordinates(np.empty((0, kept), np.int64), array[None].copy()[:kept], shape, True)
    if sparse_dim < array.ndim:
        occupied = occupied.any(axis=tuple(range(sparse_dim, array.ndim)))
    indices = np.array(np.nonzero(occupied), np.int64).reshape(sparse_dim, -1)
    return Coordinates(indices, np.ascontiguousarray(array[tuple(indices)]), shape, True)


def lookup(keys: Any, wanted: Any) -> tuple[Any, Any]:
    """For each wanted number its place among sorted keys, and whether it is there."""
    if not keys.size:
        return np.zeros(wanted.shape, np.int64), np.zeros(wanted.shape, bool)
    place = np.minimum(np.searchsorted(keys, wanted), keys.size - 1)
    return place, keys[place] == wanted


def values_at(source: Any, mask: Coordinates) -> Any:
    """The elements of a sparse or dense array at the places of a mask."""
    if source.__class__ is Compressed:
        source = compressed_to_coordinates(source)
    if source.__class__ is Coordinates:
        source = coalesced(source)
        keys, wanted = flat_index(source.indices, source.shape), flat_index(mask.indices, mask.shape)
        place, found = lookup(keys, wanted)
        result = np.zeros((mask.nnz, *source.values.shape[1:]), source.dtype)
        result[found] = source.values[place[found]]
        return result
    check_places(mask)
    if mask.sparse_dim == 0:
        return np.repeat(source[None], mask.nnz, 0)
    return np.ascontiguousarray(source[tuple(mask.indices)])


def split_values(array: Coordinates, sparse_dim: int) -> Coordinates:
    """The same with more sparse dimensions: the first ones of the values are opened."""
    more = sparse_dim - array.sparse_dim
    if not more:
        return array
    inner = array.values.shape[1 : 1 + more]
    count = math.prod(inner)
    grid = np.indices(inner).reshape(more, count)
    indices = np.concatenate([np.repeat(array.indices, count, 1), np.tile(grid, (1, array.nnz))])
    values = array.values.reshape(array.nnz * count, *array.values.shape[1 + more :])
    return Coordinates(np.ascontiguousarray(indices), values, array.shape, array.coalesced)


# -- compressed rows and columns ---------------------------------------------------------------------------------


def pointers(sorted_rows: Any, rows: int, dtype: Any = np.int64) -> Any:
    """Where each row begins, from the sorted row numbers of all elements."""
    return np.concatenate([[0], np.cumsum(np.bincount(sorted_rows, minlength=rows))]).astype(dtype)


def row_numbers(compressed: Any) -> Any:
    """The row of every element, from where rows begin."""
    return np.repeat(np.arange(len(compressed) - 1, dtype=np.int64), np.diff(compressed))


def compress(indices: Any, values: Any, shape: Any, layout: str, index_dtype: Any = np.int64) -> Compressed:
    """Coordinates of a matrix, none of them twice, as CSR or CSC."""
    major, minor = (indices[0], indices[1]) if layout in ROWS else (indices[1], indices[0])
    order = np.lexsort((minor, major))
    count = shape[0] if layout in ROWS else shape[1]
    begin = pointers(major[order], count, index_dtype)
    return Compressed(layout, begin, minor[order].astype(index_dtype), np.ascontiguousarray(values[order]), shape)


def matrix_coordinates(array: Compressed) -> Coordinates:
    """CSR or CSC without batch dimensions (or the blocks of BSR or BSC) as COO, in the order of its elements."""
    major, minor = row_numbers(array.compressed), array.plain.astype(np.int64)
    inside = np.diff(major) == 0
    ascending = bool((np.diff(minor)[inside] > 0).all())
    return Coordinates(
        np.stack((major, minor) if array.by_rows else (minor, major)), array.values, array.shape, array.by_rows and ascending
    )


def opened(array: Compressed) -> Compressed:
    """BSR as CSR, BSC as CSC: every element of a block for itself."""
    if not array.blocked:
        return array
    high, wide = array.blocksize
    blocks = matrix_coordinates(array)
    rows = (blocks.indices[0][:, None, None] * high + np.arange(high)[:, None]) + np.zeros((1, 1, wide), np.int64)
    columns = (blocks.indices[1][:, None, None] * wide + np.arange(wide)) + np.zeros((1, high, 1), np.int64)
    values = array.values.reshape(-1, *array.values.shape[3:])
    layout = "sparse_csr" if array.by_rows else "sparse_csc"
    return compress(np.stack([rows.reshape(-1), columns.reshape(-1)]), values, array.shape, layout, array.plain.dtype)


def parts(array: Compressed) -> list[Compressed]:
    """The matrices of a batch, one after the other."""
    count = array.batch_dim
    if not count:
        return [array]
    shape = array.shape[count:]
    number = math.prod(array.shape[:count])
    flat = [each.reshape(number, *each.shape[count:]) for each in (array.compressed, array.plain, array.values)]
    return [Compressed(array.layout, begin, plain, values, shape) for begin, plain, values in zip(*flat)]


def batched(matrices: list[Compressed], batch: Any) -> Compressed:
    """Matrices of equally many elements as one batch."""
    if len({each.nnz for each in matrices}) > 1:
        raise OperationError("Expect the same number of specified elements per batch.")
    made = [np.stack([getattr(each, name) for each in matrices]) for name in ("compressed", "plain", "values")]
    begin, plain, values = (each.reshape(*batch, *each.shape[1:]) for each in made)
    return Compressed(matrices[0].layout, begin, plain, values, (*batch, *matrices[0].shape))


def compressed_to_coordinates(array: Compressed) -> Coordinates:
    """Any compressed array as COO; batch dimensions lead."""
    batch = array.shape[: array.batch_dim]
    found = [matrix_coordinates(opened(each)) for each in parts(array)]
    if not batch:
        return found[0]
    leading = np.indices(batch).reshape(len(batch), -1)
    indices = [np.concatenate([np.repeat(leading[:, i : i + 1], each.nnz, 1), each.indices]) for i, each in enumerate(found)]
    values = np.concatenate([each.values for each in found])
    return Coordinates(np.concatenate(indices, 1), values, array.shape, all(each.coalesced for each in found))


def coordinates_to_compressed(array: Coordinates, layout: str, blocksize: Any = None, index_dtype: Any = np.int64) -> Compressed:
    """COO of a matrix as a compressed array; blocks have the given size."""
    array = coalesced(array)
    if layout in ("sparse_csr", "sparse_csc"):
        return compress(array.indices, array.values, array.shape, layout, index_dtype)
    high, wide = blocksize
    rows, columns = array.indices
    grid = (array.shape[0] // high, array.shape[1] // wide)
    present, number = np.unique((rows // high) * grid[1] + columns // wide, return_inverse=True)
    values = np.zeros((len(present), high, wide, *array.values.shape[1:]), array.dtype)
    values[number, rows % high, columns % wide] = array.values
    made = compress(np.stack([present // max(grid[1], 1), present % max(grid[1], 1)]), values, grid, layout, index_dtype)
    return Compressed(layout, made.compressed, made.plain, made.values, array.shape)


def dense_to_compressed(array: Any, layout: str, blocksize: Any = None, dense_dim: int = 0) -> Compressed:
    """A dense array (of batches of matrices with dense elements) as a compressed one."""
    batch_dim = array.ndim - 2 - dense_dim
    batch = array.shape[:batch_dim]
    count = math.prod(batch)
    if not count:
        raise OperationError(f"to_{layout}: Expected product of batch dimensions to be non-zero.")
    matrices = array.reshape(count, *array.shape[batch_dim:])
    made = [coordinates_to_compressed(from_dense(each, 2), layout, blocksize) for each in matrices]
    return batched(made, batch) if batch else made[0]


def compressed_to(array: Compressed, layout: str, blocksize: Any = None) -> Compressed:
    """A compressed array in another compressed layout."""
    made = [coordinates_to_compressed(matrix_coordinates(opened(each)), layout, blocksize, array.plain.dtype) for each in parts(array)]
    return batched(made, array.shape[: array.batch_dim]) if array.batch_dim else made[0]


def emptied(array: Compressed, dtype: Any, layout: str | None = None) -> Compressed:
    """A compressed array of the same shape in which no element is kept, also in the layout that goes by the other dimension."""
    layout = layout or array.layout
    at = array.batch_dim
    shape = (*array.values.shape[:at], 0, *array.values.shape[at + 1 :])
    by = at + layout.endswith("c")
    lines = array.shape[by] // (array.values.shape[by + 1] if is_blocked(layout) else 1)
    compressed = np.zeros((*array.compressed.shape[:-1], lines + 1), array.compressed.dtype)
    return Compressed(layout, compressed, array.plain[..., :0].copy(), np.zeros(shape, dtype), array.shape)


def is_blocked(layout: str) -> bool:
    """Whether a compressed layout keeps blocks of elements."""
    return layout in ("sparse_bsr", "sparse_bsc")


def like(array: Any, values: Any) -> Any:
    """A sparse array of the same places with other values."""
    if array.__class__ is Coordinates:
        return Coordinates(array.indices, values, (*array.shape[: array.sparse_dim], *values.shape[1:]), array.coalesced)
    return Compressed(array.layout, array.compressed, array.plain, values, array.shape)

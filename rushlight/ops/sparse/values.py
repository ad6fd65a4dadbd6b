"""The two maps between a sparse tensor and its values, each the other's adjoint: most sparse ops and their gradients are made of them.

A *structure* is a sparse array of which only the places matter: indices, or compressed indices, and the shape.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.base import TensorBase, make
from ...core.sparse import SPARSE, Compressed, Coordinates
from .formats import coalesced, compressed_to_coordinates, dense, dense_to_compressed, from_dense, like, parts, row_numbers, values_at
from .record import recorded


def with_values(structure: Any, values: Any, name: str = "SparseCooTensorWithDimsAndTensorsBackward0") -> Any:
    """A sparse tensor of given places and (dense) values; gradients flow to the values."""
    return recorded(name, like(structure, values._array), (values,), _values_gradient, structure)


def _values_gradient(needs: Any, g: Any, structure: Any) -> tuple[Any, ...]:
    return (values_of(g, structure),)


def values_of(tensor: Any, structure: Any = None, name: str = "ValuesBackward0") -> Any:
    """The elements of a sparse or dense tensor at the places of a structure (its own, by default), as a dense tensor."""
    array = tensor._array
    if structure is None:
        structure = places(tensor)
    return recorded(name, _picked(array, structure), (tensor,), _picked_gradient, structure, array.__class__ in SPARSE)


def _picked_gradient(needs: Any, g: Any, structure: Any, sparse: bool) -> tuple[Any, ...]:
    result = with_values(structure, g)
    return (result if sparse else to_dense(result),)


def places(tensor: Any) -> Any:
    """The structure of a sparse tensor: sorted, without duplicates."""
    array = tensor._array
    return coalesced(array) if array.__class__ is Coordinates else array


def _picked(array: Any, structure: Any) -> Any:
    if array is structure:
        return array.values
    if structure.__class__ is Coordinates:
        return values_at(array, structure)
    if array.__class__ is Compressed and same_places(array, structure):
        return array.values
    full = dense(array) if array.__class__ in SPARSE else array
    count = structure.batch_dim
    high, wide = structure.blocksize
    found = []
    for matrix, each in zip(full.reshape(-1, *full.shape[count:]) if count else full[None], parts(structure)):
        rows, columns = row_numbers(each.compressed), each.plain
        if not each.by_rows:
            rows, columns = columns, rows
        if each.blocked:
            rows = rows[:, None, None] * high + np.arange(high)[:, None]
            columns = columns[:, None, None] * wide + np.arange(wide)
        found.append(matrix[rows, columns])
    return np.stack(found).reshape(*structure.shape[:count], *found[0].shape) if count else found[0]


def same_places(a: Any, b: Any) -> bool:
    """Whether two compressed arrays keep the same elements."""
    return (
        a.layout == b.layout and a.shape == b.shape and a.blocksize == b.blocksize
        and np.array_equal(a.compressed, b.compressed) and np.array_equal(a.plain, b.plain)
    )  # fmt: skip


def to_dense(tensor: Any, masked: bool = True) -> Any:
    """All elements of a sparse tensor; the gradient keeps its places, or with ``masked=False`` is that of every element."""
    if tensor._array.__class__ not in SPARSE:
        return tensor
    structure = places(tensor)
    return recorded("ToDenseBackward0", dense(tensor._array), (tensor,), _dense_gradient, structure, masked)


def _dense_gradient(needs: Any, g: Any, structure: Any, masked: bool) -> tuple[Any, ...]:
    if masked:
        return (with_values(structure, values_of(g, structure)),)
    return (to_layout(to_dense(g), structure),)


def to_layout(tensor: Any, structure: Any) -> Any:
    """A dense tensor in the sparse layout of a structure, with the elements of its own that are not zero."""
    if structure.__class__ is Coordinates:
        array: Any = from_dense(tensor._array, structure.sparse_dim)
    else:
        array = dense_to_compressed(tensor._array, structure.layout, structure.blocksize, structure.dense_dim)
    return recorded("ToSparseBackward0", array, (tensor,), lambda needs, g: (to_dense(g, False),))


def as_coordinates(tensor: Any) -> Any:
    """A compressed tensor as COO; gradients come back compressed."""
    structure = tensor._array
    if structure.__class__ is not Compressed:
        return tensor
    return recorded("ToSparseBackward1", compressed_to_coordinates(structure), (tensor,), _compressed_gradient, structure)


def _compressed_gradient(needs: Any, g: Any, structure: Any) -> tuple[Any, ...]:
    return (with_values(structure, values_of(g, structure)),)


def plain(array: Any) -> Any:
    """A tensor over an array, without history."""
    return make(array)


def is_sparse_tensor(value: Any) -> bool:
    """Whether a value is a sparse tensor."""
    return isinstance(value, TensorBase) and value._array.__class__ in SPARSE

"""Converting between dense and sparse tensors, and reading the parts of a sparse one."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.base import TensorBase as Tensor
from ...core.base import make, storage_of
from ...core.declare import composite
from ...core.errors import ArgumentError, GradientError, NotSupported, OperationError, ShapeError
from ...core.sparse import SPARSE, Compressed, Coordinates, check_devices
from .formats import (
    coalesced,
    compressed_to,
    coordinates_to_compressed,
    dense_to_compressed,
    empty_coordinates,
    from_dense,
)
from .record import recorded
from .values import as_coordinates, values_of, with_values
from .values import to_dense as make_dense

LAYOUTS = {"strided": "Strided", "sparse_coo": "Sparse", "sparse_csr": "SparseCsr", "sparse_csc": "SparseCsc", "sparse_bsr": "SparseBsr",
           "sparse_bsc": "SparseBsc"}  # fmt: skip


def layout_name(tensor: Any) -> str:
    """PyTorch's internal name of a tensor's layout, as its messages have it."""
    return LAYOUTS[getattr(tensor._array, "layout", "strided")]


@composite(namespace=None, method=True, name="to_dense")
def to_dense(input: Tensor, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
    """The tensor with all its elements; a dense one is returned as it is."""
    result = make_dense(input, masked_grad is None or masked_grad)
    return result if dtype is None or dtype is result.dtype else result.to(dtype)  # type: ignore[no-any-return]


@composite(namespace=None, method=True)
def to_sparse(
    input: Tensor, sparse_dim: int | None = None, *, layout: Any = None, blocksize: Any = None, dense_dim: int | None = None
) -> Tensor:
    """The tensor in a sparse layout, by default COO with ``sparse_dim`` sparse dimensions (all of them)."""
    name = getattr(layout, "name", None) or "sparse_coo"
    if sparse_dim is not None and (layout is not None or blocksize is not None or dense_dim is not None):
        raise ArgumentError("to_sparse() takes sparse_dim, or layout, blocksize and dense_dim, but not both")
    if name == "strided":
        return make_dense(input)  # type: ignore[no-any-return]
    if name == "sparse_coo":
        if blocksize is not None:
            raise OperationError("to_sparse: conversion from Strided to Sparse with blocksize argument given is not supported")
        if dense_dim:
            sparse_dim = input._array.ndim - dense_dim
        return _to_coordinates(input, sparse_dim)
    return _to_compressed(input, name, blocksize, dense_dim)


@composite(namespace=None, method=True)
def to_sparse_coo(input: Tensor) -> Tensor:
    """The tensor in coordinate format."""
    return _to_coordinates(input, None)


def _to_coordinates(input: Any, sparse_dim: int | None) -> Any:
    array = input._array
    if array.__class__ is Coordinates:
        if sparse_dim is not None and sparse_dim != array.sparse_dim:
            raise OperationError(
                "to_sparse: conversion from Sparse to Sparse with sparse_dim argument !=self.sparse_dim() is not supported"
            )
        return input
    if array.__class__ is Compressed:
        return as_coordinates(input)
    check_devices("to_sparse", input)
    count = array.ndim if sparse_dim is None else sparse_dim
    if not 0 <= count <= array.ndim or (sparse_dim == 0 and array.ndim):
        raise OperationError(f"dense_to_sparse: sparse_dim argument must be in [0,{array.ndim}] range, but {count} is given")
    return recorded("ToSparseBackward1", from_dense(array, count), (input,), _dense_gradient)


def _dense_gradient(needs: Any, g: Any) -> tuple[Any, ...]:
    return (make_dense(g, False),)


_NODES = {"sparse_csr": "ToSparseCsrBackward0", "sparse_csc": "ToSparseCscBackward0", "sparse_bsr": "ToSparseBsrBackward0",
          "sparse_bsc": "ToSparseBscBackward0"}  # fmt: skip


def _to_compressed(input: Any, layout: str, blocksize: Any = None, dense_dim: int | None = None) -> Any:
    array = input._array
    blocked = layout in ("sparse_bsr", "sparse_bsc")
    short = layout.removeprefix("sparse_")
    check_devices(f"to_{layout}", input)
    if blocked:
        if blocksize is None or len(blocksize) != 2:
            raise OperationError(f"to_sparse_{short}: conversion to {LAYOUTS[layout]} needs a blocksize of two numbers, got {blocksize}")
        blocksize = tuple(blocksize)
        if min(blocksize) <= 0:
            raise OperationError(f"dense_to_sparse_{short}: blocksize needs to be two positive numbers, got {blocksize}")
    if array.__class__ is Compressed and array.layout == layout and (not blocked or array.blocksize == blocksize):
        return input
    if array.ndim < 2:
        raise ShapeError(f"to_sparse_{short}: a tensor of {array.ndim} dimensions has no rows and columns")
    batch = array.batch_dim if array.__class__ is Compressed else 0 if array.__class__ is Coordinates else array.ndim - 2 - (dense_dim or 0)
    pair = array.shape[batch : batch + 2]
    if blocked and any(size % block for size, block in zip(pair, blocksize)):
        raise OperationError(
            f"dense_to_sparse_{short}: tensor sparse size ({pair[0]},{pair[1]}) must be divisible by given blocksize "
            f"({blocksize[0]},{blocksize[1]})"
        )
    if array.__class__ is Coordinates:
        if array.sparse_dim != 2:
            raise OperationError(
                f"coo_to_sparse_{short}: conversion from Sparse to {LAYOUTS[layout]} for input tensors with sparse_dim()!=2 is not supported"
            )
        made: Any = coordinates_to_compressed(array, layout, blocksize)
        return recorded(_NODES[layout], made, (input,), _coordinates_gradient)
    if array.__class__ is Compressed:
        made = compressed_to(array, layout, blocksize)
        return recorded(_NODES[layout], made, (input,), _structured_gradient, array)
    return recorded(_NODES[layout], dense_to_compressed(array, layout, blocksize, dense_dim or 0), (input,), _dense_gradient)


def _coordinates_gradient(needs: Any, g: Any) -> tuple[Any, ...]:
    return (as_coordinates(g) if g._array.__class__ is Compressed else g,)


def _structured_gradient(needs: Any, g: Any, structure: Any) -> tuple[Any, ...]:
    return (with_values(structure, values_of(g, structure)),)


@composite(namespace=None, method=True)
def to_sparse_csr(input: Tensor, dense_dim: int | None = None) -> Tensor:
    """The tensor in the format of compressed rows."""
    return _to_compressed(input, "sparse_csr", None, dense_dim)  # type: ignore[no-any-return]


@composite(namespace=None, method=True)
def to_sparse_csc(input: Tensor, dense_dim: int | None = None) -> Tensor:
    """The tensor in the format of compressed columns."""
    return _to_compressed(input, "sparse_csc", None, dense_dim)  # type: ignore[no-any-return]


@composite(namespace=None, method=True)
def to_sparse_bsr(input: Tensor, blocksize: Any, dense_dim: int | None = None) -> Tensor:
    """The tensor in the format of compressed rows of blocks."""
    return _to_compressed(input, "sparse_bsr", blocksize, dense_dim)  # type: ignore[no-any-return]


@composite(namespace=None, method=True)
def to_sparse_bsc(input: Tensor, blocksize: Any, dense_dim: int | None = None) -> Tensor:
    """The tensor in the format of compressed columns of blocks."""
    return _to_compressed(input, "sparse_bsc", blocksize, dense_dim)  # type: ignore[no-any-return]


# -- parts of a sparse tensor ------------------------------------------------------------------------------------


def require_coordinates(tensor: Any, what: str) -> Coordinates:
    """The array of a tensor that has to be in coordinate format."""
    if tensor._array.__class__ is not Coordinates:
        raise OperationError(f"{what} expected sparse coordinate tensor layout but got {layout_name(tensor)}")
    return tensor._array  # type: ignore[no-any-return]


def require_compressed(tensor: Any, what: str, rows: bool) -> Compressed:
    """The array of a tensor that has to be in a format of compressed rows, or columns."""
    array = tensor._array
    if array.__class__ is not Compressed or array.by_rows is not rows:
        raise OperationError(f"{what} expected sparse {'row' if rows else 'column'} compressed tensor layout but got {layout_name(tensor)}")
    return array  # type: ignore[no-any-return]


@composite(namespace=None, method=True)
def coalesce(input: Tensor) -> Tensor:
    """The same COO tensor with sorted indices, none of them twice: values of equal places are added."""
    array = require_coordinates(input, "coalesce")
    if array.coalesced:
        return input
    made = coalesced(array)
    if made.values is array.values:
        made = made.copy()
    return recorded("CoalesceBackward0", made, (input,), lambda needs, g: (g,))  # type: ignore[no-any-return]


@composite(namespace=None, method=True)
def values(input: Tensor) -> Tensor:
    """The values of a coalesced COO tensor, or of a compressed one; they share its memory."""
    array = input._array
    if array.__class__ not in SPARSE:
        raise OperationError("values expected sparse tensor layout but got Strided")
    if array.__class__ is Coordinates and not array.coalesced:
        raise OperationError("Cannot get values on an uncoalesced tensor, please call .coalesce() first")
    return values_of(input, array)  # type: ignore[no-any-return]


@composite(namespace=None, method=True)
def indices(input: Tensor) -> Tensor:
    """The indices of a coalesced COO tensor: a row for each sparse dimension."""
    array = require_coordinates(input, "indices")
    if not array.coalesced:
        raise OperationError("Cannot get indices on an uncoalesced tensor, please call .coalesce() first")
    return alias_of(array.indices)


@composite(namespace=None, method=True)
def _indices(input: Tensor) -> Tensor:
    """The indices of a COO tensor, coalesced or not."""
    return alias_of(require_coordinates(input, "_indices").indices)


@composite(namespace=None, method=True)
def _values(input: Tensor) -> Tensor:
    """The values of a COO tensor, coalesced or not, outside the gradient graph."""
    return alias_of(require_coordinates(input, "_values").values)


def alias_of(array: Any) -> Any:
    """A tensor over a part of a sparse array."""
    return make(array)


@composite(namespace=None, method=True)
def crow_indices(input: Tensor) -> Tensor:
    """Where the rows of a CSR or BSR tensor begin."""
    return alias_of(require_compressed(input, "crow_indices", True).compressed)


@composite(namespace=None, method=True)
def col_indices(input: Tensor) -> Tensor:
    """The columns of the elements (or blocks) of a CSR or BSR tensor."""
    return alias_of(require_compressed(input, "col_indices", True).plain)


@composite(namespace=None, method=True)
def ccol_indices(input: Tensor) -> Tensor:
    """Where the columns of a CSC or BSC tensor begin."""
    return alias_of(require_compressed(input, "ccol_indices", False).compressed)


@composite(namespace=None, method=True)
def row_indices(input: Tensor) -> Tensor:
    """The rows of the elements (or blocks) of a CSC or BSC tensor."""
    return alias_of(require_compressed(input, "row_indices", False).plain)


@composite(namespace=None, method=True)
def sparse_mask(input: Tensor, mask: Tensor) -> Tensor:
    """The elements at the places of a sparse tensor, as a sparse tensor."""
    structure = mask._array
    if structure.__class__ not in SPARSE:
        raise NotSupported("Could not run 'aten::sparse_mask' with arguments from the 'CPU' backend: the mask has to be a sparse tensor")
    if tuple(structure.shape) != tuple(input._array.shape):
        raise OperationError(
            f"sparse_mask(): operands have incompatible sizes; self has size {list(input._array.shape)} but mask has size {list(structure.shape)}"
        )
    if structure.__class__ is Coordinates and input._array.__class__ is Coordinates and input._array.sparse_dim != structure.sparse_dim:
        input = make_dense(input)
    return with_values(structure, values_of(input, structure), "SparseMaskBackward0")  # type: ignore[no-any-return]


# -- in place ----------------------------------------------------------------------------------------------------


@composite(namespace=None, method=True)
def sparse_resize_(input: Tensor, size: Any, sparse_dim: int, dense_dim: int) -> Tensor:
    """Give a COO tensor another size, in place; what is kept stays where it is."""
    array = require_coordinates(input, "sparse_resize_")
    if input._grad_fn is not None:
        raise GradientError("you cannot resize variables that require grad.")
    shape = tuple(size)
    if sparse_dim + dense_dim != len(shape):
        raise OperationError(
            f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(shape)}, sparse_dim = {sparse_dim}, dense_dim = {dense_dim}"
        )
    if array.nnz:
        before = (array.shape[: array.sparse_dim], array.shape[array.sparse_dim :])
        after = (shape[:sparse_dim], shape[sparse_dim:])
        for what, old, new in zip(("sparse", "dense"), before, after):
            if len(old) != len(new):
                raise OperationError(
                    f"changing the number of {what} dimensions (from {len(old)} to {len(new)}) on a non-empty sparse tensor is not supported.\n"
                    "If you need an empty sparse tensor of this size, call `x = torch.sparse_coo_tensor(size)`."
                )
            if any(b < a for a, b in zip(old, new)):
                raise OperationError(
                    f"shrinking the size of {what} dimensions (from {list(old)} to {list(new)}) on a non-empty sparse tensor is not supported.\n"
                    "If you need an empty sparse tensor of this size, call `x = torch.sparse_coo_tensor(size)`."
                )
        if before[1] != after[1]:
            array.values = _padded(array.values, (array.nnz, *after[1]))
        array.shape = shape
    else:
        array.become(empty_coordinates(shape, sparse_dim, array.dtype))
    storage_of(input).version += 1
    return input


def _padded(values: Any, shape: Any) -> Any:
    made = np.zeros(shape, values.dtype)
    made[tuple(slice(0, size) for size in values.shape)] = values
    return made


@composite(namespace=None, method=True)
def sparse_resize_and_clear_(input: Tensor, size: Any, sparse_dim: int, dense_dim: int) -> Tensor:
    """Give a COO tensor another size and drop what it keeps, in place."""
    array = require_coordinates(input, "sparse_resize_and_clear_")
    if sparse_dim + dense_dim != len(size):
        raise OperationError(
            f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(size)}, sparse_dim = {sparse_dim}, dense_dim = {dense_dim}"
        )
    array.become(empty_coordinates(tuple(size), sparse_dim, array.dtype))
    storage_of(input).version += 1
    return input

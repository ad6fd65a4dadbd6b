"""Making sparse tensors of indices and values."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.base import TensorBase as Tensor
from ...core.base import make
from ...core.declare import composite, table
from ...core.devices import available
from ...core.dtypes import BY_NUMPY, FLOATING, default
from ...core.errors import ArgumentError, GradientError, OperationError
from ...core.sparse import Compressed, Coordinates, check_device, check_devices
from .formats import check_places, empty_coordinates
from .record import recorded
from .values import values_of

COMPRESSED = ("sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc")


class Invariants:
    """Whether new sparse tensors are checked: ``torch.sparse.check_sparse_tensor_invariants`` switches it."""

    checked = False


def as_values(name: str, data: Any, dtype: Any, place: Any) -> Any:
    """Values as a tensor, for a function of a name: one that is given keeps its history."""
    check_device(name, None if place is None else available(place))
    check_devices(name, data)
    if isinstance(data, Tensor):
        return data if dtype is None or dtype is data.dtype else data.to(dtype)
    return _tensor(data, dtype)


def _tensor(data: Any, dtype: Any) -> Any:
    array = np.array(data.tolist() if hasattr(data, "tolist") else data) if not isinstance(data, np.ndarray) else data.copy()
    if dtype is not None:
        array = array.astype(dtype.numpy)
    elif array.dtype == np.float64 and not isinstance(data, np.ndarray):
        array = array.astype(default.numpy)
    elif array.dtype == np.complex128 and not isinstance(data, np.ndarray):
        array = array.astype(np.complex64)
    return make(array)


def as_indices(data: Any, dtype: Any = np.int64) -> Any:
    """Indices as an array of integers."""
    if isinstance(data, Tensor):
        array = data._array
    else:
        array = np.asarray(
            [each.tolist() if isinstance(each, Tensor) else each for each in data] if isinstance(data, (list, tuple)) else data
        )
        if not array.size:
            array = array.astype(np.int64)
    return np.ascontiguousarray(array, dtype)


def finished(result: Any, requires_grad: bool) -> Any:
    """``requires_grad=True`` of a function that makes a tensor: a leaf."""
    if requires_grad:
        if BY_NUMPY[result._array.dtype].category < FLOATING:
            raise GradientError("Only Tensors of floating point and complex dtype can require gradients")
        result = make(result._array)
        result._requires_grad = True
    return result


@composite(namespace="", method=False)
def sparse_coo_tensor(
    indices: Any = None, values: Any = None, size: Any = None, *, dtype: Any = None, device: Any = None, pin_memory: bool = False,
    requires_grad: bool = False, check_invariants: bool | None = None, is_coalesced: bool | None = None,
) -> Tensor:  # fmt: skip
    """A sparse tensor in coordinate format: ``values[n]`` stands at ``indices[:, n]``; values of equal places add up."""
    if values is None:
        shape = tuple(size if size is not None else indices)
        kind = (dtype or BY_NUMPY[default.numpy]).numpy
        check_device("sparse_coo_tensor", None if device is None else available(device))
        return finished(make(empty_coordinates(shape, len(shape), kind)), requires_grad)
    if requires_grad and isinstance(values, Tensor):
        values = values.detach()
    found = as_values("sparse_coo_tensor", values, dtype, device)
    places = as_indices(indices)
    if places.ndim == 1 and not places.size:
        places = places.reshape(1, 0)
    if places.ndim != 2:
        if places.ndim == 1 and size is not None:
            raise OperationError(
                f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(size)}, sparse_dim = {len(places)}, "
                f"dense_dim = {found._array.ndim - 1}"
            )
        raise OperationError(f"indices must be sparse_dim x nnz, but got: {list(places.shape)}")
    if found._array.ndim == 0:
        found = found.reshape(1)
    count, nnz = places.shape
    if nnz != found._array.shape[0]:
        raise OperationError(
            f"indices and values must have same nnz, but got nnz from indices: {nnz}, nnz from values: {found._array.shape[0]}"
        )
    trailing = tuple(found._array.shape[1:])
    if size is None:
        if nnz and places.size and places.min() < 0:
            raise OperationError(f"found negative index {int(places.min())} for dim {int(np.argmin(places.min(1)))}")
        shape = (*(int(each.max()) + 1 if nnz else 0 for each in places), *trailing)
    else:
        shape = tuple(int(each) for each in size)
        if len(shape) != count + len(trailing):
            raise OperationError(
                f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(shape)}, sparse_dim = {count}, "
                f"dense_dim = {len(trailing)}"
            )
        if trailing != shape[count:]:
            raise OperationError(f"values has incorrect size, expected {[nnz, *shape[count:]]}, got {list(found._array.shape)}")
    array = Coordinates(places, found._array, shape, bool(is_coalesced) if is_coalesced is not None else False)
    if Invariants.checked if check_invariants is None else check_invariants:
        check_places(array)
    name = "SparseCooTensorWithDimsAndTensorsBackward0"
    return finished(recorded(name, array, (found,), lambda needs, g: (values_of(g, array),)), requires_grad)


# -- compressed --------------------------------------------------------------------------------------------------


def compressed_tensor(
    layout: str, compressed: Any, plain: Any, values: Any, size: Any, dtype: Any, device: Any, requires_grad: bool, check: bool | None
) -> Any:
    """A tensor in one of the compressed formats."""
    if requires_grad and isinstance(values, Tensor):
        values = values.detach()
    found = as_values(f"{layout}_tensor", values, dtype, device)
    both = [each._array.dtype for each in (compressed, plain) if isinstance(each, Tensor)]
    kind = np.int32 if len(both) == 2 and all(each == np.int32 for each in both) else np.int64
    begin, other = as_indices(compressed, kind), as_indices(plain, kind)
    array = Compressed(layout, begin, other, found._array, ())
    if size is None:
        blocks = array.blocksize
        count = begin.shape[-1] - 1
        along = int(other.max()) + 1 if other.size else 0
        pair = (count * blocks[0], along * blocks[1]) if array.by_rows else (along * blocks[0], count * blocks[1])
        trailing = found._array.shape[begin.ndim + (2 if array.blocked else 0) :]
        shape = (*begin.shape[:-1], *pair, *trailing)
    else:
        shape = tuple(int(each) for each in size)
    array.shape = shape
    if Invariants.checked if check is None else check:
        check_compressed(array)
    name = "SparseCompressedTensorBackward0"
    return finished(recorded(name, array, (found,), lambda needs, g: (values_of(g, array),)), requires_grad)


def check_compressed(array: Compressed) -> None:
    """Refuse indices that make no matrix."""
    rows, columns = ("crow", "col") if array.by_rows else ("ccol", "row")
    first, second = ("nrows", "ncols") if array.by_rows else ("ncols", "nrows")
    count = array.batch_dim
    blocks, pair = array.blocksize, array.shape[count : count + 2]
    if len(pair) < 2:
        raise OperationError(f"size must have at least 2 dimensions for {array.layout}, got {list(array.shape)}")
    grid = (pair[0] // blocks[0], pair[1] // blocks[1])
    major, minor = grid if array.by_rows else grid[::-1]
    if array.compressed.shape[-1] != major + 1:
        raise OperationError(f"{rows}_indices.shape[-1] must be equal to {first} + 1 ({major + 1}), but got {array.compressed.shape[-1]}")
    if array.plain.shape[-1] != array.values.shape[count]:
        raise OperationError(
            f"number of elements in {columns}_indices ({array.plain.shape[-1]}) must match that of values ({array.values.shape[count]})"
        )
    if (array.compressed[..., 0] != 0).any():
        raise OperationError(f"`{rows}_indices[..., 0] == 0` is not satisfied.")
    if (array.compressed[..., -1] != array.nnz).any():
        raise OperationError(f"`{rows}_indices[..., -1] == nnz` is not satisfied.")
    step = np.diff(array.compressed)
    if (step < 0).any() or (step > minor).any():
        raise OperationError(f"`0 <= {rows}_indices[..., 1:] - {rows}_indices[..., :-1] <= {second}` is not satisfied.")
    if array.plain.size and (array.plain.min() < 0 or array.plain.max() >= minor):
        raise OperationError(f"`0 <= {columns}_indices < {second}` is not satisfied.")


@composite(namespace="", method=False)
def sparse_compressed_tensor(
    compressed_indices: Any, plain_indices: Any, values: Any, size: Any = None, *, dtype: Any = None, layout: Any = None,
    device: Any = None, pin_memory: bool = False, requires_grad: bool = False, check_invariants: bool | None = None,
) -> Tensor:  # fmt: skip
    """A sparse tensor in the compressed format that ``layout`` names."""
    name = getattr(layout, "name", None)
    if name not in COMPRESSED:
        raise ArgumentError(f"expected sparse compressed tensor layout but got {layout!r}")
    return compressed_tensor(name, compressed_indices, plain_indices, values, size, dtype, device, requires_grad, check_invariants)  # type: ignore[no-any-return]


@composite(namespace="", method=False)
def sparse_csr_tensor(
    crow_indices: Any, col_indices: Any, values: Any, size: Any = None, *, dtype: Any = None, layout: Any = None, device: Any = None,
    pin_memory: bool = False, requires_grad: bool = False, check_invariants: bool | None = None,
) -> Tensor:  # fmt: skip
    """A sparse tensor of compressed rows: row ``r`` has the columns ``col_indices[crow_indices[r]:crow_indices[r + 1]]``."""
    return compressed_tensor("sparse_csr", crow_indices, col_indices, values, size, dtype, device, requires_grad, check_invariants)  # type: ignore[no-any-return]


@composite(namespace="", method=False)
def sparse_csc_tensor(
    ccol_indices: Any, row_indices: Any, values: Any, size: Any = None, *, dtype: Any = None, layout: Any = None, device: Any = None,
    pin_memory: bool = False, requires_grad: bool = False, check_invariants: bool | None = None,
) -> Tensor:  # fmt: skip
    """A sparse tensor of compressed columns."""
    return compressed_tensor("sparse_csc", ccol_indices, row_indices, values, size, dtype, device, requires_grad, check_invariants)  # type: ignore[no-any-return]


@composite(namespace="", method=False)
def sparse_bsr_tensor(
    crow_indices: Any, col_indices: Any, values: Any, size: Any = None, *, dtype: Any = None, layout: Any = None, device: Any = None,
    pin_memory: bool = False, requires_grad: bool = False, check_invariants: bool | None = None,
) -> Tensor:  # fmt: skip
    """A sparse tensor of compressed rows of blocks."""
    return compressed_tensor("sparse_bsr", crow_indices, col_indices, values, size, dtype, device, requires_grad, check_invariants)  # type: ignore[no-any-return]


@composite(namespace="", method=False)
def sparse_bsc_tensor(
    ccol_indices: Any, row_indices: Any, values: Any, size: Any = None, *, dtype: Any = None, layout: Any = None, device: Any = None,
    pin_memory: bool = False, requires_grad: bool = False, check_invariants: bool | None = None,
) -> Tensor:  # fmt: skip
    """A sparse tensor of compressed columns of blocks."""
    return compressed_tensor("sparse_bsc", ccol_indices, row_indices, values, size, dtype, device, requires_grad, check_invariants)  # type: ignore[no-any-return]


@composite(namespace="sparse", name="sparse_spdiags", method=False)
def spdiags(diagonals: Tensor, offsets: Tensor, shape: Any, layout: Any = None) -> Tensor:
    """A sparse matrix with the rows of ``diagonals`` on the diagonals that ``offsets`` names."""
    lines, where = diagonals._array, np.atleast_1d(offsets._array)
    if lines.ndim == 1:
        lines = lines[None]
    if len(shape) != 2:
        raise OperationError("Output shape must be 2d")
    if where.ndim != 1 or lines.ndim > 2:
        raise OperationError("Offsets must be scalar or vector, diagonals must be vector or matrix")
    if len(where) != len(lines):
        raise OperationError(f"Number of diagonals ({len(lines)}) does not match the number of offsets ({len(where)})")
    if len(np.unique(where)) != len(where):
        raise OperationError("Offset tensor contains duplicate values")
    rows, columns = shape
    found: list[Any] = []
    values: list[Any] = []
    for line, offset in zip(lines, where.tolist()):
        column = np.arange(max(offset, 0), max(min(columns, rows + offset, len(line)), max(offset, 0)))
        found.append(np.stack([column - offset, column]))
        values.append(line[column])
    places = np.concatenate([np.empty((2, 0), np.int64), *found], 1).astype(np.int64)
    array = Coordinates(places, np.concatenate([lines.reshape(-1)[:0], *values]), tuple(shape), False)
    wanted = getattr(layout, "name", None) or "sparse_coo"
    result = make(array)
    if wanted == "sparse_coo":
        return result  # type: ignore[no-any-return]
    if wanted not in ("sparse_csr", "sparse_csc"):
        raise OperationError(f"Only output layouts (Sparse, SparseCsc, SparseCsr) are supported, got {layout}")
    return table[f"to_{wanted}"].call(result)  # type: ignore[no-any-return]

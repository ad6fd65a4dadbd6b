"""Products with sparse matrices: the kernels, and the functions of ``torch.sparse`` that are made of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.base import TensorBase as Tensor
from ...core.base import make
from ...core.declare import composite, table
from ...core.dtypes import LOW_PRECISION, legacy_name
from ...core.errors import NotSupported, OperationError
from ...core.sparse import SPARSE, Compressed, Coordinates
from .convert import layout_name
from .formats import coalesced, compress, compressed_to_coordinates, pointers, row_numbers
from .record import recorded, renamed
from .values import places, to_dense, values_of, with_values

_BLOCK = 1 << 22  # elements of the products that are summed at a time


def rows_of(array: Any) -> tuple[Any, Any, Any]:
    """Where rows begin, columns and values of a sparse matrix, in the order of rows."""
    if array.__class__ is Compressed and array.layout == "sparse_csr":
        return array.compressed, array.plain, array.values
    found = compressed_to_coordinates(array) if array.__class__ is Compressed else array
    rows, columns = found.indices
    if found.nnz and (rows.min() < 0 or columns.min() < 0 or rows.max() >= found.shape[0] or columns.max() >= found.shape[1]):
        raise OperationError("a sparse matrix with an index out of range can't be multiplied")
    if found.coalesced or not found.nnz or bool((rows[1:] >= rows[:-1]).all()):
        return pointers(rows, found.shape[0]), columns, found.values
    order = np.argsort(rows, kind="stable")
    return pointers(rows[order], found.shape[0]), columns[order], found.values[order]


def sparse_times_dense(array: Any, other: Any) -> Any:
    """A sparse matrix times a dense one, row by row: sums of the rows of the other that the kept columns name."""
    begin, columns, values = rows_of(array)
    count = other.shape[1]
    kind = other.dtype
    computed = np.dtype(np.float32) if kind in LOW_PRECISION else kind
    result = np.zeros((array.shape[0], count), computed)
    filled = np.flatnonzero(np.diff(begin))
    if not len(filled) or not count:
        return result.astype(kind, copy=False)
    other = other.astype(computed, copy=False)
    values = values.astype(computed, copy=False)
    starts = begin[:-1][filled]
    rows = max(1, len(filled) * _BLOCK // max(len(columns) * count, 1))
    for first in range(0, len(filled), rows):
        chunk = starts[first : first + rows]
        low = int(chunk[0])
        high = int(starts[first + rows]) if first + rows < len(filled) else len(columns)
        products = other[columns[low:high]]
        products *= values[low:high, None]
        result[filled[first : first + rows]] = np.add.reduceat(products, chunk - low, axis=0)
    return result.astype(kind, copy=False)


def sparse_times_sparse(a: Any, b: Any) -> Coordinates:
    """The product of two sparse matrices, coalesced: every kept element of the first meets a row of the second."""
    first_begin, first_columns, first_values = rows_of(a)
    begin, columns, values = rows_of(b)
    rows = row_numbers(first_begin)
    counts = np.diff(begin)[first_columns]
    total = int(counts.sum())
    element = np.repeat(np.arange(len(first_columns)), counts)
    offset = np.arange(total) - np.repeat(np.cumsum(counts) - counts, counts)
    place = begin[:-1][first_columns][element] + offset
    shape = (a.shape[0], b.shape[1])
    indices = np.stack([rows[element], columns[place].astype(np.int64)]) if total else np.zeros((2, 0), np.int64)
    return coalesced(Coordinates(indices, (first_values[element] * values[place]).astype(first_values.dtype, copy=False), shape))


def check_product(a: Any, b: Any) -> None:
    """Refuse a product of matrices that do not meet, or of different types."""
    if a._array.ndim != 2 or b._array.ndim != 2:
        raise OperationError(f"mm: expected two matrices, got tensors of {a._array.ndim} and {b._array.ndim} dimensions")
    if a._array.shape[1] != b._array.shape[0]:
        raise OperationError(
            f"mat1 and mat2 shapes cannot be multiplied ({a._array.shape[0]}x{a._array.shape[1]} and {b._array.shape[0]}x{b._array.shape[1]})"
        )
    if a._array.dtype != b._array.dtype:
        raise OperationError(f"expected scalar type {legacy_name(a._array.dtype)} but found {legacy_name(b._array.dtype)}")
    for each in (a, b):
        array = each._array
        if array.__class__ is Coordinates and array.sparse_dim != 2:
            raise OperationError(f"mm: expected a sparse matrix of 2 sparse dimensions, got {array.sparse_dim} and dense ones")


def product_array(a: Any, b: Any) -> Any:
    """The array of a product of two matrices, of which at least one is sparse."""
    left, right = a.__class__ in SPARSE, b.__class__ in SPARSE
    if left and right:
        made = sparse_times_sparse(a, b)
        return compress(made.indices, made.values, made.shape, "sparse_csr") if a.__class__ is Compressed else made
    if left:
        return sparse_times_dense(a, np.ascontiguousarray(b))
    return np.ascontiguousarray(sparse_times_dense(transposed(b), np.ascontiguousarray(a.T)).T)


def transposed(array: Any) -> Any:
    """A sparse matrix with rows and columns exchanged, over the same memory."""
    if array.__class__ is Coordinates:
        return Coordinates(array.indices[::-1], array.values, array.shape[::-1], False)
    other = {"sparse_csr": "sparse_csc", "sparse_csc": "sparse_csr", "sparse_bsr": "sparse_bsc", "sparse_bsc": "sparse_bsr"}[array.layout]
    values = array.values.swapaxes(-1, -2) if array.blocked else array.values
    return Compressed(other, array.compressed, array.plain, values, array.shape[::-1])


def mm(a: Any, b: Any, name: str = "MmBackward0") -> Any:
    """The product of two matrices, of which at least one is sparse; its gradients are those of all elements."""
    check_product(a, b)
    return recorded(name, product_array(a._array, b._array), (a, b), _mm_gradient, a, b)


def _mm_gradient(needs: Any, g: Any, a: Any, b: Any) -> tuple[Any, ...]:
    product, transpose = table["matmul"].call, table["t"].call
    first = product(g, conjugate(transpose(b))) if needs[0] else None
    second = product(conjugate(transpose(a)), g) if needs[1] else None
    return first, second


def conjugate(tensor: Any) -> Any:
    """The conjugate of a complex tensor; a real one as it is."""
    return table["conj"].call(tensor) if tensor._array.dtype.kind == "c" else tensor


def masked_product(a: Any, b: Any, structure: Any) -> Any:
    """The elements of ``a @ b`` at the places of a structure, as values: those of a sampled product."""
    if structure.__class__ is Compressed:
        if structure.batch_dim or structure.blocked:
            return values_of(table["matmul"].call(a, b), structure)
        rows, columns = row_numbers(structure.compressed), structure.plain.astype(np.int64)
        if not structure.by_rows:
            rows, columns = columns, rows
    else:
        rows, columns = structure.indices
    pick = table["index_select"].call
    left, right = pick(a, 0, make(rows)), pick(table["t"].call(b), 0, make(np.ascontiguousarray(columns)))
    return (left * right).sum(1)


# -- torch.sparse ------------------------------------------------------------------------------------------------


def addmm_sparse(input: Any, mat1: Any, mat2: Any, beta: Any, alpha: Any) -> Any:
    """``beta * input + alpha * mat1 @ mat2`` of a sparse first matrix, whose gradient keeps its places."""
    check_product(mat1, mat2)
    product = recorded(
        "SparseAddmmBackward0", product_array(mat1._array, mat2._array), (mat1, mat2), _masked_gradient, mat1, mat2, places(mat1)
    )
    if input is None and alpha == 1:
        return product
    product = product * alpha if alpha != 1 else product
    if input is None or beta == 0:
        return product
    return renamed((input * beta if beta != 1 else input) + product, "SparseAddmmBackward0")


def _masked_gradient(needs: Any, g: Any, a: Any, b: Any, structure: Any) -> tuple[Any, ...]:
    g = to_dense(g)
    first = second = None
    if needs[0]:
        other = to_dense(b) if b._array.__class__ in SPARSE else b
        first = with_values(structure, masked_product(g, conjugate(table["t"].call(other)), structure))
    if needs[1]:
        second = table["matmul"].call(conjugate(table["t"].call(a)), g)
    return first, second


def _sparse_gradient(needs: Any, g: Any, a: Any, b: Any) -> tuple[Any, ...]:
    product, mask = table["matmul"].call, table["sparse_mask"].call
    first = mask(product(g, conjugate(table["t"].call(b))), coalesced_tensor(a)) if needs[0] else None
    second = mask(product(conjugate(table["t"].call(a)), g), coalesced_tensor(b)) if needs[1] else None
    return first, second


def coalesced_tensor(tensor: Any) -> Any:
    """A tensor over the structure of a sparse one."""
    return make(places(tensor))


@composite(namespace="sparse", name="sparse_mm", method=False)
def sparse_mm(mat1: Tensor, mat2: Tensor, reduce: str | None = None) -> Tensor:
    """The product of a sparse and a dense (or sparse) matrix; the gradient of a sparse one keeps its places.

    ``reduce`` ("sum", "mean", "amax", "amin") says how the products of a row of a CSR matrix are combined.
    """
    if reduce is not None:
        return reduced_product(mat1, mat2, reduce)
    left, right = mat1._array.__class__ in SPARSE, mat2._array.__class__ in SPARSE
    if left and right:
        check_product(mat1, mat2)
        return recorded(  # type: ignore[no-any-return]
            "SparseSparseMatmulBackward0", product_array(mat1._array, mat2._array), (mat1, mat2), _sparse_gradient, mat1, mat2
        )
    if left:
        return addmm_sparse(None, mat1, mat2, 1, 1)
    if right:
        return table["t"].call(addmm_sparse(None, table["t"].call(mat2), table["t"].call(mat1), 1, 1))  # type: ignore[no-any-return]
    return table["matmul"].call(mat1, mat2)  # type: ignore[no-any-return]


@composite(namespace="sparse", name="sparse_addmm", method=False)
def addmm(mat: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1.0, alpha: Any = 1.0) -> Tensor:
    """``beta * mat + alpha * (mat1 @ mat2)`` of a sparse ``mat1``, whose gradient keeps its places."""
    if mat1._array.__class__ not in SPARSE:
        return table["addmm"].call(mat, mat1, mat2, beta=beta, alpha=alpha)  # type: ignore[no-any-return]
    return addmm_sparse(mat, mat1, mat2, beta, alpha)


@composite(namespace="sparse", name="sparse_sampled_addmm", method=False)
def sampled_addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1.0, alpha: Any = 1.0) -> Tensor:
    """``alpha * (mat1 @ mat2) + beta * input`` at the places of the CSR tensor ``input``."""
    structure = input._array
    if structure.__class__ is not Compressed or structure.layout != "sparse_csr":
        raise NotSupported(f"sampled_addmm: Expected input to be in Sparse CSR format, got {layout_name(input)}")
    for position, each in ((2, mat1), (3, mat2)):
        if each._array.__class__ in SPARSE:
            raise OperationError(f"sampled_addmm: Expected mat{position - 1} to have strided layout, but got {layout_name(each)}")
    if mat1._array.ndim != input._array.ndim or mat1._array.shape[-1] != mat2._array.shape[-2]:
        raise OperationError(
            f"mat1 and mat2 shapes cannot be multiplied ({'x'.join(map(str, mat1._array.shape))} and {'x'.join(map(str, mat2._array.shape))})"
        )
    found = masked_product(mat1, mat2, structure)
    if alpha != 1:
        found = found * alpha
    if beta != 0:
        kept = values_of(input, structure)
        found = found + (kept * beta if beta != 1 else kept)
    return with_values(structure, found, "SparseSampledAddmmBackward0")  # type: ignore[no-any-return]


def reduced_product(mat1: Any, mat2: Any, reduce: str) -> Any:
    """A CSR matrix times a dense one, with another reduction than the sum over each row's products; an empty row gives 0."""
    structure = mat1._array
    if structure.__class__ is not Compressed or structure.layout != "sparse_csr":
        raise NotSupported(f"torch.sparse.mm: Expect self to be of SparseCsr layout, but got {layout_name(mat1)}")
    kinds = {"sum": "sum", "mean": "mean", "amax": "amax", "amin": "amin", "max": "amax", "min": "amin", "prod": "prod"}
    if reduce not in kinds or reduce == "prod":
        raise OperationError(f"torch.sparse.mm: reduce argument must be either sum, mean, amax or amin, got {reduce}")
    check_product(mat1, mat2)
    rows = make(row_numbers(structure.compressed))
    products = values_of(mat1, structure).unsqueeze(1) * table["index_select"].call(mat2, 0, make(structure.plain.astype(np.int64)))
    start = table["zeros"].call(structure.shape[0], mat2._array.shape[1], dtype=mat2.dtype)
    index = rows.unsqueeze(1).expand(products._array.shape)
    return renamed(start.scatter_reduce(0, index, products, kinds[reduce], include_self=False), "SparseMmReduceImplBackward0")


@composite(namespace="", method=False)
def hspmm(mat1: Tensor, mat2: Tensor) -> Tensor:
    """A sparse matrix times a dense one, as a hybrid tensor: it keeps the rows that are not empty."""
    if mat1._array.__class__ is not Coordinates:
        raise OperationError(f"hspmm: Argument #2: Expected a sparse COO matrix, got {layout_name(mat1)}")
    check_product(mat1, mat2)
    full = sparse_times_dense(mat1._array, np.ascontiguousarray(mat2._array))
    rows = np.unique(mat1._array.indices[0])
    array = Coordinates(rows[None], full[rows], full.shape, True)
    return recorded("HspmmBackward0", array, (mat1, mat2), lambda needs, g, a, b: _mm_gradient(needs, to_dense(g), a, b), mat1, mat2)  # type: ignore[no-any-return]


@composite(namespace="", method=True)
def smm(input: Tensor, mat2: Tensor) -> Tensor:
    """A sparse matrix times a dense one, as a sparse tensor."""
    return sspaddmm_array(None, input, mat2, 0, 1)  # type: ignore[no-any-return]


@composite(namespace="", method=True)
def sspaddmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """``beta * input + alpha * (mat1 @ mat2)`` of sparse ``input`` and ``mat1``, as a sparse tensor."""
    return sspaddmm_array(input, mat1, mat2, beta, alpha)  # type: ignore[no-any-return]


def sspaddmm_array(input: Any, mat1: Any, mat2: Any, beta: Any, alpha: Any) -> Any:
    """The product as coordinates, after those of the input."""
    if mat1._array.__class__ is not Coordinates:
        raise OperationError(f"sspaddmm: Argument #1: Expected a sparse COO matrix, got {layout_name(mat1)}")
    check_product(mat1, mat2)
    full = sparse_times_dense(mat1._array, np.ascontiguousarray(mat2._array))
    rows = np.unique(mat1._array.indices[0])
    columns = np.arange(full.shape[1])
    indices = np.stack([np.repeat(rows, len(columns)), np.tile(columns, len(rows))])
    values = (full[rows] * alpha).astype(full.dtype, copy=False).reshape(-1)
    if input is not None:
        kept = input._array
        indices = np.concatenate([kept.indices, indices], 1)
        values = np.concatenate([(kept.values * beta).astype(full.dtype, copy=False), values])
    return make(Coordinates(np.ascontiguousarray(indices), values, full.shape, False))


@composite(namespace="", method=False)
def spmm(input: Tensor, mat2: Tensor) -> Tensor:
    """The product of a sparse and a dense matrix."""
    return table["mm"].call(input, mat2)  # type: ignore[no-any-return]


@composite(namespace="", method=False)
def dsmm(input: Tensor, mat2: Tensor) -> Tensor:
    """The product of a dense and a sparse matrix."""
    return table["mm"].call(input, mat2)  # type: ignore[no-any-return]


@composite(namespace="", method=False)
def hsmm(input: Tensor, mat2: Tensor) -> Tensor:
    """A sparse matrix times a dense one, as a hybrid tensor."""
    return table["hspmm"].call(input, mat2)  # type: ignore[no-any-return]


@composite(namespace="sparse", name="sparse_spsolve", method=False)
def spsolve(input: Tensor, other: Tensor, *, left: bool = True) -> Tensor:
    """Raise: PyTorch's solver of sparse systems is NVIDIA's, and this one would be ours."""
    raise NotSupported(
        "spsolve: PyTorch solves sparse systems with cuDSS on a GPU only, and there is none here: use linalg.solve(A.to_dense(), b)"
    )

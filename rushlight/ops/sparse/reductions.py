"""Reductions of sparse tensors: sums, norms, softmax; facts of the ``sparse`` facet, and functions of ``torch.sparse``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.base import TensorBase as Tensor
from ...core.base import make
from ...core.declare import composite, table
from ...core.dtypes import int64
from ...core.errors import OperationError
from ...core.families import normalize_dim
from ...core.sparse import SPARSE, Compressed, Coordinates, rules, unsupported
from .formats import flat_index
from .record import recorded, renamed
from .values import as_coordinates, places, values_of, with_values


def _wanted(dim: Any, count: int) -> list[int]:
    found = [normalize_dim(each, count) for each in (dim if isinstance(dim, (tuple, list)) else [dim])]
    if len(set(found)) < len(found):
        raise OperationError(f"dim {found[0]} appears multiple times in the list of dims")
    return sorted(found)


def sum_over(tensor: Any, dim: Any, keepdim: bool, dtype: Any, name: str) -> Any:
    """The sum over some dimensions of a COO tensor: dense where no sparse dimension is left."""
    structure = places(tensor)
    values = values_of(tensor, structure)
    dims = _wanted(dim, structure.ndim)
    sparse = [each for each in dims if each < structure.sparse_dim]
    dense = [1 + each - structure.sparse_dim for each in dims if each >= structure.sparse_dim]
    options = {} if dtype is None else {"dtype": dtype}
    if dense:
        values = values.sum(dense, keepdim, **options)
    elif dtype is not None:
        values = values.to(dtype)
    if dtype is None and structure.dtype.kind == "b" and dense:
        values = values.bool()
    if len(sparse) == structure.sparse_dim and not keepdim:
        return values.sum(0)
    if keepdim:
        indices = structure.indices.copy()
        indices[sparse] = 0
        shape = tuple(1 if each in dims else size for each, size in enumerate(structure.shape))
    else:
        indices = np.delete(structure.indices, sparse, axis=0)
        shape = tuple(size for each, size in enumerate(structure.shape) if each not in dims)
    made = with_values(Coordinates(np.ascontiguousarray(indices), values._array, shape, not sparse), values, name)
    return renamed(table["coalesce"].call(made), name)


@rules.register("sum")
def total(op: Any, args: tuple[Any, ...]) -> Any:
    input, dim, keepdim, dtype = args
    array = input._array
    if dtype is None and array.dtype.kind in "biu":
        dtype = int64
    every = dim is None or (isinstance(dim, (tuple, list)) and not len(dim))
    if every and not keepdim:
        found = op.call(make(array.values), dtype=dtype)
        return recorded("SumBackward0", found._array, (input,), _spread, array.shape, array.dtype)
    if array.__class__ is Compressed:
        if not keepdim or array.blocked:
            raise OperationError("reduction operations on CSR tensors with keepdim=False is unsupported")
        return table[f"to_{array.layout}"].call(
            sum_over(as_coordinates(input), range(array.ndim) if every else dim, True, dtype, "SumBackward1")
        )
    return sum_over(input, list(range(array.ndim)) if every else dim, keepdim, dtype, "SumBackward1")


def _spread(needs: Any, g: Any, shape: Any, dtype: Any) -> tuple[Any, ...]:
    return (g.expand(shape),)


@rules.register("any")
def any_of(op: Any, args: tuple[Any, ...]) -> Any:
    input, dim, keepdim = args
    if dim is not None:
        raise unsupported(op, args)
    return op.call(make(places(input).values))


@rules.register("norm")
def norm(op: Any, args: tuple[Any, ...]) -> Any:
    input, p, dim, keepdim, dtype = args
    given = [] if dim is None else _wanted(dim, input._array.ndim)
    if given and len(given) < input._array.ndim:
        raise OperationError(
            "norm_sparse currently only supports full reductions, so 'dim' must either be empty or contain all dimensions of the input"
        )
    if keepdim:
        raise OperationError("norm_sparse currently does not support keepdim=True")
    values = values_of(input)
    return renamed(op.call(values.reshape(-1), 2 if p in (None, "fro") else p, dtype=dtype), "NormBackward1")


@composite(namespace="sparse", name="sparse_sum", method=False)
def sparse_sum(input: Tensor, dim: Any = None, dtype: Any = None) -> Tensor:
    """The sum of a sparse tensor over all or some dimensions; its gradient keeps the places of the input."""
    if input._array.__class__ not in SPARSE:
        raise OperationError("torch.sparse.sum() expects a sparse tensor")
    if dim is None:
        found = values_of(input)
        return found.sum() if dtype is None else found.sum(dtype=dtype)  # type: ignore[no-any-return]
    return sum_over(as_coordinates(input), dim, False, dtype, "SparseSumBackward0")  # type: ignore[no-any-return]


def _softmax(input: Any, dim: int, dtype: Any, log: bool) -> Any:
    if input._array.__class__ is not Coordinates:
        raise OperationError("torch.sparse.softmax() expects a sparse COO tensor")
    name = "SparseLogSoftmaxBackward0" if log else "SparseSoftmaxBackward0"
    structure = places(input)
    dim = normalize_dim(dim, structure.ndim)
    values = values_of(input, structure)
    if dtype is not None:
        values = values.to(dtype)
    if dim >= structure.sparse_dim:
        function = table["log_softmax" if log else "softmax"].call
        return with_values(structure, function(values, 1 + dim - structure.sparse_dim), name)
    if not structure.nnz:
        return with_values(structure, values.clone(), name)
    others = [each for each in range(structure.sparse_dim) if each != dim]
    flat = flat_index(structure.indices[others], [structure.shape[each] for each in others])
    _, group = np.unique(flat, return_inverse=True)
    count = int(np.max(group)) + 1
    order = np.argsort(group, kind="stable")
    starts = np.searchsorted(group[order], np.arange(count))
    largest = make(np.maximum.reduceat(values._array[order], starts, axis=0)[group])
    index = make(group.astype(np.int64))
    shifted = values - largest
    powers = shifted.exp()
    sums = table["zeros"].call(count, *values._array.shape[1:], dtype=values.dtype).index_add(0, index, powers)
    if log:
        return with_values(structure, shifted - table["index_select"].call(sums.log(), 0, index), name)
    return with_values(structure, powers / table["index_select"].call(sums, 0, index), name)


@composite(namespace="sparse", name="sparse_softmax", method=False)
def softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """Softmax along a dimension of a sparse tensor: elements that are not kept count as minus infinity."""
    return _softmax(input, dim, dtype, False)  # type: ignore[no-any-return]


@composite(namespace="sparse", name="sparse_log_softmax", method=False)
def log_softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """Logarithm of the softmax along a dimension of a sparse tensor."""
    return _softmax(input, dim, dtype, True)  # type: ignore[no-any-return]

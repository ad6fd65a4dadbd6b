"""Sparse tensors in other shapes: dimensions exchanged, added and chosen, tensors joined; facts of the ``sparse`` facet."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.base import make
from ...core.declare import table
from ...core.errors import NotSupported, OperationError, ShapeError
from ...core.families import normalize_dim
from ...core.sparse import Compressed, Coordinates, rules, unsupported
from ...core.state import state
from .formats import parts
from .products import transposed
from .record import like_dense
from .values import as_coordinates, is_sparse_tensor, places, values_of, with_values


def kept(tensor: Any) -> tuple[Any, Any]:
    """Places and values of a COO tensor, as they are; coalesced where a gradient has to flow, which belongs to places."""
    recording = state.grad_enabled and tensor._requires_grad
    structure = places(tensor) if recording else tensor._array
    return structure, values_of(tensor, structure) if recording else make(structure.values)


def coordinates_of(op: Any, tensor: Any, args: tuple[Any, ...]) -> None:
    """Refuse a compressed tensor."""
    if tensor._array.__class__ is Compressed:
        raise unsupported(op, args)


@rules.register("permute")
def permute(op: Any, args: tuple[Any, ...]) -> Any:
    array = args[0]._array
    dims = args[1:] if len(args) > 2 or not isinstance(args[1], (tuple, list)) else args[1]
    order = [normalize_dim(each, array.ndim) for each in dims]
    if sorted(order) != list(range(array.ndim)):
        raise ShapeError(f"permute(sparse_coo): number of dimensions in the tensor input does not match the ordering of dimensions {dims}")
    return _permuted(
        op, args, order,
        "permute(sparse_coo): transpositions between sparse and dense dimensions are not allowed.Only transpositions within sparse and dense "
        "dimensions are supported.",
    )  # fmt: skip


@rules.register("transpose")
def transpose(op: Any, args: tuple[Any, ...]) -> Any:
    array = args[0]._array
    first, second = (normalize_dim(each, array.ndim) for each in args[1:])
    order = list(range(array.ndim))
    if order:
        order[first], order[second] = order[second], order[first]
    sparse = array.sparse_dim if array.__class__ is Coordinates else 2
    return _permuted(
        op, args, order, f"sparse transpose: transposed dimensions must be sparse Got sparse_dim: {sparse}, d0: {first}, d1: {second}"
    )


@rules.register("t")
def transpose_matrix(op: Any, args: tuple[Any, ...]) -> Any:
    array = args[0]._array
    sparse = array.sparse_dim if array.__class__ is Coordinates else min(2, array.ndim)
    if array.ndim > 2 or sparse < array.ndim:
        raise OperationError(
            f"t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got {sparse} sparse and {array.ndim - sparse} dense dimensions"
        )
    return _permuted(op, args, list(range(array.ndim))[::-1], "")


def _permuted(op: Any, args: tuple[Any, ...], order: list[int], refusal: str) -> Any:
    """A tensor with its dimensions in another order; the refusal is for an order that mixes sparse and dense ones."""
    array = args[0]._array
    if array.__class__ is Compressed:
        return like_dense(op, args, _permuted_compressed(op, args, array, order))
    sparse = array.sparse_dim
    if any((each < sparse) != (place < sparse) for place, each in enumerate(order)):
        raise OperationError(refusal)
    indices = np.ascontiguousarray(array.indices[order[:sparse]])
    values = array.values.transpose([0, *(1 + each - sparse for each in order[sparse:])])
    shape = tuple(array.shape[each] for each in order)
    same = order[:sparse] == list(range(sparse))
    return like_dense(op, args, Coordinates(indices, values, shape, array.coalesced and same))


def _permuted_compressed(op: Any, args: tuple[Any, ...], array: Any, order: list[int]) -> Any:
    if order == list(range(array.ndim)):
        return array
    batch = array.batch_dim
    exchanged = list(range(array.ndim))
    exchanged[batch], exchanged[batch + 1] = batch + 1, batch
    if order != exchanged or array.dense_dim:
        raise unsupported(op, args)
    if not batch:
        return transposed(array)
    flipped = transposed(parts(array)[0])
    values = array.values.swapaxes(-1, -2) if array.blocked else array.values
    shape = tuple(array.shape[each] for each in order)
    return Compressed(flipped.layout, array.compressed, array.plain, values, shape)


@rules.register("unsqueeze")
def unsqueeze(op: Any, args: tuple[Any, ...]) -> Any:
    input, dim = args
    coordinates_of(op, input, args)
    structure, values = kept(input)
    dim = normalize_dim(dim, structure.ndim + 1)
    shape = (*structure.shape[:dim], 1, *structure.shape[dim:])
    if dim > structure.sparse_dim:
        made = Coordinates(structure.indices, values._array, structure.shape, structure.coalesced)
        return with_values(made, values.unsqueeze(1 + dim - structure.sparse_dim), op.node_name)
    indices = np.insert(structure.indices, dim, 0, axis=0)
    return with_values(Coordinates(indices, structure.values, shape, structure.coalesced), values, op.node_name)


@rules.register("squeeze")
def squeeze(op: Any, args: tuple[Any, ...]) -> Any:
    input, dim = args
    coordinates_of(op, input, args)
    structure, values = kept(input)
    count = structure.ndim
    wanted = range(count) if dim is None else [normalize_dim(each, count) for each in (dim if isinstance(dim, (tuple, list)) else [dim])]
    dropped = [each for each in wanted if structure.shape[each] == 1]
    sparse = [each for each in dropped if each < structure.sparse_dim]
    for each in sorted((each for each in dropped if each >= structure.sparse_dim), reverse=True):
        values = values.squeeze(1 + each - structure.sparse_dim)
    indices = np.delete(structure.indices, sparse, axis=0)
    shape = tuple(size for each, size in enumerate(structure.shape) if each not in sparse)
    return with_values(Coordinates(indices, structure.values, shape, structure.coalesced), values, op.node_name)


@rules.register("index_select")
def index_select(op: Any, args: tuple[Any, ...]) -> Any:
    input, dim, index = args
    coordinates_of(op, input, args)
    structure, values = kept(input)
    dim = normalize_dim(dim, structure.ndim)
    wanted = index._array.astype(np.int64).reshape(-1)
    size = structure.shape[dim]
    if index._array.ndim > 1:
        raise OperationError("index_select() argument index must be 1-D long-tensor.")
    if wanted.size and (wanted.min() < -size or wanted.max() >= size):
        raise IndexError(
            f"index_select(): index contains {int(wanted.max())} that is out of range for tensor of size {list(structure.shape)} at dimension {dim}"
        )
    if dim >= structure.sparse_dim:
        return with_values(
            structure, table["index_select"].call(values, 1 + dim - structure.sparse_dim, make(wanted % max(size, 1))), op.node_name
        )
    wanted = wanted % max(size, 1)
    row = structure.indices[dim]
    order = np.argsort(row, kind="stable")
    begin = np.searchsorted(row[order], wanted, "left")
    counts = np.searchsorted(row[order], wanted, "right") - begin
    position = np.repeat(np.arange(len(wanted)), counts)
    element = order[np.repeat(begin, counts) + np.arange(len(position)) - np.repeat(np.cumsum(counts) - counts, counts)]
    indices = structure.indices[:, element]
    indices[dim] = position
    shape = (*structure.shape[:dim], len(wanted), *structure.shape[dim + 1 :])
    made = Coordinates(indices, structure.values, shape, structure.coalesced and dim == 0)
    return with_values(made, table["index_select"].call(values, 0, make(element)), op.node_name)


@rules.register("select")
def select(op: Any, args: tuple[Any, ...]) -> Any:
    input, dim, index = args
    dim = normalize_dim(dim, input._array.ndim)
    if input._array.__class__ is Compressed:
        if dim < input._array.batch_dim:
            return _selected(input, dim, index)
        input = table["coalesce"].call(as_coordinates(input))
    structure, values = kept(input)
    size = structure.shape[dim]
    if not -size <= index < size:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(structure.shape)} at dimension {dim}")
    index %= size
    if dim >= structure.sparse_dim:
        return with_values(structure, values.select(1 + dim - structure.sparse_dim, index), op.node_name)
    element = np.flatnonzero(structure.indices[dim] == index)
    picked = table["index_select"].call(values, 0, make(element))
    if structure.sparse_dim == 1:  # no sparse dimension is left
        return picked.sum(0).to(picked.dtype)
    indices = np.delete(structure.indices[:, element], dim, axis=0)
    shape = (*structure.shape[:dim], *structure.shape[dim + 1 :])
    return with_values(Coordinates(indices, structure.values, shape, structure.coalesced), picked, op.node_name)


def _selected(input: Any, dim: int, index: int) -> Any:
    """One matrix (or batch of them) of a batch of compressed ones."""
    array = input._array
    begin, plain = (each.take(index, dim) for each in (array.compressed, array.plain))
    values = values_of(input, array).select(dim, index)
    shape = (*array.shape[:dim], *array.shape[dim + 1 :])
    return with_values(Compressed(array.layout, begin, plain, values._array, shape), values, "SelectBackward0")


@rules.register("slice")
def part(op: Any, args: tuple[Any, ...]) -> Any:
    input, dim, start, end, step = args
    size = input._array.shape[normalize_dim(dim, input._array.ndim)]
    chosen = range(size)[slice(start, end, step)]
    if len(chosen) == size:
        return table["alias"].call(input)
    raise unsupported(table["as_strided"], args)


@rules.register("narrow_copy")
def narrow_copy(op: Any, args: tuple[Any, ...]) -> Any:
    input, dim, start, length = args
    size = input._array.shape[normalize_dim(dim, input._array.ndim)]
    start = start + size if start < 0 else start
    if length < 0 or start + length > size:
        raise ShapeError(f"Invalid range to narrow. range(start, start+length) must be a subset of range(0, {size}).")
    coordinates_of(op, input, args)
    structure, values = kept(input)
    dim = normalize_dim(dim, structure.ndim)
    if dim >= structure.sparse_dim:
        return with_values(structure, values.narrow(1 + dim - structure.sparse_dim, start, length).clone())
    row = structure.indices[dim]
    element = np.flatnonzero((row >= start) & (row < start + length))
    indices = structure.indices[:, element]
    indices[dim] -= start
    shape = (*structure.shape[:dim], length, *structure.shape[dim + 1 :])
    made = Coordinates(indices, structure.values, shape, structure.coalesced)
    return with_values(made, table["index_select"].call(values, 0, make(element)))


@rules.register("unbind")
def unbind(op: Any, args: tuple[Any, ...]) -> Any:
    input, dim = args
    choose = table["select"].call
    return tuple(choose(input, dim, index) for index in range(input._array.shape[normalize_dim(dim, input._array.ndim)]))


@rules.register("cat")
def cat(op: Any, args: tuple[Any, ...]) -> Any:
    tensors, dim = args
    if not all(is_sparse_tensor(each) and each._array.__class__ is Coordinates for each in tensors):
        raise OperationError("Concatenating sparse tensors, but a tensor of another layout was found: all of them have to be sparse_coo")
    found = [kept(each) for each in tensors]
    first = found[0][0]
    dim = normalize_dim(dim, first.ndim)
    offset = 0
    all_indices, all_values = [], []
    total = sum(structure.shape[dim] for structure, _ in found)
    for position, (structure, values) in enumerate(found):
        shapes = [tuple(size for place, size in enumerate(each.shape) if place != dim) for each in (first, structure)]
        if len(structure.shape) != len(first.shape) or shapes[0] != shapes[1]:
            raise OperationError(
                f"All tensors must have the same shape: {list(first.shape)} (except in the concatenating dimension), but found shape: "
                f"{list(structure.shape)} at position {position}."
            )
        if structure.sparse_dim != first.sparse_dim:
            raise OperationError(
                f"All tensors must have the same sparse_dim and dense_dim: {first.sparse_dim}, {first.ndim - first.sparse_dim}, but tensor at "
                f"position {position} has {structure.sparse_dim}, {structure.ndim - structure.sparse_dim}."
            )
        indices = structure.indices
        if dim < first.sparse_dim:
            indices = indices.copy()
            indices[dim] += offset
        else:
            axis = 1 + dim - first.sparse_dim
            before, after = offset, total - offset - structure.shape[dim]
            zeros = table["zeros"].call
            shape = list(values._array.shape)
            pieces = [values]
            if before:
                pieces.insert(0, zeros([*shape[:axis], before, *shape[axis + 1 :]], dtype=values.dtype))
            if after:
                pieces.append(zeros([*shape[:axis], after, *shape[axis + 1 :]], dtype=values.dtype))
            values = op.call(pieces, axis)
        offset += structure.shape[dim]
        all_indices.append(indices)
        all_values.append(values)
    whole = (*first.shape[:dim], total, *first.shape[dim + 1 :])
    sorted_still = dim == 0 and first.sparse_dim > 0 and all(structure.coalesced for structure, _ in found)
    made = Coordinates(np.concatenate(all_indices, 1), first.values, whole, sorted_still)
    return with_values(made, op.call(all_values, 0), op.node_name)


@rules.register("stack")
def stack(op: Any, args: tuple[Any, ...]) -> Any:
    tensors, dim = args
    dim = normalize_dim(dim, tensors[0]._array.ndim + 1)
    return table["cat"].call([table["unsqueeze"].call(each, dim) for each in tensors], dim)


@rules.register("resize_")
def resize(op: Any, args: tuple[Any, ...]) -> Any:
    target, size = args[0], tuple(args[1])
    if target._array.__class__ is Compressed and len(size) < 2:
        raise OperationError(f"torch.resize_: Only batched sparse CSR matrices are supported, but got size {list(size)}")
    raise unsupported(op, args)


@rules.register("resize_as_")
def resize_as(op: Any, args: tuple[Any, ...]) -> Any:
    target, template = args[:2]
    a, b = target._array, template._array
    if a.__class__ is b.__class__ and a.shape == b.shape:
        return target
    if a.__class__ is not Coordinates or b.__class__ is not Coordinates:
        raise unsupported(op, args)
    return target.sparse_resize_(b.shape, b.sparse_dim, b.ndim - b.sparse_dim)


@rules.register("expand")
def expand(op: Any, args: tuple[Any, ...]) -> Any:
    if tuple(args[1] if isinstance(args[1], (tuple, list)) else args[1:]) == tuple(args[0]._array.shape):
        return args[0]
    raise OperationError("expand is unsupported for Sparse tensors")


@rules.register("view_shape", "reshape_copy")
def reshape(op: Any, args: tuple[Any, ...]) -> Any:
    raise NotSupported("reshape is not implemented for sparse tensors")

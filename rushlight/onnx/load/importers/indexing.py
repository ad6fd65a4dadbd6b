"""Elements by their positions: gathering, scattering, choosing, and finding those that differ."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import calls as rl
from ..registry import Int, NodeContext, importer
from ..strings import Strings
from .values import is_text, moves_elements, positive_axis


def reduction_name(name: str) -> str:
    """PyTorch's name of a reduction of ONNX's."""
    return "prod" if name == "mul" else f"a{name}"


def from_front(indices: Any, length: int) -> Any:
    """Indices of which none counts from the end."""
    indices = indices.to(rl.int64)
    return rl.where(indices < 0, indices + length, indices)


@importer("Gather")
@moves_elements
def gather(node: NodeContext, x: Any, indices: Any) -> Any:
    axis = positive_axis(node["axis"], x.dim())
    chosen = rl.index_select(x, axis, from_front(indices, x.shape[axis]).reshape(-1))
    return chosen.reshape((*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]))


@importer("GatherElements")
@moves_elements
def gather_elements(node: NodeContext, x: Any, indices: Any) -> Any:
    axis = positive_axis(node["axis"], x.dim())
    return rl.gather(x, axis, from_front(indices, x.shape[axis]))


def places(x: Any, indices: Any, batch_dims: int = 0) -> tuple[Any, ...]:
    """The index that tuples of positions in the last dimension of ``indices`` mean, behind dimensions that both have."""
    depth, rank = indices.shape[-1], indices.dim() - 1
    batch = [rl.arange(size).reshape([-1 if each == axis else 1 for each in range(rank)]) for axis, size in enumerate(x.shape[:batch_dims])]
    return (*batch, *(from_front(indices[..., each], x.shape[batch_dims + each]) for each in range(depth)))


@importer("GatherND")
@moves_elements
def gather_nd(node: NodeContext, x: Any, indices: Any) -> Any:
    return x[places(x, indices, node.get("batch_dims", 0))]


@importer("ScatterElements", "Scatter")
@moves_elements
def scatter_elements(node: NodeContext, x: Any, indices: Any, updates: Any) -> Any:
    axis = positive_axis(node["axis"], x.dim())
    indices = from_front(indices, x.shape[axis])
    match node.get("reduction", "none"):
        case "none":
            return rl.scatter(x, axis, indices, updates)
        case "add":
            return rl.scatter_add(x, axis, indices, updates)
        case reduction:
            return rl.scatter_reduce(x, axis, indices, updates, reduction_name(reduction))


@importer("ScatterND")
@moves_elements
def scatter_nd(node: NodeContext, x: Any, indices: Any, updates: Any) -> Any:
    reduction = node.get("reduction", "none")
    where = places(x, indices)
    if reduction in ("none", "add"):
        return rl.index_put(x, where, updates, reduction == "add")
    depth = indices.shape[-1]
    rest = tuple(x.shape[depth:])
    flat = where[0]
    for index, size in zip(where[1:], x.shape[1:depth]):
        flat = flat * size + index
    rows = x.reshape(-1, math.prod(rest))
    changes = updates.reshape(-1, rows.shape[1])
    targets = flat.reshape(-1, 1).expand(changes.shape)
    return rl.scatter_reduce(rows, 0, targets, changes, reduction_name(reduction)).reshape(x.shape)


@importer("TensorScatter")
@moves_elements
def tensor_scatter(node: NodeContext, cache: Any, update: Any, write_indices: Any = None) -> Any:
    axis = positive_axis(node["axis"], cache.dim())
    steps = rl.arange(update.shape[axis]).reshape([-1 if each == axis else 1 for each in range(cache.dim())])
    if write_indices is not None:
        steps = steps + write_indices.reshape((-1,) + (1,) * (cache.dim() - 1))
    if node["mode"] == "circular":
        steps = rl.remainder(steps, cache.shape[axis])
    return rl.scatter(cache, axis, steps.expand(update.shape), update)


@importer("NonZero")
def non_zero(node: NodeContext, x: Any) -> Any:
    if is_text(x):
        x = rl.from_numpy(x.array != "")
    return rl.nonzero(x).t() if x.dim() else rl.zeros((0, 1 if x.item() else 0), dtype=rl.int64)


@importer("Compress")
@moves_elements
def compress(node: NodeContext, x: Any, condition: Any) -> Any:
    axis = node.get("axis")
    if axis is None:
        x, axis = x.reshape(-1), 0
    return rl.index_select(x, axis, rl.nonzero(condition).reshape(-1))


@importer("OneHot")
def one_hot(node: NodeContext, indices: Any, depth: Int, values: Any) -> Any:
    depth = int(depth) if isinstance(depth, float) else depth
    axis = positive_axis(node["axis"], indices.dim() + 1)
    classes = rl.arange(depth).reshape([-1 if each == axis else 1 for each in range(indices.dim() + 1)])
    hit = from_front(indices, depth).unsqueeze(axis) == classes
    if is_text(values):
        return Strings(np.where(hit.numpy(), values.array[1], values.array[0]))
    return rl.where(hit, values[1], values[0])


@importer("ReverseSequence")
@moves_elements
def reverse_sequence(node: NodeContext, x: Any, lengths: Any) -> Any:
    return reversed_sequences(x, lengths, node["time_axis"], node["batch_axis"])


def reversed_sequences(x: Any, lengths: Any, time: int, batch: int) -> Any:
    """The first elements of each sequence in reverse, as many as the sequence is long."""
    steps = rl.arange(x.shape[time]).reshape([-1 if each == time else 1 for each in range(x.dim())])
    ends = lengths.to(rl.int64).reshape([-1 if each == batch else 1 for each in range(x.dim())])
    return rl.gather(x, time, rl.where(steps < ends, ends - 1 - steps, steps).expand(x.shape))


# -- those that differ ------------------------------------------------------------------------------------------------------------


@importer("Unique")
def unique(node: NodeContext, x: Any) -> Any:
    axis, in_order = node.get("axis"), bool(node["sorted"])
    if is_text(x):
        return unique_texts(x, axis, in_order)
    if axis is None:
        x, axis = x.reshape(-1), 0
    _, inverse, counts = rl.unique(x.detach(), sorted=True, return_inverse=True, return_counts=True, dim=axis)
    positions = rl.arange(x.shape[axis])
    first = rl.full_like(counts, x.shape[axis]).scatter_reduce(0, inverse, positions, "amin")
    if not in_order:
        order = rl.argsort(first)
        first, counts = first[order], counts[order]
        inverse = rl.argsort(order)[inverse]
    return rl.index_select(x, axis, first), first, inverse, counts  # taken from x, so that gradients flow


def unique_texts(x: Any, axis: int | None, in_order: bool) -> Any:
    """The different texts (or rows of texts) of a value."""
    array = x.array.astype(str)
    values, first, inverse, counts = np.unique(array, True, True, True, axis=axis)
    inverse = inverse.reshape(-1)
    if not in_order:
        order = np.argsort(first)
        values, first, counts, inverse = np.take(values, order, axis or 0), first[order], counts[order], np.argsort(order)[inverse]
    return Strings(values.astype(object)), *(rl.from_numpy(each.astype(np.int64)) for each in (first, inverse, counts))

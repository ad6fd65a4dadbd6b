"""Redistribution: the collectives that convert this process's shard to that of another placement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.declare import exports
from ...core.dtypes import int64
from ...core.process_group import world
from ...tensor.construct import tensor as make_tensor
from ..recorded_calls import as_functional, observers
from ._utils import size_before, strided_places
from .placement_types import Partial, Placement, Replicate, Shard, _NormPartial, _StridedShard, pad_tensor


def _chunk(local: Any, dim: int, count: int, rank: int) -> Any:
    """A part of a tensor, contiguous."""
    size, start = Shard.local_shard_size_and_offset(local.shape[dim], count, rank)
    return local.narrow(dim, start, size).contiguous()


def _padded(local: Any, dim: int, size: int) -> Any:
    return pad_tensor(local, dim, size - local.shape[dim]).contiguous()


def gather(local: Any, dim: int, size: int, mesh: Any, mesh_dim: int) -> Any:
    """All parts of a tensor along a dimension, whose size is given: parts may be uneven."""
    count = mesh.size(mesh_dim)
    longest = -(-size // count)
    own = _padded(local, dim, longest)
    parts = exports["", "empty"]((count, *own.shape), dtype=own.dtype, device=own.device)
    world.collectives.all_gather_into_tensor(parts, own, group=mesh.get_group(mesh_dim))
    if dim == 0:
        return parts.reshape(count * own.shape[0], *own.shape[1:])[:size]
    return exports["", "cat"](list(parts.unbind(0)), dim).narrow(dim, 0, size)


def reduce(local: Any, op: str, mesh: Any, mesh_dim: int) -> Any:
    """The reduction of parts, on every process."""
    result = local.clone()
    world.collectives.all_reduce(result, op=getattr(world.collectives.ReduceOp, op.upper()), group=mesh.get_group(mesh_dim))
    return result


def reduce_to_parts(local: Any, op: str, dim: int, mesh: Any, mesh_dim: int) -> Any:
    """The part of this process of a reduction."""
    count, rank, size = mesh.size(mesh_dim), mesh.get_local_rank(mesh_dim), local.shape[dim]
    longest = -(-size // count)
    padded = _padded(local, dim, longest * count)
    flat = exports["", "cat"](list(padded.chunk(count, dim)), 0) if dim else padded
    shape = list(padded.shape)
    shape[dim] = longest
    result = exports["", "empty"](shape, dtype=local.dtype, device=local.device)
    world.collectives.reduce_scatter_tensor(
        result, flat.contiguous(), op=getattr(world.collectives.ReduceOp, op.upper()), group=mesh.get_group(mesh_dim)
    )
    return result.narrow(dim, 0, Shard.local_shard_size_and_offset(size, count, rank)[0])


def exchange(local: Any, source: int, size: int, target: int, mesh: Any, mesh_dim: int) -> Any:
    """Parts along another dimension: one exchange where sizes divide evenly, else by way of the whole."""
    count, rank = mesh.size(mesh_dim), mesh.get_local_rank(mesh_dim)
    if size % count or local.shape[target] % count:
        return _chunk(gather(local, source, size, mesh, mesh_dim), target, count, rank)
    given = exports["", "stack"](list(local.chunk(count, target))).contiguous()
    taken = exports["", "empty_like"](given)
    world.collectives.all_to_all_single(taken, given, group=mesh.get_group(mesh_dim))
    return exports["", "cat"](list(taken.unbind(0)), source)


def _to_replicate(local: Any, current: Placement, size: int, mesh: Any, mesh_dim: int) -> Any:
    if isinstance(current, _StridedShard):
        count, outer = mesh.size(mesh_dim), current.split_factor
        if size % (outer * count):
            return _gather_pieces(local, current, size, mesh, mesh_dim)
        parts = local.reshape(*local.shape[: current.dim], outer, size // outer // count, *local.shape[current.dim + 1 :])
        whole = gather(parts, current.dim + 1, size // outer, mesh, mesh_dim)
        return whole.reshape(*local.shape[: current.dim], size, *local.shape[current.dim + 1 :])
    if isinstance(current, Shard):
        return gather(local, current.dim, size, mesh, mesh_dim)
    if isinstance(current, _NormPartial):
        order = current.norm_type
        return reduce(local.pow(order), "sum", mesh, mesh_dim).pow(1 / order)
    if isinstance(current, Partial):
        return reduce(local, current.reduce_op, mesh, mesh_dim)
    return local


def _gather_pieces(local: Any, current: _StridedShard, size: int, mesh: Any, mesh_dim: int) -> Any:
    """All parts of a tensor that are in several uneven pieces, in the order of the whole."""
    count, dim = mesh.size(mesh_dim), current.dim
    places = [strided_places(size, current.split_factor, count, rank) for rank in range(count)]
    longest = max(len(each) for each in places)
    padded = gather(_padded(local, dim, longest), dim, longest * count, mesh, mesh_dim)
    parts = [padded.narrow(dim, longest * rank, len(each)) for rank, each in enumerate(places)]
    return _take(exports["", "cat"](parts, dim), dim, np.argsort(np.concatenate(places)))


def _take(tensor: Any, dim: int, places: Any) -> Any:
    return tensor.index_select(dim, make_tensor(places, dtype=int64, device=tensor.device))


def _from_replicate(local: Any, target: Placement, mesh: Any, mesh_dim: int) -> Any:
    count, rank = mesh.size(mesh_dim), mesh.get_local_rank(mesh_dim)
    if isinstance(target, _StridedShard):
        outer, dim = target.split_factor, target.dim
        if local.shape[dim] % (outer * count):
            return _take(local, dim, strided_places(local.shape[dim], outer, count, rank))
        parts = local.reshape(*local.shape[:dim], outer, local.shape[dim] // outer, *local.shape[dim + 1 :])
        part = _chunk(parts, dim + 1, count, rank)
        return part.reshape(*local.shape[:dim], -1, *local.shape[dim + 1 :])
    if isinstance(target, Shard):
        return _chunk(local, target.dim, count, rank)
    if isinstance(target, Partial):
        if target.reduce_op in ("avg", "min", "max"):
            return local
        return local if rank == 0 else exports["", "zeros_like"](local)
    return local


def redistribute_local(local: Any, shape: Sequence[int], mesh: Any, current: Sequence[Placement], target: Sequence[Placement]) -> Any:
    """This process's part under other placements.

    Dimensions of the mesh that split one dimension of the tensor do so from the first to the last: what comes after one that
    changes is put together before, and split again after it.
    """
    if tuple(current) == tuple(target) or mesh.get_coordinate() is None:
        return local
    if observers:
        with as_functional():
            return _redistributed(local, shape, mesh, current, target)
    return _redistributed(local, shape, mesh, current, target)


def _redistributed(local: Any, shape: Sequence[int], mesh: Any, current: Sequence[Placement], target: Sequence[Placement]) -> Any:
    now = list(current)
    if mesh.ndim == 1:
        return _one(local, shape, mesh, 0, now, target[0])
    changed = {dim for dim in range(mesh.ndim) if now[dim] != target[dim]}
    touched = {each.dim for dim in changed for each in (now[dim], target[dim]) if isinstance(each, Shard)}
    shared = len([each for each in now if isinstance(each, Shard) and each.dim in touched]) > 1 or any(
        isinstance(target[dim], Shard) and target[dim].dim in touched for dim in range(mesh.ndim) if dim not in changed
    )
    if not shared and len(changed) == 1:
        dim = changed.pop()
        return _one(local, shape, mesh, dim, now, target[dim])
    for dim in reversed(range(mesh.ndim)):
        held = now[dim]
        if dim in changed or (isinstance(held, Shard) and held.dim in touched):
            if isinstance(held, Shard) or dim in changed:
                size = size_before(shape, mesh, now, dim, held.dim) if isinstance(held, Shard) else 0
                local = _to_replicate(local, held, size, mesh, dim)
                now[dim] = Replicate()
    for dim in range(mesh.ndim):
        if now[dim] != target[dim]:
            local = _from_replicate(local, target[dim], mesh, dim)
            now[dim] = target[dim]
    return local


def _one(local: Any, shape: Sequence[int], mesh: Any, dim: int, now: list[Placement], target: Placement) -> Any:
    """One dimension of the mesh changes."""
    held = now[dim]
    plain = type(held) in (Shard, Partial, Replicate) and type(target) in (Shard, Partial, Replicate)
    size = size_before(shape, mesh, now, dim, held.dim) if isinstance(held, Shard) else 0
    if plain and isinstance(held, Shard) and isinstance(target, Shard):
        return exchange(local, held.dim, size, target.dim, mesh, dim)
    if plain and isinstance(held, Partial) and isinstance(target, Shard):
        return reduce_to_parts(local, held.reduce_op, target.dim, mesh, dim)
    return _from_replicate(_to_replicate(local, held, size, mesh, dim), target, mesh, dim)

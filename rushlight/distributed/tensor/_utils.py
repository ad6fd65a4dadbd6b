"""Sizes of the parts of distributed tensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...core.missing import missing
from .placement_types import Placement, Shard, _StridedShard

__all__ = [
    "compute_global_tensor_info",
    "compute_local_shape",
    "compute_local_shape_and_global_offset",
    "dense_strides",
    "normalize_placements",
    "size_before",
    "strided_places",
]
__getattr__ = missing(__name__)


def normalize_placements(placements: Sequence[Placement] | None, mesh: Any, ndim: int) -> tuple[Placement, ...] | None:
    """Placements with dimensions counted from the front; checked against the mesh."""
    if placements is None:
        return None
    if len(placements) != mesh.ndim:
        raise ValueError(
            "`placements` must have the same length as `device_mesh.ndim`! Found placements length: "
            f"{len(placements)}, and device_mesh.ndim: {mesh.ndim}."
        )
    result = []
    for each in placements:
        if not isinstance(each, Placement):
            raise TypeError(f"a placement must be Shard, Replicate or Partial, and is {type(each).__name__}: {each!r}")
        if isinstance(each, Shard) and each.dim < 0:
            each = replace(each, dim=each.dim + ndim)
        if isinstance(each, Shard) and not 0 <= each.dim < max(ndim, 1):
            raise RuntimeError(f"Sharding dim {each.dim} is out of range for a tensor of {ndim} dimensions")
        result.append(each)
    return tuple(result)


def compute_local_shape_and_global_offset(
    global_shape: Sequence[int], mesh: Any, placements: Sequence[Placement], skip_offset: bool = False
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shape of this process's shard, and its offsets in the whole."""
    shape, offset = list(global_shape), [0] * len(global_shape)
    if mesh.get_coordinate() is None:  # a process outside of the mesh has nothing
        return (0,), ()
    apart = {each.dim for each in placements if isinstance(each, _StridedShard)}
    for dim, each in enumerate(placements):
        if isinstance(each, Shard) and each.dim not in apart:
            size, start = Shard.local_shard_size_and_offset(shape[each.dim], mesh.size(dim), mesh.get_local_rank(dim))
            shape[each.dim] = size
            offset[each.dim] += start
    for at in apart:
        places = _places(shape[at], mesh, placements, at)
        shape[at], offset[at] = len(places), int(places[0]) if len(places) else shape[at]
    return tuple(shape), tuple(offset)


def _places(size: int, mesh: Any, placements: Sequence[Placement], tensor_dim: int) -> Any:
    """The places along a tensor dimension that this process has, where they are in several pieces."""
    found = np.arange(size)
    for dim, each in enumerate(placements):
        if isinstance(each, Shard) and each.dim == tensor_dim:
            pieces = each.split_factor if isinstance(each, _StridedShard) else 1
            found = found[strided_places(len(found), pieces, mesh.size(dim), mesh.get_local_rank(dim))]
    return found


def strided_places(size: int, pieces: int, count: int, rank: int) -> Any:
    """The places of a part of which each of several pieces of a dimension has some."""
    places, longest, found = np.arange(size), -(-size // pieces), []
    for piece in (places[longest * at : longest * (at + 1)] for at in range(pieces)):
        length, start = Shard.local_shard_size_and_offset(len(piece), count, rank)
        found.append(piece[start : start + length])
    return np.concatenate(found)


def compute_local_shape(global_shape: Sequence[int], mesh: Any, placements: Sequence[Placement]) -> tuple[int, ...]:
    """The shape of this process's part."""
    return compute_local_shape_and_global_offset(global_shape, mesh, placements)[0]


def dense_strides(shape: Sequence[int], like: Sequence[int]) -> list[int]:
    """Strides without gaps for a shape, in the order of other strides: a part is laid out as the whole is."""
    found, step = [0] * len(shape), 1
    for dim in sorted(range(len(shape)), key=lambda at: (like[at], -at)):
        found[dim] = step
        step *= max(1, shape[dim])
    return found


def size_before(global_shape: Sequence[int], mesh: Any, placements: Sequence[Placement], mesh_dim: int, tensor_dim: int) -> int:
    """The size of a tensor dimension on this process before a dimension of the mesh splits it."""
    size = global_shape[tensor_dim]
    if any(isinstance(each, _StridedShard) and each.dim == tensor_dim for each in placements[:mesh_dim]):
        return len(_places(size, mesh, placements[:mesh_dim], tensor_dim))
    for dim, each in enumerate(placements[:mesh_dim]):
        if isinstance(each, Shard) and each.dim == tensor_dim:
            size, _ = Shard.local_shard_size_and_offset(size, mesh.size(dim), mesh.get_local_rank(dim))
    return size


def compute_global_tensor_info(tensor: Any, mesh: Any, placements: Sequence[Placement]) -> tuple[list[int], list[int]]:
    """The shape and strides of the whole, from a shard: all shards are assumed to be equal."""
    shape, stride = list(tensor.shape), list(tensor.stride())
    for dim, each in enumerate(placements):
        if isinstance(each, Shard):
            count = mesh.size(dim)
            shape[each.dim] *= count
            stride = [step * count if at != each.dim and step >= stride[each.dim] and step > 0 else step for at, step in enumerate(stride)]
    return shape, stride

"""Collectives along a dimension of a mesh, and tensors made longer and shorter for them."""

from __future__ import annotations

from typing import Any

from ...core.missing import missing
from ...core.process_group import world
from .placement_types import pad_tensor

__all__ = ["mesh_broadcast", "mesh_scatter", "pad_tensor", "unpad_tensor"]


def mesh_scatter(output: Any, scatter_list: list[Any], mesh: Any, mesh_dim: int = 0, async_op: bool = False, *, group_src: int = 0) -> Any:
    """Send each process along a dimension its tensor of the list that one of them has."""
    if mesh.get_coordinate() is None:
        return None
    group = mesh.get_group(mesh_dim)
    given = [each.contiguous() for each in scatter_list] if group.rank() == group_src else None
    return world.collectives.scatter(output, given, group=group, async_op=async_op, group_src=group_src)


def mesh_broadcast(tensor: Any, mesh: Any, mesh_dim: int = 0, async_op: bool = False, *, group_src: int = 0) -> Any:
    """Copy the tensor of one process along a dimension to the others, in place."""
    if mesh.get_coordinate() is None:
        return None
    return world.collectives.broadcast(tensor, group=mesh.get_group(mesh_dim), async_op=async_op, group_src=group_src)


def unpad_tensor(tensor: Any, pad_dim: int, pad_size: int) -> Any:
    """A tensor without what was put at its end along a dimension."""
    return tensor.narrow(pad_dim, 0, tensor.size(pad_dim) - pad_size) if pad_size else tensor


__getattr__ = missing(__name__)

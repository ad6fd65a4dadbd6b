"""Descriptions of distributed tensors: their mesh, placements, and what they are as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from ..device_mesh import DeviceMesh
from .placement_types import Placement, Shard

__all__ = ["DTensorSpec", "TensorMeta"]


class TensorMeta(NamedTuple):
    """The shape, strides and dtype of the whole tensor."""

    shape: Any
    stride: tuple[int, ...]
    dtype: Any


@dataclass
class DTensorSpec:
    """Where a distributed tensor is: the mesh, how each of its dimensions holds it, and the shape of the whole."""

    mesh: DeviceMesh
    placements: tuple[Placement, ...]
    tensor_meta: TensorMeta | None = None

    @property
    def device_mesh(self) -> DeviceMesh:
        """The mesh."""
        return self.mesh

    @property
    def shape(self) -> Any:
        """The shape of the whole tensor."""
        return self._meta().shape

    @property
    def stride(self) -> tuple[int, ...]:
        """The strides of the whole tensor."""
        return self._meta().stride

    @property
    def ndim(self) -> int:
        """How many dimensions the whole tensor has."""
        return len(self.shape)

    @property
    def num_shards(self) -> int:
        """Into how many parts it is split."""
        count = 1
        for dim, each in enumerate(self.placements):
            if isinstance(each, Shard):
                count *= self.mesh.size(dim)
        return count

    @property
    def dim_map(self) -> list[int]:
        """For each dimension of the tensor, the dimension of the mesh that splits it, or -1."""
        found = [-1] * self.ndim
        for dim, each in enumerate(self.placements):
            if isinstance(each, Shard):
                found[each.dim] = dim
        return found

    def __hash__(self) -> int:
        meta = self.tensor_meta
        return hash((self.mesh, self.placements, None if meta is None else (tuple(meta.shape), tuple(meta.stride), meta.dtype)))

    def is_replicated(self) -> bool:
        """Whether each device has all of it."""
        return all(each.is_replicate() for each in self.placements)

    def is_sharded(self) -> bool:
        """Whether it is split."""
        return any(isinstance(each, Shard) for each in self.placements)

    def _meta(self) -> TensorMeta:
        if self.tensor_meta is None:
            raise ValueError("tensor_meta is not set")
        return self.tensor_meta

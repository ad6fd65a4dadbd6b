"""How the dimensions of a device mesh hold a tensor: whole, in parts, or as parts of a sum."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Partial", "Placement", "Replicate", "Shard"]


class Placement:
    """How one dimension of a mesh holds a tensor."""

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether in parts, along a dimension if one is named."""
        return isinstance(self, Shard) and dim in (None, self.dim)

    def is_replicate(self) -> bool:
        """Whether each device has all of it."""
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """Whether the devices have parts of a sum."""
        return isinstance(self, Partial) and reduce_op in (None, self.reduce_op)


@dataclass(frozen=True)
class Shard(Placement):
    """In parts along a dimension."""

    dim: int


@dataclass(frozen=True)
class _StridedShard(Shard):
    """In parts along a dimension that was split before."""

    split_factor: int = 1


@dataclass(frozen=True)
class Replicate(Placement):
    """Whole on each device."""


@dataclass(frozen=True)
class Partial(Placement):
    """Parts that are to be reduced."""

    reduce_op: str = "sum"

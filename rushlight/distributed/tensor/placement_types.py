"""Placements of a tensor on a dimension of a device mesh: replicated, sharded, or partial sums."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ...core.declare import exports

__all__ = ["Partial", "Placement", "Replicate", "Shard"]


def pad_tensor(tensor: Any, pad_dim: int, pad_size: int) -> Any:
    """A tensor with zeros at its end along a dimension."""
    if not pad_size:
        return tensor
    shape = list(tensor.shape)
    shape[pad_dim] = pad_size
    return exports["", "cat"]([tensor, tensor.new_zeros(shape)], pad_dim)


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
    """In parts along a dimension: as ``chunk`` makes them, so that the last may be shorter, or empty."""

    dim: int

    def __str__(self) -> str:
        return f"S({self.dim})"

    def _split_tensor(
        self, tensor: Any, num_chunks: int, *, with_padding: bool = True, contiguous: bool = True
    ) -> tuple[list[Any], list[int]]:
        """The parts of a tensor, as many as are asked for, and by how much each was made longer (``with_padding``)."""
        size = tensor.size(self.dim)
        longest = -(-size // num_chunks)
        parts, missing = [], []
        for rank in range(num_chunks):
            length, start = self.local_shard_size_and_offset(size, num_chunks, rank)
            part = tensor.narrow(self.dim, start, length)
            if with_padding:
                missing.append(longest - length)
                part = pad_tensor(part, self.dim, longest - length)
            parts.append(part.contiguous() if contiguous else part)
        return parts, missing

    def _select_split_tensor(
        self, tensor: Any, num_chunks: int, index: int, *, with_padding: bool = True, contiguous: bool = True, clone: bool = True
    ) -> Any:
        """One of the parts of a tensor."""
        part = self._split_tensor(tensor, num_chunks, with_padding=with_padding, contiguous=contiguous)[0][index]
        return part.clone() if clone else part

    @staticmethod
    def local_shard_size_and_offset(curr_local_size: int, num_chunks: int, rank: int) -> tuple[int, int]:
        """The length and the offset of a shard."""
        longest = -(-curr_local_size // num_chunks)
        start = min(longest * rank, curr_local_size)
        return min(longest, curr_local_size - start), start


@dataclass(frozen=True)
class _StridedShard(Shard):
    """In parts along a dimension that is made of two, of which the inner one is split: ``split_factor`` is the size of the outer.

    It is what flattening leaves of a tensor that is split along an inner dimension.
    """

    split_factor: int = field(kw_only=True)

    def is_shard(self, dim: int | None = None) -> bool:
        """False: the parts are not those of a :class:`Shard`."""
        return False

    def __str__(self) -> str:
        return f"_S({self.dim}, {self.split_factor})"

    def __repr__(self) -> str:
        return f"_StridedShard(dim={self.dim}, sf={self.split_factor})"


@dataclass(frozen=True)
class Replicate(Placement):
    """Whole on each device."""

    def __str__(self) -> str:
        return "R"


@dataclass(frozen=True)
class Partial(Placement):
    """Parts that are to be reduced."""

    reduce_op: str = "sum"

    def __str__(self) -> str:
        return f"P({self.reduce_op})"

    def __repr__(self) -> str:
        return f"Partial({self.reduce_op})"


@dataclass(frozen=True)
class _NormPartial(Partial):
    """Norms of parts: the norm of the whole is that of these norms."""

    reduce_op: str = field(default="norm", init=False)
    norm_type: float = 2

    def __repr__(self) -> str:
        return f"_NormPartial({self.norm_type})"


_Partial = Partial  # the name that it had

"""Layers that reshape."""

from __future__ import annotations

from typing import Any

from .module import Module


class Flatten(Module):
    """Merge a range of dimensions into one; all but the first, unless told otherwise."""

    __constants__ = ["start_dim", "end_dim"]

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Any) -> Any:
        """The input with the dimensions merged."""
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        """The range."""
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Split one dimension into several."""

    __constants__ = ["dim", "unflattened_size"]

    def __init__(self, dim: Any, unflattened_size: Any) -> None:
        super().__init__()
        self._require_tuple_int(unflattened_size)
        self.dim = dim
        self.unflattened_size = unflattened_size

    def _require_tuple_int(self, size: Any) -> None:
        if not isinstance(size, (tuple, list)):
            raise TypeError(f"unflattened_size must be a tuple of ints, but found type {type(size).__name__}")
        for position, each in enumerate(size):
            if not isinstance(each, int):
                raise TypeError(
                    f"unflattened_size must be tuple of ints, but found element of type {type(each).__name__} at pos {position}"
                )

    def forward(self, input: Any) -> Any:
        """The input with the dimension split."""
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        """The dimension and its parts."""
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


__all__ = ["Flatten", "Unflatten"]

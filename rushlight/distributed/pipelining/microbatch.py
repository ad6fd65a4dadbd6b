"""Microbatches: arguments in parts, and results put together again."""

from __future__ import annotations

from typing import Any

from ...compat.pytree import tree_flatten, tree_map, tree_unflatten
from ...ops.shape.concat import cat
from ...ops.shape.concat import stack as stacked
from ...tensor import Tensor

__all__ = ["TensorChunkSpec", "merge_chunks", "split_args_kwargs_into_chunks"]


class TensorChunkSpec:
    """A tensor that is split along a dimension."""

    split_dim: int

    def __init__(self, split_dim: int) -> None:
        self.split_dim = split_dim

    def __repr__(self) -> str:
        return f"{type(self).__module__}.{type(self).__name__}({self.split_dim})"

    def __str__(self) -> str:
        return f"TensorChunkSpec({self.split_dim})"

    @staticmethod
    def from_tuple(chunk_dims: tuple[int, ...]) -> Any:
        """Dimensions of several arguments."""
        return tree_map(TensorChunkSpec, chunk_dims)

    @staticmethod
    def from_dict(chunk_dims: dict[str, int]) -> Any:
        """Dimensions of arguments by their names."""
        return tree_map(TensorChunkSpec, chunk_dims)


class _Replicate:
    """A value that each microbatch gets whole: the class itself is given."""


def _leaves(value: Any, spec: Any, what: str) -> tuple[list[Any], Any, list[Any]]:
    """The leaves of a value, its structure, and how each is split: tensors along their first dimension if nothing is given."""
    leaves, structure = tree_flatten(value)
    if spec is None:
        return leaves, structure, [TensorChunkSpec(0) if isinstance(each, Tensor) else _Replicate for each in leaves]
    specs, _ = tree_flatten(spec, is_leaf=lambda each: each is None)
    if len(specs) != len(leaves):
        raise ValueError(f"{what}: {len(specs)} chunk specs are given for {len(leaves)} values: {spec}")
    return leaves, structure, specs


def _parts(leaf: Any, spec: Any, count: int) -> list[Any]:
    if not isinstance(leaf, Tensor) or spec is None or spec is _Replicate or isinstance(spec, _Replicate):
        return [leaf] * count
    if not isinstance(spec, TensorChunkSpec):
        raise TypeError(f"Unrecognized chunk spec: {spec}")
    if not leaf.dim():
        raise IndexError("a tensor without dimensions can't be split into microbatches: give it whole, by _Replicate")
    if leaf.shape[spec.split_dim] < count:
        raise ValueError(f"a batch of {leaf.shape[spec.split_dim]} can't be split into {count} microbatches")
    return list(leaf.tensor_split(count, spec.split_dim))  # type: ignore[attr-defined]


def split(value: Any, count: int, spec: Any = None, what: str = "microbatches") -> list[Any]:
    """As many parts of a nested value, in its structure."""
    leaves, structure, specs = _leaves(value, spec, what)
    parts = [_parts(leaf, each, count) for leaf, each in zip(leaves, specs)]
    return [tree_unflatten([each[number] for each in parts], structure) for number in range(count)]


def split_args_kwargs_into_chunks(
    args: tuple[Any, ...], kwargs: dict[str, Any] | None, chunks: int, args_chunk_spec: Any = None, kwargs_chunk_spec: Any = None
) -> tuple[list[tuple[Any, ...]], list[dict[str, Any]]]:
    """The arguments of each microbatch: tensors in parts, along the dimensions that are given or the first, anything else whole."""
    return split(tuple(args), chunks, args_chunk_spec, "args"), split(kwargs or {}, chunks, kwargs_chunk_spec, "kwargs")


def merge_chunks(chunks: list[Any], chunk_spec: Any) -> Any:
    """The results of microbatches as those of the batch: tensors put together, of anything else the first."""
    first, structure, specs = _leaves(chunks[0], chunk_spec, "merge_chunks")
    columns = zip(*(tree_flatten(each)[0] for each in chunks))
    return tree_unflatten([_merged(list(column), spec) for column, spec in zip(columns, specs)], structure)


def _merged(parts: list[Any], spec: Any) -> Any:
    if not isinstance(parts[0], Tensor) or not isinstance(spec, TensorChunkSpec):
        return parts[0]
    return cat(parts, spec.split_dim) if parts[0].dim() else stacked(parts)

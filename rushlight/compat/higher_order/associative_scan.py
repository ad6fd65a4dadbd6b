"""`torch._higher_order_ops.associative_scan`: a prefix scan with a function of one's own, as state-space models use it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import cat, flip, stack
from ...core.errors import ShapeError
from ...core.families import normalize_dim
from ...utils import trees

__all__ = ["associative_scan"]


def associative_scan(
    combine_fn: Callable[[Any, Any], Any], xs: Any, dim: int, reverse: bool = False, combine_mode: str = "pointwise"
) -> Any:
    """All prefixes of ``xs`` along a dimension under an associative function, in a number of steps logarithmic in its size.

    ``xs`` is a tensor or a nested container of tensors; ``combine_fn`` takes two of the same structure and gives one.
    """
    if not callable(combine_fn):
        raise ValueError(f"Combine_fn must be a callable, but got {combine_fn}")
    if combine_mode not in ("pointwise", "generic"):
        raise ValueError(f"Combine_mode must either 'pointwise' or 'generic', but got {combine_mode}")
    leaves, structure = trees.flatten(xs)
    if not leaves:
        raise ValueError("Expected at least 1 xs leaf")
    dim = normalize_dim(dim, leaves[0].ndim)
    if any(each.ndim <= dim or each.shape[dim] == 0 for each in leaves):
        raise ValueError("All xs leaves must at least have 'dim' number of dimensions and scan dimension > 0")
    if len({tuple(each.shape) for each in leaves}) > 1 and combine_mode == "pointwise":
        leaves = [each.expand(max((leaf.shape for leaf in leaves), key=len)) for each in leaves]
    if len({each.shape[dim] for each in leaves}) > 1:
        raise ShapeError(f"associative_scan(): the leaves of xs must have one size along dimension {dim}")
    leaves = [each.movedim(dim, 0) for each in leaves]
    if reverse:
        leaves = [flip(each, (0,)) for each in leaves]

    def combine(first: list[Any], second: list[Any]) -> list[Any]:
        made, _ = trees.flatten(combine_fn(structure.unflatten(first), structure.unflatten(second)))
        return made

    def scan(elements: list[Any]) -> list[Any]:
        """Prefixes of pairs first, then those that end between pairs."""
        size = elements[0].shape[0]
        if size < 2:
            return elements
        odd = scan(combine([each[:-1:2] for each in elements], [each[1::2] for each in elements]))
        before = [each[:-1] for each in odd] if size % 2 == 0 else odd
        even = combine(before, [each[2::2] for each in elements]) if size > 2 else [each[:0] for each in elements]
        return [interleaved(cat([each[:1], rest]), other) for each, rest, other in zip(elements, even, odd)]

    made = scan(leaves)
    if reverse:
        made = [flip(each, (0,)) for each in made]
    return structure.unflatten([each.movedim(0, dim) for each in made])


def interleaved(even: Any, odd: Any) -> Any:
    """Rows of two tensors in turn; the first may have one more."""
    count = odd.shape[0]
    pairs = stack([even[:count], odd], 1).flatten(0, 1)
    return cat([pairs, even[count:]]) if even.shape[0] > count else pairs

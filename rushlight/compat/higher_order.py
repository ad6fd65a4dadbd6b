"""`torch._higher_order_ops`: operators that take functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..compiler import cond, while_loop
from ..core.declare import exports
from ..core.missing import missing
from ..utils import trees

__getattr__ = missing("rushlight._higher_order_ops")


def associative_scan(
    combine_fn: Callable[[Any, Any], Any], xs: Any, dim: int, reverse: bool = False, combine_mode: str = "pointwise"
) -> Any:
    """The inclusive scan of an associative function along a dimension, in a logarithmic number of steps; it can be differentiated."""
    if not callable(combine_fn):
        raise ValueError(f"Combine_fn must be a callable, but got {combine_fn}")
    if combine_mode not in ("pointwise", "generic"):
        raise ValueError(f"Combine_mode must either 'pointwise' or 'generic', but got {combine_mode}")
    leaves, structure = trees.flatten(xs)
    if not leaves:
        raise ValueError(f"Expected xs leaves to be non-empty, but got {leaves}")
    cat, flip = exports["", "cat"], exports["", "flip"]
    found = [flip(each, [dim]) if reverse else each for each in leaves]
    size, step = found[0].shape[dim], 1
    while step < size:
        earlier = structure.unflatten([each.narrow(dim, 0, size - step) for each in found])
        later = structure.unflatten([each.narrow(dim, step, size - step) for each in found])
        combined = trees.flatten(combine_fn(earlier, later))[0]
        found = [cat([each.narrow(dim, 0, step), new], dim) for each, new in zip(found, combined, strict=True)]
        step *= 2
    return structure.unflatten([flip(each, [dim]) if reverse else each for each in found])

"""What importers share: axes, and texts."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import calls as rl
from ..strings import Strings


def positive_axis(axis: int, rank: int) -> int:
    """An axis counted from the front."""
    if not -rank <= axis < max(rank, 1):
        raise IndexError(f"axis {axis} of a value with {rank} dimensions")
    return axis + rank if axis < 0 else axis


def positive_axes(axes: Any, rank: int) -> list[int]:
    """Axes counted from the front, in their order."""
    return [positive_axis(axis, rank) for axis in axes]


def is_text(value: Any) -> bool:
    """Whether a value holds texts."""
    return isinstance(value, Strings)


def moves_elements(function: Callable[..., Any]) -> Callable[..., Any]:
    """An importer that only moves elements, for texts too: the elements' positions are moved, and the texts are taken by them."""

    @functools.wraps(function)
    def moved(node: Any, *inputs: Any) -> Any:
        if not any(is_text(each) for each in inputs):
            return function(node, *inputs)
        arrays = [each.array for each in inputs if is_text(each)]
        starts = iter(np.cumsum([0, *(each.size for each in arrays)]).tolist())
        positions = [rl.arange(math.prod(each.shape)).reshape(each.shape) + next(starts) if is_text(each) else each for each in inputs]
        return taken(function(node, *positions), np.concatenate([each.reshape(-1) for each in arrays]))

    return moved


def taken(value: Any, all_texts: np.ndarray) -> Any:
    """Texts by their positions, in each value of a tuple or list too."""
    if isinstance(value, tuple | list):
        return type(value)(taken(each, all_texts) for each in value)
    return Strings(all_texts[value.numpy()])

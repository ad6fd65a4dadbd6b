"""Sizes of values, by their formulas: whether they are the same, and what a slice takes of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.symbolic import SymbolicInt
from ..core.symbolic import same_size as equal_sizes
from .ir import OnnxValue


def same_size(a: Any, b: Any) -> bool:
    """Whether two sizes are the same by their formulas."""
    if isinstance(a, OnnxValue) or isinstance(b, OnnxValue) or a is None or b is None:
        return a is b and a is not None
    return equal_sizes(a, b)


def same_shape(a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
    """Whether two shapes are the same by their formulas."""
    return len(a) == len(b) and all(same_size(first, second) for first, second in zip(a, b))


def is_unknown(size: Any) -> bool:
    """Whether a size depends on data, or on what an op that ONNX does not know does: nothing is concluded from it."""
    return isinstance(size, SymbolicInt) and any(name[:1] == "u" and name[1:].isdigit() for name in size.expression.symbols())


def is_fixed(size: Any) -> bool:
    """Whether a size is a plain number."""
    return isinstance(size, int) and not isinstance(size, SymbolicInt)


def slice_bounds(start: Any, end: Any, step: int, size: Any) -> tuple[Any, Any, Any]:
    """First index, end and length of a slice of a dimension; three times None where a bound is known only at run time."""
    if not all(isinstance(each, int) for each in (start, end, size)):
        return None, None, None
    low, high = (0, size) if step > 0 else (-1, size - 1)
    first, last = (max(each + size, low) if each < 0 else min(each, high) for each in (start, end))
    reach = last - first if step > 0 else first - last
    return first, last, (reach + abs(step) - 1) // abs(step) if reach > 0 else 0


def lowest(dtype: Any) -> Any:
    """What no element of a type is below."""
    return -np.inf if dtype.kind == "f" else int(np.iinfo(dtype).min)


def highest(dtype: Any) -> Any:
    """What no element of a type is above."""
    return np.inf if dtype.kind == "f" else int(np.iinfo(dtype).max)

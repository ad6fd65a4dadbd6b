"""Old ways to say how losses are reduced: numbers, and the pair of ``size_average`` and ``reduce``."""

from __future__ import annotations

import warnings


def get_enum(reduction: str) -> int:
    """The number of a reduction: 0 is none, 1 mean, 2 sum."""
    numbers = {"none": 0, "mean": 1, "sum": 2}
    if reduction == "elementwise_mean":
        warnings.warn("reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.", stacklevel=2)
        return 1
    if reduction not in numbers:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return numbers[reduction]


def legacy_get_string(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> str:
    """The reduction that ``size_average`` and ``reduce`` meant."""
    if reduce is False:
        found = "none"
    else:
        found = "sum" if size_average is False else "mean"
    if emit_warning:
        warnings.warn(f"size_average and reduce args will be deprecated, please use reduction='{found}' instead.", stacklevel=4)
    return found


def legacy_get_enum(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> int:
    """The number of the reduction that ``size_average`` and ``reduce`` meant."""
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))

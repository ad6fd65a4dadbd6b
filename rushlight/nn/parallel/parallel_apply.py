"""Several modules, each on its own input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def parallel_apply(
    modules: Sequence[Any], inputs: Sequence[Any], kwargs_tup: Sequence[dict[str, Any]] | None = None, devices: Any = None
) -> list[Any]:
    """The outputs of several modules, each for its own input: a tuple of arguments, or the only one.

    Modules run sequentially; a device's work is launched asynchronously, so that devices overlap.
    """
    keywords = kwargs_tup if kwargs_tup is not None else [{}] * len(modules)
    if not len(modules) == len(inputs) == len(keywords):
        raise AssertionError(
            f"{len(modules)} modules, {len(inputs)} inputs and {len(keywords)} dictionaries of keywords must be equally many"
        )
    given = (each if isinstance(each, (list, tuple)) else (each,) for each in inputs)
    return [module(*arguments, **more) for module, arguments, more in zip(modules, given, keywords)]


__all__ = ["parallel_apply"]

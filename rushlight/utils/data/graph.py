"""The pipes that a pipe is made of, as a tree: ``{id: (pipe, {id: ...})}``."""

from __future__ import annotations

import warnings
from typing import Any

from .datapipes.datapipe import IterDataPipe, MapDataPipe

__all__ = ["traverse", "traverse_dps"]


def _pipes_in(value: Any, found: list[Any], seen: set[int]) -> None:
    """The pipes that an attribute has, directly or in containers and objects."""
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, (IterDataPipe, MapDataPipe)):
        found.append(value)
    elif isinstance(value, dict):
        for each in value.values():
            _pipes_in(each, found, seen)
    elif isinstance(value, (list, tuple, set, frozenset)):
        for each in value:
            _pipes_in(each, found, seen)
    elif hasattr(value, "__dict__") and not isinstance(value, type) and not callable(value):
        _pipes_in(vars(value), found, seen)


def traverse_dps(datapipe: Any) -> dict[int, Any]:
    """The pipe with those that it is made of."""
    return _traverse(datapipe, set())


def _traverse(pipe: Any, before: set[int]) -> dict[int, Any]:
    if not isinstance(pipe, (IterDataPipe, MapDataPipe)):
        raise RuntimeError(f"Expected `IterDataPipe` or `MapDataPipe`, but {type(pipe)} is found")
    if id(pipe) in before:
        return {}
    found: list[Any] = []
    _pipes_in(vars(pipe), found, set())
    inner: dict[int, Any] = {}
    for each in found:
        inner.update(_traverse(each, before | {id(pipe)}))
    return {id(pipe): (pipe, inner)}


def traverse(datapipe: Any, only_datapipe: bool | None = None) -> dict[int, Any]:
    """The old name of ``traverse_dps``."""
    if only_datapipe is None:
        warnings.warn("The default behavior of `traverse` will be changed: use `traverse_dps`", FutureWarning, stacklevel=2)
    return traverse_dps(datapipe)

"""Flattening of arguments to the structure of a specification."""

from __future__ import annotations

from typing import Any

from ..utils import trees


def tree_flatten_spec(pytree: Any, spec: Any) -> list[Any]:
    """The leaves of a tree."""
    return list(trees.flatten(pytree)[0])

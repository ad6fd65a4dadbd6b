"""Flattening of arguments to the structure of a specification."""

from __future__ import annotations

from typing import Any

from ..utils import trees


def tree_flatten_spec(pytree: Any, spec: Any) -> list[Any]:
    """The leaves of a tree."""
    return list(trees.flatten(pytree)[0])


def register_pytree_flatten_spec(cls: type, flatten_fn_spec: Any, flatten_fn_exact_match_spec: Any = None) -> None:
    """How containers of a class are flattened: they are, once registered with ``torch.utils._pytree``; here it is checked that they are."""
    if not callable(flatten_fn_spec):
        raise TypeError(f"the flattening of {cls.__name__} must be a function, and not {type(flatten_fn_spec).__name__}")

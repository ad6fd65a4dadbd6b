"""Types given to the values of a program while it is traced."""

from __future__ import annotations

from typing import Any

from .proxy import Proxy

__all__ = ["annotate"]


def annotate(val: Any, type: Any) -> Any:
    """The value itself; the node of one that is being traced gets the type, which it must not have yet."""
    if isinstance(val, Proxy):
        if val.node.type:
            raise RuntimeError(
                f"Tried to annotate a value that already had a type on it! Existing type is {val.node.type} and new type is {type}. "
                "Arguments have their type in the function's signature, and a value is annotated once."
            )
        val.node.type = type
    return val

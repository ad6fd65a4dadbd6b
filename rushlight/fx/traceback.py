"""Facts that nodes made within a ``with`` block get."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

current_meta: dict[str, Any] = {}
should_preserve_node_meta = False


@contextmanager
def preserve_node_meta(enable: bool = True) -> Iterator[None]:
    """Keep the facts of nodes that are run again."""
    global should_preserve_node_meta
    before, should_preserve_node_meta = should_preserve_node_meta, enable
    try:
        yield
    finally:
        should_preserve_node_meta = before


@contextmanager
def set_current_meta(node: Any, pass_name: str = "") -> Iterator[None]:
    """Have new nodes come from this one."""
    global current_meta
    before = current_meta
    current_meta = dict(node.meta)
    try:
        yield
    finally:
        current_meta = before


@contextmanager
def annotate(annotation_dict: dict[str, Any]) -> Iterator[None]:
    """Add facts to the nodes made here, under ``custom``."""
    global current_meta
    before = current_meta
    current_meta = {**current_meta, "custom": {**current_meta.get("custom", {}), **annotation_dict}}
    try:
        yield
    finally:
        current_meta = before


def has_preserved_node_meta() -> bool:
    """Whether facts are kept."""
    return should_preserve_node_meta


def get_current_meta() -> dict[str, Any]:
    """The facts that new nodes get."""
    return current_meta


def format_stack() -> list[str]:
    """Where the current node comes from."""
    return [current_meta["stack_trace"]] if "stack_trace" in current_meta else []


__all__ = [
    "annotate",
    "current_meta",
    "format_stack",
    "get_current_meta",
    "has_preserved_node_meta",
    "preserve_node_meta",
    "set_current_meta",
]

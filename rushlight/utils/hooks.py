"""Hooks: the handle that removes one, and a mark for hooks that are not saved in files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..core.missing import missing
from ..core.node import RemovableHandle

__all__ = ["RemovableHandle", "unserializable_hook"]


def unserializable_hook(f: Any) -> Any:
    """Mark a hook, so that saving a tensor which has it does not warn that the hook is left out."""
    f.__torch_unserializable__ = True
    return f


if not TYPE_CHECKING:
    __getattr__ = missing(__name__)

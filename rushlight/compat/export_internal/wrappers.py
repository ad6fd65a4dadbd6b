"""`torch._export.wrappers`: how classes of tensors say that an export may make their objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.missing import missing

__getattr__ = missing("rushlight._export.wrappers")


def mark_subclass_constructor_exportable_experimental(constructor_subclass: Callable[..., Any]) -> Callable[..., Any]:
    """The ``__init__`` of a class of tensors, as it is: an export runs it, and records what the class makes of ops."""
    if getattr(constructor_subclass, "__name__", "") != "__init__":
        raise RuntimeError(
            f"mark_subclass_constructor_exportable_experimental decorates the __init__ of a class of tensors, and {constructor_subclass!r} is none: "
            "write an __init__ for the class."
        )
    return constructor_subclass

"""`torch._dynamo.backends.registry`: back-ends by name."""

from __future__ import annotations

from typing import Any

from ....backends import registry
from ....compiler import list_backends, register_backend
from ....core.missing import missing

__getattr__ = missing("rushlight._dynamo.backends.registry")
register_debug_backend = register_experimental_backend = register_backend


def lookup_backend(compiler_fn: Any) -> Any:
    """The back-end of a name; a function is one already."""
    return registry.find(compiler_fn) if isinstance(compiler_fn, str) else compiler_fn


__all__ = ["list_backends", "register_backend"]

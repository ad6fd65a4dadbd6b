"""`torch._inductor.config`: settings of a compiler that is not here.  What is set can be read again, and changes nothing."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

from ..config_module import patched


class _Config(ModuleType):
    """A module whose unknown settings are off, those with a dot in their names among them."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = SimpleNamespace() if name in ("triton", "cpp", "cuda", "aot_inductor", "trace") else False
        setattr(self, name, found)
        return found


def patch(changes: Any = None, value: Any = None, **more: Any) -> Any:
    """Other settings for a while: ``patch(max_autotune=True)``, ``patch("max_autotune", True)`` or with a dict; also a decorator."""
    return patched(sys.modules[__name__], changes, value, **more)


sys.modules[__name__].__class__ = _Config

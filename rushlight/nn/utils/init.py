"""Making a module without filling its parameters."""

from __future__ import annotations

import inspect
from typing import Any

from ...core.devices import default
from ..modules.module import Module


def skip_init(module_cls: Any, *args: Any, **kwargs: Any) -> Any:
    """A module whose parameters and buffers are memory that was not written to: for those that are loaded anyway."""
    if not isinstance(module_cls, type) or not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    device = kwargs.pop("device", None)
    return module_cls(*args, device="meta", **kwargs).to_empty(device=default.device if device is None else device)


__all__ = ["skip_init"]

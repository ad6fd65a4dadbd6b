"""The CPU, under the names that other devices have."""

from __future__ import annotations

from typing import Any

from ..core.missing import missing
from . import amp


def is_available() -> bool:
    """True."""
    return True


def is_initialized() -> bool:
    """True."""
    return True


def device_count() -> int:
    """1."""
    return 1


def current_device() -> str:
    """``"cpu"``."""
    return "cpu"


def set_device(device: Any) -> None:
    """Accepted: there is one CPU."""


def synchronize(device: Any = None) -> None:
    """Accepted: there is nothing to wait for."""


__getattr__ = missing(__name__)
__all__ = ["amp", "current_device", "device_count", "is_available", "is_initialized", "set_device", "synchronize"]

"""The GPUs of Apple's computers: none can be used."""

from __future__ import annotations

from ..core.errors import OperationError
from ..core.missing import missing


def is_built() -> bool:
    """False."""
    return False


def is_available() -> bool:
    """False."""
    return False


def is_macos_or_newer(major: int, minor: int) -> bool:
    """Raise: the question is for the GPU's library, and there is none."""
    raise OperationError("is_macos_or_newer(): there is no MPS here")


def is_macos13_or_newer(minor: int = 0) -> bool:
    """Raise, as ``is_macos_or_newer``."""
    return is_macos_or_newer(13, minor)


__getattr__ = missing(__name__)

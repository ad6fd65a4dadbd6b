"""XNNPACK, which is not here: mobile kernels are not made."""

from __future__ import annotations

from ..core.missing import missing

enabled = False


def is_available() -> bool:
    """False."""
    return False


__getattr__ = missing(__name__)

"""NNPACK, which is not here: convolutions are compiled."""

from __future__ import annotations

from ..core.missing import missing

enabled = False


def is_available() -> bool:
    """False."""
    return False


__getattr__ = missing(__name__)

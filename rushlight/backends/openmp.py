"""OpenMP, which is not here: loops are split over Python's threads."""

from __future__ import annotations

from ..core.missing import missing


def is_available() -> bool:
    """False."""
    return False


__getattr__ = missing(__name__)

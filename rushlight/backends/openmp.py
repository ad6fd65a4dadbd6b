"""OpenMP, which is not here: work is dealt out to Python's threads."""

from __future__ import annotations

from ..core.missing import missing


def is_available() -> bool:
    """False."""
    return False


__getattr__ = missing(__name__)

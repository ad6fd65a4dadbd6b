"""``opt_einsum``, which is not used: ``einsum`` finds the order of its products itself."""

from __future__ import annotations

from ..core.missing import missing

enabled = False
strategy = None


def is_available() -> bool:
    """False."""
    return False


def get_opt_einsum() -> None:
    """None."""


__getattr__ = missing(__name__)

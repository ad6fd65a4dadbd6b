"""NNPACK, which is not here: convolutions are compiled."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from ..core.missing import missing

_flag = {"enabled": True}  # what programs asked for


def is_available() -> bool:
    """False."""
    return False


def set_flags(_enabled: bool) -> tuple[bool]:
    """Keep whether NNPACK is to be used where it is there; gives what was kept before."""
    before = (_flag["enabled"],)
    _flag["enabled"] = _enabled
    return before


@contextlib.contextmanager
def flags(enabled: bool = False) -> Iterator[None]:
    """Within the block the flag is this one, and afterwards as before."""
    (before,) = set_flags(enabled)
    try:
        yield
    finally:
        set_flags(before)


__getattr__ = missing(__name__)

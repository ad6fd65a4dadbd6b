"""``opt_einsum``, which is not used: ``einsum`` finds the order of its products itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..core.missing import missing

enabled = False
strategy = None


def is_available() -> bool:
    """False."""
    return False


def get_opt_einsum() -> None:
    """None."""


def set_flags(_enabled: bool | None = None, _strategy: str | None = None) -> tuple[bool, str | None]:
    """What was set before; only ``enabled=False`` can be set."""
    if _enabled:
        raise ValueError("opt_einsum is not used here: it can't be enabled")
    if _strategy is not None:
        raise ValueError("a strategy of opt_einsum can't be chosen: opt_einsum is not used here")
    return enabled, strategy


@contextmanager
def flags(enabled: bool | None = None, strategy: str | None = None) -> Iterator[None]:
    """A block in which ``opt_einsum`` is set as given: it is never used."""
    set_flags(enabled, strategy)
    yield


__getattr__ = missing(__name__)

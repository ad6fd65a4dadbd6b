"""``torch.utils._mode_utils``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..core.state import state


def all_same_mode(modes: Any) -> bool:
    """Whether all are one mode."""
    return all(each is modes[0] for each in modes)


@contextmanager
def no_dispatch() -> Iterator[None]:
    """Neither modes nor subclasses are asked: ops run as those of plain tensors."""
    before = state.dispatch_disabled
    state.dispatch_disabled = True
    try:
        yield
    finally:
        state.dispatch_disabled = before

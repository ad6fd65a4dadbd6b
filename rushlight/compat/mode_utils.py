"""``torch.utils._mode_utils``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .python_dispatch import _disable_current_modes


def all_same_mode(modes: Any) -> bool:
    """Whether all are one mode."""
    return all(each is modes[0] for each in modes)


@contextmanager
def no_dispatch() -> Iterator[None]:
    """No dispatch mode is asked."""
    with _disable_current_modes():
        yield

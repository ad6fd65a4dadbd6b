"""Marks that say how stable a function of ``torch.fx`` is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def compatibility(is_backward_compatible: bool) -> Callable[[Any], Any]:
    """A decorator that changes nothing."""
    return lambda function: function

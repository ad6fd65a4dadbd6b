"""Gradients across processes."""

from __future__ import annotations

from ...core.missing import absents


def is_available() -> bool:
    """False: there are no remote processes."""
    return False


absents(globals(), "there are no remote processes", classes="context DistAutogradContext", functions="backward get_gradients")

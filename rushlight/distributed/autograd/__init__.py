"""Gradients across processes."""

from __future__ import annotations

from ...core.missing import absents

absents(
    globals(),
    "there are no remote processes",
    classes="context DistAutogradContext",
    functions="backward get_gradients",
)

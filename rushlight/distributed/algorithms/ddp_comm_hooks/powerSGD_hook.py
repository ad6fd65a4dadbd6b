"""Compression of gradients by PowerSGD."""

from __future__ import annotations

from ....core.missing import absents

absents(
    globals(),
    "gradients are not exchanged between processes",
    classes="PowerSGDState",
    functions="powerSGD_hook batched_powerSGD_hook",
)

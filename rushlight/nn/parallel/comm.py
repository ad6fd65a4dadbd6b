"""Copies between GPUs, of which there are none."""

from __future__ import annotations

from ...core.missing import absents

absents(
    globals(), "there are no GPUs to copy between", functions="broadcast broadcast_coalesced gather reduce_add reduce_add_coalesced scatter"
)

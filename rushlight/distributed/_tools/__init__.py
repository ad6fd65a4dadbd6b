"""Estimates of memory and time."""

from __future__ import annotations

from ...core.missing import absents

absents(globals(), "estimates for several processes are not made", classes="MemoryTracker MemTracker")

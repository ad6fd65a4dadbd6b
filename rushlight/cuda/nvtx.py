"""Marks for NVIDIA's profiler, which needs a GPU."""

from __future__ import annotations

from ..core.missing import absents

absents(
    globals(), "marks are for NVIDIA's profiler, and there is no GPU", functions="range_push range_pop range range_start range_end mark"
)

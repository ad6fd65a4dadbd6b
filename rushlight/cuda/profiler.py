"""NVIDIA's profiler, which needs a GPU."""

from __future__ import annotations

from ..core.missing import absents

absents(globals(), "NVIDIA's profiler needs a GPU", functions="start stop profile init")

"""Exchange between GPUs, of which there are none."""

from __future__ import annotations

from typing import Any

from ..core.missing import absents

absents(globals(), "there are no GPUs", functions="all_reduce all_gather reduce_scatter broadcast reduce init_rank unique_id version")


def is_available(tensors: Any) -> bool:
    """False."""
    return False

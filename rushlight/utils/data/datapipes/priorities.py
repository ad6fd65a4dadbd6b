"""Among whom samples are divided."""

from __future__ import annotations

from enum import IntEnum


class SHARDING_PRIORITIES(IntEnum):
    """Among whom samples are divided first."""

    DEFAULT = 1
    DISTRIBUTED = 2
    MULTIPROCESSING = 3

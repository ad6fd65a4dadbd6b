"""How much is checked at each call of a collective: ``TORCH_DISTRIBUTED_DEBUG``."""

from __future__ import annotations

import os
from enum import Enum


class DebugLevel(Enum):
    """How much is checked: OFF, INFO, DETAIL."""

    OFF, INFO, DETAIL = range(3)


class _Debug:
    level = DebugLevel.OFF
    detail = False


debug = _Debug()


def get_debug_level() -> DebugLevel:
    """The level that was set."""
    return debug.level


def set_debug_level(level: DebugLevel) -> None:
    """Set it: at DETAIL each call is compared on all processes before data are exchanged."""
    debug.level, debug.detail = level, level is DebugLevel.DETAIL


def set_debug_level_from_env() -> None:
    """Set it from TORCH_DISTRIBUTED_DEBUG."""
    name = os.environ.get("TORCH_DISTRIBUTED_DEBUG", "OFF").upper()
    if name not in DebugLevel.__members__:
        raise ValueError(f"The value of TORCH_DISTRIBUTED_DEBUG must be OFF, INFO, or DETAIL, not {name}")
    set_debug_level(DebugLevel[name])

"""The modes of the thread and the process that decide what ops do, beside their arguments."""

from __future__ import annotations

from typing import Any

from ....amp import autocast_mode
from ....core.state import state


def ambient() -> tuple[Any, ...]:
    """The modes that are on: who intercepts ops, inference mode, and how autocast is set."""
    settings = autocast_mode._settings
    return (
        tuple([type(each) for each in state.interceptors]), state.inference, settings.enabled.get("cpu"), settings.dtypes["cpu"],
        settings.cache_enabled,
    )  # fmt: skip

"""AMD's library of layers, which is not used here: its settings are accepted and have no effect."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from typing import Any

from ..core.missing import missing
from .flags import FlagModule, change, changed

immediate = False


def set_flags(_immediate: bool | None = None) -> tuple[Any, ...]:
    """Set the setting, and return what it was."""
    return change(sys.modules[__name__], {"immediate": _immediate})


def flags(immediate: bool = False) -> AbstractContextManager[None]:
    """A setting that holds within a ``with`` block."""
    return changed(sys.modules[__name__], {"immediate": immediate})


sys.modules[__name__].__class__ = FlagModule
__getattr__ = missing(__name__)

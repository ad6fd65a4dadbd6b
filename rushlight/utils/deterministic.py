"""Switches of reproducible runs beside ``use_deterministic_algorithms``."""

from __future__ import annotations

import sys
from types import ModuleType

from ..core.argument_checks import demand


class _Switches(ModuleType):
    """A module whose one setting is read and written as an attribute."""

    @property
    def fill_uninitialized_memory(self) -> bool:
        """Whether what ``empty`` and its kin make is filled (NaN, or the greatest number) where deterministic algorithms are demanded."""
        return demand.fill

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, on: bool) -> None:
        if not isinstance(on, bool):
            raise TypeError(f"expected a bool, but got {type(on).__name__}")
        demand.fill = on


sys.modules[__name__].__class__ = _Switches

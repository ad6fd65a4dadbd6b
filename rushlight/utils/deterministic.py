"""Switches of reproducible runs beside ``use_deterministic_algorithms``."""

from __future__ import annotations

import sys
from types import ModuleType

from ..core.errors import NotSupported


class _Switches(ModuleType):
    """A module whose one setting is fixed."""

    @property
    def fill_uninitialized_memory(self) -> bool:
        """False: what ``empty`` makes is never filled."""
        return False

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, on: bool) -> None:
        if on:
            raise NotSupported(
                "torch.utils.deterministic.fill_uninitialized_memory is off in rushlight: use torch.full instead of torch.empty"
            )


sys.modules[__name__].__class__ = _Switches

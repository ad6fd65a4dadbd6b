"""Objects with a state."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from ...core.missing import missing

__getattr__ = missing(__name__)


@runtime_checkable
class Stateful(Protocol):
    """An object with ``state_dict`` and ``load_state_dict``."""

    def state_dict(self) -> dict[str, Any]:
        """The state."""
        ...

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take a state."""
        ...

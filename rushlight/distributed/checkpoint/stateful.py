"""Objects with a state."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from ...core.missing import absents


@runtime_checkable
class Stateful(Protocol):
    """An object with ``state_dict`` and ``load_state_dict``."""

    def state_dict(self) -> dict[str, Any]:
        """The state."""
        ...

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take a state."""
        ...


absents(
    globals(),
    "checkpoints in parts, one of each process, are not written or read: use save and load, which keep all of it in one file",
)

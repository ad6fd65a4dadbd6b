"""What parallelism that is applied to a module in place knows of it."""

from __future__ import annotations

from typing import Any


class _State:
    """The state of a module that is sharded; a wrapper around a module is its own."""


def _get_module_state(module: Any) -> _State | None:
    """The state of a module: itself, or what ``fully_shard`` keeps; None where nothing was applied to it."""
    return module if isinstance(module, _State) else module.__dict__.get("_fsdp_state")

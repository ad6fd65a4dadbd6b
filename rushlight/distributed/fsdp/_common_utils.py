"""What tells a module wrapped in ``FullyShardedDataParallel`` from others."""

from __future__ import annotations

from .._composable_state import _State


class _FSDPState(_State):
    """The base class of ``FullyShardedDataParallel``."""

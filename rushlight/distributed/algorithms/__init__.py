"""Algorithms of training in several processes."""

from __future__ import annotations

from ...core.missing import absents
from .join import Join, Joinable, JoinHook

_PARTS = ("ddp_comm_hooks", "join", "model_averaging", "_checkpoint")
absents(globals(), "it is not written yet")

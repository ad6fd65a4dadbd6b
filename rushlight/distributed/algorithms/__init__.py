"""Algorithms of training in several processes."""

from __future__ import annotations

from ...core.missing import missing
from .join import Join, Joinable, JoinHook

__getattr__ = missing(__name__, lazy=("ddp_comm_hooks", "join", "model_averaging", "_checkpoint"))

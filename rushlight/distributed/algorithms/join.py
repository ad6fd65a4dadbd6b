"""Uneven inputs of several processes."""

from __future__ import annotations

from ...nn.parallel.join import Join, Joinable, JoinHook, _JoinConfig

__all__ = ["Join", "JoinHook", "Joinable"]

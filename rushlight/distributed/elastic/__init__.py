"""The launcher of several processes."""

from __future__ import annotations

from ...core.missing import missing

__getattr__ = missing(__name__, lazy=("multiprocessing", "agent", "rendezvous", "utils", "events", "metrics", "timer"))

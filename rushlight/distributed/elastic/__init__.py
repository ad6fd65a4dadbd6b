"""The launcher of several processes."""

from __future__ import annotations

from ...core.missing import absents

_PARTS = ("multiprocessing", "agent", "rendezvous", "utils", "events", "metrics", "timer")
absents(globals(), "the launcher that restarts failed processes is not here: start the program itself")

"""Experiments with distributed tensors."""

from __future__ import annotations

from ....core.missing import absents

absents(globals(), "it is not written yet", functions="implicit_replication context_parallel local_map")

"""Experiments with distributed tensors."""

from __future__ import annotations

from ....core.missing import absents

absents(
    globals(),
    "it spreads work over several processes, and there is one",
    functions="implicit_replication context_parallel local_map",
)

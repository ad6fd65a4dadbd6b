"""Experiments with distributed tensors."""

from __future__ import annotations

from ....core.missing import absents

_PARTS = ("_attention",)
absents(
    globals(),
    "tensors that are spread over several devices need several processes: use a plain tensor",
    functions="implicit_replication context_parallel local_map register_sharding",
)

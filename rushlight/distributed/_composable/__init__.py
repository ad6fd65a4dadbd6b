"""Parallelism that is applied to modules in place."""

from __future__ import annotations

from ...core.missing import absents

_PARTS = ("fsdp",)
absents(
    globals(),
    "parameters are sharded over several processes, and there is one: use the module as it is",
    functions="replicate fully_shard checkpoint",
)

"""Sharded tensors."""

from __future__ import annotations

from ...core.missing import absents

_PARTS = ("sharded_tensor", "sharding_spec")
absents(
    globals(),
    "parameters are sharded over several processes, and there is one: use the module as it is",
    functions="shard_module shard_parameter",
)

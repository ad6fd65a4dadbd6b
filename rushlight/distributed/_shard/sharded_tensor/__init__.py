"""Sharded tensors."""

from __future__ import annotations

from ....core.missing import absents

absents(
    globals(),
    "parameters are sharded over several processes, and there is one: use the module as it is",
    classes="ShardedTensor Shard ShardMetadata ShardedTensorMetadata",
    functions="init_from_local_shards empty full ones zeros rand",
)

"""How sharded tensors are cut into parts."""

from __future__ import annotations

from ....core.missing import absents

_PARTS = ("_internals",)
absents(
    globals(),
    "tensors are sharded as DTensors: see distributed.tensor",
    classes="ChunkShardingSpec EnumerableShardingSpec PlacementSpec ShardingSpec",
)

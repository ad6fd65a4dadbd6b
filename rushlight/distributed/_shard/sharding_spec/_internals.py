"""Arithmetic on the parts of sharded tensors."""

from __future__ import annotations

from ....core.missing import absents

absents(
    globals(),
    "tensors are sharded as DTensors: see distributed.tensor",
    functions="_check_shard_metadata_pair_overlap get_chunked_dim_size get_split_size",
)

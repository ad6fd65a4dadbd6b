"""Parallelism that is applied to modules in place."""

from __future__ import annotations

from ...core.missing import absents
from ..fsdp import fully_shard

_PARTS = ("fsdp",)
absents(
    globals(),
    "wrap the module in DistributedDataParallel, or use utils.checkpoint",
    functions="replicate checkpoint",
)

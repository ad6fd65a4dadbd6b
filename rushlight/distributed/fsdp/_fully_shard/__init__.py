"""Sharded parameters, applied in place."""

from __future__ import annotations

from ....core.missing import absents
from .. import CPUOffloadPolicy, FSDPModule, MixedPrecisionPolicy, OffloadPolicy, UnshardHandle, fully_shard

absents(
    globals(),
    "parameters are sharded over several processes, and there is one: use the module as it is",
)

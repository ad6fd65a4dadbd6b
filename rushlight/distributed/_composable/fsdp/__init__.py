"""Sharded parameters, applied to modules in place."""

from __future__ import annotations

from ....core.missing import absents
from ...fsdp import CPUOffloadPolicy, FSDPModule, MixedPrecisionPolicy, OffloadPolicy, UnshardHandle, fully_shard

absents(globals(), "it is not written yet")

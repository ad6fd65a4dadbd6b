"""Sharded parameters, applied to modules in place."""

from __future__ import annotations

from ....core.missing import missing
from ...fsdp import CPUOffloadPolicy, FSDPModule, MixedPrecisionPolicy, OffloadPolicy, UnshardHandle, fully_shard

__getattr__ = missing(__name__)

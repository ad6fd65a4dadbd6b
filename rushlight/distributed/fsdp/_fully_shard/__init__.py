"""Sharded parameters, applied to modules in place.

In: a module and a mesh.  Out: the same module, whose parameters are DTensors between its calls.  Read ``_fully_shard.py`` first, then ``_group.py``.
"""

from __future__ import annotations

from ....core.missing import missing
from ..api import CPUOffloadPolicy, MixedPrecisionPolicy, OffloadPolicy
from ._fully_shard import FSDPModule, UnshardHandle, fully_shard, register_fsdp_forward_method

__getattr__ = missing(__name__)
__all__ = ["CPUOffloadPolicy", "FSDPModule", "MixedPrecisionPolicy", "OffloadPolicy", "UnshardHandle", "fully_shard",
           "register_fsdp_forward_method"]  # fmt: skip

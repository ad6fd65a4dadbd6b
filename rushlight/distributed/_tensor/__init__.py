"""The old name of ``distributed.tensor``."""

from __future__ import annotations

from ...core.missing import missing
from ..tensor import DeviceMesh, DTensor, Partial, Placement, Replicate, Shard, distribute_module, distribute_tensor, placement_types

__getattr__ = missing(__name__, lazy=("experimental", "placement_types", "api"))

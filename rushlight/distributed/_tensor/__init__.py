"""The old name of ``distributed.tensor``."""

from __future__ import annotations

from ...core.missing import absents
from ..tensor import DeviceMesh, DTensor, Partial, Placement, Replicate, Shard, distribute_module, distribute_tensor, placement_types

_PARTS = ("experimental", "placement_types", "api")
absents(globals(), "it is not written yet")

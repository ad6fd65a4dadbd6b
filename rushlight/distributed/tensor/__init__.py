"""Tensors that are spread over several devices: the names, and how they would be placed."""

from __future__ import annotations

from ...core.missing import absents
from ..device_mesh import DeviceMesh, init_device_mesh
from .placement_types import Partial, Placement, Replicate, Shard

_PARTS = ("placement_types", "parallel", "experimental", "_utils", "device_mesh", "debug", "_dtensor_spec", "_api", "_ops")
absents(
    globals(),
    "tensors that are spread over several devices need several processes: use a plain tensor",
    classes="DTensor DTensorSpec",
    functions="distribute_tensor distribute_module empty full ones rand randn zeros",
)

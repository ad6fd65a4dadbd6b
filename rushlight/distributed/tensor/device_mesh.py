"""The mesh of devices."""

from __future__ import annotations

from ...core.missing import absents
from ..device_mesh import DeviceMesh, init_device_mesh

absents(
    globals(),
    "tensors that are spread over several devices need several processes: use a plain tensor",
)

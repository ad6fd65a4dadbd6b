"""The mesh of devices."""

from __future__ import annotations

from ...core.missing import missing
from ..device_mesh import DeviceMesh, init_device_mesh

__getattr__ = missing(__name__)

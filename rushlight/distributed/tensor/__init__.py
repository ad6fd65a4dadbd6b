"""Tensors and layers that are sharded over the processes of a device mesh.

In: a mesh and placements.  Out: ``DTensor``, a tensor of which each process has a part, and on which ops mean the whole.  Read ``_api.py``
first, then ``_rules.py`` and ``_redistribute.py``.
"""

from __future__ import annotations

from ...core.missing import missing
from ...serialization import add_safe_globals
from ..device_mesh import DeviceMesh, init_device_mesh
from ._api import DTensor, distribute_module, distribute_tensor, empty, full, ones, rand, randn, zeros
from ._dtensor_spec import DTensorSpec, TensorMeta
from .placement_types import Partial, Placement, Replicate, Shard, _StridedShard

__getattr__ = missing(
    __name__, lazy=("placement_types", "parallel", "experimental", "_utils", "device_mesh", "debug", "_dtensor_spec", "_api", "_ops")
)
add_safe_globals([DeviceMesh, DTensorSpec, TensorMeta, DTensor, Partial, Replicate, Shard, _StridedShard])  # files may name them

"""How a distributed tensor is placed."""

from __future__ import annotations

from ...core.missing import missing
from ..tensor.placement_types import Partial, Placement, Replicate, Shard

__getattr__ = missing(__name__)

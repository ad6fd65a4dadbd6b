"""How a distributed tensor is placed."""

from __future__ import annotations

from ...core.missing import absents
from ..tensor.placement_types import Partial, Placement, Replicate, Shard

absents(globals(), "it is not written yet")

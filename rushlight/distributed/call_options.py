"""Options of collectives, as the methods of process groups take them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from .constants import default_pg_timeout
from .reductions import ReduceOp


@dataclass
class _Options:
    """What the options of all collectives have."""

    timeout: timedelta = default_pg_timeout
    asyncOp: bool = True


@dataclass
class AllreduceOptions(_Options):
    """Options of ``all_reduce``."""

    reduceOp: Any = ReduceOp.SUM


@dataclass
class AllreduceCoalescedOptions(AllreduceOptions):
    """Options of ``all_reduce_coalesced``."""


@dataclass
class BroadcastOptions(_Options):
    """Options of ``broadcast``."""

    rootRank: int = 0
    rootTensor: int = 0


@dataclass
class ReduceOptions(AllreduceOptions):
    """Options of ``reduce``."""

    rootRank: int = 0
    rootTensor: int = 0


@dataclass
class GatherOptions(_Options):
    """Options of ``gather``."""

    rootRank: int = 0


@dataclass
class ScatterOptions(GatherOptions):
    """Options of ``scatter``."""


@dataclass
class ReduceScatterOptions(AllreduceOptions):
    """Options of ``reduce_scatter``."""


@dataclass
class BarrierOptions(_Options):
    """Options of ``barrier``."""

    device_ids: list[int] = field(default_factory=list)


@dataclass
class AllToAllOptions(_Options):
    """Options of ``all_to_all``."""


@dataclass
class AllgatherOptions(_Options):
    """Options of ``all_gather``."""

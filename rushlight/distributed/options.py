"""Options of collectives, and the machinery between processes that a group of one has not."""

from __future__ import annotations

import pdb
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum
from typing import Any, NewType

from ..core.missing import absent, absent_function
from ..nn.parallel.buckets import GradBucket
from .constants import default_pg_timeout
from .reductions import ReduceOp

_MODULE = __package__
_ALONE = "there is one process, so that nothing is exchanged"

RankType = int
GroupName = NewType("GroupName", str)


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


class BuiltinCommHookType(Enum):
    """Hooks on the exchange of gradients that PyTorch implements itself."""

    ALLREDUCE, FP16_COMPRESS = 1, 2


Reducer = absent("Reducer", _MODULE, _ALONE)
Logger = absent("Logger", _MODULE, _ALONE)
remote_device = absent("_remote_device", _MODULE, "there are no remote processes")
shrink_group = absent_function("shrink_group", _MODULE, "a group of one process can't be made smaller")


def breakpoint(rank: int = 0, skip: int = 0, timeout_s: int = 3600) -> None:
    """Start the debugger in the process of a rank."""
    if rank == 0:
        pdb.set_trace()

"""Hooks that PyTorch implements itself, and names of its machinery between processes; with the options of collectives (``call_options.py``)."""

from __future__ import annotations

import pdb
from enum import Enum
from typing import Any, NewType

from ..core.missing import absent, absent_function
from ..nn.parallel.buckets import GradBucket
from .call_options import (
    AllgatherOptions,
    AllreduceCoalescedOptions,
    AllreduceOptions,
    AllToAllOptions,
    BarrierOptions,
    BroadcastOptions,
    GatherOptions,
    ReduceOptions,
    ReduceScatterOptions,
    ScatterOptions,
)

_MODULE = __package__
_ALONE = "there is one process, so that nothing is exchanged"

RankType = int
GroupName = NewType("GroupName", str)


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

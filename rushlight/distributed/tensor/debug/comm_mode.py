"""``CommDebugMode``: a context that counts the collectives which run in it."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from ....core.errors import NotSupported
from ....ops import overloads
from ... import c10d_ops
from ...recorded_calls import observers

__all__ = ["CommDebugMode"]

# Collectives that write to tensors of their callers, as ops.
_IN_PLACE = {
    "all_reduce": "allreduce_",
    "reduce": "reduce_",
    "broadcast": "broadcast_",
    "all_gather": "allgather_",
    "all_gather_into_tensor": "_allgather_base_",
    "gather": "gather_",
    "scatter": "scatter_",
    "reduce_scatter": "reduce_scatter_",
    "reduce_scatter_tensor": "_reduce_scatter_base_",
    "all_to_all": "alltoall_",
    "all_to_all_single": "alltoall_base_",
    "barrier": "barrier",
    "send": "send",
    "recv": "recv_",
}
_FUNCTIONAL = {"all_reduce", "broadcast", "all_gather_into_tensor", "reduce_scatter_tensor", "all_to_all_single"}


class CommDebugMode:
    """Counts collectives by op: those of ``torch.distributed`` by ``torch.ops.c10d``, those of DTensors and functional ones by ``torch.ops.c10d_functional``."""

    def __init__(self) -> None:
        self.comm_counts: dict[Any, int] = defaultdict(int)

    def __enter__(self) -> CommDebugMode:
        self.comm_counts.clear()
        observers.append(self._count)
        return self

    def __exit__(self, *exception: Any) -> None:
        observers.remove(self._count)

    def _count(self, name: str, functional: bool) -> None:
        found: Any
        if functional and name in _FUNCTIONAL:
            found = c10d_ops.packet("c10d_functional", name)
        else:
            found = c10d_ops.packet("c10d", _IN_PLACE[name]) if name in _IN_PLACE else None
        if not isinstance(found, overloads.OpOverloadPacket):
            raise NotSupported(f"CommDebugMode: {name} has no op to be counted by")
        self.comm_counts[found] += 1

    def get_total_counts(self) -> int:
        """How many collectives have run."""
        return sum(self.comm_counts.values())

    def get_comm_counts(self) -> dict[Any, int]:
        """How many collectives have run, by op; 0 for others."""
        return self.comm_counts

"""Copies of a model on several devices of one process, which are not here."""

from __future__ import annotations

from ...core.missing import absent_function

_WHY = "copies of a model on several devices of one process: start a process for each device, and use DistributedDataParallel"
_PACKAGE = __name__.rpartition(".")[0]
replicate = absent_function("replicate", _PACKAGE, _WHY)
_broadcast_coalesced_reshape = absent_function("_broadcast_coalesced_reshape", __name__, _WHY)

__all__ = ["replicate"]

"""Experiments with distributed tensors."""

from __future__ import annotations

from ....core.missing import absents
from .._api import implicit_replication
from ._local_map import local_map

_PARTS = ("_attention",)
absents(globals(), "it is not written yet", functions="context_parallel register_sharding")

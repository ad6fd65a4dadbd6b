"""Parallelism that is applied to modules in place."""

from __future__ import annotations

from ...core.missing import absents
from ..fsdp import fully_shard
from .replicate import replicate

_PARTS = ("fsdp",)
absents(
    globals(),
    "use utils.checkpoint, or wrap the module in checkpoint_wrapper",
    functions="checkpoint",
)

"""Parallelism that is applied to modules in place."""

from __future__ import annotations

from ...core.missing import missing
from ..fsdp import fully_shard
from .checkpoint_activation import checkpoint
from .replicate import replicate

__getattr__ = missing(__name__, lazy=("fsdp",))

"""Distributed tensors."""

from __future__ import annotations

from ...core.missing import absents
from . import DTensor, distribute_module, distribute_tensor

absents(
    globals(),
    "tensors that are spread over several devices need several processes: use a plain tensor",
)

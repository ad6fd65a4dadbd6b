"""Styles of parallel layers."""

from __future__ import annotations

from ....core.missing import absents
from . import ColwiseParallel, ParallelStyle, PrepareModuleInput, PrepareModuleOutput, RowwiseParallel, SequenceParallel

absents(
    globals(),
    "tensors that are spread over several devices need several processes: use a plain tensor",
)

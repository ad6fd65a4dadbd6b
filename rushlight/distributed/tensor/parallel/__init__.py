"""Layers whose parameters are spread over devices."""

from __future__ import annotations

from ....core.missing import absents

_PARTS = ("style", "api", "loss", "ddp", "fsdp")
absents(
    globals(),
    "tensors that are spread over several devices need several processes: use a plain tensor",
    classes="ColwiseParallel RowwiseParallel SequenceParallel ParallelStyle PrepareModuleInput PrepareModuleInputOutput PrepareModuleOutput PrivateUse1",
    functions="parallelize_module loss_parallel",
)

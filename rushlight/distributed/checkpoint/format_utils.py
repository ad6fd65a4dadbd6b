"""Conversions of sharded checkpoints."""

from __future__ import annotations

from ...core.missing import absents

absents(
    globals(),
    "checkpoints in parts, one of each process, are not written or read: use save and load, which keep all of it in one file",
    classes="BroadcastingTorchSaveReader DynamicMetaLoadPlanner _EmptyStateDictLoadPlanner",
    functions="dcp_to_torch_save torch_save_to_dcp",
)

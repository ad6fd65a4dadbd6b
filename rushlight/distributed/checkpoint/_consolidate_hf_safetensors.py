"""Sharded safetensors files as one."""

from __future__ import annotations

from ...core.missing import absents

absents(
    globals(),
    "checkpoints in parts, one of each process, are not written or read: use save and load, which keep all of it in one file",
    functions="consolidate_safetensors_files consolidate_safetensors_files_on_every_rank",
)

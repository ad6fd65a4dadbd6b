"""Reading sharded checkpoints."""

from __future__ import annotations

from ...core.missing import absents

absents(
    globals(),
    "checkpoints in parts, one of each process, are not written or read: use save and load, which keep all of it in one file",
    functions="load load_state_dict _load_state_dict",
)

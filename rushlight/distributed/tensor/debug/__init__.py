"""Looking at distributed tensors."""

from __future__ import annotations

from ....core.missing import absents

absents(
    globals(),
    "tensors that are spread over several devices need several processes: use a plain tensor",
    classes="CommDebugMode",
    functions="visualize_sharding",
)

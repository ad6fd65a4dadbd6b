"""Attention over parts of a sequence."""

from __future__ import annotations

from ....core.missing import absents

absents(
    globals(),
    "tensors that are spread over several devices need several processes: use a plain tensor",
    functions="set_rotate_method context_parallel context_parallel_unshard",
)

"""Averages of models over processes."""

from __future__ import annotations

from ....core.missing import absents

_PARTS = ("averagers", "utils", "hierarchical_model_averager")
absents(
    globals(),
    "it spreads work over several processes, and there is one",
)

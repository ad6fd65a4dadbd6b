"""Averages of models over processes."""

from __future__ import annotations

from ....core.missing import absents

absents(
    globals(),
    "it spreads work over several processes, and there is one",
    classes="ModelAverager PeriodicModelAverager",
)

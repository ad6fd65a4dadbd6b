"""Processes of the launcher."""

from __future__ import annotations

from ....core.missing import absents

_PARTS = ("errors",)
absents(
    globals(),
    "the launcher that restarts failed processes is not here: start the program itself",
    classes="Std SignalException DefaultLogsSpecs",
    functions="start_processes",
)

"""The launcher of several processes."""

from __future__ import annotations

from ...core.missing import absents

absents(
    globals(),
    "the launcher that restarts failed processes is not here: start the program itself",
    classes="LaunchConfig elastic_launch",
    functions="launch_agent",
)

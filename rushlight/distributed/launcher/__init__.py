"""The launcher of several processes."""

from __future__ import annotations

from ...core.missing import absents
from .api import LaunchConfig, elastic_launch, launch_agent

_PARTS = ("api",)
absents(globals(), "the launcher that restarts failed processes is not here: start the program itself")

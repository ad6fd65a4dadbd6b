"""The launcher of several processes."""

from __future__ import annotations

from ...core.missing import missing
from .api import LaunchConfig, elastic_launch, launch_agent

__getattr__ = missing(__name__, lazy=("api",))

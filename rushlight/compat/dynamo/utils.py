"""`torch._dynamo.utils`: what captures count."""

from __future__ import annotations

from ...capture.compile.record.graph_breaks import counters
from ...core.missing import missing

__getattr__ = missing("rushlight._dynamo.utils")


def is_compile_supported(device_type: str) -> bool:
    """Whether programs on a kind of device can be compiled."""
    return device_type == "cpu"

"""`torch._dynamo.eval_frame`: compiled modules."""

from __future__ import annotations

from ...compiler import OptimizedModule
from ...core.missing import missing

__getattr__ = missing("rushlight._dynamo.eval_frame")


def is_dynamo_supported() -> bool:
    """True: functions can be compiled."""
    return True

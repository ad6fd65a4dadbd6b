"""`torch._dynamo.utils`: what captures count."""

from __future__ import annotations

from ...capture.compile.record.graph_breaks import counters
from ...core.missing import missing

__getattr__ = missing("rushlight._dynamo.utils")

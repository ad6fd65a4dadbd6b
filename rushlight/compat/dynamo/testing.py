"""`torch._dynamo.testing`: back-ends that count."""

from __future__ import annotations

from ...core.missing import missing
from ...testing.compiling import CompileCounter, CompileCounterWithBackend, EagerAndRecordGraphs, normalize_gm

__getattr__ = missing("rushlight._dynamo.testing")

"""`torch._dynamo.exc`: what a capture raises."""

from __future__ import annotations

from ...capture.compile.record.graph_breaks import BackendFailed as BackendCompilerFailed
from ...capture.compile.record.graph_breaks import Unsupported
from ...core.missing import missing
from ...export.errors import UserError

__getattr__ = missing("rushlight._dynamo.exc")

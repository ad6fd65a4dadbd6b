"""`torch.jit._trace`: where programs that export set the names of Modules."""

from __future__ import annotations

from typing import Any

from ..capture.trace.jit_trace import TracingCheckError, trace
from ..capture.trace.traced import TracedModule as TopLevelTracedModule

_trace_module_map: dict[Any, Any] | None = None  # names come from the modules themselves

__all__ = ["TopLevelTracedModule", "TracingCheckError", "trace"]

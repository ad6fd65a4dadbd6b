"""Capturing programs: ``jit.trace`` and ``jit.script``, files of what they made, ``fork`` and ``wait``."""

from __future__ import annotations

from typing import Final

from ..capture.compile.annotations import mark as _mark
from ..capture.graph_module import GraphModule as _GraphModule
from ..capture.script import (
    Attribute,
    CompilationUnit,
    Error,
    NotSupportedError,
    RecursiveScriptModule,
    ScriptError,
    ScriptFunction,
    ScriptMethod,
    ScriptModule,
    annotate,
    export,
    freeze,
    ignore,
    interface,
    is_scripting,
    optimize_for_inference,
    run_frozen_optimizations,
    script,
    script_if_tracing,
    script_method,
    unused,
)
from ..capture.script import is_instance as isinstance
from ..capture.script.frontend.annotations import _unwrap_optional as _unwrap_optional
from ..capture.script.fusion_flags import (
    enable_onednn_fusion,
    fuser,
    onednn_fusion_enabled,
    optimized_execution,
    set_fusion_strategy,
    strict_fusion,
)
from ..capture.script.overloads import _overload as _overload
from ..capture.script.overloads import _overload_method as _overload_method
from ..capture.trace.fork import Future, fork, wait
from ..capture.trace.jit_trace import TracingCheckError, trace, trace_module
from ..capture.trace.traced import TracedFunction, TracedModule, load, save
from ..capture.tracer.tracer import TracerWarning
from ..core.errors import CaptureError
from ..core.missing import missing as _missing
from ..core.state import state as _dispatch_state
from ..display import attach as _attach

TopLevelTracedModule = TracedModule
_fork, _wait = fork, wait
_attach(_GraphModule, TracedFunction, ScriptFunction, ScriptModule)


def is_tracing() -> bool:
    """Whether a program is being traced or exported in this thread."""
    return _dispatch_state.capture is not None and not hasattr(_dispatch_state.capture, "recorder")  # which `compile` has


_mark(is_tracing, "constant")

__getattr__ = _missing(__name__)

__all__ = [
    "Attribute", "CaptureError", "CompilationUnit", "Error", "NotSupportedError", "RecursiveScriptModule", "ScriptError", "ScriptFunction", "ScriptMethod", "ScriptModule", "annotate", "export", "freeze", "ignore",
    "interface", "is_scripting", "isinstance", "optimize_for_inference", "run_frozen_optimizations", "script", "script_if_tracing", "script_method", "unused", "Future", "TopLevelTracedModule", "TracedFunction", "TracedModule", "TracerWarning", "TracingCheckError", "fork", "is_tracing",
    "load", "save", "trace", "trace_module", "wait", "enable_onednn_fusion", "fuser", "onednn_fusion_enabled", "set_fusion_strategy", "strict_fusion", "Final",
    "optimized_execution",
]  # fmt: skip

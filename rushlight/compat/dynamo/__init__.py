"""`torch._dynamo`: names of the compiler's front end, over `rushlight.compiler`.

Each other file is the submodule of that name; `config.py` maps settings to those of `capture/compile/config.py`.
"""

from __future__ import annotations

import sys
from typing import Any

from ...capture.compile.annotations import error_on_graph_break as error_on_graph_break
from ...compiler import (
    OptimizedModule,
    allow_in_graph,
    assume_constant_result,
    compile,
    disable,
    explain,
    graph_break,
    is_compiling,
    list_backends,
    mark_dynamic,
    mark_static,
    mark_static_address,
    maybe_mark_dynamic,
    register_backend,
    reset,
    reset_code,
    set_stance,
)
from ...core.missing import missing
from . import backends, compiled_autograd, config, decorators, eval_frame, exc, external_utils, test_case, testing, utils
from .backends.registry import lookup_backend
from .exporting import ExportResult, export

disallow_in_graph = disable
nonstrict_trace = allow_in_graph
reset_code_caches = reset


def optimize(backend: Any = "native", *, nopython: bool = False, dynamic: bool | None = None, **options: Any) -> Any:
    """The older spelling of ``compile``."""
    return lambda function: compile(function, backend=backend, fullgraph=nopython, dynamic=dynamic, **options)


def optimize_assert(backend: Any = "native", *, dynamic: bool | None = None, **options: Any) -> Any:
    """The same, as one graph."""
    return optimize(backend, nopython=True, dynamic=dynamic, **options)


def is_dynamo_supported() -> bool:
    """Whether programs can be compiled by this Python."""
    return (3, 11) <= sys.version_info[:2] <= (3, 13)


__getattr__ = missing("rushlight._dynamo")

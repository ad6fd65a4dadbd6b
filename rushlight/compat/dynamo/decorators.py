"""`torch._dynamo.decorators`: what a program says about its functions and tensors to the compiler."""

from __future__ import annotations

from ...capture.compile.annotations import error_on_graph_break as error_on_graph_break
from ...compiler import allow_in_graph, disable, graph_break, mark_dynamic, mark_static, mark_static_address, maybe_mark_dynamic, set_stance
from ...core.missing import missing

__getattr__ = missing("rushlight._dynamo.decorators")
mark_unbacked = maybe_mark_dynamic  # sizes always have a value in the run that is captured
disallow_in_graph = disable

__all__ = [
    "allow_in_graph", "disable", "graph_break", "mark_dynamic", "mark_static", "mark_static_address", "maybe_mark_dynamic", "set_stance",
]  # fmt: skip

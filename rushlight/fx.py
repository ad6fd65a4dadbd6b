"""Graphs in the form that users of ``torch.fx`` know."""

from __future__ import annotations

from .capture.graph_module import GraphModule
from .core.missing import missing as _missing
from .graph import Graph, Interpreter, Node, has_side_effect, map_arg
from .showing import attach as _attach

_attach(GraphModule)

__getattr__ = _missing(__name__)

__all__ = ["Graph", "GraphModule", "Interpreter", "Node", "has_side_effect", "map_arg"]

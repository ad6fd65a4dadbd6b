"""``torch.fx``: programs as graphs that Python code reads and rewrites.

In: a Module or function (``symbolic_trace``), or any graph that the package's captures made.  Out: a ``GraphModule``, which runs, compiles,
scripts and exports as other Modules do.  Graphs made here name and print their nodes as PyTorch does; they are the graphs of ``rushlight.graph``.
Read ``graph.py`` first, then ``proxy.py`` and ``_symbolic_trace.py``.
"""

from __future__ import annotations

from ..capture.graph_module import GraphModule as _HouseGraphModule
from ..core.missing import missing as _missing
from ..display import attach as _attach
from . import _symbolic_trace, graph, graph_module, immutable_collections, interpreter, node, operator_schemas, proxy, traceback
from ._symbolic_trace import PH, ProxyableClassMeta, Tracer, symbolic_trace, wrap
from .graph import CodeGen, Graph
from .graph_module import GraphModule
from .interpreter import Interpreter, Transformer
from .node import Node, has_side_effect, map_arg
from .proxy import Proxy
from .subgraph_rewriter import replace_pattern

_attach(_HouseGraphModule)

__getattr__ = _missing(
    __name__,
    lazy=(
        "_compatibility",
        "_lazy_graph_module",
        "_pytree",
        "_utils",
        "annotate",
        "config",
        "experimental",
        "passes",
        "subgraph_rewriter",
        "tensor_type",
    ),
)

__all__ = [
    "PH", "CodeGen", "Graph", "GraphModule", "Interpreter", "Node", "Proxy", "ProxyableClassMeta", "Tracer", "Transformer", "has_side_effect", "map_arg",
    "replace_pattern", "symbolic_trace", "wrap", "_symbolic_trace", "graph", "graph_module", "immutable_collections", "interpreter", "node", "operator_schemas",
    "proxy", "traceback",
]  # fmt: skip

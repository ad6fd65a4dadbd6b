"""``FxGraphDrawer``: a graph as a picture, by the package ``pydot``."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

from ...core.errors import NotSupported
from ..graph import qualified_name


class FxGraphDrawer:
    """Draws a graph module with ``pydot`` (and Graphviz)."""

    def __init__(self, graph_module: Any, name: str, ignore_getattr: bool = False, **options: Any) -> None:
        if importlib.util.find_spec("pydot") is None:
            raise NotSupported(
                "FXGraphDrawer requires the pydot package to be installed. Please install pydot through your favorite Python package manager."
            )
        pydot = importlib.import_module("pydot")

        self._name = name
        graph = pydot.Dot(name, rankdir="TB")
        for node in graph_module.graph.nodes:
            if ignore_getattr and node.op == "get_attr":
                continue
            graph.add_node(
                pydot.Node(node.name, label=f"{{name=%{node.name}|op_code={node.op}|target={qualified_name(node.target)}}}", shape="record")
            )
            for each in node.all_input_nodes:
                if not (ignore_getattr and each.op == "get_attr"):
                    graph.add_edge(pydot.Edge(each.name, node.name))
        self._graphs = {name: graph}

    def get_dot_graph(self, submod_name: str | None = None) -> Any:
        """The picture, as a graph of ``pydot``."""
        return self._graphs[submod_name or self._name]

    get_main_dot_graph = get_dot_graph

    def get_all_dot_graphs(self) -> dict[str, Any]:
        """All pictures by name."""
        return self._graphs

"""``split_const_subgraphs``: what does not depend on inputs is computed once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.base import TensorBase
from ...nn.modules.module import Module
from ...nn.parameter import Parameter
from .._symbolic_trace import symbolic_trace
from ..graph_module import GraphModule
from ..interpreter import Interpreter


class FoldedGraphModule(GraphModule):
    """A graph module whose constants are computed when it is first called, or by ``run_folding``."""

    def run_folding(self) -> None:
        """Compute the constants: they are computed when the module is made."""


def split_const_subgraphs(
    module: Any, skip_folding_node_fn: Callable[[Any], bool] | None = None, device_for_folded_attrs: str = "cpu"
) -> FoldedGraphModule:
    """The module with attributes in place of what follows from parameters and buffers alone."""
    traced: Any = symbolic_trace(module) if not isinstance(module, GraphModule) else module
    graph = traced.graph
    constant: set[Any] = set()
    for node in graph.nodes:
        if node.op == "get_attr":
            constant.add(node)
        elif node.op not in ("placeholder", "output") and node.all_input_nodes and all(each in constant for each in node.all_input_nodes):
            if not node.is_impure() and not (skip_folding_node_fn is not None and skip_folding_node_fn(node)):
                constant.add(node)
    used = [node for node in graph.nodes if node in constant and node.op != "get_attr" and any(user not in constant for user in node.users)]
    if used:
        interpreter = Interpreter(traced, garbage_collect_values=False)
        for node in graph.nodes:
            if node in constant:
                interpreter.env[node] = interpreter.run_node(node)
        for number, node in enumerate(used):
            value = interpreter.env[node]
            name = f"_FX_CONST_FOLDED_ATTRS_{number}"
            if isinstance(value, TensorBase):
                setattr(traced, name, Parameter(value.detach(), requires_grad=value.requires_grad and value.is_floating_point()))
            else:
                setattr(traced, name, value)
            with graph.inserting_before(node):
                node.replace_all_uses_with(graph.get_attr(name))
        graph.eliminate_dead_code()
    root: Module = traced
    return FoldedGraphModule(root, graph, type(traced).__name__)


def get_unique_attr_name_in_module(mod_traced: Module, name: str) -> str:
    """A name that a Module does not have."""
    number = 0
    found = name
    while hasattr(mod_traced, found):
        number += 1
        found = f"{name}_{number}"
    return found

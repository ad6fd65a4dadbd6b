"""``fuse``: batch norms as part of the convolutions before them, for inference."""

from __future__ import annotations

import copy
from typing import Any

from ...nn.modules.batchnorm import BatchNorm1d, BatchNorm2d, BatchNorm3d
from ...nn.modules.conv import Conv1d, Conv2d, Conv3d
from ...nn.modules.dropout import Dropout, Dropout2d, Dropout3d
from ...nn.modules.linear import Identity
from ...nn.modules.module import Module
from ...nn.utils.fusion import fuse_conv_bn_eval
from .._symbolic_trace import symbolic_trace
from ..graph_module import GraphModule
from ..interpreter import Transformer

_PAIRS = ((Conv1d, BatchNorm1d), (Conv2d, BatchNorm2d), (Conv3d, BatchNorm3d))


def _parent_name(target: str) -> tuple[str, str]:
    """The path of the owner, and the name in it."""
    owner, _, name = target.rpartition(".")
    return owner, name


def matches_module_pattern(pattern: Any, node: Any, modules: dict[str, Any]) -> bool:
    """Whether a node calls a Module of the second class on the result of one of the first."""
    if not node.args:
        return False
    for kind, each in zip(pattern, (node.args[0], node)):
        if getattr(each, "op", None) != "call_module" or type(modules.get(each.target)) is not kind:
            return False
    return True


def replace_node_module(node: Any, modules: dict[str, Any], new_module: Module) -> None:
    """Put another Module where a node's is."""
    owner, name = _parent_name(node.target)
    modules[node.target] = new_module
    setattr(modules[owner], name, new_module)


def fuse(model: Module, inplace: bool = False, no_trace: bool = False) -> Any:
    """The model with each batch norm folded into the convolution before it."""
    model = model if inplace else copy.deepcopy(model)
    traced: Any = model if no_trace and isinstance(model, GraphModule) else symbolic_trace(model)
    modules = dict(traced.named_modules())
    for pattern in _PAIRS:
        for node in list(traced.graph.nodes):
            if matches_module_pattern(pattern, node, modules):
                if len(node.args[0].users) > 1:
                    continue
                norm = modules[node.target]
                if not norm.track_running_stats:
                    continue
                replace_node_module(node.args[0], modules, fuse_conv_bn_eval(modules[node.args[0].target], norm))
                node.replace_all_uses_with(node.args[0])
                traced.graph.erase_node(node)
    traced.recompile()
    return traced


def remove_dropout(model: Module) -> Any:
    """The model without dropouts."""
    traced = symbolic_trace(model)

    class DropoutRemover(Transformer):
        def call_module(self, target: str, args: Any, kwargs: Any) -> Any:
            if isinstance(self.submodules[target], (Dropout, Dropout2d, Dropout3d, Identity)):
                return args[0]
            return super().call_module(target, args, kwargs)

    return DropoutRemover(traced).transform()


def extract_subgraph(orig_module: Module, nodes: list[Any], inputs: list[Any], outputs: list[Any]) -> Any:
    """A module of some nodes of a graph."""
    graph = type(nodes[0].graph)()
    here: dict[Any, Any] = {}
    for each in inputs:
        here[each] = graph.placeholder(each.name)
    for node in nodes:
        here[node] = graph.node_copy(node, here.__getitem__)
    graph.output([here[each] for each in outputs])
    graph.lint()
    return GraphModule(orig_module, graph)

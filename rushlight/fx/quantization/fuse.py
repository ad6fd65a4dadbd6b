"""Fusing what follows each other in a traced model: a convolution, its batch normalisation, its ReLU."""

from __future__ import annotations

from typing import Any

from ... import nn
from ...ao.quantization.fuser_method_mappings import _DEFAULT_OP_LIST_TO_FUSER_METHOD
from ..graph_module import GraphModule
from ..node import Node
from .patterns import RELUS, kind_of


def fuse(model: GraphModule, is_qat: bool, additional: Any = None) -> None:
    """Fuse modules in place; the longest sequence that begins at a module counts."""
    methods = {**_DEFAULT_OP_LIST_TO_FUSER_METHOD, **(additional or {})}
    sequences = sorted(methods, key=len, reverse=True)
    modules = dict(model.named_modules(remove_duplicate=False))
    for node in model.graph.nodes:
        for sequence in sequences:
            found = _chain(node, sequence, modules)
            if found:
                parts = [modules[str(each.target)] if each.op == "call_module" else nn.ReLU() for each in found]
                for part in parts:
                    part.training = parts[0].training
                _replace(model, found, methods[sequence](is_qat, *parts))
                modules = dict(model.named_modules(remove_duplicate=False))
                break
    model.graph.lint()
    model.recompile()


def _chain(first: Node, sequence: Any, modules: dict[str, Any]) -> list[Node]:
    """The nodes that are a sequence of modules, each used by the next alone; a ReLU may also be a function."""
    found: list[Node] = []
    node: Node | None = first
    for wanted in sequence:
        kind = None if node is None else kind_of(node, modules)
        if node is None or not (kind is wanted or (wanted is nn.ReLU and kind in RELUS)):
            return []
        found.append(node)
        users = list(node.users)
        node = users[0] if len(users) == 1 and users[0].args and users[0].args[0] is node else None
    return found if found[0].op == "call_module" else []


def _replace(model: GraphModule, found: list[Node], fused: Any) -> None:
    path, _, last = str(found[0].target).rpartition(".")
    setattr(model.get_submodule(path), last, fused)
    found[-1].replace_all_uses_with(found[0])
    for node in reversed(found[1:]):
        model.graph.erase_node(node)

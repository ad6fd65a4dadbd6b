"""Methods that a traced Module has beside its trace: those marked with ``jit.export``, scripted."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from ...graph import Graph
from ...graph.node import all_nodes
from .freeze import expanded
from .frontend.errors import ScriptError
from .ir.steps import PLAIN
from .script_module import RecursiveScriptModule, scripted, take
from .transform.inline import inlined


def exported_graphs(module: Any, names: list[str]) -> dict[str, tuple[Graph, dict[str, Any]]]:
    """The graphs of a Module's methods without calls of scripted ones, and what they compute with by its path."""
    made = RecursiveScriptModule()
    made.__dict__["_script_original"] = type(module)
    take(made, module)
    memo: dict[int, Any] = {id(module): made}
    for name, child in module._modules.items():
        made._modules[name] = None if child is None else _scripted(child, memo)
    found = {}
    for name in names:
        made._script_method(name)
    whole = expanded(made)
    for name in names:
        graph = inlined(made._script_programs[name].graph, whole)
        for node in [each for each in all_nodes(graph) if each.op == "get_attr" and "." in each.target]:
            value = attrgetter(node.target)(module)
            if type(value) in PLAIN:  # Modules below a traced one hold tensors alone
                node.replace_all_uses_with(value)
                node.graph.erase_node(node)
        paths = [node.target for node in all_nodes(graph) if node.op in ("get_attr", "call_module")]
        found[name] = graph, {path: attrgetter(path)(module) for path in paths}
    return found


def _scripted(child: Any, memo: dict[int, Any]) -> Any:
    """A Module below; one that can't be scripted was traced alone, and matters only to a method that calls it."""
    try:
        return scripted(child, memo)
    except ScriptError:
        return child

"""Puts the graphs of scripted functions and methods in place of their calls."""

from __future__ import annotations

from typing import Any

from ....graph import Graph, Node, map_arg


def inlined(graph: Graph, owner: Any = None, prefix: str = "", kept: frozenset[str] = frozenset()) -> Graph:
    """A copy of a graph without calls of scripted functions or, with an owner, of scripted methods and Modules, but for those at some paths."""
    made = Graph()
    _copy(graph, made, {}, owner, prefix, kept)
    return made


def _copy(graph: Graph, made: Graph, here: dict[Node, Any], owner: Any, prefix: str, kept: frozenset[str], output: bool = True) -> Any:
    for node in graph.nodes:
        if node in here:
            continue
        if node.op == "output" and not output:
            return map_arg(node.args[0], here.__getitem__)
        program, root, path = _called(node, owner, prefix, kept)
        if program is None:
            copied = here[node] = made.node_copy(node, here.__getitem__)
            if node.op in ("get_attr", "call_module") and prefix:
                copied.target = f"{prefix}.{node.target}"
            if node.bodies:
                copied.meta["bodies"] = {name: inlined(body, owner, prefix, kept) for name, body in node.bodies.items()}
            continue
        inner: dict[Node, Any] = {}
        values = list(map_arg(node.args, here.__getitem__))
        named = map_arg(dict(node.kwargs), here.__getitem__)
        for each in program.graph.find_nodes(op="placeholder"):
            inner[each] = values.pop(0) if values else named[each.target] if each.target in named else each.args[0]
        here[node] = _copy(program.graph, made, inner, root, path, kept, False)
    return None


def _called(node: Node, owner: Any, prefix: str, kept: frozenset[str]) -> tuple[Any, Any, str]:
    """The program that a node calls, with the Module that it belongs to and that Module's path; None where it calls something else."""
    if node.op == "call_function":
        program = getattr(node.target, "_program", None)
        return program, None, ""
    if node.op != "call_module" or owner is None or node.meta.get("python"):
        return None, None, ""
    found = owner
    whole = f"{prefix}.{node.target}" if prefix else node.target
    if any(whole == each or whole.startswith(each + ".") for each in kept):
        return None, None, ""
    *way, last = node.target.split(".")
    for part in way:
        found = found._modules.get(part) if hasattr(found, "_modules") else None
        if found is None:
            return None, None, ""
    path = ".".join(filter(None, (prefix, *way)))
    child = found._modules.get(last)
    if child is not None and (child.__dict__.get("_forward_hooks") or child.__dict__.get("_forward_pre_hooks")):
        return None, None, ""  # a call is more than its forward
    if child is not None and hasattr(child, "_script_programs"):
        program = child._script_programs.get("forward")
        return program, child, ".".join(filter(None, (path, last)))
    return getattr(found, "_script_programs", {}).get(last), found, path

"""Modules of the package as scripts of their own: one call of their Python, which needs no source of the user's."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

from ....core.declare import PACKAGE
from ....core.missing import is_own
from ....graph import Graph
from ....graph.node import all_graphs
from ....nn.modules.module import Module
from ..frontend.types import ANY
from ..lower.attributes import module_type
from ..lower.compiler import ScriptParameter, Signature
from .program import ScriptProgram

CALL = "_script_library"  # the method that such a Module's graph calls
_BOUND = (int, float, str, bool, type(None), complex, tuple)


def library_class(kind: type) -> type:
    """The class of the package that a class is, or is derived from."""
    return next(base for base in kind.__mro__ if is_own(base))


def is_library_forward(kind: type) -> bool:
    """Whether the ``forward`` of a class is the package's."""
    forward = inspect.getattr_static(kind, "forward", None)
    return inspect.isfunction(forward) and forward is not Module.forward and forward.__module__.partition(".")[0] == PACKAGE


def needs_python(program: ScriptProgram) -> bool:
    """Whether a program that was compiled from the package's own source calls what no file can hold: its private functions."""
    for graph in all_graphs(program.graph):
        for node in graph.nodes:
            place = getattr(node.target, "__module__", None) or "" if node.op == "call_function" else ""
            if node.target is warnings.warn or place.startswith(f"{PACKAGE}.nn.modules."):
                return True
    return False


def forward_program(module: Any, kind: type) -> ScriptProgram:
    """The ``forward`` of a class of the package as a graph of one call, with the parameters that its signature has."""
    function: Any = inspect.getattr_static(kind, "forward")
    graph = Graph()
    parameters: list[ScriptParameter] = []
    for each in list(inspect.signature(function).parameters.values())[1:]:
        if each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD):
            continue
        default = ... if each.default is each.empty or not isinstance(each.default, _BOUND) else each.default
        parameters.append(ScriptParameter(each.name, ANY, default))  # what Python takes, it takes
        graph.create_node("placeholder", each.name, () if default is ... else (default,), None, None, ANY)
    result = module_type(module)
    keywords = {name for name, each in inspect.signature(function).parameters.items() if each.kind is each.KEYWORD_ONLY}
    nodes = list(graph.nodes)
    args = tuple(node for node in nodes if node.target not in keywords)
    call = graph.create_node("call_module", CALL, args, {node.target: node for node in nodes if node.target in keywords}, None, result)
    call.meta.update(source=(function.__code__.co_filename, function.__code__.co_firstlineno, "forward"), module="", impure=True)
    graph.output(call, result)
    return ScriptProgram(graph, Signature("forward", parameters, result))


__all__ = ["CALL", "forward_program", "is_library_forward", "library_class", "needs_python"]

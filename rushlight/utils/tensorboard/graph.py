"""Graphs of models as TensorBoard shows them: nodes with their inputs, grouped by the Modules that they come from."""

from __future__ import annotations

import importlib
from typing import Any

from .messages import Message, field, optional, repeated
from .summary import _shape

_PACKAGE = __name__.partition(".")[0]


def _node(name: str, op: str, inputs: list[str], attributes: str = "", sizes: Any = None) -> bytes:
    """A node; what else is known of it is told as text."""
    entries = [field(1, "attr") + field(2, field(2, attributes))] if attributes else []
    if sizes is not None:
        entries.append(field(1, "_output_shapes") + field(2, field(1, field(7, _shape(sizes)))))
    return field(1, name) + field(2, op) + repeated(3, inputs) + repeated(5, entries)


def _message(nodes: list[bytes]) -> Message:
    return Message(repeated(1, nodes) + field(4, optional(1, 22)))


def traced_graph(model: Any, inputs: Any, verbose: bool = False) -> Message:
    """The graph of a Module, traced with inputs."""
    trace = importlib.import_module(f"{_PACKAGE}.jit").trace  # tracing stands above this room; only who asks for a graph needs it
    training = bool(getattr(model, "training", False))
    model.eval()
    try:
        graph = trace(model, inputs if isinstance(inputs, tuple) else (inputs,), check_trace=False).inlined_graph
    finally:
        model.train(training)
    if verbose:
        print(graph)
    root = type(model).__name__
    named = {each: f"{_place(root, each)}{each.name}" for each in graph.nodes}
    nodes = []
    for each in graph.nodes:
        kind = "IO Node" if each.op in ("placeholder", "output") else each.kind()
        value = each.meta.get("val")
        constants = [repr(arg) for arg in each.args if not hasattr(arg, "meta")] if each.op == "call_function" else []
        sizes = tuple(value.shape) if hasattr(value, "shape") else None
        nodes.append(_node(named[each], kind, [named[source] for source in each.all_input_nodes], ", ".join(constants), sizes))
    return _message(nodes)


def _place(root: str, node: Any) -> str:
    """The Modules around a node, with slashes."""
    module = node.meta.get("module")
    path = module if isinstance(module, str) else ""
    return "/".join([root, *(f"{each}" for each in path.split(".") if each)]) + "/"


def onnx_graph(file: Any) -> Message:
    """The graph of an ONNX file."""
    import onnx

    graph = onnx.load(file).graph
    nodes = [_node(each.name, "Variable", [], str(each.type)) for each in (*graph.input, *graph.output)]
    for each in graph.node:
        attributes = ", ".join(f"{one.name} = {onnx.helper.get_attribute_value(one)}" for one in each.attribute)
        for output in each.output:
            nodes.append(_node(output, each.op_type, list(each.input), attributes))
    return _message(nodes)

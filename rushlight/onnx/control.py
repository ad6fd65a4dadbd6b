"""Branches and loops of a captured program as ONNX's ``If`` and ``Loop``.

A body becomes a graph of its own that refers to values around it directly.  What is cached while it is built (constants that are
placed, nodes that were made, sizes) is forgotten at its end: nobody outside can see it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.base import Spec
from ..graph import Graph, Node, control
from .errors import OnnxExporterError
from .ir import OnnxGraph, OnnxValue

if TYPE_CHECKING:
    from .lowering import OnnxLowering

_INT64, _BOOL = np.dtype(np.int64), np.dtype(np.bool_)


class Subgraph:
    """A context in which nodes are added to the subgraph of a branch or loop body."""

    def __init__(self, lowering: OnnxLowering, graph: Graph) -> None:
        self.lowering = lowering
        self.graph = graph
        self.made = OnnxGraph()

    def __enter__(self) -> Subgraph:
        lowering, g = self.lowering, self.lowering.g
        self.saved = (g.graph, g._made, g._placed, g.symbol_values, lowering.symbols, lowering.tracer, g.source, g.module)
        self.made.initializers = g.graph.initializers  # stored tensors belong to the whole model
        g.graph, g._made, g._placed, g.symbol_values = self.made, dict(g._made), dict(g._placed), dict(g.symbol_values)
        lowering.tracer = lowering.captured.tracer.bodies[self.graph]  # type: ignore[attr-defined]
        lowering.symbols = lowering.tracer.symbols
        return self

    def __exit__(self, *exception: Any) -> None:
        lowering, g = self.lowering, self.lowering.g
        self.made.initializers = {}
        g.graph, g._made, g._placed, g.symbol_values, lowering.symbols, lowering.tracer, g.source, g.module = self.saved

    def placeholders(self) -> list[Node]:
        """The inputs of the captured body."""
        return self.graph.find_nodes(op="placeholder")

    def output(self, value: Any, dtype: Any = None) -> OnnxValue:
        """A value as an output: made in this graph, and one output alone."""
        g = self.lowering.g
        found = g.number(value, dtype) if not isinstance(value, OnnxValue) else value
        if dtype is not None and found.dtype != dtype:
            found = g.cast(found, dtype)
        found = g.place(found)
        own = {id(each) for node in self.made._nodes for each in node._outputs}
        if id(found) not in own or any(found is each for each in self.made._outputs):
            before, found = found, g._node("onnx::Identity", [found], {}, 1)[0]
            found.dtype, found.shape = before.dtype, before.shape
        self.made._outputs.append(found)
        return found


def lower(lowering: OnnxLowering, node: Node) -> Any:
    """The values of a branch or a loop; NotImplemented for any other node."""
    if node.target is control.branch:
        return branch(lowering, node)
    return loop(lowering, node) if node.target is control.loop else NotImplemented


def around(lowering: OnnxLowering, placeholders: list[Node], nodes: Any) -> None:
    """Inputs of a body that are values of the graph around it: the same values."""
    for placeholder, outer in zip(placeholders, nodes):
        lowering.values[placeholder] = lowering.values[outer] if isinstance(outer, Node) else outer


def condition_value(lowering: OnnxLowering, value: Any) -> OnnxValue:
    """A condition as a truth value without dimensions."""
    g = lowering.g
    found = g.number(lowering.argument(value), _BOOL) if not isinstance(value, Node) else lowering.argument(value)
    return g.place(g.cast(g.reshape(found, ()), _BOOL))


def branch(lowering: OnnxLowering, node: Node) -> tuple[OnnxValue, ...]:
    """``If``."""
    g = lowering.g
    condition = condition_value(lowering, node.args[0])
    kinds = result_types(node)
    graphs = {}
    for name in ("then", "otherwise"):
        with Subgraph(lowering, node.bodies[name]) as body:
            around(lowering, body.placeholders(), node.args[1:])
            outputs = lowering.nodes(body.graph.nodes)
            for value, kind in zip(outputs, kinds):
                body.output(value, kind.dtype)
        graphs[name] = body.made
    made = g._node("onnx::If", [condition], {"then_branch": graphs["then"], "else_branch": graphs["otherwise"]}, len(kinds))
    return typed(made, kinds, [graph._outputs for graph in graphs.values()])


def result_types(node: Node) -> list[Spec]:
    """Types and shapes of the results, as those who use them know them; of one that nobody uses, as the bodies do."""
    parts: dict[int, Any] = {}
    for user in node.users:
        if len(user.args) == 2 and user.args[0] is node and isinstance(user.args[1], int) and "val" in user.meta:
            parts[user.args[1]] = user.meta["val"]
    outputs = [body.output_node().args[0] for body in node.bodies.values()]
    first = outputs[0] if node.target is control.branch else outputs[0][1:]
    found = []
    for at, value in enumerate(first):
        known = parts.get(at, value.meta.get("val") if isinstance(value, Node) else value)
        found.append(known if isinstance(known, Spec) else Spec((), _BOOL if isinstance(known, bool) else _INT64))
    return found


def typed(values: list[OnnxValue], kinds: list[Spec], bodies: list[list[OnnxValue]]) -> tuple[OnnxValue, ...]:
    """Results with their types; of one whose number of dimensions depends on the way that is taken, no shape is known."""
    for at, (value, kind) in enumerate(zip(values, kinds)):
        ranks = {None if shape is None else len(shape) for shape in (outputs[at].shape for outputs in bodies)}
        value.dtype, value.shape = kind.dtype, kind.shape if len(ranks) == 1 else None
    return tuple(values)


def loop(lowering: OnnxLowering, node: Node) -> tuple[OnnxValue, ...]:
    """``Loop``, with what is appended to lists as scan outputs."""
    g = lowering.g
    count, start, carried, inputs = node.args
    kinds = result_types(node)
    initial = []
    for value, kind in zip(carried, kinds):
        found = lowering.argument(value)
        found = found if isinstance(found, OnnxValue) else g.number(found, kind.dtype)
        initial.append(g.place(g.cast(found, kind.dtype)))
    trips = None if count is None else lowering.argument(count)
    trip_count = None if trips is None else g.place(g.reshape(g.number(trips, _INT64), ()))
    condition = condition_value(lowering, start) if isinstance(start, Node) or count is None else None
    with Subgraph(lowering, node.bodies["body"]) as body:
        places = body.placeholders()
        index = OnnxValue(None, _INT64, (), g.fresh("iteration"))
        before = OnnxValue(None, _BOOL, (), g.fresh("condition"))
        body.made._inputs += [index, before]
        lowering.values[places[0]] = index
        for place, kind in zip(places[1:], kinds[: len(carried)]):
            known = place.meta.get("val")
            shape = known.shape if isinstance(known, Spec) else ()
            value = OnnxValue(None, kind.dtype, shape, g.fresh(place.name))
            body.made._inputs.append(value)
            lowering.values[place] = value
        around(lowering, places[1 + len(carried) :], inputs)
        outputs = lowering.nodes(body.graph.nodes)
        if outputs is None:
            raise OnnxExporterError("the body of a loop has no output")
        body.output(outputs[0] if not isinstance(outputs[0], bool) else g.constant(outputs[0], _BOOL), _BOOL)
        for value, kind in zip(outputs[1:], kinds):
            body.output(value, kind.dtype)
    made = g._node("onnx::Loop", [trip_count, condition, *initial], {"body": body.made}, len(kinds))
    results = typed(made, kinds, [body.made._outputs[1:]] if not node.kwargs.get("scans") else [made])
    for value, kind in zip(results, kinds):
        value.shape = kind.shape
    return results

"""Graphs that take numbers beside tensors, for back-ends that know graphs of tensors alone.

A number that is nothing but an operand of arithmetic on floating-point tensors is given as a tensor without dimensions: one graph serves
all its values.  For others the graph is made anew with the number in its place, a few times; beyond that it runs op by op.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ..capture.graph_module import GraphModule
from ..core.base import Spec, make
from ..core.families import Elementwise
from ..core.sizes import is_symbolic
from ..graph import Graph, Node

LIMIT = 4  # for how many values a graph is made anew


def with_numbers(gm: Any, compiler: Callable[[Any], Callable[..., Any]]) -> Callable[..., Any]:
    """What a compiler makes of a graph; where the graph takes numbers, of such graphs in which it takes none."""
    inputs = [node for node in gm.graph.nodes if node.op == "placeholder"]
    numbers = [index for index, node in enumerate(inputs) if is_symbolic(node.meta.get("val"))]
    return Varying(gm, compiler, inputs, numbers) if numbers else compiler(gm)


class Varying:
    """A graph that takes numbers."""

    def __init__(self, gm: Any, compiler: Callable[[Any], Callable[..., Any]], inputs: list[Node], numbers: list[int]) -> None:
        self.gm = gm
        self.compiler = compiler
        self.operands = [index for index in numbers if all(is_operand(user, inputs[index]) for user in inputs[index].users)]
        self.others = [index for index in numbers if index not in self.operands]
        self.made: dict[Any, Callable[..., Any]] = {}

    def __call__(self, *args: Any) -> Any:
        """Run the graph."""
        values = [args[index] for index in self.others]
        key = tuple([(type(each), repr(each)) for each in values])
        run = self.made.get(key)
        if run is None:
            if len(self.made) >= LIMIT:
                return self.gm.forward(*args)
            run = self.made[key] = self.compiler(placed(self.gm, dict(zip(self.others, values))) if values else self.gm)
        given = list(args)
        for index in self.operands:
            given[index] = make(np.asarray(args[index], np.int64 if isinstance(args[index], int) else np.float64))
        return run(*[each for index, each in enumerate(given) if index not in self.others])

    def describe(self) -> str:
        """What became of the graphs, in words."""
        return "\n".join(each.describe() for each in self.made.values() if hasattr(each, "describe"))


def is_operand(user: Node, number: Node) -> bool:
    """Whether a node does arithmetic on a number and a tensor that decides on the type of the result, whatever the number is."""
    op, result = user.table_op, user.meta.get("val")
    if op is None or not isinstance(op.family, Elementwise) or op.name == "pow" or not isinstance(result, Spec) or result.dtype.kind != "f":
        return False
    at = [index for index, each in enumerate(user.args) if each is number]
    if not at or number in user.kwargs.values() or any(not op.parameters[index].kind.startswith("operand") for index in at):
        return False
    others = [each.meta.get("val") for each in user.args if isinstance(each, Node) and each is not number]
    return any(isinstance(each, Spec) and each.shape and each.dtype == result.dtype for each in others)


def placed(gm: Any, values: dict[int, Any]) -> GraphModule:
    """The graph with numbers in the place of some of its inputs."""
    graph = Graph()
    here: dict[Node, Any] = {}
    inputs = [node for node in gm.graph.nodes if node.op == "placeholder"]
    known = {inputs[index]: value for index, value in values.items()}
    for node in gm.graph.nodes:
        if node in known:
            here[node] = known[node]
        elif node.op != "output":
            here[node] = graph.node_copy(node, here.__getitem__)
        else:
            graph.output(_replaced(node.args[0], here))
    constants = {node.target: operator.attrgetter(node.target)(gm) for node in graph.nodes if node.op == "get_attr"}
    return GraphModule(constants, graph)


def _replaced(value: Any, here: dict[Node, Any]) -> Any:
    if isinstance(value, Node):
        return here[value]
    return type(value)(_replaced(each, here) for each in value) if isinstance(value, (tuple, list)) else value

"""Graphs that take numbers beside tensors, for back-ends that compile graphs of tensors alone.

Arithmetic on numbers alone runs in Python, before the graph.  A number that is only an operand of arithmetic on floating-point tensors is
passed as a zero-dimensional tensor: one graph serves all its values.  For other numbers the graph is specialized to their values, a few
times; beyond that it runs op by op.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ..capture.graph_module import GraphModule
from ..core.base import Spec, make
from ..core.declare import table
from ..core.facets import Facet
from ..core.families import Elementwise
from ..core.symbolic import is_symbolic
from ..graph import Graph, Node, map_aggregate
from .protocol import Executable

LIMIT = 8  # specializations of a graph


def with_numbers(gm: Any, compiler: Callable[[Any], Executable]) -> Executable:
    """The executable of a graph, where the compiler takes graphs of tensors alone."""
    numbers = numbers_of(gm.graph)
    return ScalarInputExecutable(gm, compiler, numbers) if numbers else compiler(gm)


def numbers_of(graph: Graph) -> list[Node]:
    """The nodes that are numbers, and computed from inputs that are."""
    found: dict[Node, None] = {}
    for node in graph.nodes:
        given = node.op == "placeholder" and is_symbolic(node.meta.get("val"))
        inputs, plain = (node.all_input_nodes, node.op == "call_function" and node.table_op is None and not node.is_impure())
        if given or plain and inputs and all(each in found for each in inputs):
            found[node] = None
    return list(found)


class ScalarInputExecutable(Executable):
    """A graph that takes numbers: one executable of tensors for each combination of the numbers that can't be tensors."""

    def __init__(self, gm: Any, compiler: Callable[[Any], Executable], numbers: list[Node]) -> None:
        self.gm = gm
        self.compiler = compiler
        self.numbers = numbers
        known = set(numbers)
        self.inputs = [node for node in gm.graph.nodes if node.op == "placeholder"]
        self.tensors = [index for index, node in enumerate(self.inputs) if node not in known]
        used = {node: [user for user in node.users if user not in known and user.op != "output"] for node in numbers}
        self.operands = [node for node, users in used.items() if users and all(is_operand(user, node) for user in users)]
        self.others = [node for node, users in used.items() if users and node not in self.operands]
        self.results = gm.graph.output_node().args[0]
        self.returned = any(node.users.keys() & {gm.graph.output_node()} for node in numbers)
        self.made: dict[Any, Executable] = {}

    def __call__(self, *args: Any) -> Any:
        """Run the graph."""
        values = self.values(args)
        fixed = {node: values[node] for node in self.others}
        key = tuple([(type(each), repr(each)) for each in fixed.values()])
        run = self.made.get(key)
        if run is None:
            if len(self.made) >= LIMIT:
                return self.gm.forward(*args)
            run = self.made[key] = self.compiler(placed(self.gm, set(self.numbers), self.operands, fixed))
        given = [make(np.asarray(values[node], np.int64 if isinstance(values[node], int) else np.float64)) for node in self.operands]
        results = run(*[args[index] for index in self.tensors], *given)
        if not self.returned:
            return results
        found = iter(results)
        return tuple([values[each] if each in values else next(found) for each in self.results])

    def values(self, args: tuple[Any, ...]) -> dict[Node, Any]:
        """What the numbers are in this call."""
        found: dict[Node, Any] = {node: each for node, each in zip(self.inputs, args) if is_symbolic(node.meta.get("val"))}
        for node in self.numbers:
            if node not in found:
                arguments, named = map_aggregate((node.args, node.kwargs), lambda each: found[each] if isinstance(each, Node) else each)
                found[node] = node.target(*arguments, **named)
        return found

    def describe(self) -> str:
        """What became of the graphs, in words."""
        return "\n".join(each.describe() for each in self.made.values())


number_operand: Facet[Callable[[Node, Node], bool]] = Facet(
    "number operand", "whether a number among arguments may be a tensor without dimensions"
)
number_operand.set(lambda user, number: user.args[0] is number and user.kwargs.get("dtype") is not None, "scalar_tensor")
number_operand.set(lambda user, number: False, "pow")  # exponents choose the algorithm


@number_operand.register("clamp")
def _bound(user: Node, number: Node) -> bool:
    """One bound alone: both are numbers, or both are tensors."""
    return sum(each is not None for each in (*user.args, *user.kwargs.values())) <= 2 and is_pointwise_operand(user, number)


def is_operand(user: Node, number: Node) -> bool:
    """Whether a node does arithmetic on a number and a tensor that decides on the type of the result, whatever the number is."""
    rule = None if user.table_op is None else number_operand.of(user.table_op)
    return is_pointwise_operand(user, number) if rule is None else rule(user, number)


def is_pointwise_operand(user: Node, number: Node) -> bool:
    """Whether a node of a pointwise op is such arithmetic."""
    op, result = user.table_op, user.meta.get("val")
    if op is None or not isinstance(op.family, Elementwise) or not isinstance(result, Spec) or result.dtype.kind != "f":
        return False
    at = [index for index, each in enumerate(user.args) if each is number]
    if not at or number in user.kwargs.values() or any(not op.parameters[index].kind.startswith("operand") for index in at):
        return False
    others = [each.meta.get("val") for each in user.args if isinstance(each, Node) and each is not number]
    return any(isinstance(each, Spec) and each.shape and each.dtype == result.dtype for each in others)


def placed(gm: Any, numbers: set[Node], operands: list[Node], values: dict[Node, Any]) -> GraphModule:
    """The graph without the arithmetic on numbers: some are inputs that are tensors, after the others, some are in their places."""
    graph = Graph()
    here: dict[Node, Any] = dict(values)
    for node in gm.graph.nodes:
        if node.op == "placeholder" and node not in numbers:
            here[node] = graph.node_copy(node, here.__getitem__)
    for node in operands:
        here[node] = graph.placeholder(node.name)
        here[node].meta.update(source=node.meta.get("source"), module="")
    for node in gm.graph.nodes:
        if node in here or node in numbers:
            continue
        if node.op == "output":
            graph.output(tuple([here[each] for each in node.args[0] if each not in numbers]))
        elif node.table_op is table["scalar_tensor"] and node.args[0] in operands:
            here[node] = graph.call_function(table["cast"].call, (here[node.args[0]], node.kwargs["dtype"]))
            here[node].meta.update(node.meta)
        else:
            here[node] = graph.node_copy(node, here.__getitem__)
    constants = {node.target: operator.attrgetter(node.target)(gm) for node in graph.nodes if node.op == "get_attr"}
    return GraphModule(constants, graph)

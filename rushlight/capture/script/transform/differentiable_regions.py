"""Differentiable regions: stretches of a scripted graph that autograd sees as one node.

Ops that only compute (no views, nothing in place, nothing random) and stand one after the other become one call of
:func:`differentiable`.  Where a gradient is wanted, that call records one node; what is inside is recorded apart, and its backward
runs when the node's does.
"""

from __future__ import annotations

import operator
from typing import Any

from ....core.base import TensorBase, alias, runtime
from ....core.declare import table
from ....core.node import Node as GradientNode
from ....core.node import edge_of, freed, next_sequence, refresh, save, unpack
from ....core.state import flags, state
from ....graph import Graph, Node
from ...tracer.tracer import tensors_in
from ..frontend.types import TENSOR

SMALLEST = 2  # ops in a region: one op alone is a node already
_ARITHMETIC = frozenset((operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.matmul, operator.neg))


class DifferentiableGraphBackward(GradientNode):
    """The gradient of a region: that of what was recorded inside it."""

    __slots__ = ("body",)

    multiple = True
    body: Any

    def __call__(self, *gradients: Any) -> Any:
        """The gradients of the inputs (tensors in lists one by one); further arguments stand for values inside and must be None."""
        count = len(self.outputs)
        if any(each is not None for each in gradients[count:]):
            raise ValueError(f"{self.name()} has {count} outputs: gradients beyond that must be None")
        return tuple(self.backward(list(gradients[:count])))

    @property
    def input_names(self) -> tuple[str, ...]:
        """The names of the region's inputs; those that are lists have a gradient for each of their tensors."""
        code = getattr(self.body, "__code__", None)
        return () if code is None else tuple(code.co_varnames[: code.co_argcount])

    def backward(self, gradient: Any) -> Any:
        """Run the backward of the region."""
        if self.saved is None:
            raise freed(self)
        outputs, proxies, inputs = self.saved
        given = list(gradient) + [None] * (len(outputs) - len(gradient))
        pairs = [(output, each) for output, each in zip(outputs, given) if each is not None]
        if not pairs:
            return (None,) * len(self.inputs)
        if state.grad_enabled:  # gradients of gradients are wanted: record the region again, connected to its inputs
            return self.again(inputs, given)
        targets = [each for each in proxies if each is not None]
        found = iter(runtime.differentiate([o for o, _ in pairs], targets, [g for _, g in pairs], retain_graph=True, allow_unused=True))
        return tuple([None if each is None else next(found) for each in proxies])

    def again(self, inputs: Any, given: list[Any]) -> Any:
        """The gradients with a history of their own."""
        targets: list[Any] = []
        view_as = table["view_as"].call

        def connect(value: Any) -> Any:
            tensor = unpack(value, self)
            if not tensor._requires_grad:
                targets.append(None)
                return tensor
            targets.append(view_as(tensor, tensor))
            return targets[-1]

        outputs = [each for each in self.body(*map_saved(inputs, connect)) if isinstance(each, TensorBase) and each._requires_grad]
        pairs = [(output, each) for output, each in zip(outputs, given) if each is not None]
        wanted = [each for each in targets if each is not None]
        found = iter(runtime.differentiate([o for o, _ in pairs], wanted, [g for _, g in pairs], create_graph=True, allow_unused=True))
        return tuple([None if each is None else next(found) for each in targets])


def map_saved(values: Any, function: Any) -> Any:
    """Inputs of a region with every tensor replaced."""

    def one(value: Any) -> Any:
        return value if is_plain(value) else function(value)

    return tuple([[one(part) for part in each] if isinstance(each, list) else one(each) for each in values])


def is_plain(value: Any) -> bool:
    """Whether an input is no tensor, and no saved one."""
    return not isinstance(value, TensorBase) and not hasattr(value, "unpack")


def differentiable(*inputs: Any, bodies: dict[str, Any]) -> tuple[Any, ...]:
    """Run a region; where an input requires a gradient, as one node of the gradient graph."""
    body = bodies["body"]
    if not state.grad_enabled or flags.special or not any(each._requires_grad for each in tensors_in(inputs)):
        return body(*inputs)  # type: ignore[no-any-return]
    edges: list[Any] = []
    proxies: list[Any] = []

    def proxy(tensor: Any) -> Any:
        refresh(tensor)
        edges.append(edge_of(tensor))
        if not tensor._requires_grad:
            proxies.append(None)
            return tensor
        made = alias(tensor, tensor._array)
        made._requires_grad = True
        proxies.append(made)
        return made

    given = tuple(
        [[proxy(part) if isinstance(part, TensorBase) else part for part in each] if isinstance(each, (list, tuple)) else
         (proxy(each) if isinstance(each, TensorBase) else each) for each in inputs]
    )  # fmt: skip
    results = list(body(*given))
    inner = [(at, each) for at, each in enumerate(results) if isinstance(each, TensorBase) and each._requires_grad]
    if not inner:
        return tuple(results)
    if any(_shares(each._array, proxy._array) for _, each in inner for proxy in proxies if proxy is not None):
        return body(*inputs)  # type: ignore[no-any-return]  # a result that is an input: recorded as eager code records it
    node = DifferentiableGraphBackward()
    node.inputs = tuple(edges)
    node.sequence = next_sequence()
    node.shape = node.dtype = None
    node.outputs = [(each._array.shape, each._array.dtype) for _, each in inner]
    node.body = body
    node.saved = (
        tuple(each for _, each in inner), tuple(proxies),
        tuple([[save(part) for part in each] if isinstance(each, (list, tuple)) else save(each) for each in inputs]),
    )  # fmt: skip
    for index, (at, each) in enumerate(inner):
        made = alias(each, each._array)
        made._requires_grad, made._grad_fn, made._output_index = True, node, index
        results[at] = made
    return tuple(results)


# -- finding regions -----------------------------------------------------------------------------------------------------


def eligible(node: Node) -> bool:
    """Whether a node may be in a region: a call that computes a new tensor and does nothing else."""
    if node.op != "call_function" or node.bodies or node.meta.get("impure") or "out" in node.kwargs:
        return False
    if node.target in _ARITHMETIC:
        return node.type == TENSOR
    op = node.table_op
    if op is None or op.view or op.kernel is None or op.functional is not None or op.factory or node.is_impure():
        return False
    return bool(op.tensor_positions) and op.returns is None and op.differentiable


def _shares(array: Any, other: Any) -> bool:
    """Whether two arrays look at the same memory, as far as NumPy says at once."""
    base = getattr(array, "base", None)
    return array is other or (base is not None and (base is other or base is getattr(other, "base", None)))


def grouped(graph: Graph) -> Graph:
    """A copy of a graph with its regions as single nodes; the graph itself where it has none."""
    runs: list[list[Node]] = [[]]
    for node in graph.nodes:
        if eligible(node):
            runs[-1].append(node)
        elif runs[-1]:
            runs.append([])
    runs = [run for run in runs if len(run) >= SMALLEST]
    if not runs:
        return graph
    made = Graph()
    here: dict[Node, Any] = {}
    first = {run[0]: run for run in runs}
    inside = {node for run in runs for node in run}
    for node in graph.nodes:
        if node in first:
            _region(made, first[node], here)
        elif node not in inside:
            here[node] = made.node_copy(node, here.__getitem__)
    return made


def _region(graph: Graph, run: list[Node], here: dict[Node, Any]) -> None:
    """One region: a node with a body, and a node for each of its results that is used outside."""
    members = set(run)
    body = Graph()
    inner: dict[Node, Any] = {}
    inputs: list[Node] = []
    for node in run:
        for each in node.all_input_nodes:
            if each not in members and each not in inner:
                inner[each] = body.placeholder(each.name, each.type)
                inputs.append(each)
    for node in run:
        inner[node] = body.node_copy(node, inner.__getitem__)
    results = [node for node in run if any(user not in members for user in node.users)]
    body.output(tuple(inner[node] for node in results))
    region = graph.call_function(differentiable, tuple(here[each] for each in inputs))
    region.meta.update(source=run[0].meta.get("source"), module=run[0].meta.get("module", ""), bodies={"body": body})
    for at, node in enumerate(results):
        here[node] = graph.call_function(operator.getitem, (region, at), type_expr=node.type)
        here[node].meta.update(source=node.meta.get("source"), module=node.meta.get("module", ""))

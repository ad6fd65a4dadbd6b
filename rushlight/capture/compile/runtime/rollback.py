"""Rollback of graphs that fail after they have written to inputs or drawn random numbers, so that the program can run eagerly instead.

Whether that can happen is known before the graph runs.  Arithmetic does not fail on inputs that pass the guards; an index can be out of
range, a matrix singular, a user's own function can raise.  Where such an op comes after a write or a random number, the inputs that are
written before it are copied before each run.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator
from typing import Any

from ....core.base import Spec, TensorBase
from ....core.facets import Facet
from ....core.symbolic import SymbolicInt
from ....graph import Graph, Node
from ....graph.node import draws
from ....tensor.generator import Generator, default_generator
from ..record.graph_functions import ApplyFunction, gradients_of, hook_gradient, set_grad_mode, set_inference_mode
from ..record.tracer import checks_values

_STATISTICS = frozenset(("running_mean", "running_var"))
_SAFE = (set_grad_mode, set_inference_mode, hook_gradient)  # change nothing that has to be rolled back

mask_sized: Facet[bool] = Facet("mask sized", "shapes must fit the number of elements that a mask selects")
mask_sized.set(True, "index", "index_put", "index_put_", "masked_scatter", "masked_scatter_")


class Rollback:
    """Restores what a graph may have changed when it fails: inputs that it writes to, and generators that it draws from."""

    def __init__(self, graph: Graph, checked: bool = False) -> None:
        """``checked``: outputs are looked at after the run, which fails where they are not as expected."""
        nodes = list(graph.nodes)
        inputs = [node for node in nodes if node.op == "placeholder"]
        last = len(nodes) if checked else max((at for at, node in enumerate(nodes) if may_fail(node)), default=-1)
        memory: dict[Node, frozenset[Node]] = {node: frozenset((node,)) for node in inputs}
        written: set[Node] = set()
        self.generators: list[Any] = []
        for node in nodes[: last + 1]:
            if node.op != "call_function":
                continue
            for each in targets(node):
                written |= memory.get(each, frozenset())
            self.draws(node)
            memory[node] = shared(node, memory)
        self.written = [at for at, node in enumerate(inputs) if node in written]
        self.needed = bool(self.written or self.generators)

    def draws(self, node: Node) -> None:
        """Note the generators that a node draws from, if it does."""
        op = node.table_op
        if op is None:
            for body in node.meta.get("bodies", {}).values():
                for each in body.nodes:
                    self.draws(each)
        elif node.is_impure() and draws(op):
            given = [each for each in (*node.args, *node.kwargs.values()) if isinstance(each, Generator)] or [default_generator]
            self.generators += [each for each in given if each not in self.generators]

    def save(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Copies of what the graph may change, taken before it runs."""
        tensors = [args[at] for at in self.written if isinstance(args[at], TensorBase)]
        kept = [
            (each, each._array.copy(), each._storage, each._storage and each._storage.version, history(each))
            for each in with_bases(tensors)
        ]
        return kept, [(each, each.get_state()) for each in self.generators]

    def restore(self, saved: tuple[Any, ...]) -> None:
        """Put the copies back."""
        kept, generators = saved
        for tensor, array, storage, version, (fields, view) in kept:
            tensor._array[...] = array
            if tensor._storage is not None:
                tensor._storage.version = version if storage is not None else 0
            tensor._grad_fn, tensor._output_index, tensor._requires_grad = fields
            if view is not None:
                tensor._view.version = view
        for generator, before in generators:
            generator.set_state(before)

    def protected(self, run: Callable[..., Any]) -> Callable[..., Any]:
        """A function that runs the graph, and rolls back where it raises an error."""
        if not self.needed:
            return run

        @functools.wraps(run)
        def protected(*args: Any) -> Any:
            saved = self.save(args)
            try:
                return run(*args)
            except Exception:
                self.restore(saved)
                raise

        return protected


def history(tensor: Any) -> tuple[Any, Any]:
    """What a tensor's gradients follow from, and the version of the memory for which that holds."""
    return (
        tensor._grad_fn,
        tensor._output_index,
        tensor._requires_grad,
    ), None if tensor._view is None else tensor._view.version


def with_bases(tensors: list[Any]) -> list[Any]:
    """Tensors, and those that they are views of: a write changes the history of both."""
    found = {id(each): each for each in tensors}
    found.update((id(each._view.base), each._view.base) for each in tensors if each._view is not None)
    return list(found.values())


def may_fail(node: Node) -> bool:
    """Whether a node may raise an error on inputs of the shapes and dtypes that it was captured with."""
    if node.op != "call_function" or node.target in _SAFE or node.target is operator.getitem:
        return False
    if node.target is gradients_of:  # backwards of the user's own
        graph: Any = node.graph
        return any(isinstance(each.target, ApplyFunction) for each in graph.nodes)
    op = node.table_op
    if op is None or checks_values(op):
        return True
    if op.factory:
        return False
    given: list[Any] = [each.meta.get("val") for each in node.all_input_nodes]
    known = all(isinstance(each, Spec) and not any(isinstance(size, SymbolicInt) for size in each.shape) for each in given)
    # Whole numbers may be indices that are out of range, or zeros that something is divided by.
    return not known or any(each.dtype.kind in "iu" or each.dtype.kind == "b" and op in mask_sized for each in given)


def targets(node: Node) -> Iterator[Node]:
    """The tensors that a node writes to."""
    op = node.table_op
    if op is None:
        writes = node.target is not gradients_of and node.target not in _SAFE and node.is_impure()
        if isinstance(node.target, ApplyFunction):
            body = node.meta.get("bodies", {}).get("fwd_body")
            writes = body is None or any(True for each in body.nodes for _ in targets(each))
        if writes:
            yield from node.all_input_nodes
        return
    out = node.kwargs.get("out")
    yield from (each for each in (out if isinstance(out, (tuple, list)) else (out,)) if isinstance(each, Node))
    if op.functional is not None or op.public_name.endswith("_") and not op.public_name.endswith("__"):
        first = node.args[0] if node.args else None
        yield from (each for each in (first if isinstance(first, (tuple, list)) else (first,)) if isinstance(each, Node))
    for parameter, each in zip(op.parameters, node.args):
        if parameter.name in _STATISTICS and isinstance(each, Node):
            yield each
        elif parameter.name == "inplace" and each is not False and isinstance(node.args[0], Node):
            yield node.args[0]
        elif parameter.name == "max_norm" and each is not None and isinstance(node.args[1], Node):  # rows of a table that are too long
            yield node.args[1]
    if node.kwargs.get("inplace") and isinstance(node.args[0], Node):
        yield node.args[0]


def shared(node: Node, memory: dict[Node, frozenset[Node]]) -> frozenset[Node]:
    """The inputs whose storage the value of a node may share."""
    op = node.table_op
    if op is not None and op.body is None and not op.view and op.functional is None and "out" not in node.kwargs:
        return frozenset()
    found: frozenset[Node] = frozenset()
    for each in node.all_input_nodes:
        found |= memory.get(each, frozenset())
    return found

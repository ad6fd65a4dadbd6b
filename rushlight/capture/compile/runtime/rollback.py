"""Rollback of graphs that fail after they have written to inputs or drawn random numbers, so that the program can run eagerly instead.

Whether that can happen is known before the graph runs.  Arithmetic does not fail on inputs that pass the guards; an index can be out of
range, a matrix singular, a user's own function can raise.  Where such an op comes after a write or a random number, the inputs that are
written before it are copied before each run.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

from ....core.base import Spec, TensorBase
from ....core.facets import Facet
from ....core.symbolic import SymbolicInt
from ....graph import Graph, Node
from ....graph.node import draws
from ....tensor.generator import Generator, default_generator
from ..record.graph_functions import ApplyFunction, gradients_of
from ..record.tracer import checks_values
from ..record.writes import SAFE, SavedTensor, written_inputs

mask_sized: Facet[bool] = Facet("mask sized", "shapes must fit the number of elements that a mask selects")
mask_sized.set(True, "index", "index_put", "index_put_", "masked_scatter", "masked_scatter_")


class Rollback:
    """Restores what a graph may have changed when it fails: inputs that it writes to, and generators that it draws from."""

    def __init__(self, graph: Graph, checked: bool = False) -> None:
        """``checked``: outputs are looked at after the run, which fails where they are not as expected."""
        nodes = list(graph.nodes)
        inputs = [node for node in nodes if node.op == "placeholder"]
        last = len(nodes) if checked else max((at for at, node in enumerate(nodes) if may_fail(node)), default=-1)
        self.generators: list[Any] = []
        for node in nodes[: last + 1]:
            if node.op == "call_function":
                self.draws(node)
        written = written_inputs(nodes[: last + 1])
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
        kept = [SavedTensor(args[at]) for at in self.written if isinstance(args[at], TensorBase)]
        return kept, [(each, each.get_state()) for each in self.generators]

    def restore(self, saved: tuple[Any, ...]) -> None:
        """Put the copies back."""
        kept, generators = saved
        for each in reversed(kept):
            each.restore()
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


def may_fail(node: Node) -> bool:
    """Whether a node may raise an error on inputs of the shapes and dtypes that it was captured with."""
    if node.op != "call_function" or node.target in SAFE or node.target is operator.getitem:
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

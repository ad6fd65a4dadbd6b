"""Branches, loops and scans in exported graphs: nodes that take graphs of their functions, as the capture for export makes them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from ..capture.tracer.tracer import Tracer
from ..core.base import Spec, TensorBase, make, spec_of
from ..core.errors import CaptureError, OperationError
from ..core.state import state
from ..graph.node import Node
from ..utils import trees
from .higher_order import OPERATORS


def writes(node: Node) -> bool:
    """Whether a node writes to its arguments: assertions are kept as what does, too, and write nothing."""
    schema = getattr(node.target, "_schema", None)
    return bool(node.meta.get("impure")) and (schema is None or schema.is_mutable)


class ControlFlow(Tracer):
    """What a tracer does when a program branches, loops or scans by functions."""

    turns: dict[str, None]  # symbols for how often loops run
    graphs: dict[str, Any]  # of branches and bodies, by name
    nested: Callable[[], Any]
    operator_node: Callable[..., Node]

    def body(self, function: Callable[..., Any], operands: tuple[Any, ...], names: list[str], rows: Any = ()) -> tuple[Any, Any]:
        """The graph of a function of given operands, and its result; of some operands, those at the positions ``rows``, it is given one row."""
        inner = self.nested()
        given = []
        for at, (operand, name) in enumerate(zip(operands, names)):
            if not isinstance(operand, TensorBase):
                raise OperationError(f"Expected operands to be a tuple of tensors, but got {type(operand)}")
            found, shape = operand._array, self.shape_of(operand)
            if at in rows:
                shape = shape[1:]
                found = Spec(found.shape[1:], found.dtype, device=found.device) if found.__class__ is Spec else found[0]
            stand_in = make(spec_of(found)) if found.__class__ is Spec else make(found.copy())
            stand_in._requires_grad = operand._requires_grad
            node = inner.graph.placeholder(name)
            inner.depends.add(node)
            inner.bind(stand_in, node, shape)
            given.append(stand_in)
        state.interceptors.remove(self)  # what the function does is recorded in its own graph alone
        try:
            with inner:
                result = function(*given)
                state.capture = None
                inner.result = inner.argument(result)
                state.capture = inner
        finally:
            state.interceptors.append(self)
        return inner, result

    def control(self, kind: str, pred: Any, functions: dict[str, Callable[..., Any]], operands: tuple[Any, ...]) -> Any:
        """``cond`` or ``while_loop``: a node that takes graphs, and tensors that its functions read beside their operands."""
        names = [f"arg{at}_1" for at in range(len(operands))]
        structures: list[trees.Structure] = []

        def flat(function: Callable[..., Any]) -> Callable[..., Any]:
            def run(*values: Any) -> Any:
                leaves, structure = trees.flatten(function(*values))
                structures.append(structure)
                return tuple(leaves)

            return run

        if kind == "cond":
            functions = {name: flat(function) for name, function in functions.items()}
        made = {name: self.body(function, operands, names) for name, function in functions.items()}
        if kind == "cond" and structures[0] != structures[1]:
            raise OperationError(
                f"Unmatched output spec from torch.cond branches: true branch {structures[0]} vs false branch {structures[1]}."
            )
        state.capture = None
        try:
            outside = self.read_outside([inner for inner, _ in made.values()])
            graphs = []
            for name, (inner, _) in made.items():
                for key, tensor in outside.items():
                    if key not in inner.lifted:
                        inner.node_of(tensor)
                order = [inner.lifted[key][1] for key in outside]
                if kind == "cond":
                    inner.outside = [self.node_of(each) for each in (*operands, *outside.values())]
                graphs.append(self.add_graph(name, inner, order, kind, name == "while_loop_cond_graph"))
            nodes = tuple(self.argument(each) for each in operands)
            more = tuple(self.argument(each) for each in outside.values())
            args = (self.argument(pred), *graphs, (*nodes, *more)) if kind == "cond" else (*graphs, nodes, more)
            node = self.operator_node(OPERATORS[kind], args)
            self.depends.add(node)
            if kind == "while_loop" and state.grad_enabled and any(each._requires_grad for each in (*operands, *outside.values())):
                self.turns[str(self.new_symbol(node, None, 1).expression)] = None
            if any(writes(each) for inner, _ in made.values() for each in inner.graph.nodes):
                raise CaptureError(f"{kind}: the functions of an exported program may not write to tensors in place")
            results = self.control_results(node, made, kind)
            return structures[0].unflatten(results) if kind == "cond" else results
        finally:
            state.capture = self

    def read_outside(self, bodies: list[Any]) -> dict[int, Any]:
        """What two functions read of the program around them: first what both read, then what one does, each by name, as PyTorch has it."""
        first, second = ({key: tensor for key, (tensor, _) in inner.lifted.items()} for inner in bodies)
        every = {**first, **second}

        def rank(key: int) -> tuple[int, str]:
            return (0 if key in first and key in second else 1 if key in first else 2, str(self.node_of(every[key]).target))

        return {key: every[key] for key in sorted(every, key=rank)}

    def scan(self, kind: str, turn: Callable[..., Any], starts: list[Any], rows: list[Any], given: list[Any]) -> list[Any]:
        """``scan`` or ``map``: a node that takes the graph of a turn, what is carried, what has rows, and what each turn reads beside them."""
        operands = (*starts, *rows, *given)
        names = [f"arg{at}_1" for at in range(len(operands))]
        inner, result = self.body(turn, operands, names, range(len(starts), len(starts) + len(rows)))
        state.capture = None
        try:
            outside = [tensor for tensor, _ in inner.lifted.values()]
            lifted = [node for _, node in inner.lifted.values()]
            first, second, more = (tuple(self.argument(each) for each in group) for group in (starts, rows, [*given, *outside]))
            if kind == "map_impl":
                inner.outside = [self.node_of(each) for each in (*rows, *given, *outside)]
                graph = self.add_graph("body_graph", inner, lifted, kind, False)
                args: tuple[Any, ...] = (graph, list(second), list(more))
            else:
                inner.result = list(inner.result)
                graph = self.add_graph("scan_combine_graph", inner, lifted, kind, True)
                args = (graph, list(first), list(second), more)
            node = self.operator_node(OPERATORS[kind], args)
            self.depends.add(node)
            if any(writes(each) for each in inner.graph.nodes):
                raise CaptureError(f"{kind}: the function of an exported program may not write to tensors in place")
            count = self.shape_of(rows[0])[0]
            length = rows[0]._array.shape[0]
            values, specs = [], []
            for at, each in enumerate(result):
                part = self.part(node, at, True)
                self.depends.add(part)
                stacked = () if at < len(starts) else (length,)
                found = each._array
                if found.__class__ is Spec:
                    value = make(Spec((*stacked, *found.shape), found.dtype, device=found.device))
                else:
                    value = make(np.zeros((*stacked, *found.shape), found.dtype))
                value._requires_grad = each._requires_grad
                self.bind(value, part, (*((count,) if stacked else ()), *inner.shape_of(each)))
                values.append(value)
                specs.append(part.meta["val"])
            node.meta["val"] = tuple(specs)
            return values
        finally:
            state.capture = self

    def control_results(self, node: Node, made: dict[str, Any], kind: str) -> Any:
        """What ``cond`` gives: a value like those of both branches; of a loop, values like the last."""
        results = [result for _, result in made.values()]
        like = results[0] if kind == "cond" else results[1]
        inner = list(made.values())[0 if kind == "cond" else 1][0]
        items = [like] if isinstance(like, TensorBase) else list(like)
        if kind == "cond":
            shapes = [[(tuple(each._array.shape), each._array.dtype) for each in group] for group in (items, results[1])]
            if shapes[0] != shapes[1]:
                raise OperationError(
                    f"Expect outputs of both branches to have the same shapes and dtypes, but got {shapes[0]} and {shapes[1]}"
                )
        values, specs = [], []
        for at, each in enumerate(items):
            part = self.part(node, at, True)
            self.depends.add(part)
            value = make(spec_of(each._array)) if each._array.__class__ is Spec else make(each._array.copy())
            value._requires_grad = each._requires_grad
            self.bind(value, part, inner.shape_of(each))
            values.append(value)
            specs.append(part.meta["val"])
        node.meta["val"] = tuple(specs)
        return tuple(values)

    def check_closed(self, inner: Any, lifted: list[Node], name: str) -> None:
        """Refuse a function that reads numbers computed around it otherwise than by a tensor: they can't be passed to it."""
        mine = set(inner.graph.nodes)
        given = [node for node in mine if node.op == "placeholder" and node not in lifted]
        if any(each not in mine for node in mine for each in node.all_input_nodes) or any(
            not re.match(r"arg\d+_1$", each.name) for each in given
        ):
            raise CaptureError(
                f"{name}: a function of an exported program reads a number that is computed around it: give it as a tensor, and take its item()"
            )

    def add_graph(self, name: str, inner: Any, lifted: list[Node], kind: str, single: bool) -> Node:
        """A graph of a branch or body, as a node of this one."""
        number = 0
        while f"{name}_{number}" in self.graphs:
            number += 1
        place = f"{name}_{number}"
        for node in lifted:  # after the operands, in the order in which they are passed
            last = [
                each
                for each in inner.graph.nodes
                if each.op == "placeholder" and each not in lifted or each in lifted[: lifted.index(node)]
            ][-1:]
            if last:
                last[0].append(node)
            elif (first := next(iter(inner.graph.nodes))) is not node:
                first.prepend(node)
            if not inner.outside:
                node.name = (
                    f"arg{len([each for each in inner.graph.nodes if each.op == 'placeholder']) - len(lifted) + lifted.index(node)}_1"
                )
        self.check_closed(inner, lifted, name)
        result = inner.result
        inner.graph.output(result if single else tuple(result) if isinstance(result, (tuple, list)) else (result,))
        self.graphs[place] = inner
        node = self.graph.create_node("get_attr", place, (), {}, place)
        node.meta["source"], node.meta["module"] = self.where()
        node.meta["graph"] = inner
        return node

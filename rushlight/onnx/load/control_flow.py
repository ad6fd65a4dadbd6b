"""Operators with bodies: ``If`` and ``Loop`` are the control flow of our graphs."""

from __future__ import annotations

import operator
from typing import Any

from ...graph import control as flow
from ..errors import ModelFileError
from .builder import ModelBuilder, control
from .scope import Scope, Value


def body_attribute(node: Any, name: str, owner: str) -> Any:
    """The graph of an attribute."""
    found = next((each.g for each in node.attribute if each.name == name), None)
    if found is None:
        raise ModelFileError(f"{owner} lacks the attribute '{name}'")
    return found


def results(scope: Scope, node: Any, made: Any, types: list[int]) -> None:
    """Name the results of a node that gives a tuple."""
    for position, name in enumerate(node.output):
        if name:
            scope.define(name, Value(scope.graph.call_function(operator.getitem, (made, position), name=name), type=types[position]))


def import_if(builder: ModelBuilder, scope: Scope, node: Any, owner: str) -> None:
    """``If``: one of two bodies, on what they take from outside."""
    bodies = {}
    types: list[int] = []
    inner = {}
    for key, name in (("then", "then_branch"), ("otherwise", "else_branch")):
        graph = body_attribute(node, name, owner)
        if len(graph.output) != len(node.output):
            raise ModelFileError(
                f"{owner}: the body '{name}' gives {len(graph.output)} values, and the node has {len(node.output)} outputs"
            )
        inside, values = builder.body(scope, graph, owner)
        outputs = tuple([inside.tensor(each) for each in values])
        types = [each.type for each in values]
        inside.graph.output(outputs)
        inner[key] = inside
        bodies[key] = inside.graph
    # Both bodies take the same arguments: what each takes from outside, one after the other.
    count = {key: len(each.captured) for key, each in inner.items()}
    for key, before in (("then", False), ("otherwise", True)):
        others = count["then" if before else "otherwise"]
        if before and others:
            with inner[key].graph.inserting_before(None):
                for _ in range(others):
                    inner[key].graph.placeholder("unused")
        else:
            for _ in range(others):
                inner[key].input("unused")
    arguments = (*inner["then"].captured_arguments(), *inner["otherwise"].captured_arguments())
    condition = scope.find(node.input[0], owner)
    given = scope.numbers(condition) if condition.is_constant else scope.tensor(condition)
    made = scope.graph.call_function(flow.branch, (given, *arguments))
    made.meta["bodies"] = bodies
    results(scope, node, made, types)


control["If"] = import_if

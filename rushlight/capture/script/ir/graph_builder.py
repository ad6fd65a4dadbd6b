"""The graph of a function, built from its steps."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

from ....graph import Graph, Node
from ....graph.control import loop
from .steps import NOWHERE, ScriptStep, StepBlock, map_steps


class Draft:
    """A whole function in steps, and where it is written."""

    __slots__ = ("code", "file", "first", "name")

    def __init__(self, code: StepBlock, file: str, first: int, name: str) -> None:
        self.code = code
        self.file = file
        self.first = first
        self.name = name

    def place(self, line: int) -> tuple[str, int, str]:
        """File, line and function, as nodes of a graph keep them."""
        return self.file, self.first + line - 1, self.name

    def graph(self, code: StepBlock | None = None, inputs: Iterable[tuple[ScriptStep, str]] = ()) -> Graph:
        """The graph of the function; or of a block in it, which gets what it uses of outer blocks as further inputs with names."""
        code = self.code if code is None else code
        made = Graph()
        nodes: dict[ScriptStep, Node] = {}
        for each in code.parameters:
            nodes[each] = node = made.create_node("placeholder", each.target, each.args, None, None, each.type)
            if each.line:
                node.meta = {"source": self.place(each.line), "module": ""}
            if each.meta is not None:
                node.meta.update(each.meta)
        for each, name in inputs:
            nodes[each] = made.create_node("placeholder", name, (), None, None, each.type)
        for each in code.steps:
            args = map_steps(each.args, nodes.__getitem__)
            bodies: dict[str, Graph] = {}
            if each.bodies is not None:
                needed = list(dict.fromkeys(step for body in each.bodies.values() for step in body.inputs()))
                given = tuple([nodes[step] for step in needed])
                args = (*args, given) if each.target is loop else (*args, *given)
                bodies = {name: self.graph(body, [(step, nodes[step].name) for step in needed]) for name, body in each.bodies.items()}
            kwargs: Any = map_steps(each.kwargs, nodes.__getitem__) if each.kwargs else None
            nodes[each] = node = made.create_node(each.op, each.target, args, kwargs, each.name, each.type)
            node.meta = {"source": self.place(each.line), "module": "", **(each.meta or {})}
            if bodies:
                node.meta["bodies"] = bodies
            for at, result in enumerate(each.results):
                if result is not NOWHERE:
                    nodes[result] = made.create_node("call_function", operator.getitem, (node, at), None, result.name, result.type)
                    nodes[result].meta = {"source": self.place(each.line), "module": "", **(result.meta or {})}
        made.output(map_steps(code.output, nodes.__getitem__), code.result)
        return made


def name_of(step: ScriptStep) -> str:
    """What a value may be called in a graph of its own."""
    return step.name or str(step.target if step.op == "placeholder" else getattr(step.target, "__name__", "value"))

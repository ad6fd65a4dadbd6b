"""Steps: the IR that lowering emits.  They are lighter than nodes, are interpreted at first (``run/step_interpreter.py``), and become a graph
on demand (``graph_builder.py``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....graph import map_aggregate
from ..frontend.types import NONE, Type

PLAIN = frozenset((int, float, str, bool, type(None), complex))  # constants that have nothing in them


class ScriptStep:
    """What becomes a node: a call, a parameter, whose target is its name, or one of the results of a step that runs blocks.  Among the
    arguments of later steps, also of inner blocks, it stands for its value.

    ``direct`` is the number of arguments of a call of a function on steps and plain constants; 0 of all others.
    """

    __slots__ = ("args", "bodies", "direct", "kwargs", "line", "meta", "name", "op", "results", "target", "type")

    def __init__(
        self,
        op: str,
        target: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any] | None,
        type: Type,
        name: str | None,
        line: int,
        direct: int,
    ) -> None:
        self.op = op
        self.target = target
        self.args = args
        self.kwargs = kwargs
        self.type = type
        self.name = name
        self.line = line  # of the function's text; 0: of none
        self.direct = direct
        self.meta: dict[str, Any] | None = None  # what else the node gets
        self.bodies: dict[str, StepBlock] | None = None  # what it runs, by name
        self.results: list[ScriptStep] = _NONE  # of what it runs


_NONE: list[Any] = []
NOWHERE = ScriptStep("result", "", (), None, NONE, None, 0, 0)  # a result that is not used
FLAT = PLAIN | {ScriptStep}


class StepBlock:
    """A finished block: its parameters, its steps, and what it gives; ``direct`` if that is a tuple of steps and plain constants."""

    __slots__ = ("direct", "output", "parameters", "result", "steps")

    def __init__(self, parameters: list[ScriptStep], steps: list[ScriptStep], output: Any, result: Type | None = None) -> None:
        self.parameters = parameters
        self.steps = steps
        self.output = output
        self.result = result
        self.direct = output.__class__ is tuple and FLAT.issuperset(map(type, output))

    def inputs(self) -> dict[ScriptStep, None]:
        """The steps of outer blocks that are used, in order."""
        found: dict[ScriptStep, None] = {}
        for each in self.steps:
            found.update(inputs_of(each))
        map_steps(self.output, lambda step: found.setdefault(step))
        own = {*self.parameters, *self.steps, *[result for each in self.steps for result in each.results]}
        return {each: None for each in found if each not in own}


def inputs_of(step: ScriptStep) -> dict[ScriptStep, None]:
    """The steps that a step needs, also those that its bodies do, in order."""
    found: dict[ScriptStep, None] = {}
    map_steps((step.args, step.kwargs), lambda each: found.setdefault(each))
    for body in (step.bodies or {}).values():
        found.update(body.inputs())
    return found


def map_steps(argument: Any, function: Callable[[ScriptStep], Any]) -> Any:
    """Apply a function to the steps in an argument."""
    kind = argument.__class__
    if kind is ScriptStep:
        return function(argument)
    if kind in PLAIN:
        return argument
    if kind is tuple:  # the commonest; the rest goes the general way
        return tuple([map_steps(each, function) for each in argument])
    return map_aggregate(argument, lambda value: function(value) if value.__class__ is ScriptStep else value)

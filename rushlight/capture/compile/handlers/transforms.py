"""Functions of functions (``vmap``, ``grad``, ``jvp``, …) in a captured program: they run, what they are given is interpreted, and their ops are recorded."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ....core.base import TensorBase
from ....core.symbolic import SymbolicInt
from ....func import derivatives, vectorize
from ....graph import Node
from ....utils import trees
from ..guards.guards import is_op
from ..record.callables import is_callback
from ..record.callbacks import InterpretedCallback
from ..record.registry import flagged, handles


class TransformedFunction:
    """What a transform makes of a function of the program, while it is captured."""

    transformed_function = True

    def __init__(self, function: Any) -> None:
        self.function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)


def call_transformed(recorder: Any, function: TransformedFunction, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """A call of such a function."""
    return run(recorder, function.function, args, kwargs)


flagged["transformed_function"] = call_transformed


def run(recorder: Any, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Call a transform, or what it has made: functions among the arguments are interpreted, and the others are guarded."""
    given = [interpreted(recorder, each) for each in args]
    named = {key: interpreted(recorder, each) for key, each in kwargs.items()}
    graph = recorder.tracer.graph
    last = next(iter(reversed(graph.nodes)), None)
    result = recorder.track_fresh(function(*given, **named))
    fix_sizes(recorder, itertools.takewhile(lambda node: node is not last, reversed(graph.nodes)))
    return result


def fix_sizes(recorder: Any, nodes: Iterable[Node]) -> None:
    """Specialize the symbolic sizes in nodes that a transform has recorded: its rules compute with the plain sizes of arrays."""
    sizes = {}
    for node in nodes:
        for each in (node, *node.all_input_nodes):
            for spec in trees.flatten(each.meta.get("val"))[0]:
                sizes.update({str(size.expression): size for size in getattr(spec, "shape", ()) if isinstance(size, SymbolicInt)})
    for size in sizes.values():
        recorder.fixed(size)
        recorder.note_specialized(size)


def interpreted(recorder: Any, value: Any) -> Any:
    """A function as a callback of the capture; what else is given is looked at."""
    if isinstance(value, TransformedFunction) or is_callback(value) and not is_op(value):
        return InterpretedCallback(recorder, value)
    for each in trees.flatten(value)[0]:
        if isinstance(each, TensorBase) and id(each) in recorder.sources:
            recorder.tracer.node_of(each)  # a transform makes variables of its memory
    recorder.guard_contents(value)
    recorder.specialize(value)
    return value


def makes_a_function(transform: Any) -> None:
    """Register a transform: its calls give a function that a capture follows."""

    @handles(transform)
    def make(recorder: Any, *args: Any, **kwargs: Any) -> Any:
        return recorder.track_fresh(TransformedFunction(run(recorder, transform, args, kwargs)))


for _each in (
    vectorize.vmap, derivatives.grad, derivatives.grad_and_value, derivatives.jacrev, derivatives.jacfwd, derivatives.hessian,
):  # fmt: skip
    makes_a_function(_each)


@handles(derivatives.jvp)
def _jvp(recorder: Any, *args: Any, **kwargs: Any) -> Any:
    return run(recorder, derivatives.jvp, args, kwargs)


@handles(derivatives.vjp)
def _vjp(recorder: Any, *args: Any, **kwargs: Any) -> Any:
    output, function, *more = run(recorder, derivatives.vjp, args, kwargs)
    return recorder.track_fresh((output, recorder.track_fresh(TransformedFunction(function)), *more))

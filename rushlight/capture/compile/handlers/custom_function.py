"""Custom Functions in a capture: one node with a forward body, a backward body, and the user's class, which eager replays call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ....autograd.function import Function, FunctionCtx, begin, finish
from ....autograd.once_differentiable import undecorated
from ....core.base import TensorBase, make
from ....core.devices import CPU, META, device_of, on_device
from ....core.state import state
from ....core.symbolic import Expression, SymbolicInt
from ....func.batched import BatchedTensor
from ....graph import Graph, Node
from ....tensor.generator import default_generator
from ...tracer.body_tracer import BodyTracer
from ...tracer.tracer import Tracer
from ..annotations import marks
from ..guards.guards import CONTAINERS, PRIMITIVES, by_identity
from ..guards.modes import LeftModes
from ..record.callables import class_attribute
from ..record.callbacks import RecordingInterpreter
from ..record.calls import Recorder
from ..record.graph_breaks import Break
from ..record.graph_functions import ApplyFunction
from ..record.registry import handles
from ..record.symbolic_numbers import number_input_of
from ..record.tracer import ERROR, may_depend_on_values
from ..record.writes import SavedTensor, written_inputs, written_places
from ..vm.exceptions import result_of


class FunctionBodyTracer(BodyTracer):
    """Captures the forward or backward of a custom Function; tensors that the tracers around it know are its inputs."""

    def __init__(self, recorder: Recorder, around: list[Tracer]) -> None:
        super().__init__(escaped=recorder.escaped)
        self.recorder = recorder
        self.around = around  # the nearest first
        self.input_count = 0
        self.symbols = recorder.tracer.symbols
        self.constants = around[-1].constants  # of the whole graph: names are unique, and its module has them all
        self.saved: list[SavedTensor] = []  # before each write: a body may have to run again, and a backward is run for its graph alone

    def take(self, tensor: Any) -> None:
        if id(tensor) in self.entries:
            return
        for tracer in self.around:
            known = tracer.entries.get(id(tensor)) or tracer.aliases.by_array.get(id(tensor._array))
            if known is not None or id(tensor) in self.recorder.sources:
                shape = tracer.shape_of(known.tensor) if known is not None else tensor._array.shape
                self.bind(tensor, self.parameter(f"input_{self.input_count}"), shape)
                self.input_count += 1
                return

    def shape_of(self, tensor: Any) -> tuple[int, ...]:
        if id(tensor) not in self.entries:
            for tracer in self.around:
                if id(tensor) in tracer.entries:
                    return tracer.shape_of(tensor)
        return super().shape_of(tensor)

    def number_node(self, value: Any) -> Node:
        leaf = number_input_of(value)
        return super().number_node(value) if leaf is None else self.number_input(leaf, "number", value)

    def symbol_node(self, name: str) -> Node:
        if self.symbols[name].source is not None:
            return super().symbol_node(name)
        expression = Expression.symbol(name)
        return self.number_input(expression, name, SymbolicInt(self.symbols[name].concrete, expression))

    def number_input(self, key: Any, name: str, value: Any) -> Node:
        """The placeholder of a symbolic number."""
        node = self.size_nodes.get(key)
        if node is None:
            node = self.size_nodes[key] = self.parameter(name)
            node.meta.update(val=value, source=None, module="")
        return node

    def __call__(self, op: Any, args: tuple[Any, ...], out: Any) -> Any:
        self.saved += [SavedTensor(each) for each in written(op, args, out)]
        try:
            return super().__call__(op, args, out)
        except Exception:
            if may_depend_on_values(self, op, args):
                self.recorder.discard_reason = ERROR
            raise

    def where(self) -> tuple[Any, str]:
        return self.around[-1].where()

    def restore(self) -> None:
        """Undo the writes of this body."""
        while self.saved:
            self.saved.pop().restore()


def written(op: Any, args: tuple[Any, ...], out: Any) -> Iterator[Any]:
    """The tensors that a call writes to."""
    yield from (each for each in (out if isinstance(out, (tuple, list)) else (out,)) if isinstance(each, TensorBase))
    yield from (
        each
        for place in written_places(op, args)
        for each in (place if isinstance(place, (tuple, list)) else (place,))
        if isinstance(each, TensorBase)
    )


@handles(Function.__init__)
def instantiate(recorder: Recorder, function: Any, /, *args: Any, **kwargs: Any) -> None:
    """An instance of a Function, as older programs make one to call ``apply`` of: eager mode warns of it."""


@handles(Function.apply.__func__)  # type: ignore[attr-defined]
def capture_function(recorder: Recorder, function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Apply a Function with its bodies captured; a graph break where one of them can't be."""
    if marks.get(id(function)) == "allow":
        return recorder.opaque(function.apply, args, kwargs)
    outer = recorder.tracer
    if any(isinstance(each, BatchedTensor) for each in args):
        raise Break("function_forward", name=function.__name__, reason="vmap has a rule of its own for it")
    for each in args:
        if isinstance(each, TensorBase):
            outer.node_of(each)
        elif isinstance(each, CONTAINERS):
            recorder.guard_elements(each)
        elif id(each) in recorder.sources:
            recorder.guards.value(recorder.sources[id(each)], each)
    for name in ("forward", "setup_context", "backward", "vjp"):
        recorder.guard_class_attribute(function, name, class_attribute(function, name))
    args, context, edges, requires = begin(function, args, kwargs)
    recorder.track_fresh(context)
    body = FunctionBodyTracer(recorder, [outer])
    output = run_body(recorder, body, lambda: forward(recorder, function, context, args), "function_forward", function)
    try:
        result = finish(function, context, args, edges, output, requires)
        bodies = {"fwd_body": closed(body, output)}
        if requires:
            backward = backward_body(recorder, function, context, result, [body, outer])
            if backward is not None:
                bodies["bwd_body"] = backward
        outer.note_grad_mode()
        context_node = outer.graph.call_function(FunctionCtx, ())
        given = (context_node, *[opened(recorder, each) for each in args])
    except Break:  # the program runs it again
        body.restore()
        raise
    node = outer.graph.create_node("call_function", ApplyFunction(function), given, {}, name=function.__name__)
    source, module = outer.where()
    for each in (context_node, node):
        each.meta.update(source=source, module=module, impure=each is node)
    node.meta["bodies"] = bodies
    outer.depends.add(node)
    results(outer, body, node, output, result)
    return result


def results(outer: Tracer, body: FunctionBodyTracer, node: Node, output: Any, result: Any) -> None:
    """Tie the outputs to the node, with the sizes that the body gives them."""
    several = isinstance(result, (tuple, list))
    made = list(result) if several else [result]
    inner = list(output) if isinstance(output, (tuple, list)) else [output]
    for index, (each, before) in enumerate(zip(made, inner)):
        if isinstance(each, TensorBase):
            outer.bind(each, outer.part(node, index, several), body.shape_of(before) if isinstance(before, TensorBase) else None)


def forward(recorder: Recorder, function: Any, context: Any, args: tuple[Any, ...]) -> Any:
    """Run the user's forward, interpreted where it is written in Python."""
    if function.setup_context is Function.setup_context:
        return call(recorder, function.forward, (context, *args))
    output = call(recorder, function.forward, args)
    call(recorder, function.setup_context, (context, args, output))
    return output


def call(recorder: Recorder, function: Any, args: tuple[Any, ...]) -> Any:
    """A call as the program would make it: inlined, or native."""
    target = getattr(function, "__func__", function)
    if not hasattr(target, "__code__") or not recorder.should_inline(target):
        return function(*args)
    if id(target) not in recorder.fresh:
        recorder.guard_function(target)
    return run_frames(recorder, function, args, {})


def run_frames(recorder: Recorder, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """The result of an interpreted function; a graph break is passed on."""
    interpreter = RecordingInterpreter(recorder)
    return result_of(interpreter.follow(interpreter.start(function, args, kwargs), lambda: True))


def run_body(recorder: Recorder, tracer: FunctionBodyTracer, run: Any, kind: str, function: Any) -> Any:
    """Run part of a Function under a tracer of its own."""
    outer = recorder.tracer
    place = state.interceptors.index(outer)
    state.interceptors[place] = tracer
    recorder.tracer, state.capture = tracer, tracer  # type: ignore[assignment]
    enabled, state.grad_enabled = state.grad_enabled, False
    random, pure, recorder.pure, modes = default_generator.mark(), recorder.pure, True, LeftModes()
    try:
        return run()
    except Break as stop:
        modes.restore()
        default_generator.back(random)
        tracer.restore()
        raise Break(kind, name=function.__name__, reason=stop.message) from None
    finally:
        recorder.pure = pure
        state.grad_enabled = enabled
        recorder.tracer, state.capture = outer, outer
        state.interceptors[place] = outer


def backward_body(recorder: Recorder, function: Any, context: Any, result: Any, around: list[Tracer]) -> Graph | None:
    """The user's backward as a graph, run on gradients of ones; None where the class has none (backward will say so)."""
    node = next(
        (
            each._grad_fn
            for each in (result if isinstance(result, (tuple, list)) else (result,))
            if isinstance(each, TensorBase) and each._grad_fn is not None
        ),
        None,
    )
    if node is None:
        return None
    try:
        backward = undecorated(function._user_backward())
    except NotImplementedError:
        return None
    tracer = FunctionBodyTracer(recorder, around)
    gradients = []
    for index, each in enumerate(result if isinstance(result, (tuple, list)) else (result,)):
        gradient = None
        if isinstance(each, TensorBase):
            place = device_of(each._array)  # a kernel of the user's reads it there
            gradient = make(on_device(np.ones(each._array.shape, each._array.dtype), CPU if place == META else place))
            tracer.input(gradient, f"grad_{index}")
        gradients.append(gradient)
    random, context._backward_node, fields = default_generator.mark(), node, dict(context.__dict__)

    def run() -> Any:
        return call(recorder, backward, (context, *gradients))

    try:
        output = run_body(recorder, tracer, run, "function_backward", function)
    except Break:
        raise
    except Exception:
        return None  # what is wrong with it, backward itself will say
    finally:
        context._backward_node = None
        context.__dict__.clear()
        context.__dict__.update(fields)
        default_generator.back(random)
        tracer.restore()
    for each in output if isinstance(output, (tuple, list)) else (output,):
        if each is not None and not isinstance(each, TensorBase):
            raise Break("function_backward", name=function.__name__, reason=f"it returns a {type(each).__name__} where a gradient is due")
    if written_inputs(tracer.graph.nodes) - {tracer.node_of(each) for each in gradients if each is not None}:
        raise Break("function_backward", name=function.__name__, reason="it writes to a tensor that was there before")
    return closed(tracer, output)


def closed(tracer: FunctionBodyTracer, output: Any) -> Graph:
    """A body with its output."""
    capture, state.capture = state.capture, None
    try:
        tracer.graph.output(tracer.argument(output))
    finally:
        state.capture = capture
    tracer.graph.eliminate_dead_code()
    return tracer.graph


def opened(recorder: Recorder, value: Any) -> Any:
    """An argument of a Function in the outer graph: tensors as nodes, pre-existing objects as inputs, the rest as it is."""
    tracer = recorder.tracer
    if isinstance(value, (TensorBase, *PRIMITIVES)):
        return tracer.argument(value)
    if id(value) in recorder.sources and not by_identity(value):
        return recorder.opaque_input(value)
    if isinstance(value, (list, tuple)):
        return type(value)(opened(recorder, each) for each in value)
    if isinstance(value, dict):
        return {key: opened(recorder, each) for key, each in value.items()}
    if by_identity(value):
        return value
    raise Break("function_forward", name="apply", reason=f"an argument is a new object of type {type(value).__name__}")

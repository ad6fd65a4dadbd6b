"""Gradients inside a captured program: ``backward`` and ``autograd.grad`` are one node, and ``.grad`` is something the program sets.

While a program is captured the engine runs on its real values, without being recorded.  The node calls the engine again whenever the graph runs; a graph
that is differentiated ahead of time meets it on tensors without data, and what the engine does lands in that graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....autograd.differentiation import backward, grad
from ....autograd.engine import refreshed
from ....core.base import TensorBase
from ....core.declare import table
from ....core.devices import device_type_of
from ....core.state import state
from ....tensor.tensor import Tensor
from ..guards.guard import Kind
from ..record.graph_breaks import Break
from ..record.graph_functions import gradients_of
from ..record.reconstruct import Reconstruction
from ..record.registry import handles
from ..record.tensor_attributes import tensor_attribute
from . import data_parallel

# -- capturing them ----------------------------------------------------------------------------------------------


def history(recorder: Any, roots: Sequence[Any], name: str) -> list[Any]:
    """The leaves that gradients of some values come to; a break where that is not a matter of this graph alone."""
    nodes: set[Any] = set()
    leaves: dict[int, Any] = {}
    deferred = recorder.tracer.deferred
    originals = deferred.originals() if deferred is not None else {}
    waiting = [refreshed(each)._grad_fn if each._grad_fn is not None else each for each in roots]
    while waiting:
        edge = waiting.pop()
        edge = edge[0] if edge.__class__ is tuple else edge
        if isinstance(edge, TensorBase):
            leaf = originals.get(id(edge), edge)
            leaves[id(leaf)] = leaf
        elif edge is not None and edge not in nodes:
            if edge.hooked:
                raise Break("gradient", name=name, reason="a tensor on the way has a hook")
            nodes.add(edge)
            waiting += edge.inputs
    for _, each in recorder.tracer.inputs:
        if isinstance(each, TensorBase) and each._grad_fn is not None and each._grad_fn in nodes:
            raise Break("gradient", name=name, reason="gradients go on to what was computed before this graph")
    for each in leaves.values():
        if id(each) not in recorder.tracer.entries:
            raise Break("gradient", name=name, reason="gradients come to a tensor that the graph does not know")
        if each._backward_hooks or (each._post_accumulate_hooks and not (name == "backward" and data_parallel.is_reduced(each))):
            raise Break("gradient", name=name, reason="a tensor on the way has a hook")
    return list(leaves.values())


def check(recorder: Any, roots: Sequence[Any], given: Sequence[Any], create: bool, name: str) -> None:
    """A graph break where gradients can't be part of the graph; deferred ops that can't stay deferred are computed."""
    if recorder.pure or state.anomaly or state.transforms or state.inference:
        raise Break("tensor", name=name)
    for each in (*roots, *(each for each in given if each is not None)):
        if not isinstance(each, TensorBase) or not (recorder.tracer.is_traced(each) or id(each) in recorder.sources):
            raise Break("tensor", name=name)
    for each, gradient in zip(roots, given):  # what is wrong with it, the engine will say
        if not each._requires_grad or (gradient is None and each._array.size != 1) or each._array.dtype.kind == "c":
            raise Break("tensor", name=name)
    deferred = recorder.tracer.deferred
    if deferred is not None and deferred.calls and not deferred.can_differentiate(roots, given, create):
        deferred.compute()


def record(
    recorder: Any, roots: list[Any], targets: list[Any], given: list[Any], retain: bool, create: bool, unused: bool
) -> Sequence[Any]:
    """Run the engine without recording its ops, and record it as one node."""
    tracer = recorder.tracer
    recorded = tracer.argument((tuple(roots), tuple(targets), tuple(given)))
    place = state.interceptors.index(tracer)
    state.interceptors.remove(tracer)
    state.capture = None
    try:
        found: Any = NotImplemented
        if tracer.deferred is not None and tracer.deferred.calls:
            found = tracer.deferred.gradients(gradients_of, roots, targets, given, retain, create, unused)
            if found is NotImplemented:
                tracer.deferred.compute()
        if found is NotImplemented:
            found = gradients_of(roots, targets, given, retain, create, unused)
    finally:
        state.interceptors.insert(place, tracer)
        state.capture = tracer
    node = tracer.graph.call_function(gradients_of, (*recorded, retain, create, unused))
    node.meta["source"], node.meta["module"] = tracer.where()
    tracer.depends.add(node)
    specs = []
    for index, (each, target) in enumerate(zip(found, targets)):
        if each is not None:
            tracer.bind(each, tracer.part(node, index, True), tracer.shape_of(target))
        specs.append(None if each is None else tracer.part(node, index, True).meta["val"])
    node.meta["val"] = tuple(specs)
    return found


def guard_leaf(recorder: Any, leaf: Any) -> None:
    """Guard that a leaf is one in later calls too, and has no hooks."""
    source = recorder.sources.get(id(leaf))
    if source is not None:
        recorder.guards.add(Kind.LEAF, source)


@handles(backward, deferrable=True)
def capture_backward(
    recorder: Any,
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: Any = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """``backward``: gradients are one node, and then added to those that are there."""
    roots = [tensors] if isinstance(tensors, TensorBase) else list(tensors)
    given = [grad_tensors] * len(roots) if grad_tensors is None or isinstance(grad_tensors, TensorBase) else list(grad_tensors)
    if len(given) != len(roots):
        raise Break("tensor", name="backward")
    check(recorder, roots, given, create_graph, "backward")
    leaves = history(recorder, roots, "backward")
    if inputs is not None:
        wanted = [inputs] if isinstance(inputs, TensorBase) else list(inputs)
        if not all(any(each is leaf for leaf in leaves) for each in wanted):
            raise Break("gradient", name="backward", reason="it is asked for the gradient of a tensor that is no leaf")
        leaves = wanted
    if not leaves:
        raise Break("tensor", name="backward")
    retain = create_graph if retain_graph is None else bool(retain_graph)
    reduced = any(leaf._post_accumulate_hooks for leaf in leaves)
    if reduced:
        data_parallel.check(recorder, leaves)
    for leaf in leaves:
        if not leaf._post_accumulate_hooks or not data_parallel.guard(recorder, leaf):
            guard_leaf(recorder, leaf)
    found = record(recorder, roots, leaves, given, retain, create_graph, True)
    if reduced:
        found = data_parallel.reduce(leaves, found)
    enabled, state.grad_enabled = state.grad_enabled, create_graph
    try:
        taken: set[int] = set()
        for leaf, gradient in zip(leaves, found):
            if gradient is not None and reduced and data_parallel.is_reduced_leaf(leaf):
                recorder.set_gradient(leaf, gradient)  # it was not there before, and has memory of its own
            elif gradient is not None:
                accumulate(recorder, leaf, gradient, taken)
    finally:
        state.grad_enabled = enabled


def accumulate(recorder: Any, leaf: Any, gradient: Any, taken: set[int]) -> None:
    """Add a gradient to a leaf's; the first is taken over, or a copy of it where it may be somebody else's too."""
    present = tensor_attribute(recorder, leaf, "grad")
    if present is None:
        array: Any = gradient._array
        kind: Any = device_type_of(array).array_type
        owned = (
            gradient._storage is None
            and array.__class__ is kind
            and getattr(array, "base", array) is None
            and array.flags.c_contiguous
            and id(gradient) not in taken
        )
        taken.add(id(gradient))
        recorder.set_gradient(leaf, gradient if owned or state.grad_enabled else gradient.clone())
    elif state.grad_enabled:
        recorder.set_gradient(leaf, present + gradient)
    else:
        present.add_(gradient)


def gradient_effects(recorder: Any, recipes: Reconstruction) -> None:
    """Reconstruct the gradients that the program has set."""
    tensors = [tensor for tensor, _ in recorder.gradients.values()]
    sources = [recorder.sources[id(each)] for each in tensors if id(each) in recorder.sources]
    if len(sources) > 1:
        message = "tensors whose gradients are set are different objects"
        recorder.guards.add(Kind.DISTINCT, None, None, sources, message, "leaves")
    for tensor, begun in recorder.gradients.values():
        if tensor._grad is not begun:
            recipes.gradient(tensor, tensor._grad)


@handles(grad, deferrable=True)
def capture_grad(
    recorder: Any, outputs: Any, inputs: Any, grad_outputs: Any = None, retain_graph: Any = None, create_graph: bool = False, only_inputs: bool = True,
    allow_unused: Any = None, is_grads_batched: bool = False, materialize_grads: bool = False,
) -> Any:  # fmt: skip
    """``autograd.grad``."""
    roots = [outputs] if isinstance(outputs, TensorBase) else list(outputs)
    targets = [inputs] if isinstance(inputs, TensorBase) else list(inputs)
    given = [grad_outputs] * len(roots) if grad_outputs is None or isinstance(grad_outputs, TensorBase) else list(grad_outputs)
    if is_grads_batched or len(given) != len(roots) or not targets or not all(isinstance(each, TensorBase) for each in targets):
        raise Break("tensor", name="grad")
    check(recorder, roots, given, create_graph, "grad")
    for each in targets:
        recorder.tracer.node_of(each)
    leaves = {id(each) for each in history(recorder, roots, "grad")}
    for each in targets:
        if id(each) in leaves:
            guard_leaf(recorder, each)
    retain = create_graph if retain_graph is None else bool(retain_graph)
    found = record(recorder, roots, targets, given, retain, create_graph, bool(allow_unused) or materialize_grads)
    if not materialize_grads:
        return tuple(found)
    return tuple(table["zeros_like"].call(target.detach()) if each is None else each for each, target in zip(found, targets))


@handles(Tensor.backward, deferrable=True)
def _method(
    recorder: Any, tensor: Any, gradient: Any = None, retain_graph: Any = None, create_graph: bool = False, inputs: Any = None
) -> None:
    capture_backward(recorder, tensor, gradient, retain_graph, create_graph, inputs=inputs)

"""Graphs differentiated ahead of time: a forward and a backward graph, inside one node of the autograd graph.

What can't be differentiated ahead of time (see ``counters["aot_fallback"]`` for the reasons) runs op by op, as ``eager`` does.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from typing import Any

from ..autograd.differentiation import grad
from ..autograd.function import Function
from ..capture.compile.breaks import counters
from ..capture.compile.recorder import set_grad_mode
from ..capture.graph_module import GraphModule
from ..core.base import TensorBase, make
from ..core.declare import table
from ..core.node import replay, unpack
from ..core.state import state
from ..graph import map_aggregate
from ..passes.differentiate import Joint, Place, differentiate, through
from ..passes.functionalise import nothing_special, without_data
from ..passes.partition import Partition, partition
from ..tensor.generator import default_generator
from .registry import register_backend

Compiler = Callable[[GraphModule], Callable[..., Any]]
LIMIT = 16  # for how many kinds of inputs (sizes, layouts) a graph is differentiated


class AheadOfTime:
    """A captured graph, differentiated for each kind of inputs that it is called with."""

    def __init__(self, gm: Any, compiler: Compiler | None = None) -> None:
        self.gm = gm
        self.compiler = compiler
        self.enables = any(node.target is set_grad_mode and node.args == (True,) for node in gm.graph.nodes)
        self.plans: dict[Any, Any] = {}
        self.lock = threading.RLock()

    def __call__(self, *args: Any) -> Any:
        """Run the graph."""
        plan = self.plan(args) if nothing_special(args) and not state.inference else None
        return self.gm.forward(*args) if plan is None else plan.call(args)

    def plan(self, args: Any) -> Any:
        """The plan for such inputs; None where the graph runs as it is."""
        gradients = (state.grad_enabled or self.enables) and any(each._requires_grad for each in args)
        if not gradients and self.compiler is None:
            return None
        key = (state.grad_enabled, *[(each._array.shape, each._array.strides, each._array.dtype, each._requires_grad) for each in args])
        found = self.plans.get(key, self)
        if found is not self:
            return found
        with self.lock:
            found = None
            if len(self.plans) < LIMIT:
                try:
                    found = Plan(self, args, gradients)
                except Exception as error:  # whatever it is, the graph itself is fine: it was captured from a program that ran
                    counters["aot_fallback"][f"{type(error).__name__}: {error}"] += 1
            self.plans[key] = found
        return found

    def compiled(self, graph: Any, joint: Joint) -> Callable[..., Any]:
        """A graph as a function."""
        module = GraphModule(joint.constants, graph)
        return module.forward if self.compiler is None else self.compiler(module)


class Plan:
    """The graphs for one kind of inputs, and how the program's outputs and effects follow from theirs."""

    def __init__(self, owner: AheadOfTime, args: Any, gradients: bool) -> None:
        self.owner = owner
        self.enabled = state.grad_enabled
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what the program warns of, it has said when it was captured
            self.joint = joint = differentiate(owner.gm, args, gradients=gradients, enabled=self.enabled)
        self.parts: Partition = partition(joint)
        self.differentiable = joint.differentiable
        self.forward = owner.compiled(self.parts.forward, joint)
        self.examples = [_example(each) for each in args]
        self.written = [each.index for each in joint.writes]
        self.random = joint.random
        self.backwards: dict[Any, Any] = {}
        if self.differentiable:
            self.backwards[tuple(joint.differentiable)] = owner.compiled(self.parts.backward, joint)
        self.node = type("CompiledFunction", (CompiledGraph,), {"plan": self})
        self.count = len(joint.values)

    def call(self, args: Any) -> Any:
        """Run the forward, put writes back, and make the program's outputs."""
        if self.written and _share_memory(args):
            return self.owner.gm.forward(*args)
        state.grad_enabled = bool(self.differentiable)
        try:
            values: Any = self.node.apply(*args) if self.differentiable else self.forward(*args)  # type: ignore[attr-defined]
            for write in self.joint.writes:
                state.grad_enabled = write.tracked
                table["copy_"].call(args[write.index], values[write.value])
        finally:
            state.grad_enabled = self.enabled
        seen: dict[Place, Any] = {}

        def output(place: Any) -> Any:
            if place.__class__ is not Place:
                return place
            if place not in seen:
                found = args[place.index] if place.kind == "input" else values[place.index]
                found = replay(place.chain, found) if place.chain else found
                seen[place] = found.detach() if place.detached else found
            return seen[place]

        return map_aggregate(self.joint.structure, output)

    def backward(self, present: tuple[int, ...]) -> Callable[..., Any]:
        """The backward graph for gradients of these values alone."""
        found = self.backwards.get(present)
        if found is None:
            with self.owner.lock:
                joint = differentiate(self.owner.gm, self.examples, set(present), enabled=self.enabled)
                found = self.backwards[present] = self.owner.compiled(partition(joint, self.parts.kept).backward, joint)
        return found

    def again(self, arrays: list[Any], edges: Any, gradients: dict[int, Any], random: Any) -> list[Any]:
        """The gradients by running the captured program once more, recorded, so that they can be differentiated."""
        inputs: list[Any] = []
        for array, edge in zip(arrays, edges):
            inputs.append(make(array))
            if edge is not None:
                through(inputs[-1], edge)
        given = [each.clone() if index in self.written else each for index, each in enumerate(inputs)]
        now = default_generator.get_state() if random is not None else None
        if random is not None:
            default_generator.set_state(random)
        try:
            result = self.owner.gm.forward(*given)
        finally:
            if now is not None:
                default_generator.set_state(now)
        outputs: list[Any] = []
        map_aggregate(result, lambda each: outputs.append(each) if isinstance(each, TensorBase) else None)
        origins = self.joint.origins
        roots = []
        for number in gradients:
            kind, index = origins[number]
            roots.append(given[index] if kind == "input" else outputs[index] if kind == "output" else outputs[index]._view.base)
        targets = [each for each in inputs if each._requires_grad]
        found = iter(grad(roots, targets, list(gradients.values()), create_graph=True, allow_unused=True))
        return [next(found) if each._requires_grad else None for each in inputs]


class CompiledGraph(Function):
    """The node of a compiled graph; each plan has a class of its own."""

    plan: Plan

    @classmethod
    def forward(cls, ctx: Any, *args: Any) -> Any:  # type: ignore[override]
        """Run the forward graph, and keep what the backward needs (and, for gradients of gradients, the inputs)."""
        plan = cls.plan
        given = list(args)
        for index in plan.written:  # it will be overwritten, and its present value may be needed
            given[index] = make(args[index]._array.copy())
        ctx.random = default_generator.get_state() if plan.random else None
        results = plan.forward(*given)
        values = results[: plan.count]
        ctx.count = len(results) - plan.count
        ctx.save_for_backward(*results[plan.count :], *given)
        ctx.set_materialize_grads(False)
        differentiable = set(plan.differentiable)
        ctx.mark_non_differentiable(*[each for number, each in enumerate(values) if number not in differentiable])
        return values

    @classmethod
    def backward(cls, ctx: Any, *gradients: Any) -> Any:  # type: ignore[override]
        """Run the backward graph, or (where its results are to be differentiated) the program again."""
        plan, node = cls.plan, ctx._node
        kept = [unpack(each, node) for each in node.saved[: ctx.count]]
        present = tuple([number for number in plan.differentiable if gradients[number] is not None])
        if not state.grad_enabled:
            return tuple(plan.backward(present)(*kept, *[gradients[number] for number in present]))
        arrays = [unpack(each, node)._array for each in node.saved[ctx.count :]]
        return tuple(plan.again(arrays, node.inputs, {number: gradients[number] for number in present}, ctx.random))


def _example(tensor: Any) -> Any:
    """What is remembered of an input: all but its data."""
    made = without_data(tensor)
    made._requires_grad = tensor._requires_grad
    return made


def _share_memory(args: Any) -> bool:
    """Whether two inputs lie in the same memory, so that a write to one is seen in the other."""
    storages = [id(each._storage) for each in args if each._storage is not None]
    return len(set(storages)) < len(storages)


@register_backend
def aot_eager(gm: Any, example_inputs: list[Any]) -> Any:
    """Differentiates the graph ahead of time, and runs the forward and backward graphs op by op."""
    return AheadOfTime(gm)

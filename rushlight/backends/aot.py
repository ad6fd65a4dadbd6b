"""Graphs differentiated ahead of time: a forward and a backward graph, inside one node of the autograd graph.

What can't be differentiated ahead of time (see ``counters["aot_fallback"]`` for the reasons) runs op by op, as ``eager`` does.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

from ..autograd.differentiation import grad
from ..autograd.function import Function
from ..capture.compile.record.graph_breaks import counters
from ..capture.compile.record.graph_functions import DeferredHook, hook_gradient, set_grad_mode, with_hooks
from ..capture.graph_module import Deferred, GraphModule
from ..core.base import TensorBase, make
from ..core.declare import table
from ..core.node import Node, SavedResult, freed, modified, next_sequence, refresh, replay, save, unpack
from ..core.process_safety import free_after_fork, paused_collection
from ..core.state import flags, state
from ..graph import Graph, map_aggregate
from ..passes.differentiate import JointGraph, OutputSource, differentiate, through
from ..passes.functionalize import fake_of, nothing_special
from ..passes.output_layouts import output_orders
from ..passes.partition import Partition, partition
from ..passes.rematerialize import rematerialize
from ..tensor.generator import default_generator
from . import reductions
from .protocol import Backend, Executable, GraphCompiler, GraphExecutable, Launcher
from .registry import register_backend
from .scalar_inputs import with_numbers

_new = object.__new__
LIMIT = 16  # for how many kinds of inputs (sizes, layouts) a graph is differentiated
GENERAL = 32  # plans that are kept of those that were instantiated for symbolic sizes


class ForwardBackward(NamedTuple):
    """The two graphs that a captured one is differentiated into, and what runs them."""

    joint: JointGraph
    parts: Partition
    whole: bool  # whether writes to inputs are part of the forward
    forward: Any
    backward: Any  # None where no gradient goes out


class AheadOfTime(Executable):
    """A captured graph, differentiated for each kind of inputs that it is called with."""

    def __init__(self, gm: Any, compiler: GraphCompiler | Callable[..., Any] | None = None) -> None:
        self.gm = gm
        self.compiler = compiler if compiler is None or isinstance(compiler, GraphCompiler) else GraphCompiler(compiler)
        self.enables = any(node.target is set_grad_mode and node.args == (True,) for node in list(gm.graph.nodes))
        self.plans: dict[Any, Any] = {}
        self.refused: list[str] = []  # why the graph runs op by op, for some kinds of inputs
        self.last: Any = None  # the plan that was used last, where it can be relaunched
        self.used: Any = None  # the plan of the last call
        self.lock = free_after_fork(threading.RLock())
        dynamic = None if self.compiler is None else self.compiler.dynamic_plans
        self.dynamic_plans: Any = None if dynamic is None else dynamic(self)  # makes plans that hold for symbolic sizes

    def __call__(self, *args: Any) -> Any:
        """Run the graph."""
        last = self.last
        if last is not None and not flags.special and not state.inference and not state.transforms:
            made = last.relaunch(args)
            if made is not NotImplemented:
                self.used = last
                return made
        plan = self.used = self.plan(args) if nothing_special(args) and not state.inference else None
        return self.gm.forward(*args) if plan is None else plan.call(args)

    def plan(self, args: Any) -> Any:
        """The plan for such inputs; None where the graph runs as it is."""
        gradients = (state.grad_enabled or self.enables) and any(each._requires_grad for each in args)
        if not gradients and self.compiler is None:
            return None
        key = (state.grad_enabled, *[(each._array.shape, each._array.strides, each._array.dtype, each._requires_grad) for each in args])
        plan = self.plans.get(key, self)
        if plan is not self:
            self.last = plan if plan is not None and plan.relaunches else None
            return plan
        with self.lock:
            if self.dynamic_plans is not None:
                plan = self.plans[key] = self.dynamic_plans.plan(args, gradients)
                if plan is not None:
                    self.forget()
                    return plan
                del self.plans[key]
            plan = None
            if sum(each is None or not each.dynamic for each in self.plans.values()) >= LIMIT:
                return None
            try:
                plan = AotPlan(self, args, gradients)
            except Exception as error:  # whatever it is, the graph itself is fine: it was captured from a program that ran
                self.refused.append(f"{type(error).__name__}: {error}")
                counters["aot_fallback"][self.refused[-1]] += 1
            self.plans[key] = plan
        return plan

    def describe(self) -> str:
        """What became of the graphs."""
        parts = [f"runs op by op, since it can't be differentiated ahead of time: {each}" for each in dict.fromkeys(self.refused)]
        for number, plan in enumerate(each for each in self.plans.values() if each is not None):
            named = [("forward", plan.forward), *[("backward", each) for each in plan.backwards.values()]]
            described = [(name, each.describe()) for name, each in named if isinstance(each, Executable)]
            parts += [
                f"{name} graph for inputs of kind {number}:\n" + "\n".join(f"  {line}" for line in text.splitlines())
                for name, text in described
            ]
        return "\n".join(parts)

    def forget(self) -> None:
        """Keep a limited number of plans that were instantiated for symbolic sizes: another is made quickly."""
        dynamic = [key for key, each in self.plans.items() if each is not None and each.dynamic]
        for key in dynamic[: max(0, len(dynamic) - GENERAL)]:
            del self.plans[key]

    def rematerialized(self, joint: JointGraph, kept: list[str] | None = None) -> JointGraph:
        """A joint graph that keeps less for its backward, where the compiler makes computing it again cheap."""
        if self.compiler is not None and self.compiler.fuses:
            rematerialize(joint, kept)
        return joint

    def joint(self, args: Any, gradients: bool) -> JointGraph:
        """The graph differentiated for such inputs."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what the program warns of, it has said when it was captured
            return self.rematerialized(differentiate(self.gm, args, gradients=gradients, enabled=state.grad_enabled))

    @paused_collection()
    def partitioned(self, args: Any, gradients: bool) -> tuple[JointGraph, Partition, bool]:
        """The graph differentiated for such inputs, its two parts, and whether the first of them does all writes."""
        joint = self.joint(args, gradients)
        parts = partition(joint)
        orders = output_orders(self.gm.graph, args)
        seen = {number: orders[index] for number, (kind, index) in enumerate(joint.origins) if kind == "output" and index in orders}
        parts.forward.output_node().meta["orders"], parts.backward.output_node().meta["orders"] = seen, {}
        # Where no gradient goes out, writes to inputs can be part of the graph.
        writes = self.compiler is not None and self.compiler.takes_writes
        return joint, parts, writes and not joint.differentiable and write_inside(parts.forward, joint)

    def compiled(self, graph: Any, joint: JointGraph) -> Callable[..., Any]:
        """A graph as a function."""
        return (
            GraphModule(joint.constants, graph).forward
            if self.compiler is None
            else self.compiler.compile(Deferred(joint.constants, graph))
        )


class AotPlan:
    """The graphs for one kind of inputs, and how the program's outputs and effects follow from theirs."""

    def __init__(self, owner: AheadOfTime, args: Any, gradients: bool, made: ForwardBackward | None = None) -> None:
        self.owner = owner
        self.enabled = state.grad_enabled
        self.dynamic = made is not None  # whether it is an instance of a plan for symbolic sizes
        if made is None:
            joint, parts, writes_inside = owner.partitioned(args, gradients)
            backward = owner.compiled(parts.backward, joint) if joint.differentiable else None
            made = ForwardBackward(joint, parts, writes_inside, owner.compiled(parts.forward, joint), backward)
        self.joint, self.parts, self.writes_inside, self.forward, backward = made
        joint = self.joint
        self.differentiable = joint.differentiable
        self.examples = [_example(each) for each in args]
        self.written = [each.index for each in joint.writes]
        self.random = joint.random
        self.backwards: dict[Any, Any] = {}
        if self.differentiable:
            self.backwards[tuple(joint.differentiable)] = backward
        self.hooks = sum(node.target is hook_gradient for node in list(owner.gm.graph.nodes))  # how many hooks the program registers
        self.node = type("CompiledFunction", (CompiledGraph,), {"plan": self})
        self.count = len(joint.values)
        self.several = self.count > 1
        self.light_node = type("CompiledFunctionBackward", (CompiledNode,), {"plan": self, "multiple": self.several})
        self.requires = [bool(each._requires_grad) for each in args]
        # Which of them have a gradient: what stands before the others has nothing to do in a backward.  A custom Function that gives
        # None for a tensor may still have gradients of gradients with respect to it.
        custom = any(node.meta.get("bodies") for node in list(owner.gm.graph.nodes))
        self.reached = [custom or made is not None for made in joint.gradients] if self.differentiable else []
        # Where the forward checks its inputs itself, nothing is written, and outputs are plain values, a call can be relaunched.
        sources = joint.structure if isinstance(joint.structure, tuple) else ()
        plain = all(each.__class__ is OutputSource and not each.chain and not each.detached and each.kind == "value" for each in sources)
        pure = not (self.hooks or self.written or self.random)
        self.relaunches = bool(
            sources and plain and self.differentiable and pure and isinstance(self.forward, GraphExecutable) and self.forward.launches
        )
        self.order = [each.index for each in sources] if self.relaunches else []
        self.in_order = self.order == list(range(self.count))
        self.launcher: Launcher | None = None  # that a back-end has generated
        if not self.dynamic:
            joint.release()

    def call(self, args: Any) -> Any:
        """Run the forward, put writes back, and make the program's outputs."""
        if self.written and _share_memory(args):
            return self.owner.gm.forward(*args)
        state.grad_enabled = bool(self.differentiable)
        hooks = tuple([DeferredHook(number) for number in range(self.hooks)])
        try:
            values: Any = self.node.apply(*args, *((hooks,) if hooks else ())) if self.differentiable else self.forward(*args)  # type: ignore[attr-defined]
            for write in () if self.writes_inside else self.joint.writes:
                state.grad_enabled = write.tracked
                table["copy_"].call(args[write.index], values[write.value])
            if self.differentiable and not all(self.reached):
                node = values[self.differentiable[0]]._grad_fn
                if node is not None and node.__class__ is self.node._node_type:  # type: ignore[attr-defined]
                    node.inputs = tuple([edge if at >= len(args) or self.reached[at] else None for at, edge in enumerate(node.inputs)])
        finally:
            state.grad_enabled = self.enabled
        outputs: dict[OutputSource, Any] = {}

        def output(source: Any) -> Any:
            if source.__class__ is not OutputSource:
                return hooks[source.number] if source.__class__ is DeferredHook else source
            if source not in outputs:
                tensor = args[source.index] if source.kind == "input" else values[source.index]
                tensor = replay(source.chain, tensor) if source.chain else tensor
                outputs[source] = tensor.detach() if source.detached else tensor
            return outputs[source]

        return map_aggregate(self.joint.structure, output)

    def relaunch(self, args: Any) -> Any:
        """A call like the last one of the forward; NotImplemented where something differs."""
        if state.grad_enabled is not self.enabled or len(args) != len(self.requires):
            return NotImplemented
        edges: list[Any] = []
        versions: list[int] = []
        for each, requires, reached in zip(args, self.requires, self.reached):
            if each._requires_grad is not requires or each._value is not None:
                return NotImplemented
            storage = each._storage
            if storage is None:
                versions.append(0)
            else:
                if each._view is not None:
                    refresh(each)
                versions.append(storage.version)
            node = each._grad_fn if reached else None
            edges.append(
                (each if requires and reached else None) if node is None else (node, each._output_index) if each._output_index else node
            )
        state.grad_enabled = False
        try:
            results = self.forward.relaunch(*args)
        finally:
            state.grad_enabled = self.enabled
        if results is NotImplemented:
            return results
        values, kept = results[: self.count], results[self.count :]
        for each in values:
            if each._storage is not None or each._requires_grad:  # an input, or a view of one: the long way knows what to do
                self.relaunches, self.owner.last = False, None
                return NotImplemented
        recorded: Any = _new(self.light_node)
        recorded.inputs = tuple(edges)
        recorded.sequence = next_sequence()
        if self.several:
            recorded.shape = recorded.dtype = None
            recorded.outputs = [(each._array.shape, each._array.dtype) for each in values]
        else:
            recorded.shape, recorded.dtype = values[0]._array.shape, values[0]._array.dtype
        for number in self.differentiable:
            each = values[number]
            each._grad_fn, each._output_index, each._requires_grad = recorded, number, True
        recorded.saved = (
            [SavedResult(each, each._output_index) if each._grad_fn is recorded else save(each) for each in kept],
            args,
            versions,
        )
        return values if self.in_order else tuple([values[number] for number in self.order])

    @property
    def simple(self) -> bool:
        """Whether the program's outputs are the first values of a graph that also does all its writes."""
        sources = self.joint.structure
        done = self.writes_inside or not (self.joint.writes or self.differentiable)
        return done and isinstance(sources, tuple) and all(
            each.__class__ is OutputSource and each.kind == "value" and each.index == number and not each.chain and not each.detached for number, each in enumerate(sources)
        )  # fmt: skip

    def backward(self, present: tuple[int, ...], edges: Any = ()) -> Callable[..., Any]:
        """The backward graph for gradients of these values alone; those of the leaves among the edges may be reduced as soon as they are there."""
        reduced = reductions.reductions_of(edges) if state.receiving is not None else None
        key = present if reduced is None else (present, reduced)
        backward = self.backwards.get(key)
        if backward is None:
            with self.owner.lock:
                kept = self.parts.kept
                joint = self.owner.rematerialized(differentiate(self.owner.gm, self.examples, set(present), enabled=self.enabled), kept)
                graph = partition(joint, kept).backward
                if reduced is not None:
                    reductions.insert(graph, reduced)
                backward = self.backwards[key] = self.owner.compiled(graph, joint)
        return backward

    def again(
        self, arrays: list[Any], edges: Any, gradients: dict[int, Any], random: Any, hooks: tuple[DeferredHook, ...] = (), of: int | None = None
    ) -> list[Any]:  # fmt: skip
        """The gradients by running the captured program once more, recorded, so that they can be differentiated.

        They are those of the inputs, or that of one of the values (``of``).
        """
        inputs: list[Any] = []
        for array, edge in zip(arrays, edges):
            inputs.append(make(array))
            if edge is not None:
                through(inputs[-1], edge)
        given = [each.clone() if index in self.written else each for index, each in enumerate(inputs)]
        now = default_generator.get_state() if random is not None else None
        if random is not None:
            default_generator.set_state(random)
        mode, state.grad_enabled = (
            state.grad_enabled,
            self.enabled,
        )  # the graph begins in the mode of its program, and leaves that at its end
        try:
            result = self.owner.gm.forward(*given)
        finally:
            state.grad_enabled = mode
            if now is not None:
                default_generator.set_state(now)
        outputs: list[Any] = []
        map_aggregate(result, lambda each: outputs.append(each) if isinstance(each, TensorBase) else None)
        map_aggregate(result, lambda each: each.fill(hooks[each.number].function) if isinstance(each, DeferredHook) else None)

        def value(number: int) -> Any:
            kind, index = self.joint.origins[number]
            return given[index] if kind == "input" else outputs[index] if kind == "output" else outputs[index]._view.base

        roots = [value(number) for number in gradients]
        targets = [each for each in inputs if each._requires_grad] if of is None else [value(of)]
        found = iter(grad(roots, targets, list(gradients.values()), create_graph=True, allow_unused=True))
        return list(found) if of is not None else [next(found) if each._requires_grad else None for each in inputs]

    def gradient_of_value(
        self, index: int, gradients: Any, arrays: Callable[[], list[Any]], edges: Any, random: Any = None, hooks: tuple[DeferredHook, ...] = ()
    ) -> Any:  # fmt: skip
        """The gradient of one of the values, with what comes to it through others that are computed from it.

        All of them are outputs of one node, whose backward does not pass them: what asks for the gradient of a value, and not of an input, runs the program again.
        """
        own = gradients[index]
        others = {number: each for number, each in enumerate(gradients) if each is not None and number != index}
        if not others:
            return own
        enabled, state.grad_enabled = state.grad_enabled, True
        try:
            found = self.again(arrays(), edges, others, random, hooks, index)[0]
        finally:
            state.grad_enabled = enabled
        found = found if found is None or enabled else found.detach()
        return found if own is None else own if found is None else own + found


class CompiledGraph(Function):
    """The node of a compiled graph; each plan has a class of its own."""

    plan: AotPlan

    @classmethod
    def forward(cls, ctx: Any, *args: Any) -> Any:  # type: ignore[override]
        """Run the forward graph, and keep what the backward needs (and, for gradients of gradients, the inputs)."""
        plan = cls.plan
        ctx.hooks = args[-1] if plan.hooks else ()
        args = args[:-1] if plan.hooks else args
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
        plan, node = cls.plan, ctx._backward_node
        kept = [unpack(each, node) for each in node.saved[: ctx.count]]
        present = tuple([number for number in plan.differentiable if gradients[number] is not None])
        if not present:
            return (None,) * len(node.inputs)
        if not state.grad_enabled:
            found = with_hooks(ctx.hooks, plan.backward(present, node.inputs), *kept, *[gradients[number] for number in present])
        else:
            arrays = [unpack(each, node)._array for each in node.saved[ctx.count :]]
            found = plan.again(arrays, node.inputs, {number: gradients[number] for number in present}, ctx.random, ctx.hooks)
        return (*found, None) if ctx.hooks else tuple(found)

    @classmethod
    def _through_outputs(cls, node: Any, index: int, gradient: Any) -> Any:
        """See :meth:`AotPlan.gradient_of_value`."""
        if not node.multiple or node.saved is None:
            return Node.gradient_of_output(node, index, gradient)
        ctx = node.context
        saved = node.saved[ctx.count :]
        return cls.plan.gradient_of_value(
            index, gradient, lambda: [unpack(each, node)._array for each in saved], node.inputs, ctx.random, ctx.hooks
        )


class CompiledNode(Node):
    """The node of a compiled graph that was relaunched: saved values, the inputs, and their versions."""

    __slots__ = ()

    plan: AotPlan

    def backward(self, gradient: Any) -> Any:
        """Run the backward graph, or (where its results are to be differentiated) the program again."""
        if self.saved is None:
            raise freed(self)
        kept, args, versions = self.saved
        return self.general(gradient, None if state.grad_enabled else [unpack(each, self) for each in kept], args, versions)

    def general(self, gradient: Any, kept: Any, args: Any, versions: Any) -> Any:
        """The same, with what is kept as tensors."""
        plan = self.plan
        gradients = gradient if self.multiple else (gradient,)
        present = tuple([number for number in plan.differentiable if gradients[number] is not None])
        if not state.grad_enabled:
            return plan.backward(present, self.inputs)(*kept, *[gradients[number] for number in present])
        found = plan.again(self.arrays(args, versions), self.inputs, {number: gradients[number] for number in present}, None)
        return tuple(found)

    def arrays(self, args: Any, versions: Any) -> list[Any]:
        """The arrays of the inputs; an error where one has been modified in place."""
        for each, version in zip(args, versions):
            if each._storage is not None and each._storage.version != version:
                raise modified(self, each, each._storage.version, version)
        return [each._array for each in args]

    def gradient_of_output(self, index: int, gradient: Any) -> Any:
        """See :meth:`AotPlan.gradient_of_value`."""
        if not self.multiple or self.saved is None:
            return super().gradient_of_output(index, gradient)
        *_, args, versions = self.saved
        return self.plan.gradient_of_value(index, gradient, lambda: self.arrays(args, versions), self.inputs)


def write_inside(graph: Graph, joint: JointGraph) -> bool:
    """Let a forward graph do the writes to inputs itself, and give only what the program returns; False where that is not possible."""
    placeholders = [node for node in graph.nodes if node.op == "placeholder"]
    output = graph.output_node()
    values = list(output.args[0])
    writes = [(placeholders[each.index], values[each.value]) for each in joint.writes]
    targets = {target for target, _ in writes}
    if not writes or any(each.tracked for each in joint.writes) or any(value in targets for value in values):
        return False
    returned: set[int] = set()
    map_aggregate(
        joint.structure, lambda each: returned.add(each.index) if each.__class__ is OutputSource and each.kind == "value" else None
    )
    with graph.inserting_before(output):
        for target, value in writes:
            graph.call_function(table["copy_"].call, (target, value)).meta.update(source=value.meta.get("source"), module="")
    output.args = (tuple(value if number in returned else None for number, value in enumerate(values)),)
    return True


def _example(tensor: Any) -> Any:
    """What is remembered of an input: all but its data."""
    made = fake_of(tensor)
    made._requires_grad = tensor._requires_grad
    return made


def _share_memory(args: Any) -> bool:
    """Whether two inputs share their storage, so that a write to one is seen in the other."""
    storages = [id(each._storage) for each in args if each._storage is not None]
    return len(set(storages)) < len(storages)


class AotEagerBackend(Backend):
    """Differentiates the graph ahead of time, and runs the forward and backward graphs op by op."""

    name = "aot_eager"

    def compile(self, gm: Any, example_inputs: list[Any]) -> Executable:
        """Compile a graph."""
        return with_numbers(gm, AheadOfTime)


aot_eager = register_backend(AotEagerBackend())
register_backend(aot_eager, "aot_eager_decomp_partition")  # its graphs are decomposed and split as far as they are here

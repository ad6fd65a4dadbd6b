"""Differentiation ahead of time: from a captured graph to the joint graph of its values and the gradients of its inputs.

The graph runs once on fake tensors under a functional tracer; then the autograd engine runs under the same tracer.  Gradient rules,
and the backward methods of custom Functions, are calls of ops: they are all recorded in the joint graph.
"""

from __future__ import annotations

from typing import Any

from ..autograd.differentiation import grad
from ..core.base import TensorBase
from ..core.declare import table
from ..core.errors import CaptureError
from ..core.node import Node as GradientNode
from ..core.node import next_sequence, refresh
from ..core.process_safety import deferred
from ..core.state import state
from ..graph import Graph, Node, map_aggregate
from .functionalize import FunctionalTracer, Rerun, check_calls, fake_of


class OutputSource:
    """How an output of the program follows from the joint graph: a value of it, or an input, through a chain of view ops.

    ``kind`` is "value" or "input", and ``index`` says which; ``detached`` cuts its history off.
    """

    __slots__ = ("chain", "detached", "index", "kind")

    def __init__(self, kind: str, index: int, chain: tuple[Any, ...] = (), detached: bool = False) -> None:
        self.kind = kind
        self.index = index
        self.chain = chain
        self.detached = detached


class Write:
    """A write to an input, done after the graph has run: of a value, with its history where the program's own write was recorded."""

    __slots__ = ("index", "tracked", "value")

    def __init__(self, index: int, value: int, tracked: bool) -> None:
        self.index = index
        self.value = value
        self.tracked = tracked


class JointGraph:
    """The joint graph.

    Its placeholders are ``inputs`` and then ``tangents`` (the gradients of those values whose numbers are in ``differentiable``); it
    gives the ``values`` and then the ``gradients``, one for each input or None.  ``forward`` are the nodes that were there before
    the engine began.  ``structure`` is what the program returns, with an :class:`OutputSource` for each tensor; ``origins`` says for each value where a run
    of the program has it: ("output", number), ("base", number of a view of it) or ("input", number).
    """

    graph: Graph
    inputs: list[Node]
    tangents: list[Node]
    values: list[Node]
    gradients: list[Node | None]
    forward: set[Node]
    differentiable: list[int]
    structure: Any
    writes: list[Write]
    constants: dict[str, Any]
    origins: list[tuple[str, int]]

    def release(self) -> None:
        """Drop the nodes once the graph is partitioned; the description of the outputs stays."""
        self.graph.dissolve()
        self.inputs, self.tangents, self.values, self.gradients, self.forward = [], [], [], [], set()

    @property
    def random(self) -> bool:
        """Whether the forward part draws random numbers, or has other side effects that must happen once and in order."""
        return any(map(Node.is_impure, [node for node in self.forward if node.op not in ("placeholder", "output")]))


def differentiate(gm: Any, example_inputs: Any, wanted: Any = None, *, gradients: bool = True, enabled: bool = True) -> JointGraph:
    """The joint graph of a captured one for inputs like these.

    ``wanted`` are the numbers of the values (of those that have a gradient) from which gradients come; None means all.  With
    ``gradients=False`` there is just the forward part.  ``enabled`` is the grad mode in which the program begins.  An error says
    why a graph can't be differentiated ahead of time.
    """
    check_calls(gm.graph)
    tracer = FunctionalTracer()
    program = Rerun(gm, tracer)
    leaves: list[Any] = []
    given: list[Any] = []
    for node, tensor in zip((each for each in gm.graph.nodes if each.op == "placeholder"), example_inputs, strict=True):
        if not isinstance(tensor, TensorBase):
            raise CaptureError(f"the input {node.name} is a {type(tensor).__name__}")
        leaf = fake_of(tensor)
        leaf._requires_grad = gradients and tensor._requires_grad
        leaves.append(leaf)
        given.append(_like_leaf(leaf))
        tracer.input(given[-1], node.name).meta["source"] = node.meta.get("source")
    joint = JointGraph()
    joint.inputs = [tracer.entries[id(each)].node for each in given]
    before = [each._grad_fn for each in given]
    mode, state.grad_enabled = state.grad_enabled, enabled and gradients
    try:
        with deferred(), tracer:
            result = program.run(*given)
            outputs = _Outputs(tracer, given, before, joint)
            joint.structure = outputs.structure(result)
            joint.writes = outputs.writes()
        joint.forward = set(tracer.graph.nodes)
        roots = [each for each in outputs.tensors if each._requires_grad] if gradients else []
        joint.differentiable = [at for at, each in enumerate(outputs.tensors) if gradients and each._requires_grad]
        if wanted is not None:
            roots = [outputs.tensors[at] for at in joint.differentiable if at in wanted]
        found, joint.tangents = _gradients(tracer, program.origins, roots, leaves)
    finally:
        state.grad_enabled = mode
    joint.gradients = found
    joint.values = outputs.nodes
    joint.origins = outputs.origins
    tracer.graph.output((*joint.values, *joint.gradients))
    joint.graph, joint.constants = tracer.graph, tracer.constants
    tracer.release()
    return joint


class _Through(GradientNode):
    """The identity between a leaf and the tensor that the program gets in its place, to which it may write."""

    __slots__ = ()

    def backward(self, gradient: Any) -> Any:
        return (gradient,)


def through(tensor: Any, edge: Any) -> None:
    """Send the gradients of a tensor to an edge."""
    node = _Through()
    node.inputs, node.saved, node.sequence = (edge,), (), next_sequence()
    node.shape, node.dtype = tensor._array.shape, tensor._array.dtype
    tensor._grad_fn, tensor._requires_grad = node, True


def _like_leaf(leaf: Any) -> Any:
    made = fake_of(leaf)
    if leaf._requires_grad:
        through(made, leaf)
    return made


class _Outputs:
    """Chooses the values that the joint graph returns, from which the program's outputs and writes are made."""

    def __init__(self, tracer: FunctionalTracer, given: list[Any], before: list[Any], joint: JointGraph) -> None:
        self.tracer = tracer
        self.given = given
        self.before = before
        self.joint = joint
        self.tensors: list[Any] = []  # the values
        self.numbers: dict[int, int] = {}  # by their ids
        self.nodes: list[Node] = []
        self.origins: list[tuple[str, int]] = []
        self.count = 0

    def value(self, tensor: Any, origin: tuple[str, int]) -> int:
        """The number of a value, which is added if it is new."""
        if id(tensor) in self.numbers:
            return self.numbers[id(tensor)]
        self.numbers[id(tensor)] = len(self.tensors)
        if tensor._storage is not None and tensor._view is not None:
            refresh(tensor)
        self.tensors.append(tensor)
        self.nodes.append(self.node(tensor))
        self.origins.append(origin)
        return len(self.tensors) - 1

    def node(self, tensor: Any) -> Node:
        state.capture = None
        try:
            return self.tracer.node_of(tensor)
        finally:
            state.capture = self.tracer

    def structure(self, result: Any) -> Any:
        """What the program returned, with sources in the place of tensors."""
        leaves: list[Any] = []
        map_aggregate(result, lambda each: leaves.append(each) if isinstance(each, TensorBase) else None)
        shared: dict[int, list[Any]] = {}  # by storage: the outputs that share it
        for each in {id(each): each for each in leaves}.values():
            if each._storage is not None:
                shared.setdefault(id(each._storage), []).append(each)

        def place(each: Any) -> Any:
            if not isinstance(each, TensorBase):
                return each
            if each._array.__class__ is not type(self.tracer.without_constants(each)._array):
                each = self.tracer.without_constants(each)
            self.count += 1
            return self.output_source(each, self.count - 1, shared)

        return map_aggregate(result, place)

    def output_source(self, tensor: Any, number: int, shared: dict[int, list[Any]]) -> OutputSource:
        for index, each in enumerate(self.given):
            if each is tensor:
                return OutputSource("input", index)
        storage, view = tensor._storage, tensor._view
        owner = next((index for index, each in enumerate(self.given) if storage is not None and each._storage is storage), None)
        others = [each for each in shared.get(id(storage), ()) if each is not tensor]
        if owner is None and not others:
            return OutputSource("value", self.value(tensor, ("output", number)))
        if owner is not None and view is None:
            node, source = self.node(tensor), self.node(self.given[owner])
            if node is source or (node.table_op is table["detach"] and node.args[0] is source):
                return OutputSource("input", owner, detached=True)
            raise CaptureError("an output is a detached view of an input")
        if view is None:
            if any(each._view is None or each._view.base is not tensor for each in others):
                raise CaptureError("two outputs share memory, one of them detached")
            return OutputSource("value", self.value(tensor, ("output", number)))
        if view.creation == "function":
            raise CaptureError("a custom Function returns an input or a view of it")
        if owner is not None:
            if self.given[owner] is not view.base:
                raise CaptureError("an output is a view of an input, but not in a way that can be repeated")
            return OutputSource("input", owner, view.chain)
        return OutputSource("value", self.value(view.base, ("base", number)), view.chain)

    def writes(self) -> list[Write]:
        """The inputs that the program wrote to."""
        found: list[Write] = []
        for index, (tensor, history, placeholder) in enumerate(zip(self.given, self.before, self.joint.inputs)):
            if self.node(tensor) is placeholder:
                continue
            if tensor._storage is not None and tensor._view is not None:
                refresh(tensor)
            tracked = tensor._grad_fn is not history
            if not tracked and tensor._requires_grad:
                tensor = without_history(self.tracer, tensor)
            found.append(Write(index, self.value(tensor, ("input", index)), tracked))
        return found


def without_history(tracer: FunctionalTracer, tensor: Any) -> Any:
    """The value written to an input in no-grad mode."""
    made = fake_of(tensor)
    tracer.bind(made, tracer.entries[id(tensor)].node)
    return made


def _gradients(tracer: FunctionalTracer, origins: dict[Any, Node], roots: list[Any], leaves: list[Any]) -> tuple[list[Any], list[Node]]:
    """Run the engine under the tracer: the nodes of the leaves' gradients, and the placeholders of the incoming gradients."""
    targets = [each for each in leaves if each._requires_grad]
    tangents: list[Any] = []
    nodes: list[Node] = []
    last = next((node for node in reversed(tracer.graph.nodes) if node.op == "placeholder"), None)
    with tracer.graph.inserting_after(last) if last is not None else tracer.graph.inserting_before(None):
        for number, root in enumerate(roots):
            tangents.append(fake_of(root))
            tangents[-1]._array._strides = None
            nodes.append(tracer.input(tangents[-1], f"tangent_{number}"))
    if not roots or not targets:
        return [None] * len(leaves), nodes
    hooks = [each.register_prehook(_Origin(tracer, node)) for each, node in origins.items()]
    try:
        with deferred(), tracer:
            found = grad(roots, targets, tangents, allow_unused=True)
            state.capture = None
            made = iter([None if each is None else tracer.node_of(tracer.without_constants(each)) for each in found])
            state.capture = tracer
    finally:
        tracer.origin = None
        for hook in hooks:
            hook.remove()
    return [next(made) if each._requires_grad else None for each in leaves], nodes


class _Origin:
    """A hook that gives the nodes of a backward step the source line of the forward node it comes from."""

    def __init__(self, tracer: FunctionalTracer, node: Node) -> None:
        self.tracer = tracer
        self.node = node

    def __call__(self, gradients: Any) -> None:
        self.tracer.origin = {"source": self.node.meta.get("source"), "module": self.node.meta.get("module", "")}

"""``compile(..., check=True)``: eager runs beside the compiled code, and the first value or gradient that differs is an error."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ..autograd.differentiation import grad
from ..capture.graph_module import GraphModule
from ..core.base import Spec, TensorBase, make
from ..core.dtypes import BY_NUMPY, FLOATING
from ..core.errors import RushlightError
from ..core.state import state
from ..graph import Graph, Node, map_aggregate
from ..graph.printer import source_of
from ..tensor.generator import default_generator
from .protocol import Backend, Executable

# How far compiled code may be from eager: relative to the largest element.  Sums in another order stay within it.
_TOLERANCE = {"float64": 1e-9, "complex128": 1e-9, "float32": 1e-4, "complex64": 1e-4, "float16": 1e-2, "bfloat16": 5e-2}


class CheckError(RushlightError, AssertionError):
    """With ``check=True``: compiled code and eager do not agree."""

    code = "RL408"


class CheckedBackend(Backend):
    """A back-end whose every call is compared with eager, and first of all on the example inputs."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.name = backend.name

    def compile(self, gm: Any, example_inputs: list[Any]) -> Executable:
        """Compile a graph, and compare it on the example inputs."""
        executable, check = self.backend.compile(gm, example_inputs), Check(gm, self.backend)
        if can_be_copied(example_inputs):
            check(executable, example_inputs)
        return CheckedExecutable(executable, check)


class CheckedExecutable(Executable):
    """An executable that is compared with eager before each call."""

    def __init__(self, executable: Executable, check: Check) -> None:
        self.executable = executable
        self.check = check

    def __call__(self, *args: Any) -> Any:
        if state.capture is None and can_be_copied(args):
            self.check(self.executable, args)
        return self.executable(*args)

    def describe(self) -> str:
        return self.executable.describe()


def can_be_copied(args: Any) -> bool:
    """Whether all arguments are tensors and numbers, so that a graph can run on copies."""
    return all(isinstance(each, (TensorBase, int, float)) for each in args)


class Outcome:
    """What a run gave: outputs, the inputs as it left them, gradients of the inputs, and the state of the random stream."""

    def __init__(self, run: Callable[..., Any], args: Any, random: Any) -> None:
        default_generator.set_state(random)
        self.inputs = [copied(each) if isinstance(each, TensorBase) else each for each in args]
        leaves = [each for each in self.inputs if needs_gradient(each)]
        given = [each.clone() if needs_gradient(each) and state.grad_enabled else each for each in self.inputs]
        enabled = state.grad_enabled
        try:
            result = run(*given)
        finally:
            state.grad_enabled = enabled
        self.after = given
        self.outputs: list[Any] = []
        map_aggregate(result, lambda each: self.outputs.append(each) if isinstance(each, TensorBase) else None)
        roots = [each for each in self.outputs if each._requires_grad and each._array.size]
        self.gradients: list[Any] = [None] * len(args)
        if roots and leaves:
            found = iter(grad(roots, leaves, [tangent(each) for each in roots], allow_unused=True))
            self.gradients = [next(found) if needs_gradient(each) else None for each in self.inputs]
        self.random = default_generator.get_state()


class Check:
    """Compares one compiled graph with eager."""

    def __init__(self, gm: Any, backend: Backend) -> None:
        self.gm = gm
        self.backend = backend
        self.name = backend.name
        self.names = [node for node in gm.graph.nodes if node.op == "placeholder"]
        self.results: list[Node] = []
        map_aggregate(gm.graph.output_node().args[0], lambda each: self.results.append(each) if isinstance(each, Node) else None)

    def __call__(self, run: Callable[..., Any], args: Any) -> None:
        """Run both on copies of the inputs; raise a CheckError that names the first difference."""
        random = default_generator.get_state()
        enabled = state.grad_enabled
        try:
            expected, got = Outcome(self.gm.forward, args, random), Outcome(run, args, random)
            found = self.difference(expected, got)
            if found is not None:
                node = self.first(args, random)
                place = "" if node is None else f"\nThe first node that differs is {node.format_node()}{source_of(node, '; ')}"
                raise CheckError(f"the back-end {self.name} does not give what eager gives: {found}{place}")
        finally:
            state.grad_enabled = enabled
            default_generator.set_state(random)

    def difference(self, expected: Outcome, got: Outcome) -> str | None:
        """The first difference in words."""
        if len(expected.outputs) != len(got.outputs):
            return f"{len(got.outputs)} outputs, and not {len(expected.outputs)}"
        tensors = [node for node in self.results if isinstance(node.meta.get("val"), Spec)]
        for number, pair in enumerate(zip(expected.outputs, got.outputs)):
            found = differs(*pair)
            if found:
                node = tensors[number] if len(tensors) == len(expected.outputs) else None
                return f"output {number}{f' ({node.name})' if node is not None else ''} {found}{source_of(node, '; ') if node is not None else ''}"
        for node, before, after in zip(self.names, expected.after, got.after):
            found = differs(before, after) if isinstance(before, TensorBase) else ""
            if found:
                return f"the input {node.name}, after it was written to, {found}"
        for node, wanted, made in zip(self.names, expected.gradients, got.gradients):
            found = differs(wanted, made)
            if found:
                return f"the gradient of {node.name} {found}"
        return "the state of the random stream differs" if differs(expected.random, got.random) else None

    def first(self, args: Any, random: Any) -> Node | None:
        """The first node of the graph such that the graph up to it, compiled, differs from eager."""
        for node in self.gm.graph.nodes:
            if node.op in ("placeholder", "output", "get_attr") or not isinstance(node.meta.get("val"), Spec):
                continue
            part = up_to(self.gm, node)
            expected, got = Outcome(part.forward, args, random), Outcome(self.backend.compile(part, list(args)), args, random)
            if any(differs(*pair) for pair in zip((*expected.outputs, *expected.gradients), (*got.outputs, *got.gradients))):
                return node
        return None


def up_to(gm: Any, last: Node) -> GraphModule:
    """The graph up to a node, which it returns."""
    made = Graph()
    here: dict[Node, Node] = {}
    done = False
    for node in gm.graph.nodes:
        if node.op != "output" and (not done or node.op == "placeholder"):
            here[node] = made.node_copy(node, here.__getitem__)
        done = done or node is last
    made.output((here[last],))
    constants = {node.target: operator.attrgetter(node.target)(gm) for node in made.nodes if node.op == "get_attr"}
    return GraphModule(constants, made)


def needs_gradient(value: Any) -> bool:
    """Whether an input is a tensor that needs a gradient."""
    return isinstance(value, TensorBase) and value._requires_grad


def copied(tensor: Any) -> Any:
    """A leaf with the same values, in the same layout."""
    made = make(tensor._array.copy(order="K") if tensor._array.__class__ is np.ndarray else tensor._array)
    made._requires_grad = tensor._requires_grad
    return made


def tangent(tensor: Any) -> Any:
    """A gradient to start from: different numbers, the same in every run."""
    array = tensor._array
    return make((1.0 + np.arange(array.size) % 7 / 8).reshape(array.shape).astype(array.dtype))


def differs(expected: Any, got: Any) -> str:
    """How two tensors differ, in words; nothing where they agree."""
    if expected is None or got is None:
        return (
            ""
            if expected is got
            else f"is {'there' if expected is None else 'None'}, and should {'not be' if expected is None else 'be there'}"
        )
    a, b = expected._array, got._array
    if a.dtype != b.dtype or a.shape != b.shape:
        return f"is {BY_NUMPY[b.dtype]} of {list(b.shape)}, and should be {BY_NUMPY[a.dtype]} of {list(a.shape)}"
    if expected._requires_grad is not got._requires_grad:
        return f"has requires_grad={got._requires_grad}, and should have {expected._requires_grad}"
    kind = BY_NUMPY[a.dtype]
    if kind.category < FLOATING or a.__class__ is not np.ndarray:
        same = np.array_equal(a, b)
        return "" if same else "has other values"
    wide = np.complex128 if kind.is_complex else np.float64
    a, b = a.astype(wide), b.astype(wide)
    finite = np.isfinite(a)
    if not np.array_equal(finite, np.isfinite(b)) or not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return "is infinite or NaN in other places"
    if not a[finite].size:
        return ""
    apart = np.abs(a[finite] - b[finite])
    bound = _TOLERANCE.get(kind.name, 0.3) * max(1e-3, float(np.abs(a[finite]).max()))
    return f"differs by up to {apart.max():.3g}" if apart.max() > bound else ""

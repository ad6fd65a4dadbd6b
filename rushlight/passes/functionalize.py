"""Functionalization: a captured graph is run on fake tensors, and recorded anew as pure ops, without writes in place.

Composites are decomposed into the ops that have gradient rules, custom Functions into the ops that their code calls.  Fake tensors have
no elements, so that nothing is computed, no random number is drawn, and control flow that depends on a value raises an error.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ..autograd.function import Function, FunctionCtx
from ..capture.compile.record.graph_functions import ApplyFunction, call_hook, gradients_of, hook_gradient, set_grad_mode
from ..capture.compile.record.symbolic_numbers import MATH
from ..capture.graph_module import Replay
from ..capture.tracer.tracer import Tracer, as_size, tensors_in
from ..core.base import Spec, TensorBase, make, spec_of, storage_of
from ..core.declare import Op, table
from ..core.devices import device_types
from ..core.dispatch import dispatch
from ..core.errors import CaptureError
from ..core.in_place import check_in_place
from ..core.node import Node as GradientNode
from ..core.node import refresh
from ..core.state import flags, state
from ..graph import Graph, Node
from ..graph.regions import Recomputed

# Functions other than ops that a graph may call, and that have no side effects.
_PLAIN = (
    operator.getitem, operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod, operator.truediv, operator.neg, operator.pow,
    max, min, as_size, set_grad_mode, FunctionCtx, gradients_of, hook_gradient, *MATH,
)  # fmt: skip


def check_calls(graph: Graph) -> None:
    """Refuse a graph that calls an opaque function (``allow_in_graph``): such a graph runs as it was captured."""
    for node in list(graph.nodes):
        if node.op == "call_module":
            raise CaptureError(f"the graph calls the module {node.target}")
        if node.op != "call_function" or node.table_op is not None or isinstance(node.target, ApplyFunction) or node.target in _PLAIN:
            continue
        owner = getattr(node.target, "__self__", None)
        if not (isinstance(owner, type) and issubclass(owner, Function) and node.target.__name__ == "apply"):
            raise CaptureError(f"the graph calls {getattr(node.target, '__qualname__', node.target)}, which is opaque")


def fake_of(tensor: Any) -> Any:
    """A fake tensor with the shape, dtype, strides and device of another, and no history."""
    return make(spec_of(tensor._array))


class FunctionalTracer(Tracer):
    """Traces ops on fake tensors; tensors with elements are constants of the graph."""

    on_fake_tensors = True

    def __init__(self) -> None:
        super().__init__(functional=True, keep_function=lambda function: False, escaped=self.refuse)
        self.fakes: dict[int, tuple[Any, Any]] = {}  # of constants, by id: the tensor itself, and the fake one in its place

    def __enter__(self) -> FunctionalTracer:
        # The outermost interceptor: of what other modes do, it sees the calls of ops.
        self.outer, state.capture = state.capture, self
        self.mode, state.fake = state.fake, True
        state.interceptors.insert(0, self)
        flags.enter()
        return self

    def __exit__(self, *exception: Any) -> None:
        flags.leave()
        state.interceptors.remove(self)
        state.capture, state.fake = self.outer, self.mode

    @staticmethod
    def refuse(how: str, why: str) -> None:
        raise CaptureError(f"{how} asks for the value of a tensor: {why}")

    def constant(self, tensor: Any) -> Any:
        """The fake tensor in place of one from outside the graph."""
        found = self.fakes.get(id(tensor))
        if found is None:
            fake = fake_of(tensor)
            node = self.node_of(tensor)
            self.entries.pop(id(tensor))
            self.bind(fake, node)
            found = self.fakes[id(tensor)] = (tensor, fake)
        return found[1]

    def without_constants(self, value: Any) -> Any:
        """An argument with fake tensors in place of constants."""
        if isinstance(value, TensorBase):
            return value if value._array.__class__ is Spec else self.constant(value)
        if value.__class__ in (list, tuple):
            return type(value)([self.without_constants(each) for each in value])
        return value

    def __call__(self, op: Op, args: tuple[Any, ...], out: Any) -> Any:
        kernel = (op.functional or op).kernel
        if kernel is None and out is None:
            return NotImplemented  # a composite: the ops of its body are traced
        if out is not None:
            raise CaptureError(f"{op.public_name}() with out=")
        if op.functional is not None and args[0]._array.__class__ is not Spec:
            raise CaptureError(f"{op.public_name}() writes to a tensor from outside")
        return super().__call__(op, self.without_constants(args), None)

    def call_hook(self, number: int, gradient: Any) -> Any:
        """A node that calls one of the program's hooks on a gradient."""
        made = fake_of(gradient)
        node = self.graph.call_function(call_hook, (self.node_of(gradient), number))
        node.meta.update(self.origin or {"source": None, "module": ""})
        node.meta["impure"] = True
        self.bind(made, node, self.shape_of(gradient))
        return made

    def write(self, op: Op, args: tuple[Any, ...], recorded: tuple[Any, ...]) -> Any:
        """An in-place op through which gradients flow: its functional form computes the new value, which the target then has."""
        target, functional = args[0], op.functional
        assert functional is not None
        if (
            not state.grad_enabled
            or not any(each._requires_grad for each in tensors_in(args))
            or not functional.vjp
            or functional is table["copy"]
        ):
            return super().write(op, args, recorded)
        check_in_place(target)
        if target._view is not None:
            refresh(target)  # its base may have been written to
        before = fake_of(target)  # gradient rules save the value of the target before the write
        before._grad_fn, before._output_index, before._requires_grad = target._grad_fn, target._output_index, target._requires_grad
        self.bind(before, self.node_of(target), self.shape_of(target))
        state.capture = self
        state.interceptors.insert(0, self)  # it is off while the op runs
        try:
            new = dispatch(functional, (before, *args[1:]))
            if new._array.dtype is not target._array.dtype or new._array.shape != target._array.shape or target._view is not None:
                return table["copy_"].call(target, new)
        finally:
            state.interceptors.remove(self)
            state.capture = None
        entry = self.entries[id(new)]
        target._grad_fn, target._output_index, target._requires_grad = new._grad_fn, new._output_index, new._requires_grad
        storage_of(target).version += 1
        self.bind(target, entry.node, entry.shape)
        self.aliases.written(target, self.entries[id(target)])
        return target


class Rerun(Replay):
    """Runs a captured graph under a tracer, and records from which of its nodes each gradient node comes."""

    def __init__(self, module: Any, tracer: FunctionalTracer) -> None:
        super().__init__(module, module.graph)
        self.tracer = tracer
        self.origins: dict[GradientNode, Node] = {}

    def get_attr(self, target: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        found = self.fetch_attr(target)
        if state.grad_enabled and any(each._requires_grad for each in tensors_in(found)):
            raise CaptureError(f"{target} requires a gradient, but is no input of the graph")
        return self.tracer.without_constants(found)

    def run_node(self, node: Node) -> Any:
        region = Recomputed(self.tracer.graph, node.meta["recompute"]) if "recompute" in node.meta else None
        result = super().run_node(node)
        if region is not None:
            region.mark()
        worklist = [each._grad_fn for each in tensors_in(result)]
        while worklist:
            found = worklist.pop()
            found = found[0] if found.__class__ is tuple else found
            if isinstance(found, GradientNode) and found not in self.origins:
                self.origins[found] = node
                worklist += found.inputs
        return result


def nothing_special(args: Any) -> bool:
    """Whether these are plain tensors, and no mode intercepts calls of ops."""
    return not state.interceptors and all(isinstance(each, TensorBase) and is_plain(each._array) and each._value is None for each in args)


def is_plain(array: Any) -> bool:
    """Whether an array holds elements on a device."""
    kind = array.__class__
    return kind is np.ndarray or any(kind is getattr(each, "array_type", None) for each in device_types.values())

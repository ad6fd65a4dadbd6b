"""Runs a captured graph on tensors without data, and writes down what it computes in ops that make new values and nothing else.

Composites are taken apart into the ops that gradients are known of, custom Functions into what their code calls.  Since there are
no data, nothing is computed twice, no random number is drawn, and a choice by a value can't go unnoticed: it raises.
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
from ..core.base import Spec, TensorBase, make, storage_of
from ..core.declare import Op, table
from ..core.devices import CPU, META, as_device
from ..core.dispatch import dispatch
from ..core.errors import CaptureError
from ..core.node import Node as GradientNode
from ..core.node import check_in_place
from ..core.state import flags, state
from ..graph import Graph, Node

# Functions beside the table's ops that a graph may call and that are known to do nothing but compute.
_PLAIN = (
    operator.getitem, operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod, operator.truediv, operator.neg, operator.pow,
    max, min, as_size, set_grad_mode, FunctionCtx, gradients_of, hook_gradient, *MATH,
)  # fmt: skip


def check_calls(graph: Graph) -> None:
    """Refuse a graph that calls what can't be looked into (``allow_in_graph``): it must run as it is, when it is called."""
    for node in graph.nodes:
        if node.op == "call_module":
            raise CaptureError(f"the graph calls the module {node.target}")
        if node.op != "call_function" or node.table_op is not None or isinstance(node.target, ApplyFunction) or node.target in _PLAIN:
            continue
        owner = getattr(node.target, "__self__", None)
        if not (isinstance(owner, type) and issubclass(owner, Function) and node.target.__name__ == "apply"):
            raise CaptureError(f"the graph calls {getattr(node.target, '__qualname__', node.target)}, which is not looked into")


def without_data(tensor: Any) -> Any:
    """A tensor like another, with its shape, type and layout, but no data and no history."""
    array = tensor._array
    return make(Spec(array.shape, array.dtype, tuple([step // array.itemsize for step in array.strides])))


class FunctionalTracer(Tracer):
    """Traces ops on tensors without data; tensors that have some stand for constants."""

    def __init__(self) -> None:
        super().__init__(functional=True, keep_function=lambda function: False, escaped=self.refuse)
        self.twins: dict[int, tuple[Any, Any]] = {}  # of constants, by id: the tensor itself, and one without data

    def __enter__(self) -> FunctionalTracer:
        # Outermost, so that nothing but the ops themselves is seen of what other modes do.
        self.outer, state.capture = state.capture, self
        state.interceptors.insert(0, self)
        flags.enter()
        return self

    def __exit__(self, *exception: Any) -> None:
        flags.leave()
        state.interceptors.remove(self)
        state.capture = self.outer

    @staticmethod
    def refuse(how: str, why: str) -> None:
        raise CaptureError(f"{how} asks for the value of a tensor: {why}")

    def constant(self, tensor: Any) -> Any:
        """The tensor without data that stands for one from outside."""
        found = self.twins.get(id(tensor))
        if found is None:
            twin = without_data(tensor)
            node = self.node_of(tensor)
            self.entries.pop(id(tensor))
            self.bind(twin, node)
            found = self.twins[id(tensor)] = (tensor, twin)
        return found[1]

    def node_of(self, tensor: Any) -> Node:
        if tensor._array.__class__ is Spec and id(tensor) not in self.entries and self.aliases.find(tensor) is None:
            raise CaptureError("a tensor is made by something that is no op")
        return super().node_of(tensor)

    def without_constants(self, value: Any) -> Any:
        """An argument with stand-ins for tensors that have data."""
        if isinstance(value, TensorBase):
            return value if value._array.__class__ is Spec else self.constant(value)
        if value.__class__ in (list, tuple):
            return type(value)([self.without_constants(each) for each in value])
        return value

    def __call__(self, op: Op, args: tuple[Any, ...], out: Any) -> Any:
        kernel = (op.functional or op).kernel
        if kernel is None and out is None:
            return NotImplemented  # of a composite, what its body calls
        if out is not None:
            raise CaptureError(f"{op.public_name}() with out=")
        if op.functional is not None and args[0]._array.__class__ is not Spec:
            raise CaptureError(f"{op.public_name}() writes to a tensor from outside")
        given = self.without_constants(args)
        if op.factory:  # made without data, it draws no random numbers
            given = tuple([META if each.name == "device" else value for each, value in zip(op.parameters, given)])
        return self.made(op, super().__call__(op, given, None))

    def call_hook(self, number: int, gradient: Any) -> Any:
        """A hook of the program's on a gradient: a node that calls it."""
        made = without_data(gradient)
        node = self.graph.call_function(call_hook, (self.node_of(gradient), number))
        node.meta.update(self.origin or {"source": None, "module": ""})
        node.meta["impure"] = True
        self.bind(made, node, self.shape_of(gradient))
        return made

    def emit(self, op: Op, recorded: tuple[Any, ...], keywords: dict[str, Any] | None = None) -> Node:
        # What was asked to be made beside a tensor without data will be made beside one that has them.
        given = [
            CPU if each.name == "device" and value is not None and as_device(value) == META else value
            for each, value in zip(op.parameters, recorded)
        ]
        return super().emit(op, tuple(given), keywords)

    def made(self, op: Op, result: Any) -> Any:
        """The result of an op; what a factory made, without the data."""
        if not op.factory or not isinstance(result, TensorBase) or result._array.__class__ is Spec:
            return result
        node = self.entries.pop(id(result)).node
        twin = without_data(result)
        twin._requires_grad = result._requires_grad
        self.bind(twin, node)
        return twin

    def write(self, op: Op, args: tuple[Any, ...], recorded: tuple[Any, ...]) -> Any:
        """An in-place op that gradients go through: the new value is computed, with its history, and then becomes the target's."""
        target, functional = args[0], op.functional
        assert functional is not None
        if (
            not state.grad_enabled
            or not any(each._requires_grad for each in tensors_in(args))
            or not functional.vjp
            or functional.name == "copy"
        ):
            return super().write(op, args, recorded)
        check_in_place(target)
        before = without_data(target)  # what rules save of the target is its value before the write
        before._grad_fn, before._output_index, before._requires_grad = target._grad_fn, target._output_index, target._requires_grad
        self.bind(before, self.node_of(target), self.shape_of(target))
        state.capture = self
        state.interceptors.insert(0, self)  # this one was taken out to run the op
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
    """Runs a captured graph under a tracer, and notes which of its nodes each step of the gradient comes from."""

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
        result = super().run_node(node)
        waiting = [each._grad_fn for each in tensors_in(result)]
        while waiting:
            found = waiting.pop()
            found = found[0] if found.__class__ is tuple else found
            if isinstance(found, GradientNode) and found not in self.origins:
                self.origins[found] = node
                waiting += found.inputs
        return result


def nothing_special(args: Any) -> bool:
    """Whether these are plain tensors with data, and no mode is on that has a say in what ops do."""
    return not state.interceptors and all(
        isinstance(each, TensorBase) and each._array.__class__ is np.ndarray and each._value is None for each in args
    )

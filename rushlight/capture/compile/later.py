"""Values of a first call that are computed later: by the compiled graph, where nothing looks at them before.

A back-end that makes fast code can compute the results of the first call, too; so ops on large tensors need not run while the program is
captured.  Their results are tensors without data until then.  Whatever might look at one (an op that is not as plain as these, a call of
something that is not captured, a break) has all of them computed first, op by op, as they would have been.
"""

from __future__ import annotations

from collections import Counter
from sys import getrefcount
from types import FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core import kernels
from ...core.base import Spec, TensorBase, make
from ...core.dispatch import dispatch
from ...core.node import next_sequence
from ...core.state import state
from ...graph.node import only_computes
from ...nn.modules.module import Module
from ...nn.parameter import Parameter
from ...optim.optimizer import Optimizer
from ...tensor.tensor import Tensor
from ..tracer import tensors_in
from .guards import is_op
from .marks import marks
from .natives import is_users
from .operations import called
from .tracing import checks_values

if TYPE_CHECKING:
    from .frame import Frame
    from .tracing import CompileTracer

WORTHWHILE = 1 << 18  # bytes of a tensor that it pays to compute with only once
# Instructions that move values about, or compute with them by ops.
_PLAIN = frozenset(
    "load_const load_local store_local load_global load_deref push_null pop copy swap jump jump_if_none jump_if_not_none is return_value binary unary build_tuple call load_attr".split()
)
_CONTAINERS: tuple[Any, ...] = ((), [], {}, {}.values(), {}.items(), range(0))
_ITERATED = frozenset(kind for each in _CONTAINERS for kind in (type(each), type(iter(each))))
_NUMBERS = frozenset((int, float, bool, str, type(None)))
_ABOUT = frozenset("shape dtype ndim requires_grad size dim".split())  # what is known of a tensor without data


class Later:
    """The ops of a capture that have not been run."""

    def __init__(self, tracer: CompileTracer) -> None:
        self.tracer = tracer
        self.calls: list[tuple[Any, tuple[Any, ...], list[Any], bool]] = []  # op, arguments, results, and whether gradients are recorded
        self.waiting: dict[int, Any] = {}  # tensors without data, by id

    def takes(self, op: Any, args: tuple[Any, ...], out: Any) -> bool:
        """Whether a call of an op can wait: one that only computes, from floating-point numbers."""
        tracer, recorder = self.tracer, self.tracer.recorder
        if out is not None or op.factory or not only_computes(op, args) or (checks_values(op) and not op.view):
            return False
        if state.interceptors or state.transforms or state.inference or state.anomaly or tracer.symbols or recorder.numbers or recorder.pure:
            return False
        large = False
        for each in tensors_in(args):
            array, waits = each._array, id(each) in self.waiting
            if type(each) not in (Tensor, Parameter) or array.dtype.char not in "fd" or not (waits or array.__class__ is np.ndarray):
                return False
            large = large or waits or (array.nbytes >= WORTHWHILE and not op.view)
        return large

    def leaves_alone(self, op: Any, args: tuple[Any, ...], out: Any) -> bool:
        """Whether an op that is run now can do so without those that wait."""
        return out is None and only_computes(op, args) and not any(id(each) in self.waiting for each in tensors_in(args))

    def run(self, op: Any, args: tuple[Any, ...]) -> Any:
        """The results of an op, without data; NotImplemented where that is not possible."""
        given = tuple([bare(value) for value in args])
        try:
            result = dispatch(op, given)
        except Exception:  # running it for good will tell what is wrong
            return NotImplemented
        made = list(result) if isinstance(result, (tuple, list)) else [result]
        if not all(isinstance(each, TensorBase) and each._array.__class__ is Spec for each in made):
            return NotImplemented
        if any(each is value for each in made for value in tensors_in(given)):
            return NotImplemented
        self.calls.append((op, args, made, state.grad_enabled))
        self.waiting.update((id(each), each) for each in made)
        return result

    # -- when they are computed ------------------------------------------------------------------------------------

    def allows(self, frame: Frame) -> bool:
        """Whether the next instruction of a frame can't look at the elements of a tensor, but by ops."""
        instruction = frame.program.instructions[frame.index]
        if instruction.op in ("for_iter", "get_iter", "unpack_sequence"):
            return type(frame.stack[-1]) in _ITERATED
        if instruction.op in ("compare", "jump_if_false", "jump_if_true"):
            return all(type(each) in _NUMBERS for each in frame.stack[-2 if instruction.op == "compare" else -1 :])
        if instruction.op not in _PLAIN:
            return False
        if instruction.op == "load_attr":
            value, name = frame.stack[-1], instruction.argument
            if isinstance(value, TensorBase):
                return name in _ABOUT or is_op(getattr(type(value), name, None))
            return isinstance(value, (Module, ModuleType)) or is_users(type(value))
        if instruction.op == "call":
            first, second = frame.stack[-instruction.argument[0] - 2 :][:2]
            return self.may_call(called(first, second))
        return True

    def may_call(self, function: Any) -> bool:
        """Whether a function is an op, or is looked into; or asks a tensor for its shape."""
        if id(function) in marks or id(getattr(function, "__func__", None)) in marks:
            return False
        if isinstance(function, MethodType):
            owner, function = function.__self__, function.__func__
            if isinstance(owner, TensorBase) and function.__name__ in _ABOUT:
                return True
            if isinstance(owner, (type, Optimizer)):  # the bodies of a custom Function are captured by themselves
                return False
        if isinstance(function, FunctionType):
            return is_op(function) or self.tracer.recorder.should_inline(function)
        return isinstance(function, Module) and type(function).__call__ is Module.__call__

    def compute(self) -> None:
        """Run the ops now, one by one."""
        calls, self.calls = self.calls[::-1], []
        self.waiting.clear()
        interceptors, capture, enabled = state.interceptors[:], state.capture, state.grad_enabled
        state.interceptors[:], state.capture = [], None
        since, nodes = next_sequence(), []
        try:
            while calls:
                op, args, made, state.grad_enabled = calls.pop()
                with kernels.once():
                    result = dispatch(op, args)
                for each, found in zip(made, result if isinstance(result, (tuple, list)) else [result]):
                    self.put(each, found)
                    nodes.append(each._grad_fn)
                del op, args, made, result, each, found  # what nobody needs any more can go
                self.tracer.drop()
            kernels.backward_once(nodes, since)
        finally:
            state.interceptors[:], state.capture, state.grad_enabled = interceptors, capture, enabled

    def put(self, tensor: Any, found: Any) -> None:
        """Give a tensor its elements, and its history."""
        tracer = self.tracer
        entry = tracer.entries[id(tensor)]
        tracer.aliases.by_array.pop(id(tensor._array), None)
        tensor._array, tensor._storage, tensor._view = found._array, found._storage, found._view
        tensor._requires_grad, tensor._grad_fn, tensor._output_index = found._requires_grad, found._grad_fn, found._output_index
        tracer.aliases.bound(entry)
        tracer.note_size(entry)

    def compute_by(self, run: Any, outputs: list[Any]) -> None:
        """At the end: by the compiled graph, given its outputs, where that does nothing but compute; else one by one."""
        tracer = self.tracer
        for each in self.waiting.values():
            each._grad_fn = each._view = each._storage = None  # what was recorded leads to tensors without data
        if run is None or any(node.op.startswith("call_") and node.is_impure() for node in tracer.graph.nodes) or self.escaped(outputs):
            return self.compute()
        made = dict(zip(outputs, run(*[value for _, value in tracer.inputs])))
        wanted = [each for each in self.waiting.values() if tracer.entries[id(each)].node in made]
        for each in wanted:
            found = made[tracer.entries[id(each)].node]
            if found._array.__class__ is not np.ndarray or found._view is not None or found._array.shape != each._array.shape:
                return self.compute()
        self.calls.clear()
        self.waiting.clear()
        for each in wanted:
            self.put(each, made[tracer.entries[id(each)].node])
        return None

    def escaped(self, outputs: list[Any]) -> bool:
        """Whether somebody has a tensor that the graph does not give: the capture and this know it, and nobody else should."""
        known = Counter(id(each) for _, args, made, _ in self.calls for each in (*tensors_in(args), *made))
        for each in self.waiting.values():
            # the entry, `waiting`, this loop and the call itself
            if self.tracer.entries[id(each)].node not in outputs and getrefcount(each) > known[id(each)] + 4:
                return True
        return False


def bare(value: Any) -> Any:
    """An argument with no data in its tensors."""
    if isinstance(value, (tuple, list)) and not hasattr(value, "_fields"):
        return type(value)(bare(each) for each in value)
    if not isinstance(value, TensorBase) or value._array.__class__ is Spec:
        return value
    array = value._array
    made = make(Spec(array.shape, array.dtype, tuple([step // array.itemsize for step in array.strides])))
    made._requires_grad = value._requires_grad
    return made

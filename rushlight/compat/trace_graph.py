"""`torch.jit._get_trace_graph`: what a program does as a graph of TorchScript's form, flat, with shapes: counters of operations read it.

In: a Module or function and its inputs.  Out: an :class:`AtenGraph` of the ``aten`` operators that it called, and what it returned.
"""

from __future__ import annotations

from typing import Any

from ..capture.script.aten_graph.ir import AtenGraph, AtenNode, AtenValue
from ..capture.script.aten_graph.tensor_type import sized
from ..capture.script.frontend.types import ANY, BOOL, COMPLEX, FLOAT, INT, NONE, STR, TENSOR, ListType, Type
from ..core.base import TensorBase
from ..core.declare import Op
from ..core.dispatch import dispatch, dispatch_in_place
from ..core.dtypes import dtype as dtype_class
from ..core.state import flags, state
from ..nn import Module
from ..passes.aten_forms import as_traced, call_of, given_to
from ..utils import trees

_KINDS: dict[type, Type] = {bool: BOOL, int: INT, float: FLOAT, complex: COMPLEX, str: STR, type(None): NONE}


class GraphRecorder:
    """Writes down the calls of ops while a program runs; also PyTorch's "tracing state", by which scopes are entered."""

    def __init__(self) -> None:
        self.graph = AtenGraph()
        self.values: dict[int, AtenValue] = {}
        self.kept: list[Any] = []  # tensors, so that their numbers stay theirs
        self.scopes: list[str] = []

    def push_scope(self, name: str) -> None:
        """Enter a scope: steps from now on have its name."""
        self.scopes.append(name)

    def pop_scope(self) -> None:
        """Leave the innermost scope."""
        self.scopes.pop()

    def current_scope(self) -> str:
        """The scopes, from outside to inside."""
        return "/".join(self.scopes)

    def node(self, kind: str, inputs: list[AtenValue]) -> AtenNode:
        """A new step."""
        return self.graph.append(AtenNode(self.graph, kind, inputs, "", self.current_scope()))

    def tensor(self, node: AtenNode, tensor: Any) -> AtenValue:
        """A tensor as a value of a node, from now on known as that."""
        made = self.values[id(tensor)] = node.addOutput(sized(tensor))
        self.kept.append(tensor)
        return made

    def used(self, value: Any) -> AtenValue:
        """An argument as a value: a tensor that was made or given, a list, or a constant."""
        if isinstance(value, TensorBase):
            return self.values[id(value)] if id(value) in self.values else self.tensor(self.graph._param, value)
        if isinstance(value, (list, tuple)):
            parts = [self.used(each) for each in value]
            kind = parts[0].type() if parts else ANY
            return self.node("prim::ListConstruct", parts).addOutput(ListType(kind if isinstance(kind, Type) else TENSOR))
        node = self.node("prim::Constant", [])
        if value is not None:
            node._attributes["value"] = value
        return node.addOutput(INT if isinstance(value, dtype_class) else _KINDS.get(type(value), ANY))

    def __call__(self, op: Op, args: tuple[Any, ...], out: Any) -> Any:
        found = None if out is not None else call_of(op, args)
        if found is None and (op.body is not None or out is not None):
            return NotImplemented  # a composite of ours: the steps in its body are written down
        result = dispatch(op, args) if op.functional is None else dispatch_in_place(op, args)
        name, given = op.public_name, list(args)
        if found is not None:
            overload, positional, named = found
            name = overload._schema.name.partition("::")[2]
            name, given = as_traced(name, given_to(overload, positional, named))
        inputs = [self.used(each) for each in given]
        node = self.node(f"aten::{name}", inputs)
        for each in trees.flatten(result)[0]:
            if isinstance(each, TensorBase):
                self.tensor(node, each)
        return result


running: list[GraphRecorder] = []


def _get_trace_graph(
    f: Any, args: Any = (), kwargs: dict[str, Any] | None = None, strict: bool = True, _force_outplace: bool = False,
    return_inputs: bool = False, _return_inputs_states: bool = False,
) -> Any:  # fmt: skip
    """The graph of what a Module or function does with some inputs, and what it returns."""
    args = args if isinstance(args, tuple) else (args,)
    recorder = GraphRecorder()
    tensors = [each for each in trees.flatten((args, kwargs or {}))[0] if isinstance(each, TensorBase)]
    for each in tensors:
        recorder.tensor(recorder.graph._param, each)
    for each in f.state_dict(keep_vars=True).values() if isinstance(f, Module) else ():
        if isinstance(each, TensorBase) and id(each) not in recorder.values:
            recorder.tensor(recorder.graph._param, each)
            tensors.append(each)
    running.append(recorder)
    state.interceptors.append(recorder)
    flags.enter()
    try:
        out = f(*args, **(kwargs or {}))
    finally:
        flags.leave()
        state.interceptors.remove(recorder)
        running.pop()
    recorder.graph._return._inputs = [recorder.used(each) for each in trees.flatten(out)[0] if isinstance(each, TensorBase)]
    return (recorder.graph, out, tensors) if return_inputs else (recorder.graph, out)

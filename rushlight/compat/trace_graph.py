"""`torch.jit._get_trace_graph`: what a program does as a graph of TorchScript's form, flat, with shapes: counters of operations read it.

In: a Module or function and its inputs.  Out: a :class:`TraceGraph` of the ``aten`` operators that it called, and what it returned.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..core.base import TensorBase
from ..core.declare import Op
from ..core.dispatch import dispatch
from ..core.dtypes import dtype as dtype_class
from ..core.state import flags, state
from ..export.aten_forms import call_of
from ..nn import Module
from ..onnx.ir import TensorType
from ..utils import trees

_KINDS = {bool: "BoolType", int: "IntType", float: "FloatType", complex: "ComplexType", str: "StringType", type(None): "NoneType"}
_LETTERS = {bool: "i", int: "i", float: "f", str: "s"}


class OtherType:
    """The type of a value that is no tensor."""

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def kind(self) -> str:
        """Its name: ``IntType``."""
        return self._kind

    def sizes(self) -> None:
        """None: it is no tensor."""

    scalarType = dtype = dim = sizes

    def __str__(self) -> str:
        return self._kind.removesuffix("Type").lower()


class TraceValue:
    """A value in the graph: of a node, or an input of the whole."""

    def __init__(self, node: TraceNode, kind: Any, name: str, value: Any = None) -> None:
        self._node, self._type, self._name, self._value = node, kind, name, value
        self._requires_grad = isinstance(value, TensorBase) and bool(value.requires_grad)  # type: ignore[attr-defined]

    def node(self) -> TraceNode:
        """What makes it."""
        return self._node

    def type(self) -> Any:
        """What is known of it: for tensors sizes and the type of elements."""
        return self._type

    def debugName(self) -> str:
        """Its name."""
        return self._name

    def isCompleteTensor(self) -> bool:
        """Whether it is a tensor whose sizes are known."""
        return isinstance(self._type, TensorType)

    def requires_grad(self) -> bool:
        """Whether it is recorded for backward."""
        return self._requires_grad

    def toIValue(self) -> Any:
        """The Python value of a constant; None for all else."""
        return self._value if self._node.kind() == "prim::Constant" else None

    def __repr__(self) -> str:
        return f"{self._name} defined in ({self._node.kind()})"


class TraceNode:
    """A step: an operator, a constant, or a list."""

    def __init__(self, kind: str, inputs: list[TraceValue], scope: str) -> None:
        self._kind, self._inputs, self._scope = kind, inputs, scope
        self._outputs: list[TraceValue] = []

    def kind(self) -> str:
        """What it does: ``aten::linear``."""
        return self._kind

    def scopeName(self) -> str:
        """The scopes that were entered when it ran, from outside to inside."""
        return self._scope

    def inputs(self) -> Iterator[TraceValue]:
        """The arguments, in the order of the operator's schema."""
        return iter(self._inputs)

    def outputs(self) -> Iterator[TraceValue]:
        """The results."""
        return iter(self._outputs)

    def output(self) -> TraceValue:
        """The one result."""
        (found,) = self._outputs
        return found

    def inputsSize(self) -> int:
        """How many arguments."""
        return len(self._inputs)

    def outputsSize(self) -> int:
        """How many results."""
        return len(self._outputs)

    def hasAttribute(self, name: str) -> bool:
        """Whether it is a constant with a value."""
        return name in self.attributeNames()

    def attributeNames(self) -> list[str]:
        """``value``, of a constant; None has none."""
        return ["value"] if self._kind == "prim::Constant" and self._outputs[0]._value is not None else []

    def kindOf(self, name: str) -> str:
        """The letter of the attribute's type: the method of that name gives it."""
        return _LETTERS.get(type(self._outputs[0]._value), "ival")

    def ival(self, name: str) -> Any:
        """The value of an attribute."""
        if name not in self.attributeNames():
            raise RuntimeError(f"required keyword attribute '{name}' is undefined")
        return self._outputs[0]._value

    i = f = s = t = ival

    def __repr__(self) -> str:
        made = ", ".join(f"%{each.debugName()} : {each.type()}" for each in self._outputs)
        return f"{made} = {self._kind}({', '.join('%' + each.debugName() for each in self._inputs)})"


class TraceGraph:
    """The steps of a program, flat; its inputs are tensors that it was given, and tensors that it had (parameters)."""

    def __init__(self) -> None:
        self._nodes: list[TraceNode] = []
        self._param = TraceNode("prim::Param", [], "")
        self._return = TraceNode("prim::Return", [], "")

    def nodes(self) -> Iterator[TraceNode]:
        """The steps in order."""
        return iter(self._nodes)

    def inputs(self) -> Iterator[TraceValue]:
        """The inputs, then the parameters in the order of their first use."""
        return iter(self._param._outputs)

    def outputs(self) -> Iterator[TraceValue]:
        """The results."""
        return iter(self._return._inputs)

    def param_node(self) -> TraceNode:
        """The node whose outputs are the inputs of the whole."""
        return self._param

    def return_node(self) -> TraceNode:
        """The node whose inputs are the results of the whole."""
        return self._return

    def __str__(self) -> str:
        head = ",\n      ".join(f"%{each.debugName()} : {each.type()}" for each in self.inputs())
        return (
            f"graph({head}):\n"
            + "".join(f"  {node}\n" for node in self._nodes)
            + f"  return ({', '.join('%' + each.debugName() for each in self.outputs())})\n"
        )


class GraphRecorder:
    """Writes down the calls of ops while a program runs; also PyTorch's "tracing state", by which scopes are entered."""

    def __init__(self) -> None:
        self.graph = TraceGraph()
        self.values: dict[int, TraceValue] = {}
        self.kept: list[Any] = []  # tensors, so that their numbers stay theirs
        self.scopes: list[str] = []
        self.count = 0

    def push_scope(self, name: str) -> None:
        """Enter a scope: steps from now on have its name."""
        self.scopes.append(name)

    def pop_scope(self) -> None:
        """Leave the innermost scope."""
        self.scopes.pop()

    def current_scope(self) -> str:
        """The scopes, from outside to inside."""
        return "/".join(self.scopes)

    def value(self, node: TraceNode, kind: Any, value: Any = None) -> TraceValue:
        """A new value of a node."""
        made = TraceValue(node, kind, str(self.count), value)
        self.count += 1
        node._outputs.append(made)
        return made

    def tensor(self, node: TraceNode, tensor: Any) -> TraceValue:
        """A tensor as a value of a node, from now on known as that."""
        made = self.value(node, TensorType(tensor._array.dtype, tuple(tensor.shape)), tensor)
        self.values[id(tensor)] = made
        self.kept.append(tensor)
        return made

    def used(self, value: Any) -> TraceValue:
        """An argument as a value: a tensor that was made or given, a list, or a constant."""
        if isinstance(value, TensorBase):
            return self.values[id(value)] if id(value) in self.values else self.tensor(self.graph._param, value)
        if isinstance(value, (list, tuple)):
            node = TraceNode("prim::ListConstruct", [self.used(each) for each in value], self.current_scope())
            self.graph._nodes.append(node)
            return self.value(node, OtherType("ListType"))
        node = TraceNode("prim::Constant", [], self.current_scope())
        self.graph._nodes.append(node)
        kind = "IntType" if isinstance(value, dtype_class) else _KINDS.get(type(value), "AnyType")
        return self.value(node, OtherType(kind), value)

    def __call__(self, op: Op, args: tuple[Any, ...], out: Any) -> Any:
        found = None if out is not None else call_of(op, args)
        if found is None and (op.body is not None or out is not None):
            return NotImplemented  # a composite of ours: the steps in its body are written down
        result = dispatch(op, args)
        name, given = op.public_name, list(args)
        if found is not None:
            overload, positional, named = found
            name = overload._schema.name.partition("::")[2]
            schema = overload._schema.arguments
            given = [
                positional[at] if at < len(positional) else named.get(each.name, each.default_value if each.has_default else None)
                for at, each in enumerate(schema)
            ]
        if name.startswith("conv") and name.rstrip("_")[-1:] == "d":  # traces hold the one operator of all convolutions
            given, name = _convolution(name, given), "_convolution"
        inputs = [self.used(each) for each in given]
        node = TraceNode(f"aten::{name}", inputs, self.current_scope())
        self.graph._nodes.append(node)
        for each in trees.flatten(result)[0]:
            if isinstance(each, TensorBase):
                self.tensor(node, each)
        return result


def _convolution(name: str, given: list[Any]) -> list[Any]:
    """The arguments of a convolution as those of ``_convolution``."""
    transposed = "transpose" in name
    if transposed:
        x, weight, bias, stride, padding, output_padding, groups, dilation = given
    else:
        (x, weight, bias, stride, padding, dilation, groups), output_padding = given, None
    dims = weight.dim() - 2

    def spread(value: Any) -> list[int]:
        return list(value) * (dims if len(value) == 1 else 1) if isinstance(value, (list, tuple)) else [value] * dims

    stride, dilation = spread(stride), spread(dilation)
    if isinstance(padding, str):
        padding = [0] * dims if padding == "valid" else [step * (size - 1) // 2 for step, size in zip(dilation, weight.shape[2:])]
    return [
        x, weight, bias, stride, spread(padding), dilation, transposed, [0] * dims if output_padding is None else spread(output_padding),
        groups, False, False, True, True,
    ]  # fmt: skip


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

"""What a trace knows of the calls of the Modules inside: the values they took and gave, by which each is a graph of its own."""

from __future__ import annotations

import itertools
import operator
from typing import Any

from ...core.base import TensorBase
from ...core.errors import CaptureError
from ...core.symbolic import Expression, SymbolicInt
from ...graph import Graph, Node, map_arg
from ..graph_data import decode, encode


class ModuleCall:
    """The first call of a Module in a trace: as plain data, in which values are names of nodes."""

    def __init__(self, parameters: list[tuple[str, Any]], nodes: tuple[str, ...], output: Any) -> None:
        self.parameters = parameters
        self.nodes = nodes  # those that were recorded in it
        self.output = output

    def data(self) -> list[Any]:
        """For files."""
        return [[list(each) for each in self.parameters], list(self.nodes), self.output]

    @classmethod
    def of(cls, data: Any) -> ModuleCall:
        """What :meth:`data` gave."""
        parameters, nodes, output = data
        return cls([(str(name), value) for name, value in parameters], tuple(map(str, nodes)), output)


class CallRecorder:
    """Notes the calls of Modules while a tracer runs."""

    def __init__(self, tracer: Any) -> None:
        self.tracer = tracer
        self.calls: dict[str, ModuleCall] = {}
        self.open: list[tuple[Any, ...]] = []  # of the Modules that are running: path, arguments as nodes, the last node before

    def enter(self, path: str, arguments: list[tuple[str, Any]]) -> None:
        """A Module is called."""
        wanted = path not in self.calls and all(path != each[0] for each in self.open)
        given = [(name, self.recorded(value)) for name, value in arguments if holds_value(value)] if wanted else None
        self.open.append((path, given, self.last()))

    def last(self) -> Any:
        """The node that was recorded last."""
        return next(iter(reversed(self.tracer.graph.nodes)), None)

    def leave(self, named: dict[str, Any], result: Any) -> None:
        """The Module that was called last has returned; of arguments by name, what they are is looked at now."""
        path, given, before = self.open.pop()
        if given is None:
            return
        given += [(name, self.recorded(value)) for name, value in named.items() if holds_value(value)]
        output = self.recorded(result)
        if output is None or any(value is None for _, value in given):
            return
        nodes = itertools.takewhile(lambda node: node is not before, reversed(self.tracer.graph.nodes))
        self.calls[path] = ModuleCall(given, tuple(node.name for node in nodes), output)

    def recorded(self, value: Any) -> Any:
        """A value with names of nodes in place of tensors, as plain data; None where it has others than the trace knows."""
        try:
            return encode(self.nodes_in(value))
        except (CaptureError, KeyError):
            return None

    def nodes_in(self, value: Any) -> Any:
        if isinstance(value, TensorBase):
            if not self.tracer.is_traced(value):
                raise KeyError
            return self.tracer.node_of(value)
        if isinstance(value, (tuple, list)):
            values = [self.nodes_in(each) for each in value]
            if hasattr(value, "_fields"):
                return tuple.__new__(type(value), values)  # type: ignore[type-var]  # its own may check tensors
            return type(value)(values)
        if isinstance(value, dict):
            return {key: self.nodes_in(each) for key, each in value.items()}
        return self.tracer.argument(value)

    def finished(self) -> dict[str, ModuleCall]:
        """The calls, without nodes that nothing needed."""
        left = {node.name for node in self.tracer.graph.nodes}
        return {
            path: ModuleCall(call.parameters, tuple(name for name in call.nodes if name in left), call.output)
            for path, call in self.calls.items()
        }


def holds_value(value: Any) -> bool:
    """Whether there is a tensor, or something that holds one, in an argument: a trace takes nothing else."""
    if isinstance(value, dict):
        return any(map(holds_value, value.values()))
    return isinstance(value, TensorBase) or (isinstance(value, (tuple, list)) and any(map(holds_value, value)))


def extracted(graph: Graph, call: ModuleCall, path: str) -> Graph:
    """The graph of a Module's call: its part of the whole, with what it took as inputs.

    Sizes that the whole reads off its own inputs are read off those of the part, where they have them.
    """
    nodes = {node.name: node for node in graph.nodes}
    made = Graph()
    here: dict[Node, Any] = {}
    sizes: dict[Expression, Node] = {}  # formulas of sizes that an input has
    inside = set(call.nodes)

    def take(value: Any, node: Node) -> None:
        if isinstance(value, Node):
            here[value] = node
            node.meta["val"] = known = value.meta.get("val")
            for dim, size in enumerate(getattr(known, "shape", ())):
                if isinstance(size, SymbolicInt) and size.expression not in sizes:
                    sizes[size.expression] = sized(made.call_method("size", (node, dim)), size)
        elif isinstance(value, (tuple, list, dict)):
            for key, each in value.items() if isinstance(value, dict) else enumerate(value):
                if not isinstance(each, (int, float, str, bool, type(None))):
                    take(each, made.call_function(operator.getitem, (node, key)))

    def sized(node: Node, value: Any) -> Node:
        node.meta["val"] = value
        return node

    def of_size(value: Any) -> Node | None:
        """A size that follows from those of the inputs."""
        if not isinstance(value, SymbolicInt):
            return None
        found = sizes.get(value.expression)
        name = value.expression.as_symbol
        if found is None and name is not None:
            for formula, node in list(sizes.items()):
                offset = (formula - value.expression).constant
                if offset is not None:
                    found = sizes[value.expression] = sized(made.call_function(operator.sub, (node, offset)), value)
                    break
        return found

    arguments = [(decode(value, nodes), made.placeholder(name)) for name, value in call.parameters]
    for value, node in arguments:
        take(value, node)
    output = decode(call.output, nodes)
    waiting: list[Node] = [node for node in graph.nodes if node.name in inside and node.is_impure()]
    map_arg(output, waiting.append)
    needed: set[Node] = set()
    while waiting:
        node = waiting.pop()
        if node in needed or node in here:
            continue
        needed.add(node)
        if of_size(node.meta.get("val")) is not None:
            continue
        if node.op == "placeholder" or (node.name not in inside and node.is_impure()):
            raise CaptureError(
                f"the Module '{path}' can't be called alone: in the trace it uses the value '{node.name}' from outside, which is none of its "
                "arguments and no parameter"
            )
        waiting += node.all_input_nodes
    for node in graph.nodes:
        if node in needed:
            size = of_size(node.meta.get("val"))
            here[node] = made.node_copy(node, here.__getitem__) if size is None else size
    made.output(map_arg(output, here.__getitem__))
    made.eliminate_dead_code()
    return made

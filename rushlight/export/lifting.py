"""The graph of an exported program: parameters, buffers and constants are inputs, names are PyTorch's."""

from __future__ import annotations

import operator
import re
from typing import Any

from ..compat import pytree
from ..core.base import Spec, make
from ..core.devices import device_of
from ..core.symbolic import Expression, SymbolicFloat, SymbolicInt
from ..fx.graph import Graph, placeholder_named
from ..fx.graph_module import GraphModule
from ..graph.node import Node, map_arg
from ..nn.modules.module import Module
from ..nn.parameter import Parameter
from ..ops.overloads import find_overload
from .graph_signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    SymBoolArgument,
    SymFloatArgument,
    SymIntArgument,
    TensorArgument,
)
from .higher_order import OPERATORS
from .tracing import Capture, ExportTracer, Guard

_PREFIXES = {InputKind.PARAMETER: "p_", InputKind.BUFFER: "b_", InputKind.CONSTANT_TENSOR: "c_"}


class Condition(str):
    """A comparison of sizes as a node's value, by its text."""

    __slots__ = ()


class Lifted:
    """A graph whose inputs are everything that it computes from, and what those are."""

    def __init__(self) -> None:
        self.graph = Graph()
        self.submodules: dict[str, Any] = {}
        self.signature = ExportGraphSignature()
        self.state: dict[str, Any] = {}
        self.constants: dict[str, Any] = {}
        self.calls: dict[str, tuple[list[Any], list[Any], Any, Any]] = {}  # of Modules whose signature is kept


def plain_name(text: str) -> str:
    """A name of a placeholder: lower case, with underscores for what no identifier has."""
    return re.sub(r"[^a-zA-Z0-9]", "_", text).lower()


def input_names(args: tuple[Any, ...], kwargs: dict[str, Any], combined: dict[str, Any]) -> list[str]:
    """The names of the flat inputs: the parameter's, with the keys of nested containers."""
    names: list[str] = []
    for path, _ in pytree.tree_leaves_with_path(combined):
        keys = [str(getattr(each, "key", getattr(each, "idx", getattr(each, "name", each)))) for each in path]
        names.append(plain_name("_".join(keys)))
    return names


def lift(mod: Module, captured: Capture, names: list[str], guards: list[Guard], ranges: dict[str, Any]) -> Lifted:
    """The graph of a capture, with all that it reads as inputs."""
    made = Lifted()
    tracer = captured.tracer
    here: dict[Node, Any] = {}
    persistent = set(mod.state_dict(keep_vars=True))
    attributes: dict[str, Node] = {}

    def placeholder(name: str, kind: InputKind, target: str, value: Any, lasting: bool | None = None) -> None:
        node = placeholder_named(made.graph, name)
        node.meta["val"] = fake(value, value._array.shape)
        made.signature.input_specs.append(InputSpec(kind, TensorArgument(node.name), target, lasting))
        attributes[target] = node

    for target, value in mod.named_parameters(remove_duplicate=False):
        placeholder(f"p_{plain_name(target)}", InputKind.PARAMETER, target, value)
        made.state[target] = value
    for target, value in mod.named_buffers(remove_duplicate=False):
        placeholder(f"b_{plain_name(target)}", InputKind.BUFFER, target, value, target in persistent)
        (made.state if target in persistent else made.constants)[target] = value
    lifted = _constants(tracer, mod)
    for target, (value, _) in lifted.items():
        placeholder(f"c_{plain_name(target)}", InputKind.CONSTANT_TENSOR, target, value)
        made.constants[target] = value
    for name, node in zip(names, captured.inputs):
        mine = placeholder_named(made.graph, name)
        mine.meta.update(_meta(node, tracer))
        here[node] = mine
        if "constant" in node.meta:
            argument: Any = ConstantArgument(mine.name, node.meta["constant"])
        else:
            argument = argument_of(mine)
        made.signature.input_specs.append(InputSpec(InputKind.USER_INPUT, argument, None))
    copier = _Copier(made, tracer, here, attributes, {node: key for key, (_, nodes) in lifted.items() for node in nodes}, guards, ranges)
    copier.outputs = captured.outputs
    copier.run(tracer.graph)
    for target, value in captured.assigned:
        copy_ = made.graph.create_node(
            "call_function", find_overload("aten", "copy_", "default"), (attributes[target], here[value]), {}, "copy__default"
        )
        copy_.meta.update(here[value].meta, impure=True)
    outputs = [map_arg(each, here.__getitem__) for each in captured.outputs]
    made.graph.output(tuple(outputs))
    for each in outputs:
        made.signature.output_specs.append(OutputSpec(OutputKind.USER_OUTPUT, argument_of(each), None))
    for path, (given, results, in_spec, out_spec) in captured.calls.items():
        arguments = ([argument_of(here.get(each, each) if isinstance(each, Node) else each) for each in row] for row in (given, results))
        made.calls[path] = (*arguments, in_spec, out_spec)  # type: ignore[assignment]
    _remove_dead(made.graph)
    return made


def argument_of(value: Any) -> Any:
    """What the signature has for an input or output."""
    if not isinstance(value, Node):
        return ConstantArgument("", value)
    known = value.meta.get("val")
    if isinstance(known, SymbolicInt):
        return SymIntArgument(value.name)
    if isinstance(known, (SymbolicFloat, float)):
        return SymFloatArgument(value.name)
    if isinstance(known, (bool, Condition)):
        return SymBoolArgument(value.name)
    return TensorArgument(value.name)


def _constants(tracer: ExportTracer, mod: Module) -> dict[str, tuple[Any, list[Node]]]:
    """The tensors that a graph refers to and that are neither parameters nor buffers, with their nodes."""
    held = {name for name, _ in (*mod.named_parameters(remove_duplicate=False), *mod.named_buffers(remove_duplicate=False))}
    found: dict[str, tuple[Any, list[Node]]] = {}

    def visit(each: ExportTracer) -> None:
        for node in each.graph.nodes:
            if node.op == "get_attr" and "graph" not in node.meta and node.target not in held:
                value = each.constants.get(node.target)
                if value is None:
                    value = tracer.by_name[node.target]
                    found.setdefault(node.target, (value, []))[1].append(node)
                else:
                    number = sum(key.startswith("lifted_tensor_") for key in found)
                    found[f"lifted_tensor_{number}"] = (value, [node])
            elif "graph" in node.meta:
                visit(node.meta["graph"])

    visit(tracer)
    return found


def fake(value: Any, shape: Any) -> Any:
    """A tensor without elements, of a shape by formulas."""
    array = value._array
    made = make(Spec(tuple(shape), array.dtype, device=array.device if array.__class__ is Spec else device_of(array)))
    made._requires_grad = value._requires_grad
    return Parameter(made, value.requires_grad) if isinstance(value, Parameter) else made


def _fake_of(known: Any) -> Any:
    """What a node's meta has as its value."""
    if isinstance(known, Spec):
        return make(known)
    if isinstance(known, (tuple, list)):
        return tuple([_fake_of(each) for each in known])
    return known


def _meta(node: Node, tracer: ExportTracer) -> dict[str, Any]:
    """The meta of a node of an exported graph."""
    made: dict[str, Any] = {}
    if "val" in node.meta:
        made["val"] = _fake_of(node.meta["val"])
    elif "constant" in node.meta:
        made["val"] = node.meta["constant"]
    source = node.meta.get("source")
    if source is not None:
        made["source"] = source
        line = _line(source[0], source[1])
        made["stack_trace"] = f'File "{source[0]}", line {source[1]}, in {source[2]}\n    {line}'
    path = node.meta.get("module")
    if path is not None and node.op == "call_function":
        root = tracer if tracer.parent is None else tracer.parent
        stack: dict[str, tuple[str, Any]] = {}
        parts = path.split(".") if path else []
        for at in range(len(parts) + 1):
            prefix = ".".join(parts[:at])
            kind = root.classes.get(prefix)
            if kind is not None:
                stack["L__self__" + "_".join(["", *parts[:at]]) if at else "L__self__"] = (prefix, f"{kind.__module__}.{kind.__qualname__}")
        made["module"] = path
        if stack:
            made["nn_module_stack"] = stack
    return made


def _line(file: str, number: int) -> str:
    try:
        with open(file, encoding="utf8") as opened:
            return next(line for at, line in enumerate(opened, 1) if at == number).strip()
    except (OSError, StopIteration, UnicodeDecodeError):
        return ""


class _Copier:
    """Copies the nodes of a capture into an exported graph."""

    def __init__(
        self, made: Lifted, tracer: ExportTracer, here: dict[Node, Any], attributes: dict[str, Node], constants: dict[Node, str], guards: list[Guard],
        ranges: dict[str, Any],
    ) -> None:  # fmt: skip
        self.made, self.tracer, self.here, self.attributes, self.constants = made, tracer, here, attributes, constants
        self.guards, self.ranges = guards, ranges
        self.number = 0

    def run(self, graph: Any) -> None:
        """Copy all nodes: those that read sizes of inputs first, regions without gradients as graphs of their own."""
        nodes = [node for node in graph.nodes if node.op not in ("placeholder", "output")]
        first = [node for node in nodes if _reads_input(node)]
        for node in first:
            self.copy(self.made.graph, node)
        rest = [node for node in nodes if not _reads_input(node)]
        at = 0
        while at < len(rest):
            region = self.region(rest, at)
            if region:
                self.wrap(rest[at : at + region])
                at += region
            else:
                self.copy(self.made.graph, rest[at])
                self.asserted(rest[at])
                at += 1

    def region(self, nodes: list[Node], at: int) -> int:
        """How many nodes from here on were recorded in another grad mode than the program began with."""
        count = 0
        while at + count < len(nodes):
            mode = nodes[at + count].meta.get("grad")
            if (
                nodes[at + count].op == "get_attr"
                and "graph" not in nodes[at + count].meta
                or (mode is None and count and nodes[at + count].target is operator.getitem)
            ):
                count += 1 if count else 0
                if not count:
                    return 0
                continue
            if mode is None or mode == self.tracer.grad_mode:
                break
            count += 1
        return count

    def copy(self, graph: Any, node: Node) -> Any:
        """Copy one node."""
        if node.op == "get_attr" and "graph" not in node.meta:
            target = self.constants.get(node, node.target)
            placed = self.attributes[target]
            if node in self.constants and target.startswith("lifted_tensor_") and not self.made.constants[target]._requires_grad:
                # A tensor that the program makes is made anew in each run.
                fresh = graph.create_node(
                    "call_function", find_overload("aten", "lift_fresh_copy", "default"), (placed,), {}, "lift_fresh_copy"
                )
                fresh.meta.update(_meta(node, self.tracer), val=placed.meta["val"])
                placed = graph.create_node("call_function", find_overload("aten", "detach_", "default"), (fresh,), {}, "detach_")
                placed.meta.update(fresh.meta)
            self.here[node] = placed
            return placed
        if node.op == "get_attr":
            module = self.sub_graph(node.meta["graph"])
            self.made.submodules[node.target] = module
            made = graph.create_node("get_attr", node.target, (), {}, node.target)
            self.here[node] = made
            return made
        args, kwargs = map_arg(node.args, self.here.__getitem__), map_arg(dict(node.kwargs), self.here.__getitem__)
        args, kwargs = _without_views(args), _without_views(kwargs)
        target = node.target
        name = None
        if hasattr(target, "_overloadpacket"):
            packet = target._overloadpacket.__name__
            name = graph._target_to_str(packet) if target._overloadname != "int" or packet != "sym_size" else "sym_size_int"
        made = graph.create_node(node.op, target, args, kwargs, name)
        made.meta.update(_meta(node, self.tracer))
        if node.meta.get("impure"):
            made.meta["impure"] = True
        self.here[node] = made
        return made

    def asserted(self, node: Node) -> None:
        """After a node that makes a size from data: what the program demands of it, checked in each run."""
        names = [
            name
            for name in self.ranges
            if name in self.tracer.symbols and self.tracer.symbols[name].source is node and name.startswith("u")
        ]
        target = getattr(node.target, "_overloadpacket", None)
        if target is not None and target.__name__ == "item":
            known = node.meta.get("val")
            names = [str(known.expression.as_symbol)] if isinstance(known, SymbolicInt) else []
        for name in names:
            bounds = self.ranges.get(name)
            if bounds is None:
                continue
            symbol = self.tracer.symbols[name]
            read = self.here.get(node)
            if symbol.dim is not None:
                size = self.tracer.size_nodes.get(Expression.symbol(name))
                if size is None:
                    read = self.made.graph.create_node(
                        "call_function", find_overload("aten", "sym_size", "int"), (read, symbol.dim), {}, "sym_size_int"
                    )
                    read.meta["val"] = SymbolicInt(symbol.concrete, Expression.symbol(name))
                else:
                    read = self.here.get(size) or self.copy(self.made.graph, size)
            for how, sign, edge in ((operator.ge, ">=", bounds.lower), (operator.le, "<=", bounds.upper)):
                if abs(edge) < 2**62:
                    self.check(how, sign, read, name, edge)

    def check(self, how: Any, sign: str, read: Any, name: str, edge: int) -> None:
        compared = self.made.graph.create_node("call_function", how, (read, edge), {}, how.__name__)
        compared.meta["val"] = Condition(f"{name} {sign} {edge}")
        message = f"Runtime assertion failed for expression {name} {sign} {edge} on node '{compared.name}'"
        checked = self.made.graph.create_node(
            "call_function", find_overload("aten", "_assert_scalar", "default"), (compared, message), {}, "_assert_scalar_default"
        )
        checked.meta["impure"] = True

    def sub_graph(self, inner: ExportTracer) -> GraphModule:
        """The graph of a branch or body as a module."""
        graph = Graph()
        outer, self.here = self.here, dict(self.here)
        self.tracer, tracer = inner, self.tracer
        around, self.made.submodules = self.made.submodules, {}  # graphs within have names of their own
        names = [self.here[each].name for each in inner.outside]
        for node in inner.graph.nodes:
            if node.op == "placeholder":
                mine = placeholder_named(graph, names.pop(0) if names else node.name)
                mine.meta.update(_meta(node, inner))
                self.here[node] = mine
            elif node.op == "output":
                graph.output(map_arg(node.args[0], self.here.__getitem__))
            elif node.op == "get_attr" and "graph" not in node.meta:
                raise AssertionError("a constant in a branch is an input of it")
            else:
                self.copy(graph, node)
        within, self.made.submodules = self.made.submodules, around
        self.here, self.tracer = outer, tracer
        _remove_dead(graph)
        return GraphModule(within, graph)

    def wrap(self, nodes: list[Node]) -> None:
        """A region in another grad mode: one node that runs its graph in that mode."""
        inside = set(nodes)
        graph = Graph()
        outer, self.here = self.here, dict(self.here)
        wanted: list[Any] = []
        for node in nodes:
            for each in node.all_input_nodes:
                if each not in inside and each not in wanted:
                    wanted.append(each)
        for node in nodes:
            if node.op == "get_attr" and "graph" not in node.meta:
                wanted.append(node)
        given = []
        for each in dict.fromkeys(wanted):
            if each not in outer:
                self.here = outer
                self.copy(self.made.graph, each)
                self.here = dict(outer)
        for each in dict.fromkeys(wanted):
            mine = placeholder_named(graph, outer[each].name)
            mine.meta.update(outer[each].meta)
            given.append(outer[each])
            self.here[each] = mine
        mode = bool(next(node.meta["grad"] for node in nodes if node.meta.get("grad") is not None))
        for node in nodes:
            if not (node.op == "get_attr" and "graph" not in node.meta):
                self.copy(graph, node)
        leaving = [
            node for node in nodes if node in self.here and node.op == "call_function" and any(user not in inside for user in node.users)
        ]
        leaving += [node for node in nodes if node.op == "call_function" and node not in leaving and self.is_output(node)]
        graph.output(tuple(self.here[node] for node in leaving))
        _remove_dead(graph)
        self.number += 1
        name = f"submod_{self.number}"
        self.made.submodules[name] = GraphModule({}, graph)
        self.here = outer
        module = self.made.graph.create_node("get_attr", name, (), {}, name)
        label = (
            self.made.graph._target_to_str(getattr(leaving[0].target, "_overloadpacket", leaving[0].target))
            if leaving
            else "wrap_with_set_grad_enabled"
        )
        node = self.made.graph.create_node("call_function", OPERATORS["wrap_with_set_grad_enabled"], (mode, module, *given), {}, label)
        node.meta["val"] = tuple([_fake_of(each.meta.get("val")) for each in leaving])
        node.meta["impure"] = True
        for at, each in enumerate(leaving):
            part = self.made.graph.create_node("call_function", operator.getitem, (node, at), {}, "getitem")
            part.meta.update(_meta(each, self.tracer))
            self.here[each] = part

    def is_output(self, node: Node) -> bool:
        """Whether the program returns a node's value."""
        found: list[Node] = []
        map_arg(self.outputs, found.append)
        return node in found

    outputs: Any = ()


def _without_views(value: Any) -> Any:
    """Arguments with lists as lists, as operators have them."""
    if isinstance(value, dict):
        return {key: _without_views(each) for key, each in value.items()}
    return value


def _reads_input(node: Node) -> bool:
    """Whether a node reads the size of an input."""
    target = getattr(node.target, "_overloadpacket", None)
    return target is not None and target.__name__ == "sym_size" and node.args[0].op == "placeholder"


def _remove_dead(graph: Any) -> None:
    """Remove arithmetic on sizes that nobody uses: what the program computes stays, used or not."""
    for node in reversed(list(graph.nodes)):
        packet = getattr(node.target, "_overloadpacket", None)
        sized = getattr(node.target, "__module__", "") in ("_operator", "rushlight.symbols") and node.target is not operator.getitem
        if node.op == "call_function" and not node.users and (sized or (packet is not None and packet.__name__ == "sym_size")):
            graph.erase_node(node)

"""The graph of an exported program: parameters, buffers and constants are inputs, names are PyTorch's."""

from __future__ import annotations

import itertools
import operator
import re
from collections.abc import Container
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
from .size_guards import Condition, Guard
from .tracing import Capture, ExportTracer

_COMPARISONS = {">=": "ge", "<=": "le", ">": "gt", "<": "lt", "==": "eq", "!=": "ne"}
_FULL_NAMES = ("sym_size", "_assert_tensor_metadata")  # operators that PyTorch's passes put in: nodes are named with their overloads
_PREFIXES = {InputKind.PARAMETER: "p_", InputKind.BUFFER: "b_", InputKind.CONSTANT_TENSOR: "c_"}


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


def unused(name: str, taken: Container[str]) -> str:
    """The name, or with the first number after it one that is not taken."""
    return name if name not in taken else next(each for at in itertools.count(1) if (each := f"{name}_{at}") not in taken)


def input_names(args: tuple[Any, ...], kwargs: dict[str, Any], combined: dict[str, Any]) -> list[str]:
    """The names of the flat inputs: the parameter's, with the keys of nested containers."""
    names: list[str] = []
    for path, _ in pytree.tree_leaves_with_path(combined):
        keys = [str(getattr(each, "key", getattr(each, "idx", getattr(each, "name", each)))) for each in path]
        names.append(unused(plain_name("_".join(keys)), names))
    return names


def lift(mod: Module, captured: Capture, names: list[str], guards: list[Guard], ranges: dict[str, Any]) -> Lifted:
    """The graph of a capture, with all that it reads as inputs."""
    made = Lifted()
    tracer = captured.tracer
    here: dict[Node, Any] = {}
    persistent = set(mod.state_dict(keep_vars=True))
    attributes: dict[str, Node] = {}
    taken = set(names)  # the inputs of the program keep their names

    def placeholder(name: str, kind: InputKind, target: str, value: Any, lasting: bool | None = None) -> None:
        node = placeholder_named(made.graph, unused(name, taken))
        taken.add(node.name)
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
        self.named: dict[Node, str] = {}  # of nodes in regions: the names that they had in one graph
        self.within = 0  # in how many branches and bodies what is copied is

    def run(self, graph: Any) -> None:
        """Copy all nodes: those that read sizes of inputs first, regions in other modes as graphs of their own."""
        nodes = [node for node in graph.nodes if node.op not in ("placeholder", "output")]
        first = [node for node in nodes if _reads_input(node)]
        names = self.size_names(first)
        for node in sorted(first, key=lambda node: list(names).index((node.args[0], node.args[1]))):
            self.copy(self.made.graph, node, names[node.args[0], node.args[1]])
        compared = {guard.text({}): guard for guard in self.tracer.guards if any(name.startswith("u") for name in guard.symbols)}
        self.strict = [guard for guard in compared.values() if guard.how in ("<", ">") and guard.right.constant is not None]
        for guard in compared.values():  # comparisons of the program, in whose place the checks of its sizes stand
            self.reserve(_COMPARISONS[guard.how])
        self.place(self.made.graph, self.made.submodules, [node for node in nodes if not _reads_input(node)], 0)

    def reserve(self, name: str) -> str:
        """Take a name in the main graph."""
        names = self.made.graph._names
        found = names.free(name)
        names.taken.add(found)
        return found

    def size_names(self, first: list[Node]) -> dict[tuple[Node, int], str]:
        """The names of nodes that read sizes of inputs: PyTorch numbers those of all dynamic sizes, after those that the program has read."""
        for _ in first:
            self.reserve("sym_size_int")
        inputs = dict.fromkeys([node for node in self.here if node.op == "placeholder"])
        dynamic = [
            (node, dim)
            for node in inputs
            for dim, size in enumerate(getattr(node.meta.get("val"), "shape", ()))
            if isinstance(size, SymbolicInt)
        ]
        return {each: self.reserve("sym_size_int") for each in (dynamic if first else ())}

    def place(self, graph: Any, submodules: dict[str, Any], nodes: list[Node], depth: int) -> None:
        """Copy nodes into a graph, with regions of one mode as nodes that run graphs of their own."""
        groups = self.groups(nodes, depth)
        numbers, number = [], 0
        for at, (mode, _) in enumerate(groups):  # PyTorch cuts the graph into parts, and numbers all of them
            number += 1 if mode is not None or at else 0
            numbers.append(number)
        if groups and isinstance(groups[-1][0], bool):
            number += 1
        count = number + 1
        for (mode, part), number in zip(groups, numbers):
            if mode is not None:
                self.wrap(graph, submodules, part, mode, depth, f"submod_{number}", f"submod_{count}")
                count += 1
                continue
            for node in part:
                self.copy(graph, node)
                if graph is self.made.graph:
                    self.asserted(node)

    def groups(self, nodes: list[Node], depth: int) -> list[tuple[Any, list[Node]]]:
        """Nodes that follow each other in one mode: None, a grad mode, or a context of autocast.  Constants are in that of what follows them."""
        found: list[tuple[Any, list[Node]]] = []
        constants: list[Node] = []
        for node in nodes:
            if _is_constant(node):
                constants.append(node)
                continue
            mode = self.mode(node, depth)
            if not found or found[-1][0] is not mode:
                found.append((mode, []))
            found[-1][1].extend([*constants, node])
            constants = []
        return [*found, (None, constants)] if constants else found

    def mode(self, node: Node, depth: int) -> Any:
        """The mode that a node runs in, within regions of a depth: None where it is that of the program."""
        if node.target is operator.getitem:
            return self.mode(node.args[0], depth)
        contexts = node.meta.get("autocast", ())
        if len(contexts) > depth:
            return contexts[depth]
        grad = node.meta.get("grad")
        return None if grad is None or grad == self.tracer.grad_mode or depth > len(contexts) else grad

    def copy(self, graph: Any, node: Node, name: str | None = None) -> Any:
        """Copy one node."""
        if node.meta.get("cast") and node.meta.get("autocast"):
            self.here[node] = self.here[node.args[0]]  # the region does that
            return self.here[node]
        if node.op == "get_attr" and "graph" not in node.meta:
            target = self.constants.get(node, node.target)
            placed = self.attributes[target]
            if node in self.constants and target.startswith("lifted_tensor_") and not self.made.constants[target]._requires_grad:
                # A tensor that the program makes is made anew in each run.
                fresh = graph.create_node(
                    "call_function", find_overload("aten", "lift_fresh_copy", "default"), (placed,), {}, "lift_fresh_copy"
                )
                fresh.meta.update(_meta(node, self.tracer), val=placed.meta["val"])
                placed = (
                    fresh
                    if node.meta.get("number")
                    else graph.create_node("call_function", find_overload("aten", "detach_", "default"), (fresh,), {}, "detach_")
                )
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
        if name is not None:
            self.made.graph._names.taken.discard(name)
        elif hasattr(target, "_overloadpacket"):
            packet = target._overloadpacket.__name__
            name = packet if packet not in _FULL_NAMES else f"{packet}_{target._overloadname}"
            name = graph._target_to_str(name)
        if graph is not self.made.graph and not self.within:  # of a region: names of the main graph
            name = self.reserve(name or graph._target_to_str(target))
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
            for guard in self.strict:
                if guard.left.as_symbol == name and guard.right.constant is not None:
                    self.check(operator.lt if guard.how == "<" else operator.gt, guard.how, read, name, guard.right.constant)

    def check(self, how: Any, sign: str, read: Any, name: str, edge: int) -> None:
        compared = self.made.graph.create_node("call_function", how, (read, edge), {}, how.__name__)
        compared.meta["val"] = Condition(f"{name} {sign} {edge}")
        text = f"{edge} < {name}" if sign == ">" else f"{name} {sign} {edge}"
        message = f"Runtime assertion failed for expression {text} on node '{compared.name}'"
        checked = self.made.graph.create_node(
            "call_function", find_overload("aten", "_assert_scalar", "default"), (compared, message), {}, "_assert_scalar_default"
        )
        checked.meta["impure"] = True

    def sub_graph(self, inner: ExportTracer) -> GraphModule:
        """The graph of a branch or body as a module."""
        graph = Graph()
        outer, self.here = self.here, dict(self.here)
        self.within += 1
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
        self.within -= 1
        _remove_dead(graph)
        return GraphModule(within, graph)

    def wrap(self, around: Any, submodules: dict[str, Any], nodes: list[Node], mode: Any, depth: int, name: str, label: str) -> None:
        """A region in another mode: one node that runs its graph in that mode."""
        shared = [node for node in nodes if _is_constant(node) and any(user not in nodes for user in node.users)]
        for node in shared:
            self.copy(around, node)
        nodes = [node for node in nodes if node not in shared]
        inside = set(nodes)
        graph = Graph()
        outer, self.here = self.here, dict(self.here)
        wanted: dict[Node, Node] = {}  # what the region reads, as nodes around it
        for node in nodes:
            if _is_constant(node):
                wanted[node] = self.attributes[self.constants.get(node, node.target)]
            wanted.update((each, outer[each]) for each in (_uncast(each, inside) for each in node.all_input_nodes) if each not in inside)
        inputs = [node for node in self.made.graph.nodes if node.op == "placeholder"]
        given = list(dict.fromkeys(wanted.values()))
        mine: dict[Node, Node] = {}
        for each in given:
            numbered = not isinstance(mode, bool) and each in inputs
            mine[each] = placeholder_named(graph, f"arg{inputs.index(each)}_1" if numbered else each.name)
            mine[each].meta.update(each.meta)
        for each, around_it in wanted.items():
            self.here[each] = mine[around_it]
        attributes, self.attributes = self.attributes, {key: mine.get(each, each) for key, each in self.attributes.items()}
        within: dict[str, Any] = {}
        if isinstance(mode, bool):
            for node in nodes:
                self.copy(graph, node)
        else:
            self.place(graph, within, nodes, depth + 1)
        self.attributes = attributes
        users = [each for node in nodes[-1].graph.nodes if node not in inside for each in node.all_input_nodes if each in inside]
        leaving = list(dict.fromkeys(each for each in users if each.op == "call_function"))
        leaving += [node for node in nodes if node.op == "call_function" and node not in leaving and self.is_output(node)]
        graph.output(tuple(self.here[node] for node in leaving))
        _remove_dead(graph)
        submodules[name] = GraphModule(within, graph)
        made = [self.named.get(node) or self.here[node].name for node in leaving]
        self.named.update(zip(leaving, made))
        self.here = outer
        module = around.create_node("get_attr", name, (), {}, label)
        kind = "wrap_with_set_grad_enabled" if isinstance(mode, bool) else "wrap_with_autocast"
        how = (mode,) if isinstance(mode, bool) else (mode.device, mode.fast_dtype, mode._enabled, mode._cache_enabled)
        around._names.taken.difference_update(made)
        node = around.create_node("call_function", OPERATORS[kind], (*how, module, *given), {}, made[0] if len(made) == 1 else kind)
        node.meta["val"] = tuple([_fake_of(each.meta.get("val")) for each in leaving])
        node.meta["impure"] = True
        if len(made) > 1:
            for _ in made:
                self.reserve("getitem")
        for at, each in enumerate(leaving):
            part = around.create_node("call_function", operator.getitem, (node, at), {}, "getitem" if len(made) == 1 else made[at])
            part.meta.update(_meta(each, self.tracer))
            self.here[each] = part

    def is_output(self, node: Node) -> bool:
        """Whether the program returns a node's value."""
        found: list[Node] = []
        map_arg(self.outputs, found.append)
        return node in found

    outputs: Any = ()
    strict: list[Guard] = []  # comparisons with constants that are no ranges as they stand


def _without_views(value: Any) -> Any:
    """Arguments with lists as lists, as operators have them."""
    if isinstance(value, dict):
        return {key: _without_views(each) for key, each in value.items()}
    return value


def _is_constant(node: Node) -> bool:
    """Whether a node reads a tensor, rather than a graph."""
    return node.op == "get_attr" and "graph" not in node.meta


def _uncast(node: Node, inside: set[Node]) -> Node:
    """What a region of autocast reads: not casts that it makes itself."""
    while node in inside and node.meta.get("cast"):
        node = node.args[0]
    return node


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

"""``torch.export.unflatten``: an exported program as a tree of Modules, as the program was written."""

from __future__ import annotations

import abc
import itertools
import operator
from typing import Any

from ..compat import pytree
from ..fx.graph import Graph, placeholder_named
from ..fx.graph_module import GraphModule
from ..fx.pytree_codegen import flatten_inputs
from ..graph.node import Node, map_arg
from ..nn.modules.module import Module
from ..nn.parameter import Parameter
from .graph_signature import ConstantArgument, InputKind


class FlatArgsAdapter(abc.ABC):
    """Changes inputs of another structure into those that a program takes."""

    @abc.abstractmethod
    def adapt(
        self, target_spec: Any, input_spec: Any, input_args: list[Any], metadata: dict[str, Any] | None = None, obj: Any = None
    ) -> list[Any]:
        """The flat inputs of the program."""

    def get_flat_arg_paths(self) -> list[str]:
        """The paths of the inputs that it adds, if any."""
        return []


class InterpreterModule(GraphModule):
    """A Module of the tree: it runs the part of the graph that was its ``forward``."""


class UnflattenedModule(Module):
    """An exported program whose Modules are where they were: each runs its part of the graph."""

    def __init__(self, export_module: Any, flat_args_adapter: FlatArgsAdapter | None = None) -> None:
        super().__init__()
        self.__dict__["adapter"] = flat_args_adapter
        ep = export_module
        signature = ep.module_call_graph[0].signature
        self.__dict__["in_spec"], self.__dict__["out_spec"] = signature.in_spec, signature.out_spec
        self.graph_signature = ep.graph_signature
        self.module_call_graph = ep.module_call_graph
        self.__dict__["names"] = signature.forward_arg_names
        module = ep.module(check_guards=False)
        self.__dict__["checks"] = ep._guards
        _tree(self, module, ep)

    @property
    def graph(self) -> Any:
        """The graph of the whole, which calls the Modules."""
        return self.__dict__["_root"].graph

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program."""
        adapter = self.__dict__["adapter"]
        try:
            flat = flatten_inputs((args, kwargs), self.__dict__["in_spec"])
        except ValueError:
            if adapter is None:
                raise
            leaves, found = pytree.tree_flatten((args, kwargs))
            flat = adapter.adapt(self.__dict__["in_spec"], found, list(leaves))
        results = self.__dict__["_root"](*flat)
        return pytree.tree_unflatten(list(results), self.__dict__["out_spec"])

    def print_readable(self, print_output: bool = True, **options: Any) -> str:
        """The code of the whole."""
        return str(self.__dict__["_root"].print_readable(print_output))


def unflatten(module: Any, flat_args_adapter: FlatArgsAdapter | None = None) -> UnflattenedModule:
    """An exported program as a tree of Modules, with the paths and the state of the Module that was exported."""
    return UnflattenedModule(module, flat_args_adapter)


def _chain(node: Node) -> list[str]:
    """The paths of the Modules that a node ran in, outermost first."""
    stack = node.meta.get("nn_module_stack")
    return [path for path, _ in stack.values() if path] if stack else []


def _tree(owner: UnflattenedModule, module: Any, ep: Any) -> None:
    """Give a Module the Modules of a program: runs of nodes of one path become calls of that Module."""
    kinds = {str(each.target): each.kind for each in ep.graph_signature.input_specs}
    own: dict[int, Any] = {}  # the state is the tree's own: a run changes neither that of the program nor that of its other Modules

    def take(target: str) -> Any:
        value = operator.attrgetter(target)(module)
        if kinds.get(target) not in (InputKind.PARAMETER, InputKind.BUFFER):
            return value
        if id(value) not in own:
            copied = value.detach().clone()
            own[id(value)] = Parameter(copied, value.requires_grad) if isinstance(value, Parameter) else copied
        return own[id(value)]

    held = {node.target: take(node.target) for node in module.graph.nodes if node.op == "get_attr"}
    nodes = [node for node in module.graph.nodes if node.op not in ("call_module", "placeholder", "output", "get_attr")]
    builder = _Builder(held, {each.fqn: each.signature for each in ep.module_call_graph if each.fqn and each.signature is not None})
    inputs = [node for node in module.graph.nodes if node.op == "placeholder"]
    outputs = module.graph.output_node().args[0]
    root = builder.build("", nodes, inputs, outputs, 0)
    for target, value in held.items():
        *way, name = target.split(".")
        place: Any = root
        for part in way:
            if part not in place._modules:
                place.add_module(part, Module())
            place = place._modules[part]
        if kinds.get(target) is InputKind.BUFFER:
            for table in (place.__dict__, place._parameters, place._buffers):
                table.pop(name, None)
            place.register_buffer(name, value, persistent=target in ep.state_dict)
        elif isinstance(value, (Parameter, Module)):
            setattr(place, name, value)
        else:
            place._buffers.pop(name, None)
            place.__dict__[name] = value
    owner.__dict__["_root"] = root
    for name, child in root._modules.items():
        owner.add_module(name, child)
    owner._parameters.update(root._parameters)
    owner._buffers.update(root._buffers)
    owner._non_persistent_buffers_set |= root._non_persistent_buffers_set


class _Builder:
    """Builds the Modules of a program from runs of its nodes."""

    def __init__(self, held: dict[str, Any], signatures: dict[str, Any]) -> None:
        self.held = held
        self.signatures = signatures  # of Modules that are called as they were

    def build(self, prefix: str, nodes: list[Node], inputs: list[Node], outputs: Any, depth: int) -> InterpreterModule:
        """A Module that runs nodes: those of Modules inside it by calls of them."""
        graph = Graph()
        here: dict[Node, Any] = {}
        for each in inputs:
            here[each] = placeholder_named(graph, each.name)
        parts: dict[str, Any] = {}
        inside = f"{prefix}." if prefix else ""

        def read(each: Node) -> None:
            """A parameter that is first used here."""
            if each not in here and each.op == "get_attr":
                target = each.target.removeprefix(inside)
                here[each] = graph.create_node("get_attr", target, (), {}, target.replace(".", "_"))
                parts[target] = self.held[each.target]

        at = 0
        while at < len(nodes):
            chain = _chain(nodes[at])
            if len(chain) <= depth:
                for each in nodes[at].all_input_nodes:
                    read(each)
                here[nodes[at]] = graph.node_copy(nodes[at], here.__getitem__)
                at += 1
                continue
            path = chain[depth]
            run = [nodes[at]]
            while at + len(run) < len(nodes) and _chain(nodes[at + len(run)])[depth : depth + 1] == [path]:
                run.append(nodes[at + len(run)])
            at += len(run)
            self.call(graph, here, parts, path, inside, run, depth, read)
        flat: list[Node] = []
        map_arg(outputs, flat.append)
        for each in flat:
            read(each)
        graph.output(map_arg(outputs, here.__getitem__))
        return InterpreterModule(parts, graph, "InterpreterModule")

    def call(
        self, graph: Graph, here: dict[Node, Any], parts: dict[str, Any], path: str, inside: str, run: list[Node], depth: int, read: Any
    ) -> None:
        """A call of a Module that runs some nodes."""
        taken = set(run)
        own = f"{path}."
        given = dict.fromkeys(
            each
            for node in run
            for each in node.all_input_nodes
            if each not in taken and not (each.op == "get_attr" and each.target.startswith(own))
        )
        for each in given:
            read(each)
        leaving = [node for node in run if any(user not in taken for user in node.users)]
        outputs = leaving[0] if len(leaving) == 1 else tuple(leaving)
        module = self.build(path, run, list(given), outputs, depth + 1)
        plain = path.removeprefix(inside)
        name = _free_name(parts, plain)
        number = name != plain
        parts[name] = module
        for other in [each for each, part in parts.items() if each.startswith(f"{name}.") and isinstance(part, Module)]:
            part = parts.pop(other)  # a Module inside of it that was called before
            renamed = _free_name(parts, other)
            parts[renamed] = part
            for node in graph.nodes:
                if node.op == "call_module" and node.target == other:
                    node.target = renamed
        label = name.replace(".", "_").replace("@", "_")
        signature = self.signatures.get(path)
        known = {node.name: each for node, each in here.items()}
        if signature is not None and not number and _fits(signature, given, leaving, known):
            arguments = [known[each.name] if not isinstance(each, ConstantArgument) else each.value for each in signature.inputs]
            args, kwargs = pytree.tree_unflatten(arguments, signature.in_spec)
            nested = graph.create_node("call_module", name, args, kwargs, label)
            leaves = graph.call_function(pytree.tree_leaves, (nested,))
            _call_as_before(module, signature, [each.name for each in given], [each.name for each in leaving])
            places = [each.name for each in signature.outputs]
            for node in leaving:
                here[node] = graph.call_function(operator.getitem, (leaves, places.index(node.name)))
            return
        called = graph.create_node("call_module", name, tuple(here[each] for each in given), {}, label)
        for at, node in enumerate(leaving):
            here[node] = called if len(leaving) == 1 else graph.call_function(operator.getitem, (called, at))


def _free_name(parts: dict[str, Any], name: str) -> str:
    """A name for a further Module, also inside of one that is there: that of the path, or with the number of the call."""

    def is_taken(path: str) -> bool:
        above = (cut for cut in range(len(path)) if path[cut] == ".")
        return path in parts or any(_has(parts.get(path[:cut]), path[cut + 1 :]) for cut in above)

    names = (f"{name}@{number}" if number else name for number in itertools.count())
    return next(each for each in names if not is_taken(each))


def _has(module: Any, path: str) -> bool:
    """Whether a Module has a Module of a path inside."""
    for part in path.split("."):
        if not isinstance(module, Module) or part not in module._modules:
            return False
        module = module._modules[part]
    return True


def _fits(signature: Any, given: Any, leaving: list[Node], known: dict[str, Any]) -> bool:
    """Whether what a Module takes and gives is what its signature says."""
    inputs = {each.name for each in signature.inputs if not isinstance(each, ConstantArgument)}
    outputs = {each.name for each in signature.outputs}
    return inputs <= set(known) and {each.name for each in given} <= inputs and {each.name for each in leaving} <= outputs


def _call_as_before(module: Any, signature: Any, given: list[str], leaving: list[str]) -> None:
    """Let a Module take and give what it did before it was exported, nested as it was."""
    run = module.forward

    def forward(*args: Any, **kwargs: Any) -> Any:
        values = dict(zip([each.name for each in signature.inputs], flatten_inputs((args, kwargs), signature.in_spec)))
        results = run(*[values[name] for name in given])
        values.update(zip(leaving, (results,) if len(leaving) == 1 else results))
        made = [each.value if isinstance(each, ConstantArgument) else values[each.name] for each in signature.outputs]
        return pytree.tree_unflatten(made, signature.out_spec)

    module.__dict__["forward"] = forward


__all__ = ["FlatArgsAdapter", "InterpreterModule", "UnflattenedModule", "unflatten"]

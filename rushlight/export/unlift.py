"""``ExportedProgram.module()``: the program as a Module again, with parameters and buffers of its own and guards on its inputs."""

from __future__ import annotations

import functools
import inspect
from typing import Any

from ..capture.graph_module import Replay, assign
from ..core.base import TensorBase
from ..core.state import state
from ..fx.graph import Graph, placeholder_named
from ..fx.graph_module import GraphModule
from ..fx.pytree_codegen import PyTreeCodeGen, flatten_inputs
from ..graph.node import map_arg
from ..nn.modules.module import Module
from ..nn.parameter import Parameter
from ..ops.overloads import find_overload
from .graph_signature import InputKind, OutputKind


class GuardsFn(Module):
    """Checks that inputs have the sizes that the program was exported for."""

    def __init__(self, checks: list[tuple[str, str]], count: int) -> None:
        super().__init__()
        self.__dict__["checks"], self.__dict__["count"] = checks, count
        lines = [f"    if not ({condition}):\n        raise AssertionError({'Guard failed: ' + text!r})" for text, condition in checks]
        source = "\n".join([f"def forward({', '.join(f'a{at}' for at in range(count))}):", *(lines or ["    return None"])])
        namespace: dict[str, Any] = {}
        # Made of sizes and numbers alone, by input_checks.py.  A function of its own file, so that a compiled program sees into it.
        exec(compile(source, f"<guards {id(self)}>", "exec"), namespace)
        self.__dict__["forward"] = namespace["forward"]

    def __deepcopy__(self, memo: Any) -> GuardsFn:
        return GuardsFn(self.__dict__["checks"], self.__dict__["count"])

    def __reduce__(self) -> Any:
        return (GuardsFn, (self.__dict__["checks"], self.__dict__["count"]))


class _Replay(Replay):
    """Runs the graph under a capture, which follows sizes itself: inputs are not checked."""

    def call_module(self, target: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return None if target == "_guards_fn" else super().call_module(target, args, kwargs)


def by_position(args: tuple[Any, ...], kwargs: dict[str, Any], codegen: PyTreeCodeGen) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments that the program takes by position, also where they are given by name."""
    count = len(codegen.in_spec.children_specs[0].children_specs)
    names = codegen.names[len(args) : count]
    if not all(name in kwargs for name in names):
        return args, kwargs
    return (*args, *(kwargs[name] for name in names)), {key: value for key, value in kwargs.items() if key not in names}


class ExportedModule(GraphModule):
    """An exported program as a Module: called as the Module that was exported."""

    mode_is_fixed = True  # that in which it was exported

    def recompile(self) -> Any:
        """Generate ``forward`` from the graph as it is now."""
        code = super().recompile()
        codegen = self._graph._codegen
        if not isinstance(codegen, PyTreeCodeGen):
            return code
        self.__dict__["_in_spec"], self.__dict__["_out_spec"] = codegen.in_spec, codegen.out_spec
        plain = type(self).forward
        generated = plain._graph_forward  # type: ignore[attr-defined]

        @functools.wraps(generated)
        def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
            if state.capture is not None:
                args, kwargs = by_position(args, kwargs, codegen)
                return codegen.process_outputs(_Replay(self, self._graph).run(*flatten_inputs((args, kwargs), codegen.in_spec)))
            names = codegen.names[len(args) :]
            if any(name not in names for name in kwargs) or len(args) + len(kwargs) != len(codegen.names):
                flatten_inputs(by_position(args, kwargs, codegen), codegen.in_spec)  # says what does not fit
            return generated(self, *args, **kwargs)

        forward._graph_forward = generated  # type: ignore[attr-defined]
        forward.__signature__ = inspect.signature(generated)  # type: ignore[attr-defined]
        type(self).forward = forward  # type: ignore[method-assign]
        return code

    def train(self, mode: bool = True) -> Any:
        """An exported program has the mode that it was exported in."""
        raise NotImplementedError("Calling train() is not supported yet.")

    def eval(self) -> Any:
        """An exported program has the mode that it was exported in."""
        raise NotImplementedError("Calling eval() is not supported yet.")


def unlifted(ep: Any, check_guards: bool = True) -> ExportedModule:
    """A Module with the parameters, buffers and constants of an exported program, which runs its graph."""
    graph = Graph()
    here: dict[Any, Any] = {}
    root: dict[str, Any] = {}
    specs: dict[str, Any] = {}  # of lifted inputs, by the dotted path of the value
    by_name = {each.arg.name: each for each in ep.graph_signature.input_specs}
    flat: list[Any] = []
    for node in ep.graph.nodes:
        if node.op == "placeholder" and by_name[node.name].kind is InputKind.USER_INPUT:
            here[node] = placeholder_named(graph, node.name)
            here[node].meta = dict(node.meta)
            flat.append(here[node])
    for node in ep.graph.nodes:
        if node.op != "placeholder" or node in here:
            continue
        spec = by_name[node.name]
        target = str(spec.target)
        value = ep.state_dict[target] if target in ep.state_dict else ep.constants[target]
        root[target] = value
        specs[target] = spec
        here[node] = graph.create_node("get_attr", target, (), {}, target.lower().replace(".", "_"))
        here[node].meta = dict(node.meta)
    checks = ep._guards if check_guards else []
    guards = GuardsFn(checks, len(flat)) if flat else None
    if guards is not None:
        root["_guards_fn"] = guards
        graph.create_node("call_module", "_guards_fn", tuple(flat), {}, "_guards_fn").meta["impure"] = True
    for node in ep.graph.nodes:
        if node.op in ("placeholder", "output"):
            continue
        if node.op == "get_attr":
            root[node.target] = getattr(ep.graph_module, node.target)
        here[node] = graph.node_copy(node, here.__getitem__)
        here[node].name = here[node].name
    results = list(map_arg(ep.graph.output_node().args[0], here.__getitem__))
    mutated = 0
    for value, spec in zip(list(results), ep.graph_signature.output_specs):
        if spec.kind not in (OutputKind.BUFFER_MUTATION, OutputKind.PARAMETER_MUTATION, OutputKind.USER_INPUT_MUTATION):
            continue
        mutated += 1
        sources = ep.graph_signature.input_specs
        name = next(
            each.arg.name
            for each in sources
            if (each.arg.name if spec.kind is OutputKind.USER_INPUT_MUTATION else each.target) == spec.target
        )
        target = next(here[node] for node in ep.graph.nodes if node.name == name)
        copied = graph.create_node("call_function", find_overload("aten", "copy_", "default"), (target, value), {}, "copy__default")
        copied.meta["impure"] = True
        if spec.kind is OutputKind.USER_INPUT_MUTATION:
            results = [copied if each is value else each for each in results]
    graph.output(tuple(results[mutated:]))
    signature = ep.module_call_graph[0].signature
    names = signature.forward_arg_names or [f"arg_{at}" for at in range(len(flat))]
    graph.set_codegen(PyTreeCodeGen(list(names), signature.in_spec, signature.out_spec))
    module = ExportedModule(root, graph)
    _register(module, root, specs)
    module.__dict__["meta"] = dict(ep.graph_module.meta)
    return module


def _register(module: ExportedModule, root: dict[str, Any], specs: dict[str, Any]) -> None:
    """Make the values of lifted inputs parameters, buffers or constants of the Module, as their input specs say."""
    for target, spec in specs.items():
        value = root[target]
        *way, name = target.split(".")
        owner: Any = module
        for part in way:
            owner = getattr(owner, part)
        if spec.kind is InputKind.PARAMETER and not isinstance(value, Parameter):
            value = Parameter(value, value.requires_grad)
            owner._buffers.pop(name, None)
        if spec.kind is InputKind.BUFFER and isinstance(value, TensorBase):
            for place in (owner.__dict__, owner._parameters):
                place.pop(name, None)
            owner.register_buffer(name, value, persistent=bool(spec.persistent))
        elif spec.kind is InputKind.CONSTANT_TENSOR:
            owner._buffers.pop(name, None)
            owner.__dict__[name] = value
        else:
            assign(module, target, value)

"""Freezing: a scripted Module as one graph without calls, whose parameters and attributes are constants."""

from __future__ import annotations

import copy
import operator
from collections.abc import Set
from typing import Any

from ...core.base import TensorBase
from ...graph import Graph, Node, map_arg
from ...graph.control import branch
from ...graph.node import all_nodes
from ...nn.modules.module import Module
from ...tensor.layout import strided
from ..control.python_functions import power
from ..trace.traced import TracedModule, plain_attributes
from .frontend.errors import ScriptError
from .frontend.types import ANY
from .interfaces import interfaces_of
from .ir.c_math import of_numbers
from .lower.compiler import Signature
from .run.library_modules import CALL, needs_python
from .run.program import ScriptProgram, traced_program
from .script_module import RecursiveScriptModule, ScriptModule, from_source, is_library
from .transform.inference import optimise
from .transform.inline import inlined
from .transform.mutation import mutated

_PLAIN = (int, float, bool, str, type(None), complex)
_OWN = frozenset(Module().__dict__)
_FOLDED = frozenset(
    (
        operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.neg, operator.not_, operator.lt, operator.le,
        operator.gt, operator.ge, operator.eq, operator.ne, operator.is_, operator.is_not, operator.and_, operator.or_, bool, int, float, len, abs, power,
    )
)  # fmt: skip


def freeze(mod: Any, preserved_attrs: list[str] | None = None, optimize_numerics: bool = True) -> Any:
    """A scripted Module in eval mode with its parameters, buffers and attributes as constants, and branches on them decided.

    ``preserved_attrs`` names attributes and methods that the result has too.
    """
    if isinstance(mod, TracedModule):
        mod = _as_script(mod)
    if not isinstance(mod, ScriptModule):
        raise RuntimeError(f"Freezing expects a ScriptModule as input, not {type(mod).__name__}: script it first")
    if mod.training:
        raise RuntimeError("Freezing module in training mode is not yet supported: call .eval() before")
    made = RecursiveScriptModule()
    made.__dict__["_script_original"] = mod._script_class
    made.training = False
    whole = expanded(mod)
    swapped = _swapped(whole)
    methods: dict[str, list[str]] = {"": ["forward"] if "forward" in mod._script_programs else []}  # by the paths of their Modules
    for name in dict.fromkeys(preserved_attrs or ()):
        way, _, last = name.rpartition(".")
        if last in getattr(_at(mod, way), "_script_programs", ()):
            methods.setdefault(way, []).append(last)
        else:
            _preserve(mod, made, name)
    graphs = {
        (way, name): inlined(_at(mod, way)._script_programs[name].graph, _at(whole, way), "", _below_path(swapped, way))
        for way, names in methods.items()
        for name in names
    }
    written = _aliased(mod, {f"{way}.{path}" if way else path for (way, _), graph in graphs.items() for path in _written(graph)})
    for path in written:  # which stay as they are
        _preserve(mod, made, path)
    kept = {*written, *(preserved_attrs or ())}
    for (way, name), graph in graphs.items():
        if way and _below(way, kept):
            continue  # in a Module that stays as it is
        owner, holder = _at(mod, way), _holder(mod, made, way)
        signature = owner._script_programs[name].signature
        _constants(graph, owner, holder, _below_path(kept, way))
        fold(graph)
        graph.eliminate_dead_code()
        graph.lint()
        holder._script_adopt(name, ScriptProgram(graph, Signature(name, signature.parameters, signature.result)))
    made.__dict__["_script_frozen"] = True
    if optimize_numerics:
        optimise(made)
    return made


def run_frozen_optimizations(mod: Any, optimize_numerics: bool = True, preserved_methods: list[str] | None = None) -> None:
    """Take dropout out of a frozen Module, and fold batch norms into the layers before them."""
    if "_script_frozen" not in getattr(mod, "__dict__", {}):
        raise RuntimeError("this is for Modules that jit.freeze() has made")
    if optimize_numerics:
        optimise(mod)


def optimize_for_inference(mod: Any, other_methods: list[str] | None = None) -> Any:
    """A frozen Module, without dropout and with batch norms folded into the convolutions and linear layers before them."""
    if not isinstance(mod, (ScriptModule, TracedModule)):
        raise RuntimeError(
            "optimize_for_inference expects ScriptModule as input. Please use torch.jit.script or torch.jit.trace to script your 'nn.Module'."
        )
    if "_script_frozen" not in mod.__dict__:
        return freeze(mod.eval(), other_methods)
    made = copy.deepcopy(mod)
    for name, program in made._script_programs.items():
        made._script_adopt(name, ScriptProgram(copy.deepcopy(program.graph), program.signature))
    optimise(made)
    return made


def _aliased(mod: Module, written: set[str]) -> set[str]:
    """Paths that are written to, with those of other attributes that have the same memory."""

    def memory(value: Any) -> set[int]:
        if isinstance(value, TensorBase):
            return {value.untyped_storage().data_ptr() if value.layout is strided else id(value)}  # type: ignore[attr-defined]
        if isinstance(value, (list, tuple, dict)):
            parts = value.values() if isinstance(value, dict) else value
            return {id(value)}.union(*map(memory, parts)) if not isinstance(value, tuple) else set().union(*map(memory, parts))
        return set()

    held = {
        ".".join(filter(None, (path, name))): memory(value)
        for path, part in mod.named_modules()
        for name, value in (*part._parameters.items(), *part._buffers.items(), *part.__dict__.items())
        if isinstance(value, (TensorBase, list, tuple, dict)) and not (name in _OWN or name.startswith("_script"))
    }
    touched = set().union(*(held.get(path, set()) for path in written))
    return written | {path for path, places in held.items() if places & touched}


def _swapped(mod: Any) -> frozenset[str]:
    """The paths of Modules that methods put others in the place of."""
    found = set()
    for path, part in mod.named_modules():
        for program in part.__dict__.get("_script_programs", {}).values():
            for way, name in _set_names(program.graph):
                owner = part
                for each in filter(None, way.split(".")):
                    owner = owner._modules[each]
                if name in owner._modules:
                    if name in interfaces_of(owner):
                        raise RuntimeError(
                            f"Freezing does not support SetAttr on an interface type. SetAttr is done on '{name}': which Module stands there is known "
                            "only when the program runs"
                        )
                    found.add(".".join(filter(None, (path, way, name))))
    return frozenset(found)


def _set_names(graph: Graph) -> list[tuple[str, str]]:
    """The attributes that a graph sets: the path of the Module, and the name."""
    setters = [node for node in all_nodes(graph) if node.op == "call_module" and node.target.endswith("__setattr__")]
    return [(node.target.removesuffix("__setattr__").rstrip("."), node.args[0]) for node in setters]


def _written(graph: Graph) -> set[str]:
    """The paths of attributes that a graph without calls sets, or writes to in place."""
    return mutated(graph) | {".".join(filter(None, each)) for each in _set_names(graph)}


def expanded(mod: Any) -> Any:
    """The Module with those of the package scripted too, as far as their source lets."""
    made: Any = object.__new__(type(mod))
    made.__dict__.update(mod.__dict__)
    made.__dict__["_modules"] = {name: None if child is None else _expanded_child(child) for name, child in mod._modules.items()}
    return made


def _expanded_child(child: Any) -> Any:
    if not isinstance(child, ScriptModule) and is_library(child):
        try:
            made = from_source(child, {})
        except ScriptError:
            return child  # it stays one call
        if any(map(needs_python, made._script_programs.values())):
            return child
        child = made
    return expanded(child) if isinstance(child, ScriptModule) else child


def _as_script(mod: TracedModule) -> ScriptModule:
    """A traced Module as a scripted one, which has the same graph."""
    made = RecursiveScriptModule()
    made.__dict__.update(_parameters=mod._parameters, _buffers=mod._buffers, _modules=mod._modules, training=mod.training)
    made.__dict__["_script_original"] = type(mod.original_name, (Module,), {"__module__": __name__})
    made.__dict__.update(plain_attributes(mod))
    for name, graph in {"forward": mod.graph, **{name: each.graph for name, each in mod.methods.items()}}.items():
        made._script_adopt(name, traced_program(copy.deepcopy(graph), name, ANY))
    return made


def _at(mod: Any, path: str) -> Any:
    """The Module at a path; None where there is none."""
    for part in filter(None, path.split(".")):
        mod = None if mod is None else mod._modules.get(part)
    return mod


def _below_path(paths: Any, way: str) -> frozenset[str]:
    """Those of several paths that are below a Module, as it names them."""
    return frozenset(path[len(way) + 1 if way else 0 :] for path in paths if not way or path.startswith(way + "."))


def _holder(mod: Any, made: Any, way: str) -> Any:
    """The Module of the frozen one at the place of another one, made with those on the way where it is not there: they hold nothing else."""
    for part in filter(None, way.split(".")):
        mod = mod._modules[part]
        if part not in made._modules:
            made._modules[part] = holder = RecursiveScriptModule()
            holder.__dict__["_script_original"] = mod.__dict__.get("_script_original", type(mod))
            holder.training = False
        made = made._modules[part]
    return made


def _preserve(mod: Any, made: Any, path: str) -> None:
    """An attribute that stays what it is, at its own place."""
    way, _, last = path.rpartition(".")
    root, mod = mod, _at(mod, way)
    if mod is not None:
        made = _holder(root, made, way)
    if mod is None or not hasattr(mod, last):
        raise ScriptError(f"preserved_attrs names '{path}', which the Module does not have")
    for table in ("_parameters", "_buffers", "_modules"):
        if last in mod.__dict__[table]:
            made.__dict__[table][last] = mod.__dict__[table][last]
            return
    made.__dict__[last] = getattr(mod, last)


def _constants(graph: Graph, mod: Any, made: Any, kept: Set[str]) -> None:
    """Attributes as constants: plain ones in the graph, tensors as attributes that are no parameters."""
    for node in list(graph.nodes):
        for body in node.bodies.values():
            _constants(body, mod, made, kept)
        if node.op == "call_module" and not node.target.endswith("__setattr__") and not _below(node.target, kept):
            _kept(node, mod, made)
        if node.op != "get_attr" or _below(node.target, kept):
            continue
        value = mod
        for part in node.target.split("."):
            value = getattr(value, part)
        if isinstance(value, _PLAIN):
            _replace(node, value)
            graph.erase_node(node)
        else:
            name = "_frozen_" + node.target.replace(".", "_")
            made.__dict__[name] = value.detach() if isinstance(value, TensorBase) else copy.deepcopy(value)
            node.target = name


def _below(path: str, kept: Set[str]) -> bool:
    """Whether a path is one of several, or below one."""
    return path in kept or any(path.startswith(each + ".") for each in kept)


def _kept(node: Node, mod: Any, made: Any) -> None:
    """A Module that could not be taken apart stays one, with parameters that want no gradient."""
    value = mod
    target = node.target.removesuffix(CALL).rstrip(".")  # that of a Module of the package is the Module itself
    for part in target.split(".") if target else ():
        value = getattr(value, part)
    if not isinstance(value, Module):
        raise ScriptError(f"'{node.target}' can't be frozen: it is no scripted method")
    name = "_frozen_" + (target or "self").replace(".", "_")
    if name not in made._modules:
        made._modules[name] = copy.deepcopy(value).requires_grad_(False)
    node.target = name


def _replace(node: Node, value: Any) -> None:
    """A constant, or other nodes, wherever a node is used."""
    for user in list(node.users):
        user.args = map_arg(user.args, lambda each: value if each is node else each)
        user.kwargs = map_arg(user.kwargs, lambda each: value if each is node else each)


def fold(graph: Graph) -> None:
    """Compute what follows from constants, and decide branches on them."""
    for node in list(graph.nodes):
        if node._erased:  # with a branch that was decided
            continue
        if node.op == "call_function" and node.target in _FOLDED and not node.all_input_nodes and not node.kwargs:
            try:
                value = of_numbers(node.target, node.type)(*node.args)
            except Exception:  # the program raises it when it runs
                continue
            _replace(node, value)
            graph.erase_node(node)
        elif node.op == "call_function" and node.target is branch and not isinstance(node.args[0], Node):
            _decide(graph, node)
        else:
            for body in node.bodies.values():
                fold(body)


def _decide(graph: Graph, node: Node) -> None:
    """The branch that is taken in place of a branch node."""
    body = node.bodies["then" if node.args[0] else "otherwise"]
    values: dict[Node, Any] = dict(zip(body.find_nodes(op="placeholder"), node.args[1:]))
    with graph.inserting_before(node):
        results = graph.graph_copy(body, values)
    for user in list(node.users):
        _replace(user, results[user.args[1]])
        graph.erase_node(user)
    graph.erase_node(node)
    fold(graph)

"""``jit.trace``: a function or Module, run once, as a graph that runs, trains, and is saved."""

from __future__ import annotations

import inspect
import operator
import warnings
from typing import Any

from ...core.base import TensorBase
from ...core.declare import PACKAGE
from ...core.errors import CaptureError, RushlightError
from ...core.process_safety import load_module
from ...graph import Graph
from ...graph.node import all_graphs, all_nodes
from ...nn.modules.module import Module
from ..control.python_functions import unpack
from ..graph_module import GraphModule, targets
from ..tracer.symbolic_sizes import counted
from ..tracer.tracer import TracerWarning, tensors_in
from .capture import bind_arguments, capture, class_of, holds_empty_list, holds_tensor
from .outplace import drop_writes
from .traced import ENABLED, TracedFunction, TracedModule


class TracingCheckError(RushlightError, RuntimeError):
    """A second run of the program did something else than the trace."""

    code = "RL403"


def trace(
    func: Any, example_inputs: Any = None, optimize: Any = None, check_trace: bool = True, check_inputs: Any = None,
    check_tolerance: float = 1e-5, strict: bool = True, _force_outplace: bool = False, _module_class: Any = None,
    _compilation_unit: Any = None, example_kwarg_inputs: dict[str, Any] | None = None, _store_inputs: bool = True,
) -> Any:  # fmt: skip
    """Run a function or Module on example inputs and give what it computed as a graph that can be called, trained and saved.

    Sizes of the inputs may differ in later calls; Python decisions on the values of tensors are fixed, with a
    :class:`TracerWarning`.  ``check_trace`` runs the program a second time and compares.
    """
    if isinstance(func, (TracedModule, TracedFunction)) or not ENABLED:
        return func
    if not callable(func):
        raise CaptureError(f"jit.trace() takes a function or a Module, not {type(func).__name__}")
    if example_inputs is None and example_kwarg_inputs is None:
        raise RuntimeError("example_kwarg_inputs should be a dict or example_inputs should be given")
    if isinstance(example_inputs, (TensorBase, dict)):
        example_inputs = (example_inputs,)
    args, kwargs = tuple(example_inputs or ()), dict(example_kwarg_inputs or {})
    if inspect.ismethod(func) and isinstance(func.__self__, Module) and func.__name__ == "forward":  # that of a Module: its parameters stay
        func = func.__self__
    elif inspect.ismethod(func) and isinstance(func.__self__, Module):
        raise AttributeError("trace doesn't support compiling individual module's functions.\nPlease use trace_module")
    for name, value in bind_arguments(func, args, kwargs):
        if not holds_tensor(value):
            if holds_empty_list(value):
                raise RuntimeError("List trace inputs must have elements")
            given = f"Tuple[{', '.join(type(each).__name__ for each in args)}]"
            raise RuntimeError(
                f"Type '{given}' cannot be traced, because of the argument '{name}' of type '{type(value).__name__}'. Only Tensors and (possibly nested) "
                "Lists, Dicts, and Tuples of Tensors can be traced"
            )
        if isinstance(value, list) and len({type(each) for each in value if isinstance(each, TensorBase | tuple | list | dict)}) > 1:
            raise RuntimeError(f"List inputs to traced functions must have consistent element type: those of the argument '{name}' differ")
    traced = _traced(func, args, kwargs, strict=strict, outplace=_force_outplace)
    if check_trace:
        for inputs in check_inputs if check_inputs is not None else [args]:
            inputs = (inputs,) if isinstance(inputs, TensorBase) else tuple(inputs)
            _check(func, traced, inputs, kwargs, check_tolerance, outplace=_force_outplace)
    return traced


def trace_module(
    mod: Any, inputs: dict[str, Any], optimize: Any = None, check_trace: bool = True, check_inputs: Any = None, check_tolerance: float = 1e-5,
    strict: bool = True, _force_outplace: bool = False, _module_class: Any = None, _compilation_unit: Any = None, example_inputs_is_kwarg: bool = False,
    _store_inputs: bool = True,
) -> TracedModule:  # fmt: skip
    """Trace several methods of a Module: ``inputs`` has the example inputs of each by its name; see :func:`trace`.

    >>> import rushlight
    >>> made = trace_module(rushlight.nn.Linear(2, 3), {"forward": rushlight.ones(1, 2)})
    >>> tuple(made(rushlight.ones(4, 2)).shape)
    (4, 3)
    """
    if not isinstance(mod, Module):
        raise AttributeError(f"expected a Module as the first argument, not {type(mod).__name__}")
    if not isinstance(inputs, dict):
        raise AttributeError(f"expected a dictionary of (method_name, input) pairs, not {type(inputs).__name__}")
    graphs: dict[str, tuple[Graph, dict[str, Any]]] = {}
    for name, given in inputs.items():
        method = mod if name == "forward" else getattr(mod, name)
        args, kwargs = (
            ((), dict(given)) if example_inputs_is_kwarg else (((given,) if isinstance(given, (TensorBase, dict)) else tuple(given)), {})
        )
        traced = _traced(method, args, kwargs, mod, strict, _force_outplace)
        if check_trace:
            for others in [each[name] for each in check_inputs if name in each] if check_inputs is not None else [args]:
                _check(method, traced, (others,) if isinstance(others, TensorBase) else tuple(others), kwargs, check_tolerance, mod)
        module = traced if isinstance(traced, TracedModule) else traced._module
        graphs[name] = module.graph, dict(targets(module))
    forward, parts = graphs.pop("forward", (None, {}))
    if forward is None:
        empty = Graph()
        empty.output(None)
    made = TracedModule(parts, empty if forward is None else forward, type(mod).__name__).adopt(mod)
    for name, (graph, found) in graphs.items():
        made.add_method(name, graph, found)
    add_exported(made, mod)
    return made if forward is not None else made.without_forward()


def _traced(
    func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], root: Module | None = None, strict: bool = False, outplace: bool = False
) -> Any:
    _refuse(func if isinstance(func, Module) else root)
    owner = func if isinstance(func, Module) else root
    seen = set() if owner is None else {id(each) for each in (*owner.parameters(), *owner.buffers())}  # an input may be one of them
    args, kwargs = _apart(args, seen), _apart(kwargs, seen)
    captured = capture(func, args, kwargs, dynamic=lambda name, dim: f"{name}_{dim}", root=root, calls=isinstance(func, Module))
    if strict:
        _check_output(captured.result)
    if not tensors_in(captured.result) and not _numbers_only(captured.result):
        raise CaptureError(
            f"Only tensors, lists, tuples of tensors, or dictionary of tensors can be output from traced functions: the traced program returns "
            f"{type(captured.result).__name__}: it must return a tensor, or containers that hold tensors"
        )
    if outplace:
        drop_writes(captured.graph)
    for graph in all_graphs(captured.graph):
        check_counts(graph)
    parts = {}
    for node in all_nodes(captured.graph):
        if node.op == "get_attr":
            constant = captured.constants.get(node.target)
            parts[node.target] = captured.tracer.tensor_of(node.target) if constant is None else constant
            if constant is not None and constant.requires_grad and constant.is_leaf and root is None:
                raise CaptureError(
                    "Cannot insert a Tensor that requires grad as a constant. Consider making it a parameter or input, or detaching the gradient"
                )
    if isinstance(func, Module):
        made = TracedModule(parts, captured.graph, type(func).__name__).adopt(func)
        made.take_calls({path: (class_of(func.get_submodule(path)).__name__, call) for path, call in captured.calls.items() if path})
        add_exported(made, func)
        return made
    return TracedFunction(GraphModule(parts, captured.graph, "TracedFunction"), getattr(func, "__name__", type(func).__name__))


def add_exported(made: TracedModule, module: Module) -> None:
    """Give a traced Module the methods that are marked with ``jit.export``: as scripts, whose control flow stays."""
    kind = type(module)
    marked = [name for name in dir(kind) if getattr(inspect.getattr_static(kind, name), "_script_mark", None) == "exported"]
    names = [name for name in marked if name != "forward" and name not in made.methods]
    if names:
        scripts = load_module(f"{PACKAGE}.capture.script.exported_methods")
        for name, (graph, parts) in scripts.exported_graphs(module, names).items():
            made.add_method(name, graph, parts)


def check_counts(graph: Graph) -> None:
    """Have the parts of a tensor taken as many as they were in the trace: the sizes of another input may give more or fewer."""
    for node in list(graph.nodes):
        if node.table_op is not None and node.table_op in counted:
            items = [user for user in node.users if user.target is operator.getitem and user.args[0] is node]
            if len(items) == len(node.users) and items:
                with graph.inserting_after(node):
                    parts = graph.call_function(unpack, (node, len(node.meta["val"])))
                parts.meta.update({key: node.meta[key] for key in ("val", "source", "module") if key in node.meta})
                for each in items:
                    each.args = (parts, each.args[1])


def _refuse(module: Module | None) -> None:
    """Modules that a trace can't keep whole."""
    if module is None:
        return
    for part in module.modules():
        if part.__dict__.get("_backward_hooks"):
            raise ValueError(
                f"Modules that have backward hooks assigned can't be compiled: {type(part).__name__}. Remove the hooks, or trace without them"
            )
        own = [each for each in (*part._parameters.values(), *part._buffers.values()) if each is not None]
        if len(own) != len({id(each) for each in own}):
            raise ValueError("TracedModules don't support parameter sharing between modules")


def _apart(value: Any, seen: set[int]) -> Any:
    """Arguments in which each tensor stands once: one that is given for several inputs is another input each time."""
    if isinstance(value, TensorBase):
        if id(value) in seen:
            return value.view_as(value)  # type: ignore[attr-defined]
        seen.add(id(value))
        return value
    if isinstance(value, dict):
        parts = {key: _apart(each, seen) for key, each in value.items()}
        return value if all(parts[key] is each for key, each in value.items()) else type(value)(parts)
    if isinstance(value, (tuple, list)):
        items = [_apart(each, seen) for each in value]
        if all(one is two for one, two in zip(items, value)):
            return value
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value


def _check_output(result: Any) -> None:
    """A trace returns what it returned this time: of containers that may be others next time, the user is told."""
    what = "dict" if isinstance(result, dict) else "list"
    if isinstance(result, (dict, list)):
        says = (
            f"Encountering a {what} at the output of the tracer might cause the trace to be incorrect, this is only valid if the container "
            "structure does not change based on the module's inputs. Consider using a constant container instead (e.g. for `list`, use a "
            "`tuple` instead. for `dict`, use a `NamedTuple` instead). If you absolutely need this and know the side effects, pass "
            "strict=False to trace() to allow this behavior."
        )
        if what == "dict":
            raise CaptureError(says)
        warnings.warn(says, TracerWarning, stacklevel=4)


def _numbers_only(result: Any) -> bool:
    return isinstance(result, (int, float)) and not isinstance(result, bool)


def _check(
    func: Any,
    traced: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    tolerance: float,
    root: Module | None = None,
    outplace: bool = False,
) -> None:
    """Run the program and the trace again on copies of the inputs: the same graph, and the same values."""

    def copied(value: Any) -> Any:
        if isinstance(value, TensorBase):
            return value.detach().clone()
        if isinstance(value, dict):
            return {key: copied(each) for key, each in value.items()}
        if isinstance(value, (tuple, list)):
            values = [copied(each) for each in value]
            return type(value)(*values) if hasattr(value, "_fields") else type(value)(values)
        return value

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TracerWarning)
        again = _traced(func, copied(args), copied(kwargs), root, outplace=outplace)
    if again.code != traced.code:
        raise TracingCheckError(
            "Tracing failed sanity checks!\nERROR: Graphs differed across invocations! A second run of the program did something else than the first:\n"
            f"{_difference(traced.code, again.code)}"
        )
    expected = tensors_in(func(*copied(args), **copied(kwargs)))
    found = tensors_in(traced(*copied(args), **copied(kwargs)))
    for index, (want, got) in enumerate(zip(expected, found)):
        if want.is_quantized and got.is_quantized:
            want, got = want.dequantize(), got.dequantize()
        if want.shape != got.shape or not want.detach().isclose(got.detach(), rtol=tolerance, atol=tolerance, equal_nan=True).all():
            warnings.warn(
                f"Output nr {index + 1}. of the traced function does not match the corresponding output of the Python function. The program "
                "may draw random numbers, or depend on something that the trace has fixed",
                TracerWarning,
                stacklevel=4,
            )


def _difference(first: str, second: str) -> str:
    lines = [f"- {a}\n+ {b}" for a, b in zip(first.splitlines(), second.splitlines()) if a != b]
    return "\n".join(lines[:5]) or f"{len(first.splitlines())} lines, then {len(second.splitlines())}"

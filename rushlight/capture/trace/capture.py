"""From a function or Module and example inputs to a graph, by running it once."""

from __future__ import annotations

import inspect
import operator
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from ...amp.autocast_mode import clear_autocast_cache, put_beneath
from ...core.base import Spec, TensorBase, make
from ...core.errors import CaptureError
from ...core.state import state
from ...core.symbolic import SymbolicInt
from ...graph import Graph, Node
from ...nn.modules.module import Module, register_module_forward_hook, register_module_forward_pre_hook
from ..control.dynamic_lists import list_input, optional_input, output_of
from ..control.python_functions import Maybe
from ..tracer.fake_tensors import without_data
from ..tracer.tracer import Tracer
from .extremes import Extremes
from .module_calls import CallRecorder, ModuleCall


class Captured:
    """What a capture gives: the graph, the constant tensors in it, what the program returned, and the tracer itself.

    ``inputs`` are the nodes of the input tensors in order (of nested arguments, all that they hold), with their names.
    """

    def __init__(self, tracer: Tracer, inputs: list[tuple[str, Node]], result: Any, outputs: Any = None) -> None:
        self.graph: Graph = tracer.graph
        self.constants = tracer.constants
        self.tracer = tracer
        self.inputs = inputs
        self.result = result
        self.calls: dict[str, ModuleCall] = {}  # of the Modules inside, by their paths
        self.outputs = outputs  # the result, with one tensor in the place of a list of unknown length


def capture(
    program: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    dynamic: Callable[[str, int], str | None] = lambda name, dim: None,
    names: Callable[[int, str], str] = lambda position, name: name,
    started: Callable[[Tracer], None] | None = None,
    values: bool = True,
    listed: Callable[[str, Any], bool] = lambda name, value: False,
    optional: Callable[[str], bool] = lambda name: False,
    numbers: Callable[[str], str] = lambda name: "",
    root: Module | None = None,
    calls: bool = False,
    **options: Any,
) -> Captured:
    """Run a program on example inputs and record what it does.

    ``dynamic(name, dim)`` gives the symbol of a dimension of an input that is dynamic, or None; ``names`` may
    rename the inputs; ``started`` gets the tracer before the program runs; with ``values=False`` it runs on inputs without data, which
    takes no time to compute, and raises where the program asks for a value; ``listed(name, items)`` says which lists are inputs of any
    length, ``optional(name)`` which inputs may be None in another run; ``numbers(name)`` which arguments that are Python numbers are inputs:
    "followed" ones are symbolic numbers in the run, those called "tensor" tensors without dimensions, "fixed" ones keep their value; ``root`` is the Module of
    a program that is one of its methods; with ``calls=True`` those of the Modules inside are noted; ``options`` are those of :class:`~rushlight.capture.tracer.tracer.Tracer`.
    """
    root = program if isinstance(program, Module) else root
    known = [] if root is None else [*root.named_parameters(remove_duplicate=False), *root.named_buffers(remove_duplicate=False)]
    tracer = Tracer(known, **options)
    if not values:
        tracer.without_values = True
        args, kwargs = without_data(args), without_data(kwargs or {})
    if started is not None:
        started(tracer)
    inputs: list[tuple[str, Node]] = []
    absent: dict[str, Maybe] = {}  # by name: inputs that may be None
    later: list[Callable[[], None]] = []  # sizes are read from those that are always there, where they can be

    def take(value: Any, node: Node, path: str) -> None:
        """Tie the tensors in an argument to nodes: itself, or its parts by their keys."""
        if isinstance(value, TensorBase) and optional(path):
            name = names(len(inputs), path)
            absent[path], part = optional_input(tracer, value, node)
            later.append(lambda: tracer.add_input(value, part, lambda dim: dynamic(name, dim)))
            later.append(lambda: node.meta.update(val=part.meta["val"], container="optional"))
            inputs.append((name, node))
            return
        if isinstance(value, TensorBase):
            name = names(len(inputs), path)
            tracer.add_input(value, node, lambda dim: dynamic(name, dim))
            inputs.append((name, node))
            return
        if isinstance(value, list) and listed(path, value):
            name = names(len(inputs), path)
            list_input(tracer, value, node, lambda dim: dynamic(name, dim))
            inputs.append((name, node))
            return
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            if holds_tensor(each):
                part = tracer.graph.call_function(operator.getitem, (node, key))
                part.meta["input"] = True
                take(each, part, f"{path}_{key}")

    def take_number(value: Any, node: Node, path: str) -> None:
        """Tie a Python number to a node; where it is followed, a symbolic number takes its place in the run."""
        name = names(len(inputs), path)
        node.meta["val"] = Spec((), np.dtype({bool: np.bool_, int: np.int64, float: np.float64}[type(value)]))
        tracer.depends.add(node)
        inputs.append((name, node))
        how = numbers(path)
        if how == "tensor":
            replaced[path] = make(Spec((), np.dtype(np.bool_))) if tracer.without_values else make(np.asarray(value))
            tracer.bind(replaced[path], node)
        elif how == "followed" and type(value) is not bool:
            replaced[path] = tracer.new_number(node, value)

    bound = bind_arguments(program, args, kwargs or {})
    placeholders: list[tuple[Any, Node, str]] = []
    replaced: dict[str, Any] = {}
    for name, value in bound:
        if holds_tensor(value) or (type(value) in (bool, int, float) and numbers(name)):
            placeholders.append((value, tracer.graph.placeholder(name), name))
    for value, node, name in placeholders:
        (take_number if type(value) in (bool, int, float) else take)(value, node, name)
    for each in later:
        each()
    replaced.update(absent)
    if replaced:
        args = tuple([replaced.get(name, value) for name, value in bound[: len(args)]])
        kwargs = {name: replaced.get(name, value) for name, value in (kwargs or {}).items()}
    recorder = CallRecorder(tracer) if calls else None
    with tracer, Scopes(tracer, root, recorder):
        put_beneath(tracer)
        result = program(*args, **(kwargs or {}))
        output, shown = output_of(tracer, result)
        clear_autocast_cache()  # of what has no data in this run
    tracer.graph.output(output)
    live = live_nodes(tracer)
    tracer.graph.eliminate_dead_code(lambda node: node in live or (node.graph is not tracer.graph and node.is_impure()))
    captured = Captured(tracer, inputs, result, shown)
    captured.calls = {} if recorder is None else recorder.finished()
    return captured


def live_nodes(tracer: Tracer) -> set[Node]:
    """The nodes that the output needs, for values or (where they are exported) for the sizes of values."""
    found: set[Node] = set()
    waiting = [node for node in tracer.graph.nodes if node.op == "output" or node.is_impure()]
    while waiting:
        node = waiting.pop()
        if node in found:
            continue
        found.add(node)
        waiting += node.all_input_nodes
        if tracer.functional:
            known = node.meta.get("val")
            for each in known if isinstance(known, tuple) else (known,):
                for size in getattr(each, "shape", ()):
                    if isinstance(size, SymbolicInt):
                        waiting += [tracer.symbols[name].source for name in size.expression.symbols()]
    return found


def holds_tensor(value: Any) -> bool:
    """Whether there is a tensor in (nested) containers."""
    if isinstance(value, dict):
        return any(holds_tensor(each) for each in value.values())
    if isinstance(value, (tuple, list)):
        return any(holds_tensor(each) for each in value)
    return isinstance(value, TensorBase)


def holds_empty_list(value: Any) -> bool:
    """Whether there is a list without elements in (nested) containers."""
    if isinstance(value, dict):
        return any(map(holds_empty_list, value.values()))
    return isinstance(value, (tuple, list)) and (any(map(holds_empty_list, value)) or (isinstance(value, list) and not value))


_names: weakref.WeakKeyDictionary[Any, list[str]] = weakref.WeakKeyDictionary()


def parameter_names(forward: Any, count: int) -> list[str]:
    """Names of the first parameters of a Module's forward, its own left out."""
    named = _names.get(forward)
    if named is None:
        parameters = list(inspect.signature(forward).parameters.values())[1:]
        named = _names[forward] = [each.name for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    return named[:count] + [f"input_{at}" for at in range(len(named), count)]


def bind_arguments(program: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[tuple[str, Any]]:
    """The arguments with the names of the parameters that take them."""
    called = program.forward if isinstance(program, Module) else program
    try:
        signature = inspect.signature(called)
    except (TypeError, ValueError):
        return [*((f"input_{index}", each) for index, each in enumerate(args)), *kwargs.items()]
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        raise CaptureError(f"the example inputs do not fit {getattr(program, '__name__', type(program).__name__)}: {error}") from None
    found: list[tuple[str, Any]] = []
    for name, value in bound.arguments.items():
        kind = signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_POSITIONAL:
            found += [(f"{name}_{index}", each) for index, each in enumerate(value)]
        elif kind is inspect.Parameter.VAR_KEYWORD:
            found += value.items()
        else:
            found.append((name, value))
    return found


def class_of(module: Any) -> type:
    """The class of a Module; of one that was scripted, the class that the user wrote."""
    return getattr(module, "_script_class", None) or type(module)


class Scopes:
    """Tells a tracer which Module is running, by hooks that hold for all Modules; ``max`` and ``min`` of sizes are formulas meanwhile."""

    def __init__(self, tracer: Tracer, root: Any, recorder: CallRecorder | None = None) -> None:
        self.recorder = recorder
        self.tracer = tracer
        self.extremes = Extremes()
        self.around: list[tuple[Any, Any]] = []  # for each Module that is running: its tracer, and what ran around it
        self.paths = {id(module): path for path, module in root.named_modules()} if isinstance(root, Module) else {}

    def __enter__(self) -> Scopes:
        def enter(module: Any, args: Any) -> None:
            running = self.running()
            if running is not None:
                path = self.paths.get(id(module))
                if path is None:
                    path = running.modules[-1] if running.modules else ""
                running.modules.append(path)
                self.around.append((running, running.origin))
                if running.origin is not None:  # of a scripted program, which calls this Module
                    running.origin = {**running.origin, "module": path}
                self.tracer.classes.setdefault(path, class_of(module))
                if self.recorder is not None and running is self.tracer:
                    self.recorder.enter(path, list(zip(parameter_names(type(module).forward, len(args)), args)))

        def leave(module: Any, args: Any, kwargs: Any, result: Any) -> None:
            running = self.running()
            if running is not None and self.around and self.around[-1][0] is running:
                if self.recorder is not None and running is self.tracer:
                    self.recorder.leave(kwargs, result)
                running.modules.pop()
                _, running.origin = self.around.pop()

        self.extremes.__enter__()
        self.hooks = [register_module_forward_pre_hook(enter), register_module_forward_hook(leave, with_kwargs=True, always_call=True)]
        return self

    def running(self) -> Any:
        """The tracer that is on: this one, or that of a body in it."""
        return state.capture if getattr(state.capture, "root", state.capture) is self.tracer else None

    def __exit__(self, *exception: Any) -> None:
        self.extremes.__exit__()
        for hook in self.hooks:
            hook.remove()

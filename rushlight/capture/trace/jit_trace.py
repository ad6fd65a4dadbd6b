"""``jit.trace``: a function or Module, run once, as a graph that runs, trains, and is saved."""

from __future__ import annotations

import importlib
import inspect
import json
import os
import pickle
import warnings
from collections.abc import Callable
from operator import attrgetter
from typing import Any, Generic, TypeVar

from ...core.base import TensorBase
from ...core.errors import CaptureError, RushlightError
from ...core.futures import Future as CompletableFuture
from ...core.state import state
from ...graph import Graph
from ...graph.node import all_nodes
from ...nn.modules.module import Module
from ...nn.parameter import Parameter
from ...serialization import load as load_archive
from ...serialization import save as save_archive
from ...serialization.loading import is_torchscript
from ...serialization.records import LOCAL_MARK, ArchiveReader
from ..graph_data import from_data, to_data
from ..graph_module import GraphModule, assign, targets
from ..listing import listed
from ..tracer.tracer import TracerWarning, tensors_in
from .capture import bind_arguments, capture, holds_empty_list, holds_tensor
from .outplace import drop_writes


class EnabledProxy:
    """Whether functions are scripted and traced; where not (``PYTORCH_JIT=0``), they stay the Python that they are made of."""

    def __init__(self) -> None:
        self.enabled = os.environ.get("PYTORCH_JIT", "1") != "0"

    def __bool__(self) -> bool:
        return self.enabled


ENABLED = EnabledProxy()
FORMAT, VERSION = "rushlight.jit", 1


class TracingCheckError(RushlightError, RuntimeError):
    """A second run of the program did something else than the trace."""

    code = "RL403"


class TracedModule(GraphModule):
    """A Module's computation on example inputs.  It has all parameters and buffers of that Module, under the same names."""

    original_name: str = ""

    def __init__(self, root: Module | dict[str, Any], graph: Graph, class_name: str = "TracedModule") -> None:
        super().__init__(root, graph, class_name)
        self.__dict__["original_name"] = class_name

    def adopt(self, module: Module) -> TracedModule:
        """Take over the parameters, buffers, submodules and mode of the Module that was traced."""
        for path, _ in module.named_modules():
            if path and not _has(self, path):
                assign(self, path, Module())
        for name, value in (*module.named_parameters(remove_duplicate=False), *module.named_buffers(remove_duplicate=False)):
            assign(self, name, value)
        for path, part in module.named_modules():
            self.get_submodule(path).training = part.training
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return interpreted(super().__call__, args, kwargs)

    def add_method(self, name: str, graph: Graph, parts: dict[str, Any]) -> None:
        """A further method, by its graph; it computes with what this Module holds."""
        for target, value in parts.items():
            if not _reaches(self, target):
                assign(self, target, value)
        self.__dict__[name] = self.methods[name] = TracedMethod(self, GraphModule(parts, graph, "TracedMethod"), name)

    @property
    def methods(self) -> dict[str, TracedMethod]:
        """The traced methods beside ``forward``."""
        return self.__dict__.setdefault("_methods", {})  # type: ignore[no-any-return]

    def without_forward(self) -> TracedModule:
        """The same where only other methods were traced."""

        def forward(*args: Any, **kwargs: Any) -> Any:
            raise AttributeError(f"'{self.original_name}' has no attribute 'forward': only {', '.join(self.methods)} was traced")

        self.__dict__["forward"] = forward
        return self

    def save(self, f: Any) -> None:
        """Write it to a file: see :func:`save`."""
        save(self, f)

    @property
    def graph(self) -> Graph:
        """The graph that a call runs."""
        return listed(self._graph, None, self, "forward", traced=True)

    @graph.setter
    def graph(self, graph: Graph) -> None:
        GraphModule.graph.__set__(self, graph)  # type: ignore[attr-defined]

    @property
    def inlined_graph(self) -> Graph:
        """The graph; there are no calls of submodules in it."""
        return self.graph

    @property
    def code(self) -> str:
        """The program as TorchScript; as Python, where that can't say it."""
        return self.graph.listing.code() or self.__dict__["_code"]

    def graph_for(self, *args: Any, **kwargs: Any) -> Graph:
        """The graph that runs."""
        return self.graph

    def __repr__(self) -> str:
        return f"{self.original_name}(original_name={self.original_name})"


def interpreted(call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call what was traced; what does not fit its arguments is an error of the program."""
    try:
        return call(*args, **kwargs)
    except (KeyError, IndexError, TypeError) as error:
        if state.capture is not None:
            raise
        raise RuntimeError(f"The following operation failed in the TorchScript interpreter.\n{type(error).__name__}: {error}") from error


def _reaches(root: Module, path: str) -> bool:
    """Whether there is something at a dotted path."""
    owner: Any = root
    for part in path.split("."):
        owner = getattr(owner, part, None)
    return owner is not None


def _has(root: Module, path: str) -> bool:
    owner: Any = root
    for part in path.split("."):
        owner = owner._modules.get(part)
        if owner is None:
            return False
    return True


class TracedFunction:
    """A function's computation on example inputs; called like the function."""

    def __init__(self, module: GraphModule, name: str) -> None:
        self._module = module
        self.name = self.__name__ = self.qualified_name = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return interpreted(self._module, args, kwargs)

    @property
    def graph(self) -> Graph:
        """The graph that a call runs."""
        return listed(self._module.graph, None, self._module, self.name, traced=True, is_method=False)

    inlined_graph = graph

    @property
    def code(self) -> str:
        """The program as TorchScript; as Python, where that can't say it."""
        return self.graph.listing.code() or self._module.code

    def graph_for(self, *args: Any, **kwargs: Any) -> Graph:
        """The graph that runs."""
        return self.graph

    def print_readable(self, print_output: bool = True) -> str:
        """The graph as Python, with types, shapes and lines."""
        return self._module.print_readable(print_output)

    def save(self, f: Any) -> None:
        """Write it to a file: see :func:`save`."""
        save(self, f)

    def __repr__(self) -> str:
        return f"<traced function {self.name}>"


class TracedMethod(TracedFunction):
    """A method's computation on example inputs, with the parameters and buffers that the Module has when it is called."""

    def __init__(self, owner: TracedModule, module: GraphModule, name: str) -> None:
        super().__init__(module, name)
        self._owner = owner
        self._parts = [node.target for node in all_nodes(module.graph) if node.op == "get_attr"]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        for path in self._parts:
            value = attrgetter(path)(self._owner)
            if attrgetter(path)(self._module) is not value:  # it was replaced, by .to() say
                assign(self._module, path, value)
        self._module.training = self._owner.training
        return self._module(*args, **kwargs)

    @property
    def graph(self) -> Graph:
        """The graph that a call runs."""
        graph = self._module.graph
        if graph.listing is not None and graph.listing.owner() is not self._owner:
            graph.listing = None  # as the function that was traced
        return listed(graph, None, self._owner, self.name, traced=True)

    inlined_graph = graph

    def __repr__(self) -> str:
        return f"<traced method {self.name}>"


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
    return made if forward is not None else made.without_forward()


def _traced(
    func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], root: Module | None = None, strict: bool = False, outplace: bool = False
) -> Any:
    _refuse(func if isinstance(func, Module) else root)
    owner = func if isinstance(func, Module) else root
    seen = set() if owner is None else {id(each) for each in (*owner.parameters(), *owner.buffers())}  # an input may be one of them
    args, kwargs = _apart(args, seen), _apart(kwargs, seen)
    captured = capture(func, args, kwargs, dynamic=lambda name, dim: f"{name}_{dim}", root=root)
    if strict:
        _check_output(captured.result)
    if not tensors_in(captured.result) and not _numbers_only(captured.result):
        raise CaptureError(
            f"Only tensors, lists, tuples of tensors, or dictionary of tensors can be output from traced functions: the traced program returns "
            f"{type(captured.result).__name__}: it must return a tensor, or containers that hold tensors"
        )
    if outplace:
        drop_writes(captured.graph)
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
        return TracedModule(parts, captured.graph, type(func).__name__).adopt(func)
    return TracedFunction(GraphModule(parts, captured.graph, "TracedFunction"), getattr(func, "__name__", type(func).__name__))


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


# -- files -------------------------------------------------------------------------------------------------------


def save(m: Any, f: Any, _extra_files: dict[str, Any] | None = None, format: str = "rushlight") -> None:
    """Write a traced module or function to a path or file object: the graph as plain data, and its tensors.

    With ``format="torchscript"`` the file is an archive that PyTorch's ``torch.jit.load`` reads; what such a file can't hold is refused by name.
    """
    if format == "torchscript":
        importlib.import_module(f"{__package__.rpartition('.')[0]}.script.archive.writer").write_torchscript(m, f, _extra_files)
        return
    if format != "rushlight":
        raise ValueError(f"jit.save() writes the formats 'rushlight' and 'torchscript', and not {format!r}")
    for kinds, write in WRITERS:
        if isinstance(m, kinds) and not isinstance(m, (TracedFunction, TracedModule)):  # which are written here, whatever they pass for
            save_archive({"format": FORMAT, "version": VERSION, **write(m), "files": extra_files(_extra_files)}, f)
            return
    if isinstance(m, TracedFunction):
        module, kind, name = m._module, "function", m.name
    elif isinstance(m, GraphModule):
        module, kind, name = m, "module", type(m).__name__
    else:
        raise TypeError(f"jit.save() takes a traced module or function (or a scripted one), not {type(m).__name__}: trace it first")
    parameters = {n: p.detach() for n, p in module.named_parameters(remove_duplicate=False)}
    buffers = dict(module.named_buffers(remove_duplicate=False))
    content = {
        "format": FORMAT, "version": VERSION, "kind": kind, "name": name, "training": module.training,
        "graph": json.dumps(to_data(module.graph)), "parameters": parameters, "buffers": buffers,
        "frozen": [n for n, p in module.named_parameters(remove_duplicate=False) if not p.requires_grad],
        "methods": {name: json.dumps(to_data(each.graph)) for name, each in m.methods.items()} if isinstance(m, TracedModule) else {},
        "forward": "forward" not in module.__dict__, "files": extra_files(_extra_files),
    }  # fmt: skip
    save_archive(content, f)


def extra_files(given: dict[str, Any] | None) -> dict[str, str]:
    """Files that are stored beside the graph; each byte is a character here."""
    return {key: (value.encode() if isinstance(value, str) else bytes(value)).decode("latin-1") for key, value in (given or {}).items()}


# For the other captures: what writes objects of a type as a dict, and what makes an object of such a dict, by its "kind".
WRITERS: list[tuple[Any, Callable[[Any], dict[str, Any]]]] = []
READERS: dict[str, Callable[[dict[str, Any]], Any]] = {}


def load(f: Any, map_location: Any = None, _extra_files: dict[str, Any] | None = None, _restore_shapes: bool = False) -> Any:
    """Read what :func:`save` has written; reading runs no code of the file's."""
    if isinstance(f, (str, os.PathLike)):
        if not os.path.exists(f):
            raise ValueError(f"The provided filename {f} does not exist")
        with open(f, "rb") as file:
            return load(file, map_location, _extra_files, _restore_shapes)
    archive = _archive_of(f)
    if archive is not None:
        try:
            return importlib.import_module(f"{__package__.rpartition('.')[0]}.script.archive.entry").read_archive(
                archive, map_location, {} if _extra_files is None else _extra_files
            )
        finally:
            archive.close()
    try:
        content = load_archive(f, map_location, weights_only=True)
    except (pickle.UnpicklingError, EOFError) as error:
        raise CaptureError(f"the file holds no program: {error}") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise CaptureError("the file holds no traced module: it was not written by jit.save() of rushlight")
    try:
        if content["version"] > VERSION:
            raise CaptureError(f"the file is of version {content['version']} of the format, and this rushlight knows {VERSION}: update it")
        _read_extra_files(content, _extra_files or {})
        return READERS[content["kind"]](content)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:  # what is there is not what was written
        if isinstance(error, RushlightError):
            raise
        raise CaptureError(f"the file is damaged: it holds no whole program ({type(error).__name__}: {error})") from error


def _archive_of(file: Any) -> ArchiveReader | None:
    """A file as an archive that PyTorch wrote; None of everything else."""
    if not all(hasattr(file, name) for name in ("read", "seek", "tell")):
        return None
    start = file.tell()
    mark = file.read(len(LOCAL_MARK))
    file.seek(start)
    if mark != LOCAL_MARK:
        return None
    archive = ArchiveReader(file)
    if is_torchscript(archive):
        return archive
    archive.close()
    file.seek(start)
    return None


def _read_extra_files(content: dict[str, Any], wanted: dict[str, Any]) -> None:
    """Fill in the files that are asked for."""
    texts = {key: each.encode() for key, each in content.get("extra", {}).items()}  # as files had them at first
    stored = {**texts, **{key: each.encode("latin-1") for key, each in content.get("files", {}).items()}}
    wanted.update({key: stored[key] for key in wanted if key in stored})


def _read(content: dict[str, Any]) -> TracedModule | TracedFunction:
    """What was traced, from what a file says."""
    graph = from_data(json.loads(content["graph"]))
    frozen = set(content["frozen"])
    parts: dict[str, Any] = {name: Parameter(value, requires_grad=name not in frozen) for name, value in content["parameters"].items()}
    parts.update(content["buffers"])
    if content["kind"] == "function":
        return TracedFunction(GraphModule(parts, graph, "TracedFunction"), content["name"])
    made = TracedModule(parts, graph, content["name"])
    for name, value in parts.items():
        assign(made, name, value)
    for name, text in content.get("methods", {}).items():
        if not name.isidentifier() or hasattr(made, name):
            raise CaptureError(f"the file is damaged: '{name}' is no name of a method")
        graph = from_data(json.loads(text))
        made.add_method(name, graph, {node.target: parts[node.target] for node in all_nodes(graph) if node.op == "get_attr"})
    if not content.get("forward", True):
        made.without_forward()
    return made.train(content["training"])


READERS.update({"function": _read, "module": _read})


# -- running beside ----------------------------------------------------------------------------------------------


Result = TypeVar("Result")


class Future(Generic[Result]):
    """The result of :func:`fork`; it is there already, since the call ran at once."""

    def __init__(self, value: Result) -> None:
        self._value = value

    def wait(self) -> Result:
        """The result."""
        return self._value

    value = wait

    def done(self) -> bool:
        """Whether the result is there."""
        return True


def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Future:
    """Call a function; its result by :func:`wait`.  It runs at once, and in a trace its ops stand in line with the others."""
    return Future(func(*args, **kwargs))


def wait(future: Any) -> Any:
    """The result of a fork."""
    if future is None:
        raise RuntimeError("Future can't be None")
    if not isinstance(future, (Future, CompletableFuture)):
        raise TypeError(f"jit.wait() takes what jit.fork() gave, not {type(future).__name__}")
    return future.wait()

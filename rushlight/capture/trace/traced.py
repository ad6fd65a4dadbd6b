"""Traced Modules and functions, and the files that they are written to."""

from __future__ import annotations

import copy
import importlib
import json
import os
import pickle
from collections.abc import Callable
from operator import attrgetter
from typing import Any

from ...core.errors import CaptureError, RushlightError
from ...core.missing import is_own
from ...core.state import state
from ...graph import Graph
from ...graph.node import all_nodes
from ...nn.modules.module import Module
from ...nn.parameter import Parameter
from ...serialization import load as load_archive
from ...serialization import save as save_archive
from ...serialization.loading import is_torchscript
from ...serialization.records import LOCAL_MARK, ArchiveReader
from ..graph_data import decode, encode, from_data, to_data
from ..graph_module import GraphModule, assign
from ..listing import listed
from .module_calls import ModuleCall, extracted


class EnabledProxy:
    """Whether functions are scripted and traced; where not (``PYTORCH_JIT=0``), they stay the Python that they are made of."""

    def __init__(self) -> None:
        self.enabled = os.environ.get("PYTORCH_JIT", "1") != "0"

    def __bool__(self) -> bool:
        return self.enabled


ENABLED = EnabledProxy()
_OWN = frozenset(Module().__dict__)
FORMAT, VERSION = "rushlight.jit", 1


class TracedModule(GraphModule):
    """A Module's computation on example inputs.  It has all parameters and buffers of that Module, under the same names."""

    original_name: str = ""

    def __init__(self, root: Module | dict[str, Any], graph: Graph, class_name: str = "TracedModule") -> None:
        super().__init__(root, graph, class_name)
        self.__dict__["original_name"] = class_name
        self.__dict__["_script_calls"] = {}

    def adopt(self, module: Module) -> TracedModule:
        """Take over the parameters, buffers, submodules and mode of the Module that was traced."""
        for path, _ in module.named_modules():
            if path and not _has(self, path):
                assign(self, path, Module())
        for name, value in (*module.named_parameters(remove_duplicate=False), *module.named_buffers(remove_duplicate=False)):
            assign(self, name, value)
        for path, part in module.named_modules():
            made = self.get_submodule(path)
            made.training = part.training
            if not is_own(type(part)):
                made.__dict__.update(plain_attributes(part))
        return self

    def recompile(self) -> Any:
        """Generate ``forward`` from the graph, which ``forward.graph`` is."""
        made = super().recompile()
        type(self).forward.graph = listed(self._graph, None, self, "forward", traced=True)  # type: ignore[attr-defined]
        return made

    def take_calls(self, calls: dict[str, tuple[str, ModuleCall]]) -> None:
        """Make the Modules inside callable, by the names of their classes and what the trace has recorded of their calls."""
        self.__dict__["_script_calls"] = calls
        for path in calls:
            if not _has(self, path):
                assign(self, path, Module())
            part = self.get_submodule(path)
            if part.__class__ is Module:
                part.__class__ = TracedPart
            part.__dict__.update(_script_root=self, _script_path=path)

    def __deepcopy__(self, memo: Any) -> TracedModule:
        made: Any = super().__deepcopy__(memo)
        for name, value in (*self.named_parameters(remove_duplicate=False), *self.named_buffers(remove_duplicate=False)):
            if not _reaches(made, name):
                assign(made, name, copy.deepcopy(value, memo))
        made.take_calls(self.__dict__["_script_calls"])
        for path, part in self.named_modules():
            if not path or _has(made, path):
                made.get_submodule(path).training = part.training
                made.get_submodule(path).__dict__.update(copy.deepcopy(plain_attributes(part), memo))
        for name, method in self.methods.items():
            made.add_method(name, copy.deepcopy(method._module.graph), {path: attrgetter(path)(made) for path in method._parts})
        return made  # type: ignore[no-any-return]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return interpreted(super().__call__, self._graph, "forward", args, kwargs)

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
        return described(self)


def misfit(graph: Graph, name: str, count: int, keywords: Any) -> str | None:
    """What is wrong with the number or the names of arguments; None where nothing is."""
    inputs = graph.find_nodes(op="placeholder")
    names = [str(node.target) for node in inputs]
    if count > len(names):
        return f"{name}() expected at most {len(names)} argument(s) but received {count} argument(s)"
    missing = [str(node.target) for node in inputs[count:] if not node.args and node.target not in keywords]
    if missing:
        return f"{name}() is missing value for argument '{missing[0]}'"
    unknown = [each for each in keywords if each not in names[count:]]
    return f"{name}() got an unknown or repeated keyword argument '{unknown[0]}'" if unknown else None


def interpreted(call: Callable[..., Any], graph: Graph, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call what was traced; what does not fit its arguments is an error of the program."""
    try:
        return call(*args, **kwargs)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        if state.capture is not None:
            raise
        wrong = misfit(graph, name, len(args), kwargs)
        if wrong is not None:
            raise RuntimeError(f"{wrong}. It takes {', '.join(str(node.target) for node in graph.find_nodes(op='placeholder'))}") from error
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
        return interpreted(self._module, self._module._graph, self.name, args, kwargs)

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


def plain_attributes(module: Module) -> dict[str, Any]:
    """The numbers and texts that a Module has, and containers of them: what a trace keeps beside tensors and Modules."""
    found = {}
    for name, value in module.__dict__.items():
        if not name.startswith("_") and name not in _OWN and not hasattr(TracedModule, name):
            try:
                encode(value)
            except CaptureError:
                continue
            found[name] = value
    return found


class TracedPart(Module):
    """A Module inside of a traced one: called, it computes its part of the trace."""

    @property
    def original_name(self) -> str:
        """The name of the class that was traced."""
        return str(self.__dict__["_script_root"].__dict__["_script_calls"][self.__dict__["_script_path"]][0])

    def _method(self) -> TracedMethod:
        root, path = self.__dict__["_script_root"], self.__dict__["_script_path"]
        known = self.__dict__.get("_script_traced")
        if known is None or known[0] is not root._graph:
            graph = extracted(root._graph, root.__dict__["_script_calls"][path][1], path)
            parts = {node.target: attrgetter(node.target)(root) for node in all_nodes(graph) if node.op in ("get_attr", "call_module")}
            known = self.__dict__["_script_traced"] = (
                root._graph,
                TracedMethod(root, GraphModule(parts, graph, "TracedMethod"), "forward"),
            )
        return known[1]

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the Module computed in the trace."""
        method = self._method()
        return interpreted(method, method._module._graph, "forward", args, kwargs)

    @property
    def graph(self) -> Graph:
        """The graph that a call runs."""
        own = self.own_graph()
        return self._method().graph if own is None else listed(own, None, self, "forward", traced=True)

    inlined_graph = graph

    def own_graph(self) -> Graph | None:
        """The graph by the names that this Module has; None where it computes with what others hold."""
        try:
            graph = copy.deepcopy(self._method()._module._graph)
        except CaptureError:
            return None
        place = self.__dict__["_script_path"] + "."
        for node in all_nodes(graph):
            if node.op in ("get_attr", "call_module"):
                if not node.target.startswith(place):
                    return None
                node.target = node.target[len(place) :]
        return graph

    @property
    def code(self) -> str:
        """The program as TorchScript; as Python, where that can't say it."""
        return self.graph.listing.code() or self._method()._module.code

    def __deepcopy__(self, memo: Any) -> Module:
        made = Module()
        memo[id(self)] = made
        rest = {key: value for key, value in self.__dict__.items() if key not in ("_script_root", "_script_path", "_script_traced")}
        made.__dict__.update(copy.deepcopy(rest, memo))
        if memo.get(id(self.__dict__["_script_root"])) is None:  # it alone: a traced Module of its own
            graph = self._method()._module._graph
            parts = {
                node.target: copy.deepcopy(attrgetter(node.target)(self._method()._module), memo)
                for node in all_nodes(graph)
                if node.op == "get_attr"
            }
            return TracedModule(parts, copy.deepcopy(graph), self.original_name)
        return made

    def __repr__(self) -> str:
        return described(self)


def described(module: Any) -> str:
    """A traced Module and those below it, by the names of the classes that were traced."""
    name = getattr(module, "original_name", "") or type(module).__name__
    lines = [f"({key}): " + described(each).replace("\n", "\n  ") for key, each in module._modules.items() if each is not None]
    inner = "".join(f"\n  {line}" for line in lines)
    return f"{name}(\n  original_name={name}{inner}\n)" if lines else f"{name}(original_name={name})"


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
        "attributes": json.dumps({path: encode(plain_attributes(part)) for path, part in m.named_modules()} if kind == "module" else {}),
        "calls": json.dumps({path: [name, call.data()] for path, (name, call) in m.__dict__.get("_script_calls", {}).items()}),
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
    made.take_calls({path: (str(name), ModuleCall.of(data)) for path, (name, data) in json.loads(content.get("calls", "{}")).items()})
    for path, values in json.loads(content.get("attributes", "{}")).items():
        if _has(made, path) or not path:
            made.get_submodule(path).__dict__.update(
                {name: each for name, each in decode(values, {}).items() if not hasattr(TracedModule, name)}
            )
    for name, text in content.get("methods", {}).items():
        if not name.isidentifier() or hasattr(made, name):
            raise CaptureError(f"the file is damaged: '{name}' is no name of a method")
        graph = from_data(json.loads(text))
        held = {node.target for node in all_nodes(graph) if node.op == "get_attr"}
        made.add_method(name, graph, {path: parts[path] if path in parts else attrgetter(path)(made) for path in held})
    if not content.get("forward", True):
        made.without_forward()
    return made.train(content["training"])


READERS.update({"function": _read, "module": _read})

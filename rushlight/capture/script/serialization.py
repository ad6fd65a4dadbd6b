"""Scripted functions and Modules in files: graphs as plain data, and tensors.

Reading one runs no code of the file's.  Modules of the package are made again by their class, everything else from its graphs.
"""

from __future__ import annotations

import builtins as python
import contextlib
import importlib
import inspect
import json
import math
import operator
import sys
import warnings
from typing import Any

from ...amp.autocast_mode import is_autocast_enabled
from ...autograd import profiler
from ...core.base import TensorBase, runtime
from ...core.declare import PACKAGE, Op
from ...core.errors import CaptureError
from ...core.missing import home_module
from ...graph.node import all_graphs
from ...graph.targets import path_of, resolve
from ...nn.modules.module import Module
from ...nn.parameter import Parameter
from ...ops.overloads import OpOverload, OpOverloadPacket, find_overload, find_packet
from ...ops.quantized import Packed
from ...ops.quantized.rnn import CellParameters
from ..graph_data import METHODS, SPACES, decode, encode, from_data, to_data
from ..graph_module import GraphModule
from ..trace.module_calls import ModuleCall
from ..trace.traced import READERS, WRITERS, TracedFunction, TracedModule, TracedPart
from .frontend.types import class_type, parse_type
from .hooks import TABLES, ScriptHook
from .ir import graph_functions
from .lower.compiler import ScriptParameter, Signature
from .lower.result_types import LIST_METHODS, STR_METHODS
from .run.library_modules import CALL, library_class
from .run.program import ScriptProgram
from .script_class import ScriptClass, adopt, read_class
from .script_function import ScriptFunction
from .script_module import RecursiveScriptModule, ScriptModule, script_class

_PYTHON = (
    "len min max abs sum round int float bool str complex print list tuple dict sorted any all ord chr divmod pow hex oct bin repr format enumerate zip "
    "reversed range getattr hash"
).split()
_PLACES = (
    f"{PACKAGE}.ops.",
    f"{PACKAGE}.tensor.",
    f"{PACKAGE}.nn.functional",
    f"{PACKAGE}.autograd.grad_mode",
    f"{PACKAGE}.core.devices",
    f"{PACKAGE}.nn.utils.rnn",
)
_PACKED = (Packed, CellParameters)  # parameters of quantized layers as one object
_OPS = "ops::"  # what stands before the names of ops of torch.ops
_REFUSED = frozenset(("from_file",))


class _Library(dict[str, Any]):
    """Functions of the package that scripts may call, by their paths."""

    def get(self, name: str, default: Any = None) -> Any:
        if not name.startswith(PACKAGE + ".") or "__" in name:
            return default
        found = resolve(name)
        return found if allowed(found) else default


def allowed(function: Any) -> bool:
    """Whether a function of the package only computes."""
    place = home_module(function)
    return callable(function) and f"{place}.".startswith(_PLACES) and getattr(function, "__name__", "") not in _REFUSED


SPACES["python"] = {name: getattr(python, name) for name in _PYTHON}
SPACES["operator"] = {name: value for name, value in vars(operator).items() if inspect.isbuiltin(value) and not name.startswith("_")}
for _name in ("attrgetter", "itemgetter", "methodcaller", "call"):
    SPACES["operator"].pop(_name, None)
SPACES["warnings"] = {"warn": warnings.warn}
SPACES["amp"] = {"is_autocast_enabled": is_autocast_enabled}
SPACES["profiler"] = {each.__name__: each for each in (profiler.record_function, profiler.enter_range, profiler.exit_range)}
SPACES["math"] = {name: value for name, value in vars(math).items() if inspect.isbuiltin(value)}
SPACES["helper"] = dict(graph_functions.FUNCTIONS)
SPACES["library"] = _Library()
METHODS |= {name for name in dir(runtime.tensor_type) if not name.startswith("_")} - {"numpy", "data_ptr", "share_memory_"}
METHODS |= {*STR_METHODS, *LIST_METHODS, *"keys values items get pop setdefault update clear copy popitem".split(), "unpack", "manual_seed"}


class ScriptWriter:
    """Writes one object."""

    def __init__(self) -> None:
        self.functions: dict[Any, str] = {}
        self.written: dict[str, Any] = {}
        self.parameters: dict[str, Any] = {}
        self.buffers: dict[str, Any] = {}
        self.modules: dict[int, str] = {}

    def program(self, program: ScriptProgram) -> dict[str, Any]:
        """A graph with its signature; the scripted functions that it calls are written too."""
        for graph in all_graphs(program.graph):
            for node in graph.nodes:
                if node.op == "call_function":
                    self.function(node.target)
        signature = program.signature
        parameters = [
            {
                "name": each.name, "type": repr(each.type), **({} if each.default is ... else {"default": self.default(each.default)}),
                **({"keyword": True} if each.keyword_only else {}),
            }
            for each in signature.parameters
        ]  # fmt: skip
        return {
            "name": signature.name,
            "parameters": parameters,
            "result": repr(signature.result),
            "graph": to_data(program.graph, self.functions),
        }

    def default(self, value: Any) -> Any:
        """The default of a parameter."""
        if isinstance(value, TensorBase):
            path = f"default:{len(self.buffers)}"
            self.buffers[path] = value.detach()
            return {"buffer": path}
        return encode(value)

    def function(self, target: Any) -> None:
        """Something that a graph calls, if it is not one of those that every reader knows."""
        if isinstance(target, ScriptFunction) and target not in self.functions:
            name = self.functions[target] = f"{target.name}_{len(self.functions)}"
            self.written[name] = self.program(target._program)
        elif isinstance(target, TracedFunction) and target not in self.functions:
            name = self.functions[target] = f"{target.name}_{len(self.functions)}"
            if list(target._module.state_dict()):
                raise CaptureError(
                    f"the traced function '{target.name}' holds tensors, and is called by a script: make them buffers of a Module to save it"
                )
            self.written[name] = {"traced": to_data(target._module.graph), "name": target.name}
        elif isinstance(target, ScriptClass) and target not in self.functions:
            name = self.functions[target] = f"{target.name}_{len(self.functions)}"
            for method in target.methods.values():
                self.function(method)
            self.written[name] = {
                "class": target.name, "attributes": {each: repr(kind) for each, kind in target.attributes.items()},
                "methods": {each: (self.functions[method], isinstance(target.member(each), property)) for each, method in target.methods.items()},
            }  # fmt: skip
        elif isinstance(target, graph_functions.DefaultTensor) and target not in self.functions:
            name = self.functions[target] = f"constant_{len(self.functions)}"
            self.written[name] = {"constant": self.container(target.value, name)}
        elif isinstance(target, (OpOverload, OpOverloadPacket)):
            if target.__name__.partition(".")[0] not in _REFUSED:
                self.functions[target] = _OPS + (f"{target.namespace}.{target.__name__}")
        elif not isinstance(getattr(target, "op", None), Op) and allowed(target):
            path = path_of(target)
            if path is not None and resolve(path) is target:
                self.functions[target] = path

    def module(self, module: Module, path: str) -> dict[str, Any]:
        """A Module and what is below it."""
        if id(module) in self.modules:
            return {"same": self.modules[id(module)]}
        self.modules[id(module)] = path
        place = path + "." if path else ""
        tensors = [*module._parameters.items(), *module._buffers.items()]
        for name, value in tensors:
            if value is not None:
                (self.parameters if name in module._parameters else self.buffers)[place + name] = value.detach()
        row: dict[str, Any] = {
            "training": module.training,
            "parameters": {name: None if value is None else bool(value.requires_grad) for name, value in module._parameters.items()},
            "buffers": {
                name: (value is not None, name not in module._non_persistent_buffers_set) for name, value in module._buffers.items()
            },
            "children": {name: None if each is None else self.module(each, place + name) for name, each in module._modules.items()},
        }
        if isinstance(module, GraphModule):
            row["traced"], row["class"] = to_data(module.graph), type(module).__name__
            if isinstance(module, TracedModule):
                row["calls"] = {each: [name, call.data()] for each, (name, call) in module.__dict__["_script_calls"].items()}
        elif isinstance(module, ScriptModule):
            row["class"] = module._script_class.__name__
            row["methods"] = {name: self.program(program) for name, program in module._script_programs.items()}
            if hasattr(module, CALL):
                row["library"] = library_path(module._script_class)
        else:
            kind = Module if isinstance(module, TracedPart) else type(module)
            row["library"] = f"{home_module(kind)}.{kind.__qualname__}"
        row["attributes"] = self.attributes(module, place)
        hooks = {
            when: [self.program(hook._program) for hook in module.__dict__[table].values() if isinstance(hook, ScriptHook)]
            for when, table in TABLES.items()
        }
        if any(hooks.values()):
            row["hooks"] = hooks
        return row

    def attributes(self, module: Module, place: str) -> dict[str, Any]:
        """What else a Module holds: plain data, and tensors that are no buffers."""
        found: dict[str, Any] = {}
        known = Module().__dict__
        for name, value in module.__dict__.items():
            if name in known or name.startswith(("_script", "_graph", "_code")) or name == "original_name":
                continue
            if isinstance(value, TensorBase):
                self.buffers[place + name] = value.detach()
                found[name] = {"tensor": True}
                continue
            if isinstance(value, _PACKED) or (isinstance(value, (tuple, list, dict)) and holds_objects(value)):
                found[name] = self.container(value, place + name)
                continue
            if isinstance(value, ScriptFunction):
                continue
            if class_type(type(value)) is not None:
                found[name] = self.object(value, place + name)
                continue
            if callable(value) and allowed(value) and path_of(value):
                found[name] = {"function": path_of(value)}
                continue
            try:
                found[name] = encode(value)
            except CaptureError:
                if not isinstance(module, ScriptModule) or isinstance(module, GraphModule):
                    raise
        return found

    def container(self, value: Any, path: str) -> Any:
        """A container with tensors or objects in it, at whatever depth; numbers and texts as they are."""
        if isinstance(value, TensorBase):
            self.buffers[path] = value.detach()
            return {"tensor": True}
        if class_type(type(value)) is not None:
            return self.object(value, path)
        if isinstance(value, _PACKED):
            tensors, options = (value.tensors, value.reduce_range) if isinstance(value, CellParameters) else (value.unpack(), value.options)
            items = [self.container(each, f"{path}.{at}") for at, each in enumerate(tensors)]
            return {"packed": items, "options": encode(options), "cell": isinstance(value, CellParameters)}
        if isinstance(value, dict):
            keys = [encode(key) for key in value]
            return {"keys": keys, "items": [self.container(each, f"{path}.{at}") for at, each in enumerate(value.values())]}
        if isinstance(value, (tuple, list)):
            return {"items": [self.container(each, f"{path}.{at}") for at, each in enumerate(value)], "list": isinstance(value, list)}
        return {"plain": encode(value)}

    def object(self, value: Any, path: str) -> dict[str, Any]:
        """An object of a scripted class that a Module holds."""
        described = class_type(type(value)).described  # type: ignore[union-attr]
        self.function(described)
        values: dict[str, Any] = {}
        for name in described.attributes:
            item = getattr(value, name)
            if isinstance(item, TensorBase):
                self.buffers[f"{path}.{name}"] = item.detach()
                values[name] = {"tensor": True}
            else:
                values[name] = self.container(item, f"{path}.{name}") if holds_objects(item) else encode(item)
        return {"object": self.functions[described], "values": values}


def holds_objects(value: Any) -> bool:
    """Whether there is a tensor, or an object of a scripted class, in nested containers."""
    if isinstance(value, dict):
        return any(map(holds_objects, value.values()))
    if isinstance(value, (tuple, list)):
        return any(map(holds_objects, value))
    return isinstance(value, (TensorBase, *_PACKED)) or class_type(type(value)) is not None


def _write_function(function: ScriptFunction) -> dict[str, Any]:
    writer = ScriptWriter()
    row = writer.program(function._program)
    return {
        "kind": "script function", "name": function.name, "main": json.dumps(row), "functions": json.dumps(writer.written),
        "buffers": writer.buffers,
    }  # fmt: skip


def write_module(module: ScriptModule) -> dict[str, Any]:
    writer = ScriptWriter()
    row = writer.module(module, "")
    return {
        "kind": "script module", "main": json.dumps(row), "functions": json.dumps(writer.written), "parameters": writer.parameters,
        "buffers": writer.buffers,
    }  # fmt: skip


class ScriptReader:
    """Makes an object of what was written."""

    def __init__(self, content: dict[str, Any]) -> None:
        self.parameters = content.get("parameters", {})
        self.buffers = content.get("buffers", {})
        self.rows = json.loads(content["functions"])
        self.functions = _Functions(self)
        self.modules: dict[str, Any] = {}
        self.reading: list[str] = []

    def program(self, row: dict[str, Any]) -> ScriptProgram:
        """A graph with its signature."""
        parameters = [
            ScriptParameter(each["name"], parse_type(each["type"]), self.default(each), bool(each.get("keyword")))
            for each in row["parameters"]
        ]
        graph = from_data(row["graph"], self.functions, parse_type)
        graph.lint()
        return ScriptProgram(graph, Signature(row["name"], parameters, parse_type(row["result"])))

    def default(self, row: dict[str, Any]) -> Any:
        """The default of a parameter; ``...`` where it has none."""
        given = row.get("default", ...)
        if isinstance(given, dict) and "buffer" in given:
            return self.buffers[given["buffer"]]
        return ... if given is ... else decode(given, {})

    def function(self, name: str) -> Any:
        """A function of the file."""
        if name in self.reading or name not in self.rows:
            raise CaptureError(f"the file calls the function '{name}', which it does not have, or which calls itself")
        self.reading.append(name)
        row = self.rows[name]
        if "class" in row:
            described = self.functions[name] = read_class(row)  # its methods may make objects of it
            for method, (function, is_property) in row["methods"].items():
                adopt(described, method, self.functions.get(function), bool(is_property))
            made: Any = described
        elif "constant" in row:
            made = graph_functions.DefaultTensor(self.attribute(row["constant"], name))
        elif "traced" in row:
            made = TracedFunction(GraphModule({}, from_data(row["traced"]), "TracedFunction"), row["name"])
        else:
            made = ScriptFunction(self.program(row), row["name"])
        self.reading.remove(name)
        return made

    def module(self, row: dict[str, Any], path: str) -> Any:
        """A Module and what is below it."""
        if "same" in row:
            return self.modules[row["same"]]
        place = path + "." if path else ""
        if "traced" in row:
            names = {**self.parameters, **self.buffers}
            parts = {name[len(place) :]: value for name, value in names.items() if name.startswith(place)}
            made: Any = TracedModule(parts, from_data(row["traced"]), row["class"])
        elif "library" in row:
            kind = _library_class(row["library"])
            made = script_class(kind) if "methods" in row else kind.__new__(kind)
            if "methods" not in row:
                Module.__init__(made)
        else:
            made = RecursiveScriptModule()
            made.__dict__["_script_original"] = type(row["class"], (Module,), {"__module__": PACKAGE})
        self.modules[path] = made
        made.__dict__["training"] = bool(row["training"])
        for name, requires in row["parameters"].items():
            made._parameters[name] = None if requires is None else Parameter(self.parameters[place + name], requires_grad=bool(requires))
        for name, (there, persistent) in row["buffers"].items():
            made._buffers[name] = self.buffers[place + name] if there else None
            if not persistent:
                made._non_persistent_buffers_set.add(name)
        for name, child in row["children"].items():
            made._modules[name] = None if child is None else self.module(child, place + name)
        if "calls" in row:
            made.take_calls({str(each): (str(name), ModuleCall.of(call)) for each, (name, call) in row["calls"].items()})
        for name, value in row["attributes"].items():
            made.__dict__[name] = self.attribute(value, place + name)
        for name, method in row.get("methods", {}).items():
            made._script_adopt(name, self.program(method))
        for when, table in TABLES.items():
            for each in row.get("hooks", {}).get(when, ()):
                getattr(made, table).add(ScriptHook(self.program(each), str(each["name"])))
        return made

    def attribute(self, value: Any, path: str) -> Any:
        """An attribute that is no Module."""
        if isinstance(value, dict) and "tensor" in value:
            return self.buffers[path]
        if isinstance(value, dict) and "tensors" in value:
            rows = enumerate(value["tensors"])
            items = [self.buffers[f"{path}.{at}"] if f"{path}.{at}" in self.buffers else decode(each, {}) for at, each in rows]
            return items if value["list"] else tuple(items)
        if isinstance(value, dict) and "items" in value:
            parts = [self.attribute(each, f"{path}.{at}") for at, each in enumerate(value["items"])]
            if "keys" in value:
                return dict(zip([decode(each, {}) for each in value["keys"]], parts))
            return parts if value["list"] else tuple(parts)
        if isinstance(value, dict) and "packed" in value:
            parts = [self.attribute(each, f"{path}.{at}") for at, each in enumerate(value["packed"])]
            options = decode(value["options"], {})
            if value["cell"]:
                first, second, third, fourth = parts
                return CellParameters(first, second, third, fourth, bool(options))
            return Packed(*parts, **options)
        if isinstance(value, dict) and "plain" in value:
            return decode(value["plain"], {})
        if isinstance(value, dict) and "object" in value:
            described = self.functions.get(value["object"])
            if not isinstance(described, ScriptClass):
                raise CaptureError(f"the file has an object of '{value['object']}', which is no class")
            item: Any = object.__new__(described.kind)
            for name in described.attributes:
                setattr(item, name, self.attribute(value["values"][name], f"{path}.{name}"))
            return item
        if isinstance(value, dict) and "function" in value:
            found = SPACES["library"].get(value["function"])
            if found is None:
                raise CaptureError(f"the file names the function '{value['function']}', which a Module can't hold")
            return found
        return decode(value, {})


class _Functions(dict[str, Any]):
    """The functions of a file, made when they are first asked for."""

    def __init__(self, reader: ScriptReader) -> None:
        super().__init__()
        self.reader = reader

    def get(self, name: str, default: Any = None) -> Any:
        if name.startswith(_OPS):
            return _registered(name[len(_OPS) :])
        if name not in self:
            library = SPACES["library"].get(name)
            self[name] = library if library is not None else self.reader.function(name)
        return self[name]


def _registered(path: str) -> Any:
    """An op of ``torch.ops``, by its namespace, its name and that of its overload."""
    place, name, *overload = path.split(".")
    if name in _REFUSED or not name.isidentifier():
        raise CaptureError(f"the file names the op '{path}', which a graph can't call")
    try:
        found = find_packet(place, name)
        return find_overload(place, name, overload[0]) if overload else found
    except AttributeError:
        raise CaptureError(f"the file names the op '{path}', which is not registered here") from None


def library_path(kind: type) -> str:
    """The class of the package that a class is, for a file; one that changes what it does is refused."""
    found = library_class(kind)
    for base in kind.__mro__[: kind.__mro__.index(found)]:
        changed = [
            name
            for name, value in vars(base).items()
            if inspect.isfunction(value) and name not in ("__init__", "extra_repr", "reset_parameters")
        ]
        if changed:
            raise CaptureError(
                f"'{kind.__name__}' takes its forward from {found.__name__}, which can't be scripted, and changes '{changed[0]}': a file can't hold that. "
                "Write a forward of its own"
            )
    return f"{home_module(found)}.{found.__qualname__}"


_QUANTIZED = (f"{PACKAGE}.ao.nn.", f"{PACKAGE}.ao.quantization.")


def _library_class(path: str) -> Any:
    """A class of Modules of the package, by its path."""
    place, _, name = path.rpartition(".")
    if place.startswith(_QUANTIZED) and place not in sys.modules and all(each.isidentifier() for each in place.split(".")):
        with contextlib.suppress(ImportError):  # a file may be the first to need quantized layers
            importlib.import_module(place)
    found = getattr(sys.modules.get(place), name, None) if place.startswith((f"{PACKAGE}.nn.", *_QUANTIZED)) else None
    if not isinstance(found, type) or not issubclass(found, Module) or home_module(found) != place:
        raise CaptureError(f"the file names the class '{path}', which is no Module of {PACKAGE}.nn")
    return found


def _checked(read: Any) -> Any:
    """A reader whose failures on broken files are errors that say so."""

    def run(content: dict[str, Any]) -> Any:
        try:
            return read(content)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError, RecursionError) as error:
            raise CaptureError(f"the file is damaged: it holds no whole scripted program ({type(error).__name__}: {error})") from error

    return run


def _read_function(content: dict[str, Any]) -> ScriptFunction:
    return ScriptFunction(ScriptReader(content).program(json.loads(content["main"])), str(content["name"]))


def _read_module(content: dict[str, Any]) -> Any:
    made = ScriptReader(content).module(json.loads(content["main"]), "")
    for part in made.modules():
        for program in getattr(part, "_script_programs", {}).values():
            for graph in all_graphs(program.graph):
                for node in graph.nodes:
                    if node.op == "call_module" and not _may_call(part, node.target):
                        raise CaptureError(f"the file calls '{node.target}', which is no Module and no method that a script may call")
    for part in reversed(list(made.modules())):  # what a Module keeps of itself is for it to say
        if {"__getstate__", "__setstate__"} <= getattr(part, "_script_programs", {}).keys():
            part.__dict__["__setstate__"](part.__dict__["__getstate__"]())
    return made


def _may_call(owner: Any, target: str) -> bool:
    """Whether a path leads to a Module, a scripted method, a part by its key, or a method of a class of the package that all Modules do not have (as ``save``)."""
    *way, last = target.split(".")
    for part in way:
        owner = getattr(owner, "_modules", {}).get(part)
    if not isinstance(owner, Module):
        return False
    if last in owner._modules or last in getattr(owner, "_script_programs", {}) or last in ("__setattr__", "__getitem__"):
        return True
    if isinstance(owner, ScriptModule) and not isinstance(owner, GraphModule):
        return last == CALL and hasattr(owner, CALL)
    return not hasattr(Module, last) and callable(getattr(type(owner), last, None))


WRITERS += [(ScriptFunction, _write_function), (ScriptModule, write_module)]
READERS.update({"script function": _checked(_read_function), "script module": _checked(_read_module)})

__all__ = ["ScriptReader", "ScriptWriter", "allowed"]
